"""What is known of a PTX text: parsed and decoded once in a process, and of long texts remembered on disk.

What lies on disk beside the native code is what a launch needs whose instructions are all native (variables, parameters,
where everything lies, what was found out about the program) and, for when more is needed, the operations. Only who asks for
the tree has the text parsed. Files are read with an unpickler that makes plain values of ptxsim and nothing else.
"""

from __future__ import annotations

import copyreg
import hashlib
import io
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ptxsim import instructions
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.engine.decoding.bodies import Bodies
from ptxsim.engine.decoding.decode import Decoder
from ptxsim.engine.decoding.linkage import Linkage
from ptxsim.engine.decoding.written import blocks_of, rows_of
from ptxsim.engine.program.operand import Constant, SharedAddress
from ptxsim.engine.program.operation import CallSite, Op, Program
from ptxsim.isa import header, module_rules
from ptxsim.isa.bind import Binder
from ptxsim.machine.memory import FIRST
from ptxsim.source import Source
from ptxsim.syntax import ast
from ptxsim.syntax.parser import no_collection, parse
from ptxsim.types import TYPES, ScalarType, Target

if TYPE_CHECKING:
    from ptxsim.jit.store import ObjectStore

LONG = 10_000  # characters from which on a text is remembered on disk: less is quicker read again
KEPT = 8  # texts that a process remembers
PLAIN = {  # what a file may hold besides Python's own simple values
    "ptxsim.syntax.ast": {"Module", "Function", "Variable", "Directive", "Alias", "Section"}
    | {"Integer", "Float", "Name", "Offset", "MaskedAddress", "Negative"}
    | {"Instruction", "Guard", "Address", "Element", "Group", "Not", "Pair", "Sink", "Vector"},
    "msgspec._utils": {"rebuild"},  # makes a node of its class and fields
    "ptxsim.session.cache": {"_type"},
    "ptxsim.engine.program.operand": {"Register", "Constant", "Special", "StackAddress", "SharedAddress"}
    | {"Address", "Vector", "Literal"},
    "ptxsim.engine.program.operation": {"FunctionCode", "Passed", "CallSite"},
    "ptxsim.engine.decoding.linkage": {"Linkage", "SymbolPlace"},
    "ptxsim.types": {"Target"},
    "ptxsim.diagnostic": {"Finding", "Label"},
    "builtins": {"range", "set", "frozenset"},
}

Key = tuple[str, Target, int, int | None]  # a kernel, its machine, where variables of the module and of bodies begin


class Known:
    """A text's syntax tree, flat bodies and decoded kernels. Raises PtxError, tied to `source`, where it is wrong."""

    def __init__(self, source: Source, tree: ast.Module | None = None):
        self.text = source.text if tree is None else None
        self.programs: dict[Key, Decoded] = {}
        self._whole = tree
        self._written: set[Key] = set()
        self.outline = tree or _read("outline", self.text)
        if self.outline is None or tree is not None:
            self._check(source)

    def _check(self, source: Source) -> None:
        self._whole = self.outline = self._whole or parse(source)
        for problems in (header.problems, module_rules.problems):
            if wrong := [finding.of(source) for finding in problems(self.ast)]:
                raise PtxError(wrong)
        try:
            assert self.bodies
        except PtxError as error:
            raise PtxError(f.of(source) for f in error.findings) from None

    @property
    def ast(self) -> ast.Module:
        """The whole tree; `outline` is the same without the bodies of functions, where these have not been read."""
        if self._whole is None:
            assert self.text is not None
            self._whole = parse(Source(self.text))
        return self._whole

    @cached_property
    def bodies(self) -> Bodies:
        return Bodies(self.ast)

    def program(
        self, name: str, legal: Target, target: Target, base: int = FIRST, inner_base: int | None = None
    ) -> Decoded:
        """The kernel `name`; `legal` says which instructions there are, `target` which machine runs them.

        base, inner_base: where variables begin, as in `engine.decoding.linkage.link`.
        """
        key = name, target, base, inner_base
        found = self.programs.get(key)
        if found is None:
            decode = partial(self._decode, name, legal, target, base, inner_base)
            parts = _read("program", self.text, *map(str, key))
            if parts is None:
                found = decode()
            else:
                found = Decoded(Remembered(parts[0], lambda: self._blocks(key, decode)), parts[1])
            self.programs[key] = found
        return found

    def _blocks(self, key: Key, decode: Callable[[], Decoded]) -> list[list[Op]]:
        instructions.offer_families()
        with no_collection():
            rows = _read("operations", self.text, *map(str, key))
            return decode().program.blocks if rows is None else blocks_of(rows)

    def _decode(self, name: str, legal: Target, target: Target, base: int, inner_base: int | None) -> Decoded:
        function = next(f for f in self.ast.entries() if f.name == name)
        binder = Binder(legal, self.ast.version)
        with no_collection():
            decoder = Decoder(self.bodies, function, binder, target, base=base, inner_base=inner_base)
            return Decoded(decoder.decode(), decoder.linkage)

    def remember(self, name: str, target: Target) -> None:
        """Write down what a launch of a kernel needs, so that other processes need not read the text; once is enough."""
        if self.text is None or len(self.text) < LONG or self._whole is None:
            return
        for key, found in list(self.programs.items()):
            if key[:2] == (name, target) and key not in self._written and not isinstance(found.program, Remembered):
                self._write_down(key, found)

    def _write_down(self, key: Key, found: Decoded) -> None:
        assert self.text is not None
        if not self._written:
            items = tuple(_without_body(item) if isinstance(item, ast.Function) else item for item in self.ast.items)
            _write(replace(self.ast, items=items), "outline", self.text)
        self._written.add(key)
        program = found.program
        parts = {f.name: getattr(program, f.name) for f in fields(program) if f.name not in ("blocks", "ops")}
        parts["facts"] = {key: value for key, value in program.facts.items() if _plain(key) and _plain(value)}
        _write((parts, found.linkage), "program", self.text, *map(str, key))
        _write(rows_of(program), "operations", self.text, *map(str, key))


