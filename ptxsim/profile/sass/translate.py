"""What the cycle model makes of a machine instruction: its unit, what it does besides issuing, what it waits for."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ptxsim.profile.lowering.synchronisation import GPU_FENCE, SYSTEM_FENCE
from ptxsim.profile.machine_code import ASYNC_STORE, BANK_LINES, Kind, MachineOp
from ptxsim.profile.sass.listing import Instruction

# Rows of the figures by opcode, longest first where one is the beginning of another.
_UNITS = {
    "alu": "IADD3 LOP3 LOP SHF PRMT SEL FSEL VIMNMX VIMNMX3 IMNMX FMNMX FMNMX3 SGXT BMSK I2IP F2IP LEA MOV IABS VABSDIFF VABSDIFF4 VIADDMNMX "
    "VHMNMX HMNMX2 CSEL ISCADD I2FP F2FP P2R R2P SHL SHR XMAD MOVM32 IADD PLOP3 UPLOP3 PSETP",
    "predicate": "ISETP FSETP ICMP HSETP2",
    "fma": "FADD FMUL FFMA FSWZADD",
    "half2": "HADD2 HMUL2 HFMA2",
    "imad": "IMAD IDP IDP4A IMUL VIADD",
    "fp64": "DADD DMUL DFMA",
    "dsetp": "DSETP DMNMX",
    "mufu": "MUFU",
    "find": "FLO",
    "convert": "POPC BREV F2I I2F FRND F2F",
    "check": "FCHK",
    "vote": "VOTE",
    "s2r": "S2R",
    "s2ur": "S2UR",
    "clock": "CS2R",
    "constant": "LDC",
    "tensor": "HMMA IMMA DMMA BMMA",
    "branch": "BRA EXIT CALL RET BSSY BSYNC WARPSYNC BREAK BRX JMP JMX YIELD BMOV NANOSLEEP",
    "uniform": "R2UR ELECT REDUX32",
    "global": "LDG STG LD ST LDL STL ATOM ATOMG RED REDG LDGSTS CCTL",
    "shared": "LDS STS LDSM STSM ATOMS STAS REDAS",
    "shuffle": "SHFL MOVM",
    "redux": "REDUX CREDUX",
    "match.any": "MATCH",
    "mbarrier": "SYNCS",
    "barrier": "BAR",
    "tma": "UTMALDG UTMASTG UBLKCP UTMAREDG UBLKRED UTMAPF UBLKPF UTMACMDFLUSH UTMACCTL",
    "gmma": "HGMMA IGMMA QGMMA BGMMA",
    "tensor.issue": "UTCHMMA UTCQMMA UTCIMMA UTCOMMA UTCCP UTCSHIFT UTCBAR",
    "tensor.memory": "LDTM STTM",
}  # fmt: skip
BRANCHES = dict.fromkeys(("BRA", "BRX", "JMP", "CALL"), Kind.BRANCH) | {"EXIT": Kind.EXIT, "RET": Kind.RETURN}
UNIT = {name: unit for unit, names in _UNITS.items() for name in names.split()}
ACCESSES = (set(_UNITS["global"].split()) | set(_UNITS["shared"].split())) - {"LDGSTS", "CCTL"}
_STORES = ("ST", "RED", "ATOM")
_WIDE = ("IMAD.WIDE", "IMAD.HI")
_CONSTANT = re.compile(r"c\[0x([0-9a-f]+)\]\[(?:0x([0-9a-f]+)|U?RZ)\]")
# What of the lowering takes over its kind, groups and figures, by the opcode that does it.
SPECIAL = {
    "BAR": (Kind.BARRIER,), "UCGABAR_ARV": (Kind.BARRIER,), "UCGABAR_WAIT": (Kind.BARRIER,),
    "SYNCS": (Kind.MBARRIER_ARRIVE, Kind.MBARRIER_WAIT), "ARRIVES": (Kind.MBARRIER_ARRIVE,),
    "LDGDEPBAR": (Kind.ASYNC_COMMIT,), "DEPBAR": (Kind.ASYNC_WAIT, Kind.BULK_WAIT), "UTMACMDFLUSH": (Kind.BULK_COMMIT,),
    "HGMMA": (Kind.PRODUCT,), "IGMMA": (Kind.PRODUCT,), "QGMMA": (Kind.PRODUCT,), "BGMMA": (Kind.PRODUCT,),
    "WARPGROUP": (Kind.PRODUCT_WAIT,),
    "UTMALDG": (Kind.BULK,), "UTMASTG": (Kind.BULK,), "UBLKCP": (Kind.BULK,), "UTMAREDG": (Kind.BULK,), "UBLKRED": (Kind.BULK,),
    "UTMAPF": (Kind.BULK,), "UBLKPF": (Kind.BULK,), "UTCBAR": (Kind.TENSOR_COMMIT,), "LDTM": (Kind.TENSOR_MOVE,), "STTM": (Kind.TENSOR_MOVE,),
    **dict.fromkeys(("UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA", "UTCCP", "UTCSHIFT"), (Kind.TENSOR_WORK,)),
}  # fmt: skip


_REGISTER = re.compile(r"(?<![A-Z])R(\d+)")
_READING = ("alu", "predicate", "fma", "imad", "imad.wide", "imad.hi", "half2", "fp64")


def bank_reads(i: Instruction, before: Instruction | None) -> tuple[int, int]:
    """Registers that an instruction reads from the bank of the even and from that of the odd ones. What the instruction before has marked
    for reuse at the same place is there already, if the warp has issued that one just before (`before`)."""
    if unit_of(i) not in _READING:
        return 0, 0
    kept = {}
    if before is not None:
        kept = {
            k: text.split(".")[0].strip("-|~!")
            for k, text in enumerate(before.operands.split(", "))
            if ".reuse" in text
        }
    banks: tuple[set[int], set[int]] = set(), set()
    for k, text in enumerate(i.operands.split(", ")):
        match = _REGISTER.search(text)
        if k and match and kept.get(k) != match[0]:
            banks[int(match[1]) & 1].add(int(match[1]))
    return len(banks[0]), len(banks[1])


# Cycles beyond its stall count from a multiplication of double width until the warp's next instruction (tools/data/bursts); more where a factor
# is in the instruction and nothing is added; then it also takes more of the pipe (loops of one warp and of eight on a sub-core, tools/data/loops_h100).
DOUBLE_WIDTH, DOUBLE_WIDTH_IMMEDIATE, IMMEDIATE_COST = 2, 4, 5.5
_FACTOR = re.compile(r", -?0x[0-9a-f]+, RZ")


def _double_width(i: Instruction) -> int:
    """What a multiplication of double width adds to its stall count; 0 of others."""
    if not i.name.startswith(_WIDE):
        return 0
    return DOUBLE_WIDTH_IMMEDIATE if _FACTOR.search(i.operands) else DOUBLE_WIDTH


_OFFSET = re.compile(r"\[R\d+\+?(-?0x[0-9a-f]+)?\]")


def _word(operands: str) -> int:
    """The 32-bit word of a thread's stack that an access names."""
    match = _OFFSET.search(operands)
    return int(match[1], 16) // 4 if match and match[1] else 0


