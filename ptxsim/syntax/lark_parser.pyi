"""What is used of the generated parser, typed; https://lark-parser.readthedocs.io explains it."""

from collections.abc import Iterator
from typing import Any

class Token(str):
    """A word of the text with the terminal it matched and its 1-based place."""

    type: str
    start_pos: int
    line: int
    column: int
    end_line: int
    end_column: int

class TextSlice:
    """Characters `start` to `end` of `text`, with the lines and columns that they have in it."""

    text: str
    start: int
    end: int
    def __init__(self, text: str, start: int, end: int) -> None: ...

class UnexpectedInput(Exception):
    pos_in_stream: int

class UnexpectedToken(UnexpectedInput):
    token: Token

class Pattern:
    value: str

class TerminalDef:
    name: str
    pattern: Pattern

class InteractiveParser:
    def iter_parse(self) -> Iterator[Token]: ...
    def feed_eof(self, last_token: Token | None = None) -> Any: ...
    def accepts(self) -> set[str]: ...

class Lark:
    terminals: list[TerminalDef]
    def parse(self, text: str | TextSlice, start: str) -> Any: ...
    def parse_interactive(self, text: str | TextSlice, start: str) -> InteractiveParser: ...
    def get_terminal(self, name: str) -> TerminalDef: ...

def Lark_StandAlone(*, transformer: object = None) -> Lark: ...
