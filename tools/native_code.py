"""What the native code generator makes, as kept text: `tools/native_code.py` writes all of it, and a test compares.

tests/data/ir/*.ll: the IR of the kernels beside it, for whole warps; for kernels that branch also for parts of warps.
tests/data/native_forms.tsv: whether modeled forms are native, by target, asked of trial statements in whole warps that
nothing observes.
tests/data/slow_paths.tsv: what samples and cases leave to the interpreter, where nothing observes: file, line, instruction, count, why;
the file alone where that is nothing.
"""

from __future__ import annotations

import random
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from ptxsim.engine.compiled.codegen.kernel import KernelWriter
from ptxsim.engine.compiled.codegen.operands import Options
from ptxsim.engine.compiled.library import specials_of
from ptxsim.engine.compiled.runtime.abi import WarpLayout
from ptxsim.engine.program.operation import Program
from ptxsim.isa.bind import Binder, Bound
from ptxsim.isa.facts import Mechanism
from ptxsim.isa.registry import Form
from ptxsim.jit.compiler import Abilities
from ptxsim.session.module import Module
from ptxsim.session.ptxfile.file import Options as OptionsOfFile
from ptxsim.session.ptxfile.file import run_file
from ptxsim.session.run import Run
from ptxsim.syntax import ast
from ptxsim.syntax.parser import parse_body
from ptxsim.types import parse_target, parse_version
from tests.helpers import CASES, DATA, ROOT, SAMPLES
from tests.isa.generate import PRELUDE, Generator, Names, every_form

KERNELS, TABLE, LEFT = DATA / "ir", DATA / "native_forms.tsv", DATA / "slow_paths.tsv"
TARGETS = ("sm_80", "sm_90a", "sm_100a")
NEWEST = "9.5"
# For forms that none of the targets has.
ELSEWHERE = (("sm_107f", NEWEST), ("sm_120a", NEWEST), ("sm_70", "6.2"), ("sm_60", "6.0"))
TRIALS = 3  # statements of a form on a target
GROUP = "wgmma.fence.sync.aligned;\n{}\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;"
PRODUCT = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd4, %rd5, 1, 1, 1, 0, 0;"


def write(program: Program, target: str, full: bool = True) -> tuple[str, dict[int, str]]:
    """The IR of a program, the same on every machine, and why operations take the slow path, by site."""
    places = WarpLayout.of(program, specials_of(program))
    writer = KernelWriter(program, places, "ptxsim_", Options(full, target=target), Abilities())
    return writer.text(program.name), writer.slow_path


# ---- IR of kernels ----


def ir(path: Path) -> dict[str, str]:
    """File names and contents of the IR of a kernel."""
    program, target = Module.from_file(path).kernel().program(), str(Module.from_file(path).target)
    found = {f"{path.stem}.ll": write(program, target)[0]}
    if any(op.targets and op.guard for op in program.ops):
        found[f"{path.stem}.masked.ll"] = write(program, target, full=False)[0]
    return found


# ---- forms ----


def modeled() -> list[Form]:
    """Forms with an effect; of those that look the same the first."""
    found: dict[str, Form] = {}
    for form in sorted(every_form(), key=lambda form: (form.name, form.notation)):
        if form.definition.effect is not None:
            found.setdefault(form.notation, form)
    return list(found.values())


def rows(forms: Iterable[Form]) -> Iterator[str]:
    """A line for every form: native, slow path or how many of the trials are native, by target; why not all of them."""
    for form in forms:
        trials: list[str] = []
        reasons: set[str] = set()
        cells = [_cell(form, target, NEWEST, trials, reasons) for target in TARGETS]
        other = ""
        for target, version in ELSEWHERE:
            if not trials:
                other = f"{target}: {_cell(form, target, version, trials, reasons)}"
        yield "\t".join((form.notation, *cells, other if trials else "no trial", "; ".join(sorted(reasons))))


def _is_legal(binder: Binder, text: str) -> bool:
    statement = parse_body(text)[0]
    return isinstance(statement, ast.Instruction) and isinstance(binder.bind(statement, Names()), Bound)


def _cell(form: Form, name: str, version: str, trials: list[str], reasons: set[str]) -> str:
    """A form on one target. Statements that other targets were tried with come first; new ones are added."""
    target = parse_target(name)
    binder = Binder(target, parse_version(version))
    legal = [text for text in trials if _is_legal(binder, text)]
    if form.requires.problem(binder.version, target) is None:
        generator = Generator(target, binder.version, random.Random(zlib.crc32(form.notation.encode())))
        made = [generator.statement(form, tries=50) for _ in range(TRIALS - len(legal))]
        new = [_with_own_registers(text) for text in made if text]
        legal, trials[:] = legal + new, trials + new
    found = _slow_path(form, legal, name, version) if legal else []
    slow = [why for why in found if why]
    reasons.update(slow)
    if len(slow) in (0, len(found)):
        return "slow path" if slow else "native" if found else "-"
    return f"{len(found) - len(slow)}/{len(found)}"


def _with_own_registers(text: str) -> str:
    """A statement with every register another one, as tensor instructions want them."""
    number = count()
    return re.sub(r"(%[a-z]+)\d+", lambda found: f"{found[1]}{next(number)}", text)


def _slow_path(form: Form, statements: list[str], target: str, version: str) -> list[str]:
    """For every statement why it takes the slow path; "" where it is native. Each stands in a block of its own."""
    facts = form.definition.facts
    if facts.synchronises is not None and facts.synchronises.mechanism is Mechanism.PRODUCT_GROUP:
        statements = [GROUP.format(PRODUCT)]
    elif facts.completes_by is Mechanism.PRODUCT_GROUP:
        statements = [GROUP.format(text) for text in statements]
    registers = sorted(set(re.findall(r"%[a-z]+\d+", " ".join(statements))))
    declared = "\n".join(f".reg .{Names().register_type(name)} {name};" for name in registers)
    before = PRELUDE.format(target=target, version=parse_version(version), registers=declared)
    body = "".join(f"{text}\nL{i}:\n" for i, text in enumerate(statements, 1))
    program = Module.from_text(f"{before}{body}ret;\n}}\n").kernel().program()
    slow_path = write(program, target)[1]
    return [slow_path.get(op.site, "") for op in program.ops if op.family == facts.family]


# ---- cases ----


def left(path: Path, run: Run) -> list[str]:
    """A line for each row of a file's slow path, one if there is none."""
    rows = [[str(row.line), row.instruction, str(row.count), row.why] for row in run.slow_path]
    return ["\t".join([str(path.relative_to(ROOT)), *row]) for row in rows or [[]]]


def left_of(path: Path) -> list[str]:
    run = run_file(path, options=OptionsOfFile(engine="compiled", checks="none", jobs=1)).run
    assert run is not None
    return left(path, run)


def main() -> None:
    for path in KERNELS.glob("*.ptx"):
        for name, text in ir(path).items():
            (KERNELS / name).write_text(text)
    head = "\t".join(("form", *TARGETS, "another target", "slow path because"))
    TABLE.write_text("\n".join([head, *rows(modeled())]) + "\n")
    files = sorted([*SAMPLES.rglob("*.ptx"), *CASES.rglob("*.ptx")])
    LEFT.write_text("".join(f"{line}\n" for path in files for line in left_of(path)))


if __name__ == "__main__":
    main()
