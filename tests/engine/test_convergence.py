"""What lanes must execute together: every collective where some lanes are elsewhere, and where that is allowed."""

import pytest

from tests.helpers import ENGINES, launch, names

HEAD = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k()
{
    .reg .pred %p, %q, %v;
    .reg .b32 %t, %n, %x, %y, %s, %h<9>;
    .reg .f32 %f<9>;
    .reg .b64 %d;
    .shared .align 128 .b8 tile[2048];
    mov.u32 %t, %tid.x;
    mov.u32 %n, %t;
    mov.u32 %s, tile;
    mov.u32 %x, 0;
    mov.f32 %f0, 0f00000000;
    mov.pred %v, 1;
"""
H, F = ("{" + ", ".join(f"%{name}{n}" for n in range(1, 9)) + "}" for name in "hf")
# Which need all 32 lanes, which count those that have not exited, which those that a mask names.
WHOLE = {
    "mma": "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%x, %x}, {%x}, {%f0, %f0, %f0, %f0};",
    "ldmatrix": "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%y}, [%s];",
    "stmatrix": "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%s], {%x};",
    "movmatrix": "movmatrix.sync.aligned.m8n8.trans.b16 %y, %x;",
    "wmma.load": f"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {H}, [%s];",
    "wmma.store": f"wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%s], {F};",
    "wgmma.fence": "wgmma.fence.sync.aligned;",
}
COUNTED = {
    "bar.sync": "bar.sync 0;", "bar.red": "bar.red.popc.u32 %y, 0, %v;", "bar.arrive": "bar.arrive 1, 32;",
    "barrier.aligned": "barrier.sync.aligned 0;", "cluster": "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
}  # fmt: skip
NAMED = {
    "shfl": "shfl.sync.bfly.b32 %y, %x, 0, 31, {};", "vote": "vote.sync.any.pred %q, %v, {};",
    "ballot": "vote.sync.ballot.b32 %y, %v, {};", "match.any": "match.any.sync.b32 %y, %x, {};",
    "match.all": "match.all.sync.b32 %y|%q, %x, {};", "redux": "redux.sync.add.u32 %y, %x, {};",
    "elect": "elect.sync %y|%q, {};", "bar.warp": "bar.warp.sync {};",
}  # fmt: skip
FREE = {"barrier": "barrier.sync 0;", "activemask": "activemask.b32 %y;"}
COLLECTIVES = {**WHOLE, **COUNTED, **{name: text.format("0xffffffff") for name, text in NAMED.items()}, **FREE}

WORK = "add.u32 %x, %y, %t; "
LOW = "setp.lt.u32 %p, %t, 16; "
# Programs around a collective, and what is wrong with those that need all lanes, count those that are left, name all.
SHAPES = {
    "together": ("{}" + WORK, None, None, None),
    "branched around": (LOW + "@!%p bra L; {} L: " + WORK, "divergent-aligned", "divergent-aligned", "member-mask"),
    "guarded": (LOW + "@%p {}" + WORK, "divergent-aligned", "divergent-aligned", "member-mask"),
    "loop left earlier": (
        "L: {} sub.u32 %n, %n, 1; setp.gt.s32 %p, %n, 0; @%p bra L; " + WORK,
        "divergent-aligned", "divergent-aligned", "member-mask",
    ),
    "both ways": (LOW + "@%p bra L; {} bra M; L: {} M: " + WORK, "divergent-aligned", "divergent-aligned", "member-mask"),
    "joined": (LOW + "@%p bra M; L: sub.u32 %n, %n, 1; setp.gt.s32 %p, %n, 0; @%p bra L; M: {}" + WORK, None, None, None),
    "exited": (LOW + "@!%p exit; {}" + WORK, "exited-lane", None, None),
    "exited later": (LOW + "@!%p bra L; {}" + WORK + "ret; L: " + WORK, "exited-lane", None, None),
    "jumped to the end": (LOW + "@!%p bra L; {}" + WORK + "L:", "exited-lane", None, None),
}  # fmt: skip
CASES = [
    (name, shape, engine)
    for name in COLLECTIVES
    for shape in SHAPES
    for engine in ENGINES
    if engine == "interpreter" or (name, shape) in {("mma", "exited"), ("bar.sync", "both ways"), ("redux", "guarded")}
]


def expected(name: str, shape: str) -> list[str]:
    if name == "bar.warp":  # nobody notices what lanes that miss it compute before they exit
        return []  # since sm_70 the lanes of a mask meet at barriers of the warp in two arms
    kinds = (WHOLE, COUNTED, NAMED)
    problem = next((found for kind, found in zip(kinds, SHAPES[shape][1:]) if name in kind), None)
    return [problem] if problem else []


def outcome(body: str, engine: str, block: int = 32) -> list[str]:
    run = launch(HEAD + body + "\nret; }", block=block, engine=engine, checks="memory", banks=False)
    return names(run.findings)


@pytest.mark.thin(9)
@pytest.mark.parametrize(("name", "shape", "engine"), CASES)
def test_collectives_where_lanes_take_ways_of_their_own(name, shape, engine):
    text = COLLECTIVES[name]
    if "@%p {}" in SHAPES[shape][0]:
        text = text.replace("; barrier", "; @%p barrier")
    assert outcome(SHAPES[shape][0].replace("{}", text), engine) == expected(name, shape)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shape", ["branched around", "guarded", "loop left earlier"])
def test_a_barrier_of_the_warp_is_missed_by_lanes_whose_work_others_notice(shape, engine):
    seen = SHAPES[shape][0].replace(WORK, WORK + "st.shared.u32 [%s], %x; ")
    assert outcome(seen.replace("{}", COLLECTIVES["bar.warp"]), engine) == ["member-mask"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_warp_with_fewer_threads_meets_at_barriers_and_by_masks(engine):
    body = " ".join([*COUNTED.values(), *(COLLECTIVES[name] for name in (*NAMED, *FREE))])
    assert outcome(body, engine, block=52) == []
    assert outcome(WHOLE["ldmatrix"], engine, block=52) == ["exited-lane"]


@pytest.mark.parametrize("engine", ENGINES)
def test_masks_of_their_own_on_both_ways(engine):
    low, high = (" ".join(text.format(mask) for text in NAMED.values()) for mask in ("0xffff", "0xffff0000"))
    assert outcome(LOW + f"@%p bra L; {high} bra M; L: {low} M: " + WORK, engine) == []
