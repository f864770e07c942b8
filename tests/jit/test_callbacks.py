"""Python functions that machine code calls: what they raise comes out, and so does Ctrl-C, wherever it comes."""

import ctypes
import os
import signal
import time

import pytest

from ptxsim.jit.callbacks import Callbacks, interruptible


def test_what_a_function_raises_is_kept():
    callbacks = Callbacks()

    def fail():
        raise ValueError("no")

    assert ctypes.CFUNCTYPE(ctypes.c_int32)(callbacks.address(fail, ctypes.c_int32))() == 0
    with pytest.raises(ValueError, match="no"):
        callbacks.check()
    callbacks.check()


@pytest.fixture
def usual_interrupts():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name != "posix", reason="signals of a terminal")
def test_a_wait_within_a_callback_ends_at_once(usual_interrupts):
    callbacks, after = Callbacks(), []

    def wait() -> None:
        with interruptible():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.001)
            after.append(1)

    with callbacks.hearing(lambda: None):
        ctypes.CFUNCTYPE(None)(callbacks.address(wait, None))()
        os.kill(os.getpid(), signal.SIGINT)  # outside of a wait it is kept
    assert not after
    with pytest.raises(KeyboardInterrupt):
        callbacks.check()


@pytest.mark.skipif(os.name != "posix", reason="signals of a terminal")
def test_an_interrupt_comes_out_of_check_and_stops(usual_interrupts):
    callbacks, stops = Callbacks(), []
    with callbacks.hearing(lambda: stops.append(1)):
        os.kill(os.getpid(), signal.SIGINT)
    assert stops == [1] and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        callbacks.check()


@pytest.mark.skipif(os.name != "posix", reason="signals of a terminal")
def test_who_listens_for_long_is_interrupted_in_python_and_kept_in_machine_code(usual_interrupts):
    callbacks, stops, after = Callbacks(), [], []
    with callbacks.listening():
        for _ in range(2):
            with callbacks.hearing(lambda: stops.append(1)):
                os.kill(os.getpid(), signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                callbacks.check()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.001)
            after.append(1)
        callbacks.check()
    assert stops == [1, 1] and not after and signal.getsignal(signal.SIGINT) is signal.default_int_handler
