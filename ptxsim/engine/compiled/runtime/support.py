"""The functions that every program needs: entering native code, leaving an instruction to the interpreter, events."""

from __future__ import annotations

from ptxsim.engine.compiled.runtime.abi import BAIL, CONTEXT, WARP
from ptxsim.machine.event import RECORD

_FIELDS = {name: place[1] for name, place in RECORD.fields.items()}  # type: ignore[union-attr]

BAIL_OUT = """
declare void @longjmp(ptr, i32) noreturn
define void @{p}bail(ptr %context, i32 %site) noreturn #0 {{
  %at = getelementptr i8, ptr %context, i64 {site}
  store i32 %site, ptr %at
  call void @longjmp(ptr %context, i32 1)
  unreachable
}}
"""

LOOK_UP = """
declare void @{p}bail(ptr, i32) noreturn
declare i32 @llvm.cttz.i32(i32, i1)
declare i64 @llvm.umin.i64(i64, i64)
; Whether every lane of the mask points into one of the allocations it may; fills the instruction's cache.
define void @{p}look_up(ptr %context, ptr %addresses, i32 %mask, i64 %total, i32 %allowed, i32 %refused, i32 %site) #0 {{
entry:
  %at1 = getelementptr i8, ptr %context, i64 {starts}
  %starts = load ptr, ptr %at1
  %at2 = getelementptr i8, ptr %context, i64 {sizes}
  %sizes = load ptr, ptr %at2
  %at3 = getelementptr i8, ptr %context, i64 {kinds}
  %kinds = load ptr, ptr %at3
  %at4 = getelementptr i8, ptr %context, i64 {allocations}
  %count = load i64, ptr %at4
  %low = sub i64 %total, 1
  br label %lane
lane:
  %rest = phi i32 [ %mask, %entry ], [ %next, %found ]
  %first = phi i64 [ -1, %entry ], [ %keep, %found ]
  %none = icmp eq i32 %rest, 0
  br i1 %none, label %done, label %look
look:
  %number = call i32 @llvm.cttz.i32(i32 %rest, i1 false)
  %where = getelementptr i64, ptr %addresses, i32 %number
  %a = load i64, ptr %where
  br label %scan
scan:
  %i = phi i64 [ %count, %look ], [ %j, %try ]
  %end = icmp eq i64 %i, 0
  br i1 %end, label %fail, label %try
try:
  %j = sub i64 %i, 1
  %ps = getelementptr i64, ptr %starts, i64 %j
  %start = load i64, ptr %ps
  %below = icmp ult i64 %a, %start
  br i1 %below, label %scan, label %here
here:
  %off = sub i64 %a, %start
  %pz = getelementptr i64, ptr %sizes, i64 %j
  %size = load i64, ptr %pz
  %small = icmp ult i64 %size, %total
  %space = sub i64 %size, %total
  %beyond = icmp ugt i64 %off, %space
  %pk = getelementptr i32, ptr %kinds, i64 %j
  %kind = load i32, ptr %pk
  %k1 = and i32 %kind, %allowed
  %wrong = icmp eq i32 %k1, 0
  %k2 = and i32 %kind, %refused
  %closed = icmp ne i32 %k2, 0
  %rem = and i64 %a, %low
  %odd = icmp ne i64 %rem, 0
  %b1 = or i1 %small, %beyond
  %b2 = or i1 %wrong, %closed
  %b3 = or i1 %b1, %b2
  %bad = or i1 %b3, %odd
  br i1 %bad, label %fail, label %found
found:
  %less = sub i32 %rest, 1
  %next = and i32 %rest, %less
  %is_first = icmp eq i64 %first, -1
  %keep = select i1 %is_first, i64 %j, i64 %first
  br label %lane
done:
  %nobody = icmp eq i64 %first, -1
  br i1 %nobody, label %out, label %fill
fill:
  %at5 = getelementptr i8, ptr %context, i64 {caches}
  %caches = load ptr, ptr %at5
  %index = zext i32 %site to i64
  %entry_at = getelementptr [2 x i64], ptr %caches, i64 %index
  %ps2 = getelementptr i64, ptr %starts, i64 %first
  %start2 = load i64, ptr %ps2
  %pz2 = getelementptr i64, ptr %sizes, i64 %first
  %size2 = load i64, ptr %pz2
  %span = sub i64 %size2, %total
  %short = call i64 @llvm.umin.i64(i64 %span, i64 2147483583)
  store i64 %start2, ptr %entry_at
  %span_at = getelementptr i8, ptr %entry_at, i64 8
  store i64 %short, ptr %span_at
  br label %out
out:
  ret void
fail:
  call void @{p}bail(ptr %context, i32 %site)
  unreachable
}}
"""

