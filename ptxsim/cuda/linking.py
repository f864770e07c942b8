"""Several PTX texts as one, as nvlink makes one program of translation units that were compiled apart (nvcc -rdc=true).

What a text declares .extern is another's definition; of a .weak one there may be several, and the first stays. What has no linkage is the
text's own, and gets another name where two have the same. Files of .file, and labels of the debug information, are numbered anew. PTX ISA,
"Linking Directives".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ptxsim.types import parse_target

_SKIPPED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"|[{};]', re.S)
_LINES = re.compile(r"^[ \t]*\.(version|target|address_size|file)\b[^\n]*\n?", re.M)
_NAME = r"[A-Za-z_$%][\w$]*"
_HEAD = re.compile(
    r"(?:\.(?P<linkage>visible|extern|weak|common)\s+)?\.(?P<kind>func|entry|global|const|shared|section|alias)\b"
)
_FUNCTION = re.compile(rf"\.(?:func|entry)\b\s*(?:\.attribute\([^)]*\)\s*)?(?:\([^)]*\)\s*)?(?P<name>{_NAME})")
_VARIABLE = re.compile(rf"(?P<name>{_NAME})\s*(?:\[[^\]]*\]\s*)*(?:=|;)")
_ALIGNED = re.compile(r"\.align\s+(\d+)")
_PLACE = re.compile(r"(?P<before>^[ \t]*\.loc[ \t]+|\binlined_at[ \t]+|^[ \t]*\.file[ \t]+)(?P<file>\d+)", re.M)
_LABEL = re.compile(r"\$L__info_string(?=\d)")


@dataclass(frozen=True)
class Item:
    """A statement at the top of a text. `is_definition`: it has a body, a place or a value of its own."""

    text: str
    kind: str
    linkage: str
    name: str
    is_definition: bool

    @property
    def is_function(self) -> bool:
        return self.kind in ("func", "entry")

    @property
    def is_local(self) -> bool:
        """Whether other texts cannot mean it. Kernels are known to the host by their names."""
        return not self.linkage and self.kind in ("func", "global", "const", "shared")


def link(texts: Sequence[str]) -> str:
    """One text that defines what all of them do."""
    if len(texts) == 1:
        return texts[0]
    texts = _numbered(texts)
    lines = {name: [found for text in texts for found in _lines(text, name)] for name in ("version", "target", "file")}
    modules = [_items(_LINES.sub("", text)) for text in texts]
    items = [item for module in _renamed(modules) for item in module]
    head = [
        f".version {max(lines['version'], key=lambda version: tuple(map(int, version.split('.'))))}",
        f".target {max(lines['target'], key=_newer)}", ".address_size 64", *(f".file {file}" for file in lines["file"]),
    ]  # fmt: skip
    return "\n".join([*head, *(item.text for item in _in_order(_chosen(items)))]) + "\n"


def with_definitions(text: str, others: Sequence[str]) -> str:
    """A text linked with those of the others that define what it, and they, declare .extern; the text itself where none does."""
    used, left = [text], {other: _defined(_items(_LINES.sub("", other))) for other in others}
    for one in used:
        declared = {item.name for item in _items(_LINES.sub("", one)) if item.linkage == "extern"}
        needed = [other for other, names in left.items() if not declared.isdisjoint(names)]
        used += needed
        for other in needed:
            del left[other]
    return link(used)


def _defined(items: list[Item]) -> set[str]:
    """What other texts may use of these statements."""
    return {item.name for item in items if item.is_definition and item.linkage not in ("", "extern")}


def _lines(text: str, name: str) -> list[str]:
    return [line.strip() for line in re.findall(rf"^[ \t]*\.{name}\b([^\n]*)", text, re.M)]


def _newer(target: str) -> tuple[int, str]:
    found = parse_target(target.split(",")[0].strip())
    return found.number, found.suffix


def _numbered(texts: Sequence[str]) -> list[str]:
    """Each text with files and labels of its own."""
    found, files = [], 0
    for number, text in enumerate(texts):
        found.append(_LABEL.sub(f"$L__info_string_{number}_", _PLACE.sub(partial(_moved, files), text)))
        files = max([files, *(files + int(line.split()[0]) for line in _lines(text, "file"))])
    return found


def _moved(by: int, place: re.Match[str]) -> str:
    return f"{place['before']}{int(place['file']) + by}"


def _items(text: str) -> list[Item]:
    """The statements of a text: those with a body end with it, the others with a semicolon."""
    return [_item(part.strip()) for part in _statements(text) if part.strip()]


def _statements(text: str) -> Iterator[str]:
    start, depth = 0, 0
    for token in _SKIPPED.finditer(text):
        match token[0]:
            case "{":
                depth += 1
            case "}":
                depth -= 1
                if not depth and re.search(r"\.(func|entry|section)\b", text[start : token.start()]):
                    yield text[start : token.end()]
                    start = token.end()
            case ";" if not depth:
                yield text[start : token.end()]
                start = token.end()


def _item(text: str) -> Item:
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    head = _HEAD.search(plain)
    if head is None or head["kind"] in ("section", "alias"):
        return Item(text, head["kind"] if head else "", "", "", True)
    kind, linkage = head["kind"], head["linkage"] or ""
    found = (_FUNCTION if kind in ("func", "entry") else _VARIABLE).search(plain, head.start())
    defines = "{" in plain if kind in ("func", "entry") else linkage != "extern"
    return Item(text, kind, linkage, found["name"] if found else "", defines)


def _renamed(modules: list[list[Item]]) -> list[list[Item]]:
    """The statements, where what is a text's own has a name that no other text uses."""
    taken: set[str] = set()
    found = []
    for number, module in enumerate(modules):
        own = {item.name for item in module if item.is_local and item.name}
        names = {name: f"{name}${number}" for name in own & taken}
        taken |= {item.name for item in module}
        found.append([_with(item, names) for item in module] if names else module)
    return found


def _with(item: Item, names: Mapping[str, str]) -> Item:
    """A statement with other names."""
    word = re.compile(rf"(?<![\w$%.])(?:{'|'.join(map(re.escape, names))})(?![\w$])")
    return replace(item, text=word.sub(lambda found: names[found[0]], item.text), name=names.get(item.name, item.name))


def _chosen(items: list[Item]) -> list[Item]:
    """One definition of each name, of several weak ones the first, or else one declaration, of several the one with the largest alignment."""
    best: dict[str, Item] = {}
    for item in items:
        if item.name and (item.name not in best or _rank(item) > _rank(best[item.name])):
            best[item.name] = item
    return [item for item in items if not item.name or best[item.name] is item]


def _rank(item: Item) -> tuple[bool, bool, int]:
    aligned = _ALIGNED.search(item.text)
    strong = item.is_definition and item.linkage not in ("weak", "common")
    return item.is_definition, strong, int(aligned[1]) if aligned and not item.is_definition else 0


def _in_order(items: list[Item]) -> list[Item]:
    """What is declared comes before what uses it: declarations of functions, variables, functions."""
    functions = [item for item in items if item.is_function]
    declared = [_declaration(item) for item in functions if item.kind == "func"]
    return [*declared, *(item for item in items if not item.is_function), *(i for i in functions if i.is_definition)]


def _declaration(item: Item) -> Item:
    """A function without its body."""
    return (
        replace(item, text=item.text.partition("{")[0].rstrip() + "\n;", is_definition=False)
        if item.is_definition
        else item
    )
