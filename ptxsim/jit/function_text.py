"""LLVM IR of one function while it is written: blocks, numbered values, slots on the stack."""

from __future__ import annotations


class Block:
    """A basic block: label and lines; `closed` once it ends in a jump or a return, `reached` if anything jumps to it."""

    def __init__(self, label: str):
        self.label = label
        self.lines: list[str] = []
        self.closed = self.reached = False


class FunctionText:
    """Blocks of a function. Lines go to the block `here`."""

    def __init__(self) -> None:
        self.slots: list[str] = []
        self.count = 0
        self.here = Block("entry")
        self.blocks = [self.here]

    def new(self) -> str:
        self.count += 1
        return f"%t{self.count}"

    def let(self, text: str) -> str:
        """A value that an instruction gives."""
        name = self.new()
        self.here.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.here.lines.append(f"  {text}")

    def slot(self, llvm_type: str, align: int = 8) -> str:
        """A place on the stack, the same one for the life of the function."""
        name = self.new()
        self.slots.append(f"  {name} = alloca {llvm_type}, align {align}")
        return name

    def block(self, name: str) -> Block:
        """A block to be started later."""
        self.count += 1
        return Block(f"{name}.{self.count}")

    def start(self, block: Block) -> None:
        self.blocks.append(block)
        self.here = block

    def end(self, text: str) -> None:
        """The last line of the block."""
        self.do(text)
        self.here.closed = True

    def jump(self, to: Block) -> None:
        if not self.here.closed:
            to.reached = True
            self.end(f"br label %{to.label}")

    def branch(self, condition: str, yes: Block, no: Block) -> None:
        yes.reached = no.reached = True
        self.end(f"br i1 {condition}, label %{yes.label}, label %{no.label}")

    def phi(self, llvm_type: str, *ways: tuple[str, Block]) -> str:
        return self.let(f"phi {llvm_type} " + ", ".join(f"[ {value}, %{block.label} ]" for value, block in ways))

    def text(self, head: str) -> str:
        """The function, after its head."""
        lines = [f"define {head} {{"]
        for block in self.blocks:
            lines += [f"{block.label}:", *(self.slots if block is self.blocks[0] else ()), *block.lines]
        return "\n".join([*lines, "}", ""])