SPACE_OF = """
; The state space (machine.event.Space) of an address in the arena.
define i32 @{p}space_of(ptr %context, i64 %a) #0 {{
entry:
  %at1 = getelementptr i8, ptr %context, i64 {starts}
  %starts = load ptr, ptr %at1
  %at3 = getelementptr i8, ptr %context, i64 {kinds}
  %kinds = load ptr, ptr %at3
  %at4 = getelementptr i8, ptr %context, i64 {allocations}
  %count = load i64, ptr %at4
  br label %scan
scan:
  %i = phi i64 [ %count, %entry ], [ %j, %try ]
  %end = icmp eq i64 %i, 0
  br i1 %end, label %none, label %try
try:
  %j = sub i64 %i, 1
  %ps = getelementptr i64, ptr %starts, i64 %j
  %start = load i64, ptr %ps
  %below = icmp ult i64 %a, %start
  br i1 %below, label %scan, label %here
here:
  %pk = getelementptr i32, ptr %kinds, i64 %j
  %kind = load i32, ptr %pk
  %c = and i32 %kind, 2
  %is_const = icmp ne i32 %c, 0
  %m = and i32 %kind, 4
  %is_param = icmp ne i32 %m, 0
  %s1 = select i1 %is_const, i32 3, i32 0
  %s2 = select i1 %is_param, i32 4, i32 %s1
  ret i32 %s2
none:
  ret i32 0
}}
"""

EVENT = """
; Append a record to the event stream; lanes that do nothing say nothing.
define void @{p}event(ptr %context, ptr %warp, i32 %site, i32 %event, i32 %space, i32 %width, i32 %flags, i32 %mask, ptr %addresses) #0 {{
entry:
  %silent = icmp eq i32 %mask, 0
  br i1 %silent, label %out, label %append
append:
  %at1 = getelementptr i8, ptr %context, i64 {records}
  %records = load ptr, ptr %at1
  %at2 = getelementptr i8, ptr %context, i64 {recorded}
  %n = load i64, ptr %at2
  %skip = mul i64 %n, {record_size}
  %r = getelementptr i8, ptr %records, i64 %skip
  %pc = getelementptr i8, ptr %warp, i64 {cta}
  %cta = load i32, ptr %pc
  %pw = getelementptr i8, ptr %warp, i64 {index}
  %index = load i32, ptr %pw
  %index16 = trunc i32 %index to i16
  %event8 = trunc i32 %event to i8
  %space8 = trunc i32 %space to i8
  %width16 = trunc i32 %width to i16
  %flags16 = trunc i32 %flags to i16
  %r0 = getelementptr i8, ptr %r, i64 {r_site}
  store i32 %site, ptr %r0, align 1
  %r1 = getelementptr i8, ptr %r, i64 {r_cta}
  store i32 %cta, ptr %r1, align 1
  %r2 = getelementptr i8, ptr %r, i64 {r_warp}
  store i16 %index16, ptr %r2, align 1
  %r3 = getelementptr i8, ptr %r, i64 {r_event}
  store i8 %event8, ptr %r3, align 1
  %r4 = getelementptr i8, ptr %r, i64 {r_space}
  store i8 %space8, ptr %r4, align 1
  %r5 = getelementptr i8, ptr %r, i64 {r_width}
  store i16 %width16, ptr %r5, align 1
  %r6 = getelementptr i8, ptr %r, i64 {r_flags}
  store i16 %flags16, ptr %r6, align 1
  %r7 = getelementptr i8, ptr %r, i64 {r_mask}
  store i32 %mask, ptr %r7, align 1
  %without = icmp eq ptr %addresses, null
  br i1 %without, label %count, label %copy
copy:
  %v = load <32 x i64>, ptr %addresses, align 8
  %r8 = getelementptr i8, ptr %r, i64 {r_addresses}
  store <32 x i64> %v, ptr %r8, align 1
  br label %count
count:
  %m = add i64 %n, 1
  store i64 %m, ptr %at2
  %at3 = getelementptr i8, ptr %context, i64 {capacity}
  %capacity = load i64, ptr %at3
  %full = icmp eq i64 %m, %capacity
  br i1 %full, label %flush, label %out
flush:
  %at4 = getelementptr i8, ptr %context, i64 {flush}
  %callback = load ptr, ptr %at4
  call void %callback()
  br label %out
out:
  ret void
}}
"""