def unit_of(i: Instruction) -> str:
    """The row of the figures of a machine instruction."""
    if i.name.startswith(_WIDE):
        return i.name[:9].lower().rstrip(".") if i.name.startswith("IMAD.WIDE") else "imad.hi"
    if i.base in UNIT:
        if i.base == "S2R" and ("SR_TID" in i.operands or "SR_LANEID" in i.operands):
            return "s2r.thread"
        if i.base in ("F2I", "I2F", "F2F", "FRND") and (".F64" in i.name or "64" in i.name):
            return "convert64"
        if i.base == "MATCH" and ".ALL" in i.name:
            return "match.all"
        return UNIT[i.base]
    return "uniform" if i.base.startswith("U") and i.base not in ("UCGABAR_ARV", "UCGABAR_WAIT") else "nothing"


def translated(
    i: Instruction,
    site: int,
    block: int,
    here: set[int],
    special: Mapping[int, list[MachineOp]],
    tensor: Mapping[int, float],
    is_local: bool,
    is_remote: bool,
) -> list[MachineOp]:
    """The operations of the model for a machine instruction. here: PTX blocks that its segment is; special, tensor: by site, what the
    lowering has that is more than issue, and cycles of a product."""
    unit = unit_of(i)
    made = MachineOp(
        unit,
        site=site,
        stall=max(1, i.stall + _double_width(i)),
        waits=i.waits,
        write_barrier=i.write,
        read_barrier=i.read,
        address=i.address,
    )
    made.guarded = bool(i.guard)
    if i.base in ACCESSES and i.guard == "!PT":  # keeps accesses apart: goes through the pipe, and is never one
        made.kind = Kind.SHUFFLE
    elif i.base in ACCESSES or i.base == "LDGSTS":
        made.kind = Kind.ASYNC_COPY if i.base == "LDGSTS" else Kind.ACCESS
        made.stores = i.base.startswith(_STORES)
        made.moved, made.guarded = block not in here, bool(i.guard)
        if is_remote and i.base not in ("LDG", "STG", "LDL", "STL"):
            made.unit, made.amount = "remote", int(i.base.startswith(("ATOM", "RED")))
            if i.base in ("STAS", "REDAS"):
                made.amount = ASYNC_STORE
        if i.base in ("LDS", "STS", "LDL", "STL"):
            made.bytes = 16 if ".128" in i.name else 8 if ".64" in i.name else 0
        if i.base in ("LDL", "STL") and not is_local:
            made.space, made.amount = "spill", 1 + _word(i.operands)
            made.cost = 4 if ".128" in i.name else 2 if ".64" in i.name else 1
        elif i.base == "LDS" and not i.guard:
            made.space = "shared code"
            made.cost = 4 if ".128" in i.name else 2 if ".64" in i.name else 1
    elif unit in ("shuffle", "redux", "match.any", "match.all"):
        made.kind = Kind.SHUFFLE
    elif unit == "branch":
        made.kind = BRANCHES.get(i.base, Kind.PLAIN)
        made.converges = i.base == "BSYNC"
    elif unit == "tensor":
        made.cost = tensor.get(site)
    elif _double_width(i) > DOUBLE_WIDTH:
        made.cost = IMMEDIATE_COST
    if match := _CONSTANT.search(i.operands):
        bank, line = int(match[1], 16), int(match[2] or "0", 16) >> 6
        made.constant = 1 + line % BANK_LINES + (BANK_LINES if bank else 0)
    elif i.base in ("LDC", "ULDC"):
        made.kind = Kind.ACCESS
    if i.base == "MEMBAR":
        made.kind, made.unit = Kind.FENCE, "fence"
        made.latency = SYSTEM_FENCE if ".SYS" in i.name else GPU_FENCE if ".GPU" in i.name or ".VC" in i.name else None
    elif i.name.startswith("CCTL.IVALL"):
        made.kind = Kind.INVALIDATE
    elif i.base in SPECIAL:
        for row in special.get(site, ()):
            if row.kind in SPECIAL[i.base]:
                made.kind, made.amount, made.unit = row.kind, row.amount, row.unit
                made.latency, made.cost = row.latency, row.cost
                break
    if made.kind == Kind.PRODUCT and "gsb0" in i.operands:
        commit = MachineOp("nothing", site=site, kind=Kind.PRODUCT_COMMIT, stall=1, address=i.address)
        return [made, commit]
    return [made]
