"""What is known of a text is used again: in the process, and on disk by the next one, without a difference to be seen."""

import io
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from ptxsim.diagnostic import PtxError
from ptxsim.jit.store import ObjectStore
from ptxsim.machine.memory import FIRST
from ptxsim.session import cache
from ptxsim.session.device import Device
from ptxsim.session.module import Module

TEXT = """
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 table[4] = {3, 1, 4, 1};
.extern .shared .align 16 .b8 more[];
.visible .entry other(.param .u64 data) { ret; }
.visible .entry k(.param .u64 data, .param .u32 n) .reqntid 64
{
    .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p;
    .shared .align 4 .b8 tile[256];
    ld.param.u64 %d0, [data];
    ld.param.u32 %r5, [n];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %d1, %r0, 4;
    add.u64 %d0, %d0, %d1;
    and.b32 %r1, %r0, 3;
    mul.wide.u32 %d1, %r1, 4;
    mov.u64 %d2, table;
    add.u64 %d2, %d2, %d1;
    ld.global.u32 %r2, [%d2];
    setp.lt.u32 %p, %r0, 5;
    @%p mad.lo.u32 %r2, %r2, %r5, %r0;
    shl.b32 %r3, %r0, 2;
    mov.u32 %r4, tile;
    add.u32 %r3, %r3, %r4;
    st.shared.u32 [%r3], %r2;
    bar.sync 0;
    xor.b32 %r3, %r3, 64;
    ld.shared.u32 %r2, [%r3];
    FAULT
    st.global.u32 [%d0], %r2;
    ret;
}
"""
LONG = TEXT + "// a comment\n" * 1000


@pytest.fixture
def disk(tmp_path, monkeypatch):
    """Forgets all texts when called; returns how often a text has been parsed since."""
    store, parsed, real = ObjectStore(tmp_path), [], cache.parse
    monkeypatch.setattr(cache, "_store", lambda: store)
    monkeypatch.setattr(cache, "parse", lambda source: parsed.append(source) or real(source))

    def forget() -> list:
        cache._KNOWN.clear()
        parsed.clear()
        return parsed

    forget()
    yield forget
    cache._KNOWN.clear()


def launch(text: str, file: str = "file.ptx", **options):
    module, data = Module.from_text(text, file), np.zeros(64, np.uint32)
    run = module.kernel("k").launch(1, 64, [data, 5], shared_mem=32, on_error="report", **options)
    said = [(f.name, f.line, f.column, f.message, f.file, f.cta, f.warp, f.lane) for f in run.findings]
    banks = run.banks.to_dict() if options.get("banks") else None
    return data.tolist(), run.warp_instructions, said, run.fidelity, banks, run.entry, run.file


def test_a_text_is_parsed_and_decoded_once(disk):
    text = TEXT.replace("FAULT", "")
    parsed = disk()
    first = launch(text, "one.ptx")
    module = Module.from_text(text, "two.ptx")
    assert len(parsed) == 1
    assert module.kernel("k").program() is Module.from_text(text).kernel("k").program()
    assert launch(text, "one.ptx") == first
    assert launch(text, "two.ptx")[-1] == "two.ptx"


def test_modules_of_one_text_keep_their_own_variables():
    one, other = (Module.from_text(TEXT.replace("FAULT", "")) for _ in range(2))
    one.symbol("table")[:] = 9
    assert other.symbol("table").tolist() == [3, 1, 4, 1]


def test_mistakes_are_reported_every_time():
    for name in ("one.ptx", "two.ptx"):
        with pytest.raises(PtxError) as reported:
            Module.from_text(TEXT.replace("FAULT", "st.global.u32 [%d0] %r2"), name)
        assert reported.value.findings[0].file == name
        module = Module.from_text(TEXT.replace("FAULT", "add.q32 %r1, %r1, 1;"), name)
        with pytest.raises(PtxError) as reported:
            module.kernel("k").launch(1, 64, [np.zeros(64, np.uint32), 5])
        assert reported.value.findings[0].file == name


