"""What is said during long work."""

import io
import time

from numba.core import event

from ptxsim.report import progress


def test_a_long_compilation_is_reported_once_and_a_short_one_is_not():
    stream = io.StringIO()
    with progress.report_compilation(stream, after=0.05):
        with event.trigger_event("numba:compile"):
            pass
        time.sleep(0.1)
        assert stream.getvalue() == ""
        with event.trigger_event("numba:compile"), event.trigger_event("numba:compile"):
            time.sleep(0.15)
    assert stream.getvalue().count("\n") == 1 and "once per machine" in stream.getvalue()
