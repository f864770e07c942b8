"""Traps, pauses and hints to the system. PTX ISA, "Miscellaneous Instructions"; "Control Flow Instructions: exit" apart.

trap and brkpt take the slow path; the rest has no effect on what a kernel computes.
"""

from __future__ import annotations

from ptxsim.isa.facts import Facts, Word
from ptxsim.isa.operand import Either, Imm, Reg
from ptxsim.isa.registry import Options, instruction
from ptxsim.lanes import LaneValue
from ptxsim.machine.event import Event, Proxy, Scope
from ptxsim.machine.fault import Fault, first_lane
from ptxsim.machine.port import Port
from ptxsim.types import ScalarType


@instruction("trap", cost="nothing")
def trap(m: Port) -> None:
    raise Fault("trap", "the kernel executes trap", first_lane(m.mask), "a check of the program itself has failed")


@instruction("brkpt", cost="nothing")
def stop(m: Port) -> None:
    """The assembler makes the machine instruction of it that it makes of trap: without a debugger the kernel ends here."""
    raise Fault("trap", "the kernel executes brkpt, and there is no debugger", first_lane(m.mask), "leave it out")


DEPENDENCE = {"wait": Proxy.PREREQUISITES, "launch_dependents": Proxy.DEPENDENTS}


@instruction("griddepcontrol.action", cost="nothing", action="wait launch_dependents", requires="7.8 sm_90")
def depend(m: Port, *, action: Word) -> None:
    """One grid runs at a time, so there is nothing to wait for: the event tells the checks which grids may run side by side."""
    m.emit(Event.FENCE, addresses=[Scope.GPU, DEPENDENCE[action]])


@instruction("pmevent event", cost="nothing", operands={"event": Imm(0, 15)})
@instruction("pmevent.mask event", cost="nothing", operands={"event": Imm(0, 65535)}, requires="3.0")
def count_event(event: LaneValue) -> None:
    return None


@instruction("nanosleep.u32 t", cost="nothing", operands={"t": Either((Imm(), Reg("u32")))}, requires="6.2 sm_70")
def sleep(t: ScalarType) -> None:
    return None


REGISTERS: Options = {
    "cost": "nothing", "facts": Facts(family="set_registers"), "operands": {"count": Imm(24, 256, multiple=8)}, "requires": "8.0 sm_90a sm_100f sm_110f sm_120f",
}  # fmt: skip


@instruction("setmaxnreg.inc.sync.aligned.u32 count", name="setmaxnreg.inc", implies={"change": "inc"}, **REGISTERS)
@instruction("setmaxnreg.dec.sync.aligned.u32 count", name="setmaxnreg.dec", implies={"change": "dec"}, **REGISTERS)
def set_registers(m: Port, count: LaneValue) -> None:
    """Registers of the machine have no number: giving some back or asking for more changes nothing."""
    m.emit(Event.SET_REGISTERS, addresses=[0])