@dataclass(frozen=True, slots=True)
class Decoded:
    """A kernel decoded for one machine."""

    program: Program
    linkage: Linkage


class Remembered(Program):
    """A program whose operations are read when they are asked for."""

    def __init__(self, parts: dict[str, Any], read: Callable[[], list[list[Op]]]):
        for name, value in parts.items():
            setattr(self, name, value)
        self._read = read

    @cached_property
    def blocks(self) -> list[list[Op]]:  # type: ignore[override]  # never assigned here
        return self._read()

    @cached_property
    def ops(self) -> list[Op]:  # type: ignore[override]  # never assigned here
        return sorted((op for block in self.blocks for op in block), key=lambda op: op.site)


def of_source(source: Source) -> Known:
    """What is known of a source's text, from earlier or from now on. Raises PtxError."""
    with _LOCK:
        found = _KNOWN.pop(source.text, None)
    found = found or Known(source)
    with _LOCK:
        _KNOWN[source.text] = found
        while len(_KNOWN) > KEPT:
            del _KNOWN[next(iter(_KNOWN))]
    return found


_KNOWN: dict[str, Known] = {}  # the one used last comes last
_LOCK = threading.Lock()


def _without_body(function: ast.Function) -> ast.Function:
    return function if function.body is None else replace(function, body=())


def _plain(value: object) -> bool:
    """Whether a value is made of numbers, texts, targets and findings alone."""
    if isinstance(value, dict):
        return all(_plain(k) and _plain(v) for k, v in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(_plain, value))
    return value is None or isinstance(value, str | int | Target | Finding)


# ---- files ----


@cache
def _store() -> ObjectStore:
    from ptxsim.jit.store import ObjectStore

    return ObjectStore()


def _key(*parts: str) -> str:
    from ptxsim.jit.compiler import package_digest

    digest = hashlib.blake2b(digest_size=20)
    for part in (package_digest(), str(FIRST), *parts):
        digest.update(part.encode(errors="surrogatepass") + b"\0")
    return digest.hexdigest()


def _type(name: str) -> ScalarType:
    return TYPES[name]


class _Pickler(pickle.Pickler):
    dispatch_table = {  # what is not written field by field: types are the ones there are, and what runs have added stays here
        **copyreg.dispatch_table,
        ScalarType: lambda value: (_type, (value.name,)),
        Constant: lambda value: (Constant, (value.value, value.type)),
        SharedAddress: lambda value: (SharedAddress, (value.value, value.type)),
        CallSite: lambda value: (CallSite, (value.name, value.address, value.arguments, value.returns)),
    }


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name in PLAIN.get(module, ()):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is no plain value")


def _write(value: object, *parts: str) -> None:
    data = io.BytesIO()
    _Pickler(data, 5).dump(value)
    _store().put(_key(*parts), data.getvalue())


def _read(what: str, text: str | None, *parts: str) -> Any:
    """What was written for a text, or None."""
    if text is None or len(text) < LONG:
        return None
    data = _store().get(_key(what, text, *parts))
    if data is None:
        return None
    try:
        return _Unpickler(io.BytesIO(data)).load()
    except Exception:  # of another make than ours
        return None
