"""What an access costs, counted while a kernel runs, and where its address comes from."""

import numpy as np
import pytest

import ptxsim
from ptxsim.layout import banks
from ptxsim.session.ptxfile.file import Options, run_file
from tests.helpers import SAMPLES, launch, run_text, same_on_both, text_of
from tests.jit.alike import alike

LANE = np.arange(32)
HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"
KERNEL = text_of("checks/column.ptx")


def counted(text, **registers):
    result = ptxsim.snippet(text, registers=registers, shared=np.zeros(8192, np.uint8))
    assert result.findings == []
    return result.banks


@pytest.mark.parametrize(
    "text, stride, wavefronts",
    [
        ("ld.shared.u8 r, [a];", 128, 32),
        ("ld.shared.b64 r, [a];", 8, 2),
        ("ld.shared.v4.b32 {r0,r1,r2,r3}, [a];", 16, 4),
        ("ld.shared.v2.b32 {r0,r1}, [a];", 128, 32),
        ("st.shared.v4.b32 [a], {r,r,r,r};", 128, 32),
        ("@p st.shared.b32 [a], r;", 128, 16),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r0,r1,r2,r3}, [a];", 128, 32),
        ("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {r0,r1}, [a];", 16, 2),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [a], {r};", 128, 8),
        ("atom.shared.add.u32 r, [a], 1;", 0, 32),
        ("red.shared.add.u32 [a], 1;", 8, 2),
        ("atom.shared.cas.b32 r, [a], 0, 1;", 0, 64),
        ("cp.async.ca.shared.global [a], [buffer], 4;\ncp.async.wait_all;", 128, 32),
        ("cp.async.cg.shared.global [a], [buffer], 16;\ncp.async.wait_all;", 16, 0),  # past the pipe
        ("cp.async.cg.shared.global [a], [buffer], 16, 0;\ncp.async.wait_all;", 128, 32),  # but for zeros
    ],
)
def test_every_access_to_shared_memory_is_counted(text, stride, wavefronts):
    registers = {"a": 0x400 + LANE * stride, "p": LANE % 2 == 0}
    buffers = {"buffer": np.zeros(64, np.uint8)}
    result = ptxsim.snippet(text, registers=registers, shared=np.zeros(8192, np.uint8), buffers=buffers)
    (row,) = result.banks.rows
    assert (row.runs, row.wavefronts) == (1, wavefronts)


def test_wmma_counts_the_accesses_it_is_made_of():
    found = counted("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {r0,r1,r2,r3,r4,r5,r6,r7}, [a], 16;", a=0x400)
    assert (found.wavefronts, found.ideal) == (8, 4)  # rows of 32 bytes: eight of them reach twice around the banks


@pytest.mark.slow
def test_many_records_are_counted_alike_by_the_compiled_loops():
    text = "mov.u32 i, 0;\nL:\nld.shared.b32 r, [a];\nld.shared.v2.b32 {s, t}, [b];\nadd.u32 i, i, 1;\nsetp.lt.u32 p, i, 300;\n@p bra L;"
    registers = {"a": 0x400 + LANE * 12, "b": 0x400 + LANE * 16}
    few = ptxsim.snippet(text.replace("300", "3"), registers=registers, shared=np.zeros(1024, np.uint8)).banks
    many = ptxsim.snippet(text, registers=registers, shared=np.zeros(1024, np.uint8), warps=30).banks
    assert [row.wavefronts * 3000 for row in few.rows] == [row.wavefronts for row in many.rows]
    assert [row.worst for row in few.rows] == [row.worst for row in many.rows]


def test_global_requests_sectors_and_lines():
    text = "mul.wide.u32 o, l, 128;\nadd.u64 q, p, o;\nld.global.u32 r, [p];\nld.global.u32 r, [q];\nred.global.add.u32 [p], 1;"
    result = ptxsim.snippet(text, registers={"l": LANE}, buffers={"p": np.zeros(1024, np.uint32)})
    rows = [(row.requests, row.sectors, row.ideal, row.lines) for row in result.banks.global_rows]
    assert rows == [(1, 1, 1, 1), (1, 32, 4, 32), (1, 32, 4, 32)]
    assert "lanes are 128 B apart" in result.banks.global_rows[1].why


def test_global_loops_agree(monkeypatch):
    random = np.random.default_rng(1)
    addresses, masks = random.integers(0, 300, (100, 32)) * 4, random.integers(0, 2**32, 100)
    for atomic in (False, True):
        monkeypatch.setenv("PTXSIM_BODIES", "python")
        plain = banks.global_access(addresses, 4, masks, atomic)
        monkeypatch.setenv("PTXSIM_BODIES", "native")
        assert [c.tolist() for c in banks.global_access(addresses, 4, masks, atomic)] == [c.tolist() for c in plain]


