"""What vprintf prints, against the C library of the host where it exists."""

import ctypes
import struct
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxsim.machine.printf import format_vprintf

FLAGS = st.sampled_from(["", "-", "+", " ", "0", "#", "-+", "+0", " 0", "#0", "-#"])
WIDTH = st.sampled_from(["", "1", "5", "12"])
PRECISION = st.sampled_from(["", ".", ".0", ".3", ".9"])
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs the C library's snprintf")


def c_printf(pattern, value):
    buffer = ctypes.create_string_buffer(400)
    ctypes.CDLL(None).snprintf(buffer, 400, pattern.encode(), value)
    return buffer.value.decode()


@linux_only
@given(FLAGS, WIDTH, PRECISION, st.sampled_from("diouxX"), st.integers(-(2**31), 2**31 - 1))
def test_integers_as_in_c(flags, width, precision, kind, number):
    pattern = f"<%{flags}{width}{precision}{kind}>"
    assert format_vprintf(pattern.encode(), struct.pack("<i", number)) == c_printf(pattern, ctypes.c_int(number))


@linux_only
@given(FLAGS, WIDTH, PRECISION, st.sampled_from("diouxX"), st.integers(-(2**63), 2**63 - 1))
def test_long_integers_as_in_c(flags, width, precision, kind, number):
    pattern = f"<%{flags}{width}{precision}ll{kind}>"
    assert format_vprintf(pattern.encode(), struct.pack("<q", number)) == c_printf(pattern, ctypes.c_longlong(number))


@linux_only
@given(FLAGS, WIDTH, PRECISION, st.sampled_from("fFeEgGaA"), st.floats(width=64))
def test_floats_as_in_c(flags, width, precision, kind, number):
    if kind in "fF" and abs(number) > 1e80 and abs(number) != float("inf"):
        number = 1e80  # digits enough for the buffer
    pattern = f"<%{flags}{width}{precision}{kind}>"
    assert format_vprintf(pattern.encode(), struct.pack("<d", number)) == c_printf(pattern, ctypes.c_double(number))


def test_arguments_stand_at_multiples_of_their_size():
    data = struct.pack("<i4xdi4xq", 1, 2.5, 3, 4)
    assert format_vprintf(b"%d %g %d %lld\n", data) == "1 2.5 3 4\n"


def test_strings_come_from_device_memory():
    data = struct.pack("<QQ", 0x1000, 0)
    assert format_vprintf(b"%s|%5.2s", data, lambda address: b"hello") == "hello|   (n"
    assert format_vprintf(b"[%-7s]", struct.pack("<Q", 1), lambda address: b"hi") == "[hi     ]"


@pytest.mark.parametrize(
    ("pattern", "data", "text"),
    [
        (b"100%%\n\0not printed", b"", "100%\n"),
        (b"%*d", struct.pack("<ii", -4, 7), "7   "),
        (b"%.*f", struct.pack("<i4xd", 2, 1.005), "1.00"),
        (b"%c%c", struct.pack("<ii", 80, 84), "PT"),
        (b"%p", struct.pack("<Q", 0), "(nil)"),
        (b"%hhx %hd", struct.pack("<ii", 0x1FF, -65537), "ff -1"),
        (b"%d %d", struct.pack("<i", 9), "9 0"),
        (b"%", b"", "%"),
    ],
)
def test_single_cases(pattern, data, text):
    assert format_vprintf(pattern, data) == text