CONVERGE = """
declare i32 @llvm.cttz.i32(i32, i1)
declare void @{p}bail(ptr, i32) noreturn
; Go on if the executing lanes name one set of members and every member that lives is here; else leave it to the interpreter.
define void @{p}converge(ptr %context, ptr %warp, <32 x i32> %members, i32 %here, i32 %site) #0 {{
entry:
  %nobody = icmp eq i32 %here, 0
  br i1 %nobody, label %out, label %look
look:
  %first = call i32 @llvm.cttz.i32(i32 %here, i1 false)
  %word = extractelement <32 x i32> %members, i32 %first
  %one = insertelement <32 x i32> poison, i32 %word, i64 0
  %all = shufflevector <32 x i32> %one, <32 x i32> poison, <32 x i32> zeroinitializer
  %differ = icmp ne <32 x i32> %members, %all
  %bits = bitcast <32 x i1> %differ to i32
  %others = and i32 %bits, %here
  %outside = xor i32 %word, -1
  %strangers = and i32 %here, %outside
  %pl = getelementptr i8, ptr %warp, i64 {live}
  %live = load i32, ptr %pl
  %away = xor i32 %here, -1
  %elsewhere = and i32 %live, %away
  %missing = and i32 %elsewhere, %word
  %b1 = or i32 %others, %strangers
  %b2 = or i32 %b1, %missing
  %fine = icmp eq i32 %b2, 0
  br i1 %fine, label %out, label %fail
fail:
  call void @{p}bail(ptr %context, i32 %site)
  unreachable
out:
  ret void
}}
"""

# The host's floating-point modes are saved, set to IEEE and restored: flush-to-zero may be on.
_SAVE_X86 = """
  %modes = getelementptr i8, ptr %context, i64 {mxcsr}
  call void @llvm.x86.sse.stmxcsr(ptr %modes)
  %ieee = alloca i32
  store i32 8064, ptr %ieee
  call void @llvm.x86.sse.ldmxcsr(ptr %ieee)
"""
_RESTORE_X86 = """
  call void @llvm.x86.sse.ldmxcsr(ptr %modes)
"""
_DECLARE_X86 = """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
"""

ENTER = """
declare i32 @_setjmp(ptr) returns_twice
{declarations}
; Call a function of the scheduler; what it returns, BAIL where something takes the slow path in the middle of it.
define i32 @{p}enter(ptr %function, ptr %context, ptr %warp) #0 {{
entry:
{save}
  %jumped = call i32 @_setjmp(ptr %context) returns_twice
  %again = icmp ne i32 %jumped, 0
  br i1 %again, label %out, label %start
start:
  %status = call i32 %function(ptr %context, ptr %warp)
  br label %out
out:
  %result = phi i32 [ %status, %start ], [ {bail}, %entry ]
{restore}
  ret i32 %result
}}
"""


def _places(prefix: str, x86: bool) -> dict[str, object]:
    assert not CONTEXT.keys() & {"live", "index"}
    places: dict[str, object] = {**WARP, **CONTEXT, "cta": WARP["cta"], **{f"r_{n}": o for n, o in _FIELDS.items()}}
    places |= {"p": prefix, "bail": BAIL, "record_size": RECORD.itemsize}
    places["declarations"] = _DECLARE_X86 if x86 else ""
    places["save"] = _SAVE_X86.format(**places) if x86 else ""
    places["restore"] = _RESTORE_X86 if x86 else ""
    return places


def text(prefix: str, x86: bool) -> str:
    """The IR of what every program needs, for names beginning with `prefix`."""
    places = _places(prefix, x86)
    lines: list[str] = []
    for line in "\n".join(p.format(**places) for p in (BAIL_OUT, LOOK_UP, SPACE_OF, EVENT, CONVERGE, ENTER)).split(
        "\n"
    ):
        if line.startswith("declare") and (line in lines or "bail" in line):
            continue
        lines.append(line)
    return "\n".join(lines)


NAMES = ("bail", "look_up", "space_of", "event", "converge", "enter")