WORDS = ".reg .b32 a, l, t, x, y;\n"


def origin(text, **registers):
    (row,) = counted(WORDS + text, **registers).rows
    return row


def test_the_worst_execution_is_kept():
    row = origin("ld.shared.b32 r, [x];\n", x=0x400 + LANE * 128)
    assert row.addresses == (0x400 + LANE * 128).tolist() and row.mask == 0xFFFFFFFF and row.conflicts == 31


def test_a_fix_says_what_it_does_to_other_accesses():
    """A column and a diagonal: longer rows help the one and cost the other a little; a swizzle helps it less and costs nothing."""
    text = "mad.lo.u32 x, l, 128, a;\nmad.lo.u32 y, l, 132, a;\nld.shared.b32 r, [x];\nld.shared.b32 s, [y];"
    column, diagonal = counted(WORDS + text, l=LANE, a=0x400).rows
    assert column.fixes == [
        "row pitch 132 B -> 1 wavefront instead of 32; line 5 then takes 2 instead of 1",
        "swizzle offset ^ (offset >> 4 & 0x78) -> 2 wavefronts instead of 32",
    ]
    assert diagonal.fixes == []


def test_executions_that_differ_are_told_from_the_worst():
    text = "mov.u32 i, 1;\nL:\nmul.lo.u32 o, i, 64;\nmad.lo.u32 x, l, o, a;\nld.shared.b32 r, [x];\nadd.u32 i, i, 1;\nsetp.lt.u32 p, i, LIMIT;\n@p bra L;"

    def after(limit):
        registers, shared = {"l": LANE, "a": 0x400}, np.zeros(128 * 1024, np.uint8)
        (row,) = ptxsim.snippet(WORDS + text.replace("LIMIT", limit), registers=registers, shared=shared).banks.rows
        return row

    row = after("4")
    assert row.why.startswith("at worst 32 lanes, 128 B apart: all on the same bank") and row.runs == 3
    assert row.fixes[0] == (
        "swizzle offset ^ (offset >> 5 & 0x7c) -> 1 wavefront instead of 32, 4 instead of 64 in all 3 executions"
    )
    many = after("60").fixes
    assert many and all(fix.endswith("in the worst execution") for fix in many)


def test_rows_that_a_bulk_copy_brings_grow_by_16_bytes():
    kernel = KERNEL.replace(
        "    st.shared.u32", "    cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 16;\n    st.shared.u32"
    )
    kernel = kernel.replace("    ld.param.u64 %rd1, [out];\n", "").replace(
        "    mov.u32 %r2, tile;", "    mov.u32 %r2, tile;\n    ld.param.u64 %rd1, [out];"
    )
    (row,) = run_text(kernel, checks="none").run.banks.rows
    assert row.fixes == ["row pitch 144 B -> 4 wavefronts instead of 32"]


@pytest.mark.parametrize("limit", [20, 60])
def test_conflicts_of_random_places_have_no_pattern_to_mend(limit):
    """A histogram: whatever is done to the layout of the bins, other lanes meet, but for bins of their own."""
    text = f"mul.wide.u32 o, l, 4;\nadd.u64 q, p, o;\nmov.u32 i, 0;\nL:\nld.global.u32 t, [q];\nadd.u32 x, t, a;\natom.shared.add.u32 r, [x], 2;\nadd.u64 q, q, 128;\nadd.u32 i, i, 1;\nsetp.lt.u32 c, i, {limit};\n@c bra L;"
    places = (np.random.default_rng(1).integers(0, 256, 60 * 32) * 4).astype(np.uint32)
    result = ptxsim.snippet(
        text, registers={"a": 0x400, "l": LANE}, shared=np.zeros(1024, np.uint8), buffers={"p": places}
    )
    (row,) = result.banks.rows
    assert row.runs == limit and row.excess > row.ideal
    assert row.fixes and all(fix.startswith("32 copies, one a lane, summed later") for fix in row.fixes)


def test_expect_and_asserts_see_the_counts():
    result = run_text(KERNEL)
    assert result.passed and result.run.banks.worst == 32
    failed = run_text(KERNEL.replace("worst == 32", "worst == 1"))
    assert [f.name for f in failed.findings] == ["expectation-failed"]


def test_notes_are_findings_for_those_who_ask():
    assert run_text(KERNEL).findings == []
    asked = run_text(KERNEL, notes=("bank-conflict", "uncoalesced")).findings
    assert [(f.name, f.line, f.level) for f in asked] == [("bank-conflict", 16, "note"), ("uncoalesced", 20, "note")]
    assert asked[0].help.startswith("row pitch 132 B -> 1 wavefront instead of 32")
    expected = KERNEL.replace("expect banks.worst == 32", "expect bank-conflict at 16")
    assert run_text(expected).findings == []


