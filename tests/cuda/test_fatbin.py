"""PTX in fat binaries: as nvcc 13.0 has written them, compressed or not, and as damaged ones."""

import struct
from pathlib import Path

import pytest

from ptxsim.cuda import fatbin
from ptxsim.cuda.fatbin import MAGIC, images, ptx_of
from ptxsim.cuda.files import read_file
from ptxsim.diagnostic import PtxError

DATA = Path(__file__).parent / "data"
TEXT = b".version 8.0\n.target sm_90\n.entry k() { ret; }\n\0"


def entry(payload, kind=1, arch=90, flags=0, packed=0, length=0):
    head = struct.pack("<HHIQIIIIQQQQ", kind, 0x101, 80, len(payload), packed, 0, 0, arch, 0, flags, 0, length)
    return head.ljust(80, b"\0") + payload


def binary(*entries):
    body = b"".join(entries)
    return MAGIC + struct.pack("<HHQ", 1, 16, len(body)) + body


def test_what_nvcc_has_written():
    pytest.importorskip("zstandard")
    found = images((DATA / "fill.fatbin").read_bytes())
    assert [(image.kind, image.arch) for image in found] == [("ptx", 80), ("ptx", 90)]
    assert all(".visible .entry _Z4fillPi(" in image.text for image in found)
    (newest,) = ptx_of((DATA / "fill.fatbin").read_bytes())
    assert ".target sm_90" in newest
    (older,) = ptx_of((DATA / "fill.fatbin").read_bytes(), 86)
    assert ".target sm_80" in older


def test_what_is_not_compressed():
    (text,) = ptx_of((DATA / "plain.fatbin").read_bytes())
    assert ".target sm_80" in text and not text.endswith("\0")


def test_lz4():
    block = pytest.importorskip("lz4.block")
    packed = block.compress(TEXT, store_size=False)
    data = binary(entry(packed + b"\0" * 5, flags=0x2000, packed=len(packed), length=len(TEXT)))
    assert ptx_of(data) == [TEXT[:-1].decode()]


def test_fat_binaries_anywhere_in_a_file():
    data = (
        b"\x7fELF"
        + b"x" * 50
        + binary(entry(b"code", kind=2), entry(TEXT))
        + MAGIC
        + b"junk"
        + binary(entry(TEXT, arch=80))
    )
    assert [(image.kind, image.arch, image.binary) for image in images(data)] == [
        ("elf", 90, 0),
        ("ptx", 90, 0),
        ("ptx", 80, 1),
    ]
    assert len(ptx_of(data)) == 2


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"nothing", "no CUDA code"),
        (binary(entry(b"code", kind=2)), "machine code for sm_90 only"),
        (b"\x7fELF" + b"\0" * 14 + b"\xbe\0", "a cubin"),
        (binary(entry(TEXT)), "for sm_90 and newer"),
        (binary(entry(b"junk", flags=0x8000, packed=4, length=1 << 40)), "damaged"),
        (binary(entry(TEXT)[:40] + b"\xff" * 60), "damaged"),
    ],
)
def test_files_without_ptx_that_fits(data, words):
    with pytest.raises(PtxError, match=words):
        ptx_of(data, 80)


def test_a_file_without_code_is_named(tmp_path):
    file = tmp_path / "program"
    file.write_bytes(b"\x7fELF" + bytes(60))
    with pytest.raises(PtxError, match="program: it holds no CUDA code"):
        read_file(file)


def test_a_package_that_is_missing(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(fatbin, "import_module", missing)
    with pytest.raises(PtxError, match="zstandard") as caught:
        images((DATA / "fill.fatbin").read_bytes())
    assert caught.value.findings[0].help == 'pip install "ptxsim[cuda]"'
