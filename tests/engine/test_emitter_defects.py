"""A defect in an emitter or a lowering does not hide: an exception comes out, and a wrong instruction changes results.

Every test writes a defect into the code generator of an empty library; tools/emitters.py tries many more.
"""

import subprocess
import sys
from types import ModuleType

import pytest
from emitters import FOLDER, equivalent
from mutants.defects import defects

from ptxsim.engine.compiled.codegen.kernel import LOWERINGS
from ptxsim.engine.compiled.ir.emitter import Emitter
from ptxsim.instructions import offer_families
from ptxsim.isa import registry
from ptxsim.session.ptxfile.file import FileRun, Options, run_file
from tests.engine.programs import body, compare, run
from tests.helpers import CASES, ROOT

# What a method of the emitter is wanted for.
STATEMENTS = {
    "population_count": "popc.b32 %r4, %r5;",
    "reverse_bits": "brev.b32 %r4, %r5;",
    "minimum": "min.s32 %r4, %r5, %r6;",
    "shift_right": "shr.u32 %r4, %r5, 3;",
    "multiply_high": "mul.hi.u32 %r4, %r5, %r6;",
    "fma": "fma.rn.f32 %f0, %f1, %f1, %f0; mov.b32 %r4, %f0;",
    "where": "selp.b32 %r4, %r5, %r6, %p1;",
}
WHERE = Emitter.where
# What takes its place: the wrong instruction.
WRONG = {
    "population_count": Emitter.count_leading_zeros,
    "reverse_bits": Emitter.population_count,
    "minimum": Emitter.maximum,
    "shift_right": Emitter.shift_left,
    "multiply_high": lambda self, a, b: a * b,
    "fma": lambda self, a, b, c: a + c,
    "where": lambda self, condition, a, b: WHERE(self, condition, b, a),
}
# A case with an instruction of each family that has a native lowering, or a statement.
KERNELS = {
    "load": "mma/f16",
    "store": "mma/f16",
    "atomic": "atomics/histogram",
    "fence": "membar.cta;",
    "isspacep": "memory/state_spaces",
    "createpolicy": "createpolicy.fractional.L2::evict_last.b64 %d2, 1.0;",
    "shuffle": "warp/exchange",
    "vote": "warp/exchange",
    "match": "warp/exchange",
    "redux": "warp/reductions",
    "elect": "elect.sync %r4|%p1, 0xffffffff;",
    "activemask": "activemask.b32 %r4;",
    "warp_barrier": "ldmatrix/four_matrices",
    "barrier": "atomics/histogram",
    "mbarrier": "mbarrier/phases",
    "cluster_barrier": "clusters/phases",
    "mma": "mma/f16",
    "wmma": "wmma/rows_by_columns",
    "wmma_load": "wmma/rows_by_columns",
    "wmma_store": "wmma/rows_by_columns",
    "ldmatrix": "ldmatrix/four_matrices",
    "stmatrix": "ldmatrix/stmatrix_writes_rows",
    "movmatrix": "ldmatrix/movmatrix_transposes",
    "cp_async": "cp_async/groups",
    "cp_async_commit": "cp_async/groups",
    "cp_async_wait": "cp_async/groups",
    "cp_async_mbarrier": "cp_async/mbarrier_arrive",
    "async_store": "clusters/all_of_red_async_and_st_async",
    "bulk_copy": "bulk/round_trip",
    "bulk_prefetch": "cp.async.bulk.prefetch.L2.global [%d0], 16;",
    "bulk_commit": "bulk/round_trip",
    "bulk_wait": "bulk/round_trip",
    "tensor_copy": "tensor_copy/tile_in_and_out",
    "tensor_prefetch": "cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%d0, {%r4}];",
    "wgmma": "wgmma/a_in_registers",
    "warpgroup_fence": "wgmma/a_in_registers",
    "warpgroup_commit": "wgmma/a_in_registers",
    "warpgroup_wait": "wgmma/a_in_registers",
    "set_registers": "convergence/registers_of_half_a_warpgroup",
    "tensor_memory_fence": "tcgen05/product",
    "griddepcontrol": "dependents/waited_for",
}
# What shows in the results when nothing is emitted for it.
SHOWS = [
    "load",
    "store",
    "atomic",
    "shuffle",
    "vote",
    "mma",
    "wmma_load",
    "ldmatrix",
    "stmatrix",
    "movmatrix",
    "cp_async",
    "async_store",
    "bulk_copy",
    "tensor_copy",
]