@pytest.mark.thin(5)
@pytest.mark.parametrize("fault", ["", "ld.global.u32 %r2, [%d0+3];", "@%p bra L; add.u32 %r2, %r2, 1; L:"])
@pytest.mark.parametrize(
    "options",
    [{}, {"engine": "interpreter"}, {"checks": "all", "banks": True}, {"banks": True, "seed": 3}, {"target": "sm_90"}],
    ids=str,
)
def test_what_lies_on_disk_makes_no_difference(disk, fault, options):
    text = LONG.replace("FAULT", fault)
    expected = launch(text, **options)
    launch(text, engine="compiled", **({"target": options["target"]} if "target" in options else {}))
    parsed = disk()
    assert launch(text, **options) == expected
    assert not parsed, "operations are read from the disk too"
    module = Module.from_text(text)
    assert module.entries == ["other", "k"]
    assert [p.name for p in module.kernel("k").parameters] == ["data", "n"]
    assert module.symbol("table").tolist() == [3, 1, 4, 1]
    assert len(module.ast.entries()[1].body) > 20


@pytest.mark.parametrize("before", [1, 4096])
def test_a_module_that_a_device_has_loaded_is_read_from_disk_too(disk, before):
    """Its variables, those of bodies too, lie where the device has room, which native code knows."""
    text = LONG.replace("FAULT", ".global .u32 count; atom.global.add.u32 %r3, [count], 1; add.u32 %r2, %r2, %r3;")

    def on_a_device() -> list[int]:
        device = Device("sm_80")
        device.malloc(before)
        data = device.array(np.zeros(64, np.uint32))
        kernel = Module.from_text(text).kernel("k")
        for _ in range(2):
            device.launch(kernel, 1, 64, [data, 5], shared_mem=32, engine="compiled")
        return data.tolist()

    expected = on_a_device()
    parsed = disk()
    assert on_a_device() == expected
    assert not parsed


def test_short_texts_are_not_written(disk, tmp_path):
    launch(TEXT.replace("FAULT", ""), engine="compiled")
    assert not list((tmp_path / "objects").iterdir())


def test_a_damaged_file_is_read_again(disk, tmp_path):
    text = LONG.replace("FAULT", "")
    expected = launch(text, engine="compiled")
    for path in (tmp_path / "objects").iterdir():
        path.write_bytes(path.read_bytes()[:-9])
    parsed = disk()
    assert launch(text, engine="compiled") == expected
    assert len(parsed) == 1


class Evil:
    def __reduce__(self):
        return print, ("executed",)


@pytest.mark.parametrize(
    "value", [Evil(), [Evil()], {"name": np.dtype("u4")}, io.StringIO], ids=["call", "call in a list", "dtype", "class"]
)
def test_files_make_plain_values_only(disk, capsys, value):
    text = LONG.replace("FAULT", "")
    for parts in (("outline", text), ("program", text, "k", "sm_80", str(FIRST), "None")):
        cache._store().put(cache._key(*parts), pickle.dumps(value))
    parsed = disk()
    assert launch(text)[0][0] == 3
    assert len(parsed) == 1
    assert "executed" not in capsys.readouterr().out


def test_operations_that_are_no_plain_values_are_decoded_again(disk, capsys):
    text = LONG.replace("FAULT", "")
    expected = launch(text, engine="compiled")
    place = cache._key("operations", text, "k", "sm_80", str(FIRST), "None")
    assert cache._store().get(place) is not None
    cache._store().put(place, pickle.dumps(Evil()))
    parsed = disk()
    assert launch(text, engine="interpreter")[0] == expected[0]
    assert len(parsed) == 1
    assert "executed" not in capsys.readouterr().out


TABLE = """
.version 8.0
.target sm_80
.address_size 64
.func one(.param .b64 p) { ret; }
.func two(.param .b64 p) { ret; }
.func three(.param .b64 p) { ret; }
.func four(.param .b64 p) { ret; }
.global .align 8 .u64 table[4] = {one, two, three, four};
.visible .entry k() { ret; }
"""
ORDER = """
import ptxsim
program = ptxsim.Module.from_text('''TABLE''').kernel().code("sm_80").decoded.program
print(*program.functions)
"""


@pytest.mark.slow
def test_programs_are_the_same_in_every_process():
    """What one process remembers of a program holds in another, whose hashes of strings differ."""
    text = ORDER.replace("TABLE", TABLE)
    shown = {
        subprocess.run(
            [sys.executable, "-c", text], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in "123"
    }  # fmt: skip
    assert shown == {"k four three two one\n"}
