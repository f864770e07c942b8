"""The Lark grammars of PTX, shipped as data: `module.lark` for the text around instructions, `instruction.lark` for one."""
