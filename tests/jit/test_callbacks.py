"""Python functions that machine code calls: what they raise comes out, and so does Ctrl-C, wherever it comes."""

import ctypes
import os
import signal

import pytest

from ptxsim.jit.callbacks import Callbacks


def test_what_a_function_raises_is_kept():
    callbacks = Callbacks()

    def fail():
        raise ValueError("no")

    assert ctypes.CFUNCTYPE(ctypes.c_int32)(callbacks.address(fail, ctypes.c_int32))() == 0
    with pytest.raises(ValueError, match="no"):
        callbacks.check()
    callbacks.check()


@pytest.mark.skipif(os.name != "posix", reason="signals of a terminal")
def test_an_interrupt_comes_out_of_check_and_stops():
    callbacks, stops = Callbacks(), []
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with callbacks.hearing(lambda: stops.append(1)):
            os.kill(os.getpid(), signal.SIGINT)
        assert stops == [1] and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        with pytest.raises(KeyboardInterrupt):
            callbacks.check()
    finally:
        signal.signal(signal.SIGINT, before)
