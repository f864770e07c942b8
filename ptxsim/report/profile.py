"""The cycle report: how long, what limits it, where warps wait, and what to try first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxsim.profile.accuracy import KINDS
from ptxsim.report.origins import written_at
from ptxsim.report.style import WIDTH, Paint, plain
from ptxsim.report.summary import plural
from ptxsim.report.text import wrap

if TYPE_CHECKING:
    from ptxsim.profile.cycles import Cycles, LineStalls
    from ptxsim.profile.figures import Figures
    from ptxsim.profile.model.occupancy import Occupancy
    from ptxsim.profile.profiler import Profile
    from ptxsim.session.ptxfile.file import FileRun
    from ptxsim.source import Source

MOST_LINES = 12
MOST_UNKNOWN = 6  # instructions that are named


def profile_text(result: FileRun, paint: Paint = plain) -> str:
    """The report of a profiled run; empty where the file did not run."""
    if result.run is None or result.run.cycles is None:
        return ""
    cycles = result.run.cycles
    parts = [paint("strong", headline(cycles)), "\n".join(facts(cycles)), stall_table(cycles, paint, result.source)]
    if cycles.suggestions:
        parts.append("\n".join(_hint(hint) for hint in cycles.suggestions))
    return "\n\n".join(part for part in parts if part)


def _hint(text: str) -> str:
    first, *more = wrap(text, WIDTH - 6, "")
    return "\n".join([f"help: {first}", *(" " * 6 + line for line in more)])


def headline(cycles: Cycles) -> str:
    """Cycles with their error bar, and the time they take."""
    count, low, high = (f"{value:,}".replace(",", " ") for value in (cycles.cycles, cycles.low, cycles.high))
    of = "nothing of this machine was measured"
    if cycles.judged:
        of = f"three quarters of the measured kernels that are bound by {KINDS[cycles.bound_by]}"
    return (
        f"{count} cycles on {cycles.machine}, {low} to {high} ({of}); {cycles.time_us:.2f} us at {cycles.clock_mhz:.0f} MHz, "
        "launch overhead not counted"
    )


def facts(cycles: Cycles) -> list[str]:
    """Occupancy, issue, pipes, memory."""
    held = cycles.occupancy
    resident = plural(held.ctas, "CTA")
    pipes = ", ".join(
        f"{name} {share:.0%}" for name, share in sorted(cycles.pipes.items(), key=lambda kv: -kv[1]) if share >= 0.005
    )
    memory = cycles.memory
    looked = memory["l1_sectors"]
    hits = (
        f"{memory['l1_hit_sectors'] / looked:.0%} of {looked:.0f} sectors hit L1" if looked else "no loads through L1"
    )
    said = "taken for one ALU operation each, matrix products for the nearest measured one"
    more = len(cycles.unknown_costs) - MOST_UNKNOWN
    named = ", ".join(cycles.unknown_costs[:MOST_UNKNOWN]) + (f" and {more} more" if more > 0 else "")
    unknown = [f"unknown     {said}: {named}"] if cycles.unknown_costs else []
    return [
        f"occupancy   {resident} of {held.warps} warps on an SM ({held.share:.0%}), limited by {held.limiter}; "
        f"{held.registers} registers a thread{_estimated(held)}; {_waves(cycles)}",
        f"issue       {cycles.issue:.0%} of the slots; {plural(cycles.issued, 'machine instruction')} on SM {cycles.sm}, {plural(cycles.ctas, 'CTA')}",
        f"pipes       {pipes or 'idle'}",
        f"memory      {hits}; {plural(int(memory['shared_wavefronts']), 'shared-memory cycle')} of loads and stores",
        *unknown,
        _code(cycles),
    ]


def _estimated(held: Occupancy) -> str:
    """What hangs on registers that are an estimate."""
    if held.between is None:
        return ""
    few, many = held.between
    return f", an estimate: {few} to {plural(many, 'CTA')} for those of three kernels in four, --registers says them"


def _code(cycles: Cycles) -> str:
    """Where the instructions come from."""
    if cycles.no_assembly:
        return f"code        estimated from the PTX ({cycles.no_assembly}): registers and spills are, too"
    spilled = f"; {plural(cycles.spilled, 'byte')} of registers spilled by its text" if cycles.spilled else ""
    return f"code        {cycles.assembled:.0%} of the issue slots from machine code of the assembler{spilled}"


def _waves(cycles: Cycles) -> str:
    """How often the grid fills the GPU."""
    return (
        f"{cycles.waves:.2f} waves"
        if cycles.waves >= 0.995
        else f"the grid fills {cycles.waves:.1%} of the GPU at once"
    )


def stall_table(cycles: Cycles, paint: Paint, source: Source | None) -> str:
    """Why warps wait: totals, then the lines where they wait longest. source: knows the lines of CUDA or Python."""
    total = sum(cycles.stalls.values())
    if not total:
        return ""
    reasons = [f"{name} {value / total:.0%}" for name, value in cycles.stalls.items() if value >= 0.01 * total]
    first, *more = wrap(", ".join(reasons), WIDTH - 12, "")
    lines = [f"stalls      {first}", *(" " * 12 + line for line in more)]
    lines += ["", paint("strong", f" {'line':>5}  {'instruction':<44}  {'issued':>8}  {'share':>6}  waits for")]
    for row in cycles.lines[:MOST_LINES]:
        if row.waited < 0.005 * total:
            break
        lines.append(
            f" {row.line:>5}  {_short(row.instruction):<44}  {row.issued:>8}  {row.waited / total:>6.1%}  {_why(row)}"
        )
        if (written := written_at(source, row.line)) is not None:
            lines.append(f"        {written}"[:WIDTH])
    return "\n".join(lines)


def _why(row: LineStalls) -> str:
    top = sorted(row.stalls.items(), key=lambda kv: -kv[1])[:2]
    return ", ".join(name for name, value in top if value >= 0.2 * row.waited)


def _short(name: str) -> str:
    return name if len(name) <= 44 else name[:41] + "..."


def machine_code_text(profile: Profile) -> str:
    """The lowered instructions of a kernel, under the PTX lines they come from."""
    from ptxsim.profile.machine_code import Kind

    lines = [
        f"{plural(profile.machine.code_bytes // 16, 'machine instruction')}, {profile.machine.registers} registers"
    ]
    for number, block in enumerate(profile.machine.blocks):
        if block.ops:
            lines.append(f"block {number}" + (f", {block.unroll} iterations at a time" if block.unroll > 1 else ""))
        for op in block.ops:
            if op.kind != Kind.COPY:
                source = profile.program.ops[op.site]
                guard = "@p " if op.predicates else ""
                lines.append(f"  {guard}{op.unit:<12} {source.line:>5}  {source.opcode}")
    return "\n".join(lines)


def model_text(figures: Figures) -> str:
    """What is modeled, from which figures, and what is not."""
    from ptxsim.profile.explain import explain_model

    return explain_model(figures)
