"""What is told of an element that a program asks about: who stored it, from what, and what was left out."""

import numpy as np
import pytest

import ptxsim
from ptxsim.diagnostic import PtxError
from ptxsim.programs.collector import Collector
from ptxsim.programs.records import remarks
from ptxsim.programs.wanted import Wanted
from ptxsim.programs.why import parse_question
from ptxsim.session.options import LaunchOptions
from ptxsim.session.views import written

HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 out, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %i, %j, %n, %k;
    .reg .f32 %x, %y, %sum;
    .reg .b64 %a, %b, %out, %at;
    ld.param.u64 %a, [a];
    ld.param.u64 %b, [b];
    ld.param.u64 %out, [out];
    ld.param.u32 %n, [n];
    mov.u32 %i, %tid.x;
    mov.u32 %j, %ctaid.x;
    mad.lo.u32 %i, %j, 32, %i;
    mul.wide.u32 %at, %i, 4;
    add.u64 %out, %out, %at;
"""
TAIL = "    ret;\n}\n"
LOAD = "    mul.wide.u32 %at, {index}, 4;\n    add.u64 %at, {array}, %at;\n    {guard}ld.global.f32 {into}, [%at];\n"
STORE = "    st.global.f32 [%out], %sum;\n"


def load(index, array="%a", into="%x", guard=""):
    return LOAD.format(index=index, array=array, into=into, guard=guard)


def ask(body, *questions, engine, n=4, a=None, b=None, launches=1):
    """What is said of a launch of two blocks of a warp, on arrays of 64 floats."""
    said = []
    collector = Collector(Wanted(why=questions, engine=engine), keep=True)
    collector.answers.say = said.append
    device = ptxsim.Device("sm_90")
    kernel = device.module(ptxsim.Module.from_text(HEAD + body + TAIL)).kernel()
    kernel.written = {name: name for name in ("a", "b", "out", "n")}
    zeros = np.zeros(64, np.float32)
    arrays = [device.array(zeros if given is None else np.asarray(given, np.float32)) for given in (a, b, None)]
    args = [*(device.pointer(one).to_bytes(8, "little") for one in arrays), n.to_bytes(4, "little")]
    for _ in range(launches):
        collector.launch(kernel, args, LaunchOptions(grid=2, block=32))
    return said


@pytest.fixture(params=["interpreter", "compiled"])
def engine(request):
    return request.param


def test_of_one_element_that_several_lines_load_the_threads_own_is_told(engine):
    """out[i] = a[i] + a[i + 1], by two loads."""
    body = (
        load("%i")
        + "    add.u32 %k, %i, 1;\n    and.b32 %k, %k, 63;\n    ld.param.u64 %a, [a];\n"
        + load("%k", into="%y")
    )
    (said,) = ask(body + "    add.f32 %sum, %x, %y;\n" + STORE, "out[4]", engine=engine)
    assert "depends on a[4], 1 of the 32" in said and "depends on a[5], 1 of the 32" in said
    assert "a[4:6]" not in said


def test_a_wrong_index_shows_in_what_the_element_depends_on(engine):
    body = "    mul.lo.u32 %k, %i, 2;\n    and.b32 %k, %k, 63;\n" + load("%k") + "    mov.f32 %sum, %x;\n" + STORE
    (said,) = ask(body, "out[37]", engine=engine, a=np.arange(64))
    assert said.splitlines()[0] == "out[37] is 10 after k, launch 0; it was 0 before"
    assert "block (1,0,0) thread (5,0,0)" in said and "st.global.f32 [%out], %sum;" in said
    assert "depends on a[10], 1 of the 32 elements that the block loads at line" in said
    assert "arguments: n = 4" in said


def test_a_sum_that_is_not_one_depends_on_its_last_part(engine):
    """b[i] + a[i], then the sum is begun anew: `=` for `+=`."""
    body = load("%i", "%b") + "    mov.f32 %sum, %x;\n" + load("%i") + "    mov.f32 %sum, %x;\n" + STORE
    (said,) = ask(body, "out[3]", engine=engine, a=np.arange(64), b=np.arange(64))
    assert "depends on a[3]," in said
    assert "does not depend on b[0:32], loaded at line" in said


def test_what_is_multiplied_by_zero_is_seen(engine):
    body = load("%i") + load("%i", "%b", "%y") + "    mul.f32 %sum, %x, %y;\n" + STORE
    (said,) = ask(body, "out[0]", engine=engine)
    assert "depends on a[0]" in said and "depends on b[0]" in said


def test_ranges_and_steps(engine):
    """The sum of every eighth element of a, by a loop."""
    body = (
        "    mov.f32 %sum, 0f00000000;\n    mov.u32 %k, 3;\nLOOP:\n" + load("%k") + "    add.f32 %sum, %sum, %x;\n"
        "    add.u32 %k, %k, 8;\n    setp.lt.u32 %p, %k, 64;\n    @%p bra LOOP;\n" + STORE
    )  # fmt: skip
    (said,) = ask(body, "out[0]", engine=engine, a=np.ones(64))
    assert "depends on a[3:60:8], all that the block loads" in said


@pytest.mark.slow
def test_a_part_that_is_left_out_between_others(engine):
    """The sum of a, without elements 24 to 31."""
    body = (
        "    mov.f32 %sum, 0f00000000;\n    mov.u32 %k, 0;\nLOOP:\n" + load("%k") + "    and.b32 %j, %k, 56;\n"
        "    setp.ne.u32 %p, %j, 24;\n    @%p add.f32 %sum, %sum, %x;\n"
        "    add.u32 %k, %k, 1;\n    setp.lt.u32 %p, %k, 64;\n    @%p bra LOOP;\n" + STORE
    )  # fmt: skip
    (said,) = ask(body, "out[0]", engine=engine, a=np.ones(64))
    assert "depends on a[0:24], a[32:64], 56 of the 64 elements" in said


def test_what_no_thread_stores(engine):
    body = "    mov.f32 %sum, 0f3F800000;\n    setp.lt.u32 %p, %i, 50;\n    @%p st.global.f32 [%out], %sum;\n"
    (said,) = ask(body, "out[50]", engine=engine)
    assert "no thread of this launch stores to it; stored is out[0:50]" in said


def test_lanes_that_a_mask_leaves_out(engine):
    """The maximum of what a warp loads by a mask: 0 stands for what is left out."""
    body = (
        "    setp.lt.u32 %p, %i, %n;\n    mov.f32 %x, 0f00000000;\n"
        + "    mul.wide.u32 %at, %i, 4;\n    add.u64 %at, %a, %at;\n"
    )
    masked = "    mov.f32 %x, 0f00000000;\n    @%p ld.global.f32 %x, [%at];\n"
    body += masked + "    mov.b32 %k, %x;\n    redux.sync.max.u32 %k, %k, 0xffffffff;\n    mov.b32 %sum, %k;\n" + STORE
    (said,) = ask(body, "out[2]", engine=engine, n=20, a=np.arange(64) + 1)
    assert "depends on lanes that the mask at line" in said and "which hold 0 " in said
    (said,) = ask(body, "out[2]", engine=engine, n=32, a=np.arange(64) + 1)
    assert "lanes that the mask" not in said
    assert "depends on a[0:32], all that the block loads" in said


def test_the_values_on_the_way(engine):
    """Each lane doubles a[i], gives it to the next lane through shared memory, and adds 1."""
    body = (
        "    .shared .b32 tile[32];\n    .reg .b32 %s;\n" + load("%i") + "    add.f32 %y, %x, %x;\n    mov.u32 %k, %tid.x;\n"
        "    mov.u32 %s, tile;\n    mad.lo.u32 %s, %k, 4, %s;\n    st.shared.f32 [%s], %y;\n    bar.warp.sync 0xffffffff;\n"
        "    add.u32 %k, %k, 1;\n    and.b32 %k, %k, 31;\n    mov.u32 %s, tile;\n    mad.lo.u32 %s, %k, 4, %s;\n"
        "    ld.shared.f32 %x, [%s];\n    add.f32 %sum, %x, 0f3F800000;\n" + STORE
    )  # fmt: skip
    (said,) = ask(body, "out[36]", engine=engine, a=np.arange(64))
    assert "depends on a[37]" in said
    way = said.partition("values on the way to it, of each line the last:\n")[2].splitlines()
    told = [
        line.split("| ")[0].split(": ")[1].strip() + " " + line.split("| ")[1].split()[0]
        for line in way
        if " | " in line
    ]
    assert told == ["37 ld.global.f32", "74 add.f32", "74 ld.shared.f32", "75 add.f32"]


@pytest.mark.thin(3)
@pytest.mark.parametrize("rows_are_loaded", [False, True])
@pytest.mark.parametrize(
    ("index", "told"), [(5, ["29 ld.global.f32", "58 add.f32"]), (4, ["29 ld.global.f32", "87 mul.f32"])]
)
def test_halves_that_go_through_matrices_in_shared_memory(engine, index, told, rows_are_loaded):
    """Each lane packs 3 a[i] and 2 a[i], which go through stmatrix, or ldmatrix, to the lane that is as far from the other end."""
    body = (
        "    .shared .align 16 .b8 tile[128];\n    .reg .b32 %s, %row, %turned;\n" + load("%i")
        + "    add.f32 %y, %x, %x;\n    mul.f32 %sum, %x, 0f40400000;\n    cvt.rn.f16x2.f32 %k, %y, %sum;\n    mov.u32 %s, tile;\n"
        "    mov.u32 %turned, %tid.x;\n    and.b32 %row, %turned, 7;\n    mad.lo.u32 %row, %row, 16, %s;\n"
        "    sub.u32 %turned, 31, %turned;\n    mad.lo.u32 %turned, %turned, 4, %s;\n"
    )  # fmt: skip
    store, load_ = "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%row], {{%k}}", "ld.shared.b32 %k, [%turned]"
    if rows_are_loaded:
        store, load_ = "st.shared.b32 [%turned], %k", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%k}}, [%row]"
    body += f"    {store};\n    bar.warp.sync -1;\n    {load_};\n".replace("{{", "{").replace("}}", "}")
    (said,) = ask(body + "    st.global.b32 [%out], %k;\n", f"out[{index}]:f16", engine=engine, a=np.arange(64))
    way = said.partition("values on the way to it, of each line the last:\n")[2].splitlines()
    shown = [line.partition(": ")[2].replace("| ", "").split() for line in way if " | " in line]
    assert (
        [f"{words[0]} {words[1]}" for words in shown][: len(told)] == told and said.count("29") and " 30 " not in said
    )


def test_an_index_that_is_loaded_stays_one(engine):
    body = (
        load("%i", "%b", "%y")
        + "    cvt.rzi.u32.f32 %k, %y;\n    and.b32 %k, %k, 63;\n"
        + load("%k")
        + "    mov.f32 %sum, %x;\n"
        + STORE
    )
    (said,) = ask(body, "out[1]", engine=engine, a=np.arange(64), b=np.arange(64)[::-1])
    assert "out[1] is 62" in said and "depends on b[1]" in said


def test_questions():
    assert parse_question("c[3*64+5]:f16").index == (197,)
    assert parse_question(" x[1, 2] ").index == (1, 2)
    for wrong in ("c", "c[]", "c[i]", "c[1", "c[1]:f31", "c[()]", "c[9**9**9]"):
        with pytest.raises(PtxError):
            parse_question(wrong)


def test_questions_that_have_no_answer(engine):
    body = "    mov.f32 %sum, 0f3F800000;\n" + STORE
    assert ask(body, "a[3]", "nothing[3]", engine=engine) == []
    assert ask(body, "out[64]", engine=engine) == ["--why out[64]: it has 64 elements"]
    assert len(ask(body, "out[64]", engine=engine, launches=9)) == 1
    (said,) = ask(body, "out[1,1]", engine=engine)
    assert "give one number" in said
    assert len(ask(body, "out[1]", engine=engine, launches=9)) == 6
    assert remarks([{"answered": ["out[1]"], "findings": []}], ["out[1]", "x[1]"]) == [
        "--why x[1]: no launch has a parameter of that name whose array has such an element and is stored to"
    ]
    assert "--why" in remarks([{"findings": []}], [])[0] and remarks([], []) == []


@pytest.mark.parametrize(
    ("indices", "told"),
    [
        ([[i, j] for i in range(4) for j in range(8)], "x"),
        ([[2, j] for j in range(8)], "x[2,:]"),
        ([[i, j] for i in (1, 2) for j in (0, 2, 4)], "x[1:3,0:5:2]"),
        ([[0, 0], [0, 5], [1, 2], [1, 7], [2, 4]], "x.flat[0:21:5]"),
        ([[i, j] for i in range(4) for j in range(8) if i // 2 == j // 4], "x[0:2,0:4], x[2:4,4:8]"),
        ([[3, 7]], "x[3,7]"),
    ],
)
def test_elements_in_words(indices, told):
    assert written("x", np.array(indices), (4, 8)) == told