pytestmark = pytest.mark.usefixtures("native")


def defect(*_, **__):
    raise AttributeError("a defect put in on purpose")


def run_case(name: str) -> FileRun:
    return run_file(CASES / f"{name}.ptx", options=Options(engine="compiled", checks="none"))


@pytest.mark.thin(4)
@pytest.mark.parametrize("method", STATEMENTS)
def test_an_exception_in_the_emitter_comes_out(monkeypatch, method):
    monkeypatch.setattr(Emitter, method, defect)
    with pytest.raises(AttributeError, match="on purpose"):
        run(body(STATEMENTS[method]), "compiled")


@pytest.mark.thin(7)
@pytest.mark.parametrize("family", KERNELS)
def test_an_exception_in_a_lowering_comes_out(monkeypatch, family):
    monkeypatch.setitem(LOWERINGS, family, defect)
    with pytest.raises(AttributeError, match="on purpose"):
        run_case(KERNELS[family]) if "/" in KERNELS[family] else run(body(KERNELS[family]), "compiled")


def test_every_lowering_is_tried_here():
    assert KERNELS.keys() == LOWERINGS.keys()


@pytest.mark.parametrize(
    ("effect", "error"),
    [
        (lambda a: 3, "a result that is a int"),
        (lambda a: a + "3", "an operand that is a str"),
        (lambda a: a if a else 0, "whether it is true"),
        (lambda a: (a, a), "a result that is a tuple"),
    ],
)
def test_a_defect_of_an_effect_comes_out(monkeypatch, effect, error):
    offer_families()
    for form in registry.forms("popc"):
        monkeypatch.setattr(form.definition, "effect", effect)
    with pytest.raises(TypeError, match=error):
        run(body("popc.b32 %r4, %r5;"), "compiled")


@pytest.mark.thin(7)
@pytest.mark.parametrize("method", WRONG)
def test_a_wrong_instruction_makes_the_engines_differ(monkeypatch, method):
    compare(body(STATEMENTS[method]))
    monkeypatch.setattr(Emitter, method, WRONG[method])
    with pytest.raises(AssertionError):
        compare(body("mov.u32 %r9, 1;" + STATEMENTS[method]))  # other code than what is known to be right


@pytest.mark.slow
@pytest.mark.parametrize("family", SHOWS)
def test_a_lowering_that_emits_nothing_fails_the_case(monkeypatch, family):
    monkeypatch.setitem(LOWERINGS, family, lambda writer, op: None)
    assert not run_case(KERNELS[family]).passed


@pytest.mark.slow
def test_defects_that_are_said_to_be_equivalent_are_there():
    """tools/emitters.py tries all defects; tools/data/defects.tsv says of some that they change nothing."""
    known = equivalent()
    modules = {name.partition(".")[0] for name in known}
    files = [path for path in FOLDER.glob("*/*.py") if path.stem in modules]
    there = {
        each.name
        for path in files
        for each in defects(f"ptxsim.engine.compiled.{path.parent.name}.{path.stem}", path.read_text())
    }
    assert known and known.keys() <= there, known.keys() - there
    assert all(known.values())


@pytest.mark.slow
def test_what_does_not_end_is_said_apart():
    """By one test, in a process with an empty store."""
    test = "tests/engine/test_native_code.py::test_long_effects_are_shared"
    only = r"undo: statement dropped: self\._known\.popitem"
    command = [sys.executable, "tools/emitters.py", "ir/emitter", "--only", only, "--jobs", "1", "--tests", test]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    heads, *_, counts = done.stdout.splitlines()[-3:]
    assert dict(zip(heads.split(), map(int, counts.split()[1:])))["endless"] == 1, done.stdout


def test_defects_are_put_in(monkeypatch):
    source = "def f(a, b):\n    if a < 3:\n        return a - (b & 7)\n    return 'icmp eq'\n"
    found = [(each.kind, each.shown) for each in defects("m", source)]
    assert ("comparison", "a <= 3") in found and ("operands swapped", "(b & 7) - a") in found
    assert ("word of IR", "'icmp ne'") in found and ("operand dropped", "7") in found
    module = ModuleType("m")
    exec(source, vars(module))
    monkeypatch.setitem(sys.modules, "m", module)
    next(each for each in defects("m", source) if each.shown == "a + (b & 7)").install()
    assert module.f(1, 9) == 2
