"""What a kernel prints: vprintf's format string and argument buffer as text. CUDA C++ Programming Guide, "Formatted Output"."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any

_CONVERSION = re.compile(
    rb"%(?P<flags>[-+ #0]*)(?P<width>\*|\d*)(?P<point>\.(?P<precision>\*|\d*))?(?P<length>hh|h|ll|l|z|j|t|L)?(?P<kind>[a-zA-Z%])"
)
_LONG = (b"l", b"ll", b"z", b"j", b"t")
_NARROW = {b"hh": 8, b"h": 16}


class _Arguments:
    """The buffer a kernel passes: 4-byte numbers, and doubles, 64-bit integers and pointers at multiples of 8."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def take(self, size: int, code: str) -> Any:
        self.at = -(-self.at // size) * size
        piece = self.data[self.at : self.at + size]
        self.at += size
        return struct.unpack(f"<{code}", piece.ljust(size, b"\0"))[0]


def format_vprintf(pattern: bytes, arguments: bytes, read_string: Callable[[int], bytes] | None = None) -> str:
    """The text of `vprintf(pattern, arguments)`: what follows a NUL in the pattern is ignored, missing arguments are zeros.

    `read_string` gives the string a device pointer points to, for %s; without it %s prints the pointer.
    """
    buffer = _Arguments(bytes(arguments))

    def convert(match: re.Match[bytes]) -> bytes:
        kind = match["kind"]
        if kind == b"%":
            return b"%"
        flags, precision = match["flags"].decode(), None
        width = _number(match["width"], buffer) or 0
        if width < 0:
            flags, width = flags + "-", -width
        if match["point"]:
            precision = max(_number(match["precision"], buffer) or 0, -1)
            precision = None if precision < 0 else precision
        if kind in b"diouxX":
            text = _integer(kind.decode(), flags, precision, width, match["length"], buffer)
        elif kind in b"eEfFgGaA":
            text = _floating(kind.decode(), flags, precision, width, buffer.take(8, "d"))
        elif kind == b"c":
            return _pad(bytes([buffer.take(4, "i") & 0xFF]), flags, width)
        elif kind == b"p":
            address = buffer.take(8, "Q")
            text = f"{address:#x}" if address else "(nil)"
        elif kind == b"s":
            address = buffer.take(8, "Q")
            found = b"(null)" if not address else read_string(address) if read_string else f"{address:#x}".encode()
            return _pad(found[:precision], flags, width)
        else:
            return match[0]
        return _pad(text.encode(), flags, width)

    return _CONVERSION.sub(convert, pattern.partition(b"\0")[0]).decode("utf-8", "replace")


def _number(text: bytes | None, buffer: _Arguments) -> int | None:
    if text == b"*":
        return int(buffer.take(4, "i"))
    return int(text) if text else None


def _pad(text: bytes, flags: str, width: int) -> bytes:
    return text.ljust(width) if "-" in flags else text.rjust(width)


def _sign(negative: bool, flags: str) -> str:
    return "-" if negative else "+" if "+" in flags else " " if " " in flags else ""


def _zeros(sign: str, digits: str, flags: str, width: int) -> str:
    """Sign, then zeros up to the width where the flags ask for them, then digits."""
    if "0" in flags and "-" not in flags:
        digits = digits.rjust(width - len(sign), "0")
    return sign + digits


def _integer(
    kind: str, flags: str, precision: int | None, width: int, length: bytes | None, buffer: _Arguments
) -> str:  # fmt: skip
    bits = 64 if length in _LONG else 32
    value = buffer.take(bits // 8, "Q" if bits == 64 else "I")
    bits = _NARROW.get(length or b"", bits)
    value &= (1 << bits) - 1
    signed = kind in "di"
    if signed and value >> (bits - 1):
        value -= 1 << bits
    digits = format(abs(value), {"o": "o", "x": "x", "X": "X"}.get(kind, "d"))
    if precision is not None:
        digits = digits.rjust(precision, "0") if value or precision else ""
        flags = flags.replace("0", "")
    prefix = _sign(value < 0, flags) if signed else ""
    if "#" in flags and kind == "o" and not digits.startswith("0"):
        digits = "0" + digits
    if "#" in flags and kind in "xX" and value:
        prefix += "0" + kind
    return _zeros(prefix, digits, flags, width)


def _floating(kind: str, flags: str, precision: int | None, width: int, value: float) -> str:
    negative = struct.pack(">d", value)[0] >> 7 == 1
    magnitude = abs(value)
    if magnitude != magnitude or magnitude == float("inf"):
        digits = "nan" if magnitude != magnitude else "inf"
        return _sign(negative, flags) + (digits.upper() if kind.isupper() else digits)
    if kind in "aA":
        digits = _hexadecimal(magnitude, precision, "#" in flags)
        digits = digits.upper() if kind == "A" else digits
        return _zeros(_sign(negative, flags) + digits[:2], digits[2:], flags, width)
    alternate = "#" if "#" in flags else ""
    digits = f"%{alternate}.{6 if precision is None else precision}{kind}" % magnitude
    return _zeros(_sign(negative, flags), digits, flags, width)


def _hexadecimal(value: float, precision: int | None, point: bool) -> str:
    """A finite magnitude as 0x1.8p+1, with the digits it needs or as many as asked for."""
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    exponent, fraction = bits >> 52, bits & ((1 << 52) - 1)
    lead, power = (1, exponent - 1023) if exponent else (0, -1022 if fraction else 0)
    if precision is not None and precision < 13:
        drop = 52 - 4 * precision
        whole = (lead << 52) | fraction
        kept, rest, half = whole >> drop, whole & ((1 << drop) - 1), 1 << (drop - 1)
        kept += rest > half or (rest == half and kept & 1)
        lead, fraction = kept >> (4 * precision), kept & ((1 << (4 * precision)) - 1)
        digits = f"{fraction:0{precision}x}" if precision else ""
    else:
        digits = f"{fraction:013x}".rstrip("0") if precision is None else f"{fraction:013x}".ljust(precision, "0")
    return f"0x{lead}{'.' if digits or point else ''}{digits}p{power:+d}"
