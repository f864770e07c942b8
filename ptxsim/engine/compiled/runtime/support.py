"""The functions that every program needs: entering native code, leaving an instruction to the interpreter, convergence."""

from __future__ import annotations

from ptxsim.engine.compiled.runtime.abi import BAIL, CONTEXT, WARP

BAIL_OUT = """
declare void @longjmp(ptr, i32) noreturn
define void @{p}bail(ptr %context, i32 %site) noreturn #0 {{
  %at = getelementptr i8, ptr %context, i64 {site}
  store i32 %site, ptr %at
  call void @longjmp(ptr %context, i32 1)
  unreachable
}}
"""

CONVERGE = """
declare i32 @llvm.cttz.i32(i32, i1)
declare void @{p}bail(ptr, i32) noreturn
; Go on if the executing lanes name one set of members and every member that lives is here; else leave it to the interpreter.
define void @{p}converge(ptr %context, ptr %warp, <32 x i32> %members, i32 %here, i32 %site) #0 {{
entry:
  %none = icmp eq i32 %here, 0
  br i1 %none, label %out, label %look
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
    places: dict[str, object] = {**CONTEXT, "live": WARP["live"], "p": prefix, "bail": BAIL}
    places["declarations"] = _DECLARE_X86 if x86 else ""
    places["save"] = _SAVE_X86.format(**places) if x86 else ""
    places["restore"] = _RESTORE_X86 if x86 else ""
    return places


def text(prefix: str, x86: bool) -> str:
    """The IR of what every program needs, for names beginning with `prefix`."""
    places = _places(prefix, x86)
    lines: list[str] = []
    for line in "\n".join(p.format(**places) for p in (BAIL_OUT, CONVERGE, ENTER)).split("\n"):
        if line.startswith("declare") and (line in lines or "bail" in line):
            continue
        lines.append(line)
    return "\n".join(lines)


NAMES = ("bail", "converge", "enter")