def test_the_json_has_the_contracts_keys():
    found = run_text(KERNEL).run.to_dict()["banks"]
    assert {"line", "instruction", "runs", "wavefronts", "ideal", "worst", "why", "fixes"} <= found["rows"][0].keys()
    assert found["rows"][0]["excess"] == 31
    assert found["global"]["sectors"] == 32 and found["global"]["requests"] == 1


ATOMIC = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 pout, .param .u32 pn)
{
    .shared .align 16 .b8 tile[4096];
    .reg .b32 a, b, r, t, n;
    .reg .b64 o;
    .reg .b16 h;
    ld.param.u64 o, [pout];
    ld.param.u32 n, [pn];
    mov.b16 h, 0;
    mov.u32 t, %tid.x;
    mov.u32 a, tile;
    shr.u32 b, t, 5;
    mad.lo.u32 b, b, 4, a;
    ATOM
    st.global.u32 [o], r;
    ret;
}
"""


@pytest.mark.thin(5)
@pytest.mark.parametrize(
    "text, wavefronts",
    [
        ("red.shared.add.u32 [b], 2;", 32),
        ("red.shared.add.u32 [b], 1;", 1),  # ATOMS.POPC.INC
        ("atom.shared.add.u32 n, [b], 1;", 1),
        ("atom.shared.add.u32 r, [b], 1;", 32),  # the old value is stored
        ("red.shared.add.s32 [b], 1;", 32),
        ("red.shared.inc.u32 [b], 0xffffffff;", 1),
        ("red.shared.inc.u32 [b], 7;", 32),
        ("red.shared.add.u32 [a], 2;", 1),  # one address for the warp: VOTE, POPC, one lane adds
        ("atom.shared.max.s32 n, [tile+8], t;", 1),
        ("atom.shared.max.s32 r, [tile+8], t;", 32),  # only sums are reduced where the old value is needed
        ("atom.shared.exch.b32 r, [a], t;", 32),
        ("atom.shared.cas.b32 r, [a], t, n;", 64),
        ("red.shared.add.f32 [b], 0f3F800000;", 96),  # 32 times LDS and ATOMS.CAST.SPIN
        ("red.shared.max.u64 [a], 1;", 128),
        ("red.shared.xor.b64 [a], 1;", 128),
        ("red.shared.add.noftz.f16x2 [b], t;", 96),
        ("atom.shared.add.noftz.f16 h, [b], h;", 1 + 32 * 33),
        ("atom.shared.cas.b16 h, [b], h, h;", 65),
        ("atom.shared.exch.b64 o, [a], o;", 32),
    ],
)
def test_atomics_as_the_assembler_makes_them(text, wavefronts):
    """What ptxas 13.0 writes for each of these on sm_90a."""
    run = launch(ATOMIC.replace("ATOM", text), [np.zeros(32, np.uint32), 1], banks=True, checks="none")
    assert run.banks.rows[-1].wavefronts == wavefronts


def test_floating_point_atomics_by_generic_addresses_cost_what_they_do_by_shared_ones():
    text = "cvta.shared.u64 g, a;\natom.add.f32 f, [g], f;\natom.shared.add.f32 f, [a], f;\natom.add.f32 f, [p], f;"
    result = ptxsim.snippet(
        ".reg .b64 g, a;\n" + text, registers={"a": 0x400 + LANE // 2 * 4}, shared=np.zeros(64, np.float32),
        buffers={"p": np.zeros(1, np.float32)},
    )  # fmt: skip
    assert [(row.line, row.kind, row.wavefronts, row.conflicts) for row in result.banks.rows] == [
        (3, "spin", 6, 0), (4, "spin", 6, 0),
    ]  # fmt: skip
    assert [row.kind for row in result.banks.global_rows] == ["atom"]


def test_mbarriers_do_not_pass_through_the_pipe():
    found = counted(
        "setp.eq.u32 q, l, 0;\n@q mbarrier.init.shared.b64 [a], 1;\n@q mbarrier.inval.shared.b64 [a];", l=LANE, a=0x400
    )
    assert found.rows == [] and found.worst == 1


def test_a_copy_of_parts_of_elements_is_one_request(engine):
    text = "cp.async.cg.shared.global [a], [q], 16, n;\ncp.async.wait_all;"
    result = ptxsim.snippet(
        "mul.wide.u32 o, l, 16;\nadd.u64 q, p, o;\n" + text, registers={"l": LANE, "a": 0x400 + LANE * 16, "n": LANE % 4 * 4},
        shared=np.zeros(512, np.uint8), buffers={"p": np.zeros(512, np.uint8)}, engine=engine,
    )  # fmt: skip
    (row,) = result.banks.global_rows
    assert (row.requests, row.sectors, row.lines) == (1, 16, 4)


@pytest.mark.slow
def test_counting_lets_asynchronous_products_run_natively(monkeypatch):
    """Fences and what products read concern checks of proxies alone; the products themselves are counted all the same."""
    from ptxsim.machine.event import Event, EventStream

    emitted = []
    emit = EventStream.emit
    monkeypatch.setattr(
        EventStream, "emit", lambda self, *args, **more: (emitted.append(args[3]), emit(self, *args, **more))
    )
    sample = SAMPLES / "wgmma_m64n64k16.ptx"

    def counts(engine):
        emitted.clear()
        run = run_file(sample, options=Options(engine=engine, banks=True, checks="none")).run
        return [(row.line, row.kind, row.runs, row.wavefronts) for row in run.banks.rows]

    assert "wgmma" in {kind for _, kind, *_ in same_on_both(counts)}
    assert not {Event.MMA, Event.FENCE, Event.ASYNC_READ} & set(emitted)


@pytest.mark.slow
def test_both_forms_of_counting_agree():
    """In Python and compiled, on random records of every kind."""
    from ptxsim.checks.banks.counter import _CODES
    from ptxsim.checks.banks.tally import _KINDS, DIFFERENT, Tallies, tally
    from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_MORE, RECORD, Event, Space

    random = np.random.default_rng(7)
    forms = [
        (site, event, space, width)
        for site, (event, space, width) in enumerate(
            (event, space, width)
            for event in _KINDS
            for space in (Space.SHARED, Space.GLOBAL)
            for width in ((16,) if "MATRIX" in event.name else (1, 4, 8, 16))
            if (space == Space.SHARED or "MATRIX" not in event.name) and (width > 1 or event != Event.ASYNC_ISSUE)
        )
    ]
    records = np.zeros(40 * len(forms), RECORD)
    for at, form in enumerate(forms * 40):
        record = records[at]
        record["site"], record["event"], record["space"], record["width"] = form
        steps = random.choice([np.arange(32), np.arange(32) // 2, random.integers(0, 40, 32), np.arange(32) * 8])
        steps = np.arange(32) * 8 if form[0] % 2 else steps + 32 * random.integers(0, 2)
        record["addresses"] = 1024 + steps * form[3]
        record["mask"] = random.choice([0xFFFFFFFF, 0x1, random.integers(1, 2**32) if form[0] % 3 else 0xFF])
        record["cta"], record["warp"] = random.integers(0, 3), random.integers(0, 4)
        record["flags"] = random.choice([0, FLAG_ASYNC_PROXY]) if form[1] == Event.ASYNC_ISSUE else 0
        if form == forms[6] and at > 200:  # the rest of the lanes of a load, which read less
            records[at - 1] = record
            records["flags"][at], records["width"][at] = FLAG_MORE, 5
            records["mask"][at] = ~record["mask"]
    lowered = {17: "count", 18: "leader", 33: "spin", 34: "half", 35: "swap", 25: "elsewhere", 7: "copy", 5: "bypass"}
    state = Tallies.of(len(forms), {site: _CODES[how] for site, how in lowered.items()})
    _, (_, _, state) = alike(tally, records, 0, state)
    shared, outer = np.count_nonzero(state.sums["runs"], axis=1)
    assert shared + outer == len(forms) - 4  # copies are counted in shared memory only, one form nowhere
    assert 0 < np.count_nonzero(state.sites["different"] > DIFFERENT) < len(forms)


@pytest.mark.parametrize("form", ["python", "native"])
def test_the_best_fix_is_shown_on_the_execution_that_is_shown(monkeypatch, form):
    monkeypatch.setenv("PTXSIM_BODIES", form)
    columns = "and.b32 n, t, 31;\n    mad.lo.u32 b, n, 128, b;\n    st.shared.u32 [b], t;"
    arguments = [np.zeros(32, np.uint32), 1]
    run = launch(ATOMIC.replace("ATOM", columns), arguments, block=128, banks=True, checks="none")
    (row,) = [row for row in run.banks.rows if row.fixed]
    moved = np.array(row.fixed[1]) - row.addresses[0]
    assert row.fixed[0] == "row pitch 132 B" and moved[0] == 0 and len(set(moved // 4 % 32)) == 32


@pytest.mark.parametrize("form", ["python", "native"])
def test_what_bypasses_the_pipe_conflicts_with_nothing(monkeypatch, form):
    monkeypatch.setenv("PTXSIM_BODIES", form)
    text = "cp.async.cg.shared.global [a], [buffer], 16;\ncp.async.wait_all;"
    buffers = {"buffer": np.zeros(64, np.uint8)}
    found = ptxsim.snippet(
        text, registers={"a": 0x400 + LANE * 128}, shared=np.zeros(4096, np.uint8), buffers=buffers
    ).banks
    assert (found.worst, found.rows[0].worst, found.rows[0].why) == (1, 1, "past the load-store pipe")
