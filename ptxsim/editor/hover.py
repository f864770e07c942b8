"""What is said about the word under the cursor."""

from __future__ import annotations

from ptxsim.diagnostic import PtxError
from ptxsim.editor.document import Document
from ptxsim.editor.runs import LastRun
from ptxsim.editor.symbols import Occurrence, Statement
from ptxsim.layout.fragments import Fragment
from ptxsim.session.inspect.operands import names_in
from ptxsim.session.listing import entry, paragraph
from ptxsim.syntax.special_names import is_special_register

SHOWN_LANES = (0, 1, 2, 3, 4, 8, 16, 31)
SPECIAL = {
    "%tid": "index of the thread in its CTA", "%ntid": "threads of a CTA", "%ctaid": "index of the CTA in the grid",
    "%nctaid": "CTAs of the grid", "%laneid": "lane of the thread in its warp, 0 to 31",
    "%warpid": "warp of the thread in its CTA", "%nwarpid": "warps that an SM holds",
    "%clusterid": "index of the cluster in the grid", "%nclusterid": "clusters of the grid",
    "%cluster_ctaid": "index of the CTA in its cluster", "%cluster_nctaid": "CTAs of a cluster",
    "%cluster_ctarank": "number of the CTA in its cluster", "%smid": "SM that the thread runs on",
    "%clock": "low 32 bits of the cycle counter", "%clock64": "the cycle counter", "%globaltimer": "nanoseconds",
    "%dynamic_smem_size": "bytes of dynamic shared memory", "%total_smem_size": "bytes of shared memory of a CTA",
    "%lanemask_lt": "lanes below this one", "%lanemask_le": "lanes up to this one", "%lanemask_eq": "this lane",
    "%lanemask_gt": "lanes above this one", "%lanemask_ge": "this lane and those above",
}  # fmt: skip


def hover(document: Document, offset: int, last: LastRun | None = None) -> str | None:
    """Markdown, or None where there is nothing to say."""
    statement = document.tokens.statement_at(offset)
    if statement is not None and statement.start <= offset <= statement.opcode_end:
        parts = [_opcode(document, statement)]
        if last is not None:
            parts.append(last.words(document, document.place(statement.start)[0]))
        return "\n\n".join(part for part in parts if part) or None
    name = document.tokens.at(offset)
    if name is None:
        return None
    parts = [_name(document, name)]
    if statement is not None:
        parts.append(_operand(document, statement, name))
    return "\n\n".join(part for part in parts if part) or None


def _code(text: str) -> str:
    return f"```ptx\n{text}\n```"


def _opcode(document: Document, statement: Statement) -> str:
    """The manual's line of the form, its words, what it needs."""
    forms = sorted(
        (one.form for one in document.candidates(statement.opcode)), key=lambda form: form.definition.modeled
    )
    found = list({form.notation: form for form in forms}.values())  # of forms spelt alike, the one that is executed
    if not found:
        return f"`{statement.opcode}` is no instruction that ptxsim knows"
    texts = []
    for form in found[:3]:
        described = entry(form)
        assert described is not None
        lines = paragraph(described).split("\n")
        texts.append(_code("\n".join(lines)))
    return "\n".join(texts)


def _name(document: Document, name: Occurrence) -> str:
    symbol = name.symbol
    if symbol is None:
        base = name.name.partition(".")[0]
        if is_special_register(base):
            return f"`{base}` special register" + (f": {SPECIAL[base]}" if base in SPECIAL else "")
        return f"`{name.name}` is not declared"
    line = document.place(symbol.start)[0] + 1
    uses = len(
        document.tokens.of(symbol, name.name if symbol.count is not None and name.start != symbol.start else None)
    )
    return f"{_code(symbol.text)}\n{symbol.kind}, declared at line {line}, named {uses} time{'s' * (uses != 1)}"


def _operand(document: Document, statement: Statement, name: Occurrence) -> str:
    """Which operand a register is of its instruction, and which elements of the matrix it holds in each lane."""
    found = document.operands(statement)
    if found is None:
        return ""
    candidate, operands = found
    names = [one for operand in operands.values() for one in names_in(operand)]
    number = len(document.tokens.between(statement.opcode_end, name.start))
    if not 0 <= number < len(names):
        return ""
    for operand, value in operands.items():
        own = list(names_in(value))
        if number < len(own):
            words = f"operand `{operand}` of `{candidate.form.name}`"
            words += f", {number + 1} of {len(own)}" if len(own) > 1 else ""
            return "\n\n".join(filter(None, [words, _fragment(statement.opcode, operand, number, len(own))]))
        number -= len(own)
    return ""


def _fragment(opcode: str, operand: str, number: int, count: int) -> str:
    """Where the elements of one register of a fragment live."""
    from ptxsim.session.form_names import fragment

    if operand not in ("a", "b", "c", "d", "r"):
        return ""
    try:
        found = fragment(opcode, "D" if operand == "r" else operand.upper())
    except PtxError:
        return ""
    if found.registers != count:
        return ""
    return _code(register_map(found, number))


def register_map(fragment: Fragment, number: int) -> str:
    """The elements that one register holds, in a few lanes."""
    axes = "matrix,row,column" if len(fragment.shape) == 3 else "row,column"
    shape = "x".join(map(str, fragment.shape))
    lines = [f"register {number} of {fragment.operand}, {shape} .{fragment.type}, ({axes}):"]
    first = number * fragment.per_register
    for lane in SHOWN_LANES:
        cells = [
            f"({','.join(map(str, fragment.coords(lane, e)))})" for e in range(first, first + fragment.per_register)
        ]
        lines.append(f"  lane {lane:>2}  {' '.join(cells)}")
    return "\n".join(lines)
