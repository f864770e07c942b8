"""Since when and where a form or one of its words exists: `"7.0 sm_80"`, `"8.0 sm_90a | 8.6 sm_100a sm_103a"`.

`"1.0-6.3"` is a form that later versions no longer have, `"6.0 sm_70-sm_72"` one that later targets do not have.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from ptxsim.edits import Edit, Fix
from ptxsim.types import NEWEST, Target, Version, parse_target, parse_version


@dataclass(frozen=True, slots=True)
class Availability:
    """Alternatives of (first PTX version, target requirements, last version); a requirement is met as Target.meets says."""

    alternatives: tuple[tuple[Version, tuple[str, ...], Version], ...] = ()
    text: str = ""

    def problem(self, version: Version, target: Target) -> tuple[str, str] | None:
        """None if available, else (finding name, words): wrong-target or wrong-version."""
        if not self.alternatives:
            return None
        too_new = None
        for since, requirements, until in self.alternatives:
            if not requirements or any(_meets(target, r) for r in requirements):
                if since <= version <= until:
                    return None
                if version > until:
                    return (
                        "wrong-version",
                        f"ended with .version {until[0]}.{until[1]}, the module says {version[0]}.{version[1]}",
                    )
                too_new = min(too_new or since, since)
        if too_new:
            return (
                "wrong-version",
                f"needs .version {too_new[0]}.{too_new[1]}, the module says {version[0]}.{version[1]}",
            )
        wanted = ", ".join(r for _, requirements, _ in self.alternatives for r in requirements)
        return "wrong-target", f"needs target {wanted}, the module says {target}"

    def on(self, target: Target) -> bool:
        """Whether some version has it on the target."""
        needs = [requirements for _, requirements, _ in self.alternatives]
        return not needs or any(not one or any(_meets(target, r) for r in one) for one in needs)

    def __bool__(self) -> bool:
        return bool(self.alternatives)


def remedies(words: str) -> list[Fix]:
    """What would meet a need that `problem` has put in words."""
    if version := re.search(r"needs \.version (\d+\.\d+)", words):
        return [Fix(f"Change .version to {version[1]}", (Edit(version[1], "version"),))]
    names = re.search(r"needs target ([\w, -]+?)(?:, the module|$)", words)
    wanted = [word.partition("-")[0] for word in names[1].split(", ")][:3] if names else []
    return [Fix(f"Change .target to {name}", (Edit(name, "target"),)) for name in wanted]


def advice(words: str) -> str | None:
    """The same as help: `write .target sm_100f or sm_110f`."""
    heads = [edit for fix in remedies(words) for edit in fix.edits]
    return f"write .{heads[0].where} {' or '.join(edit.text for edit in heads)}" if heads else None


def _meets(target: Target, requirement: str) -> bool:
    first, _, last = requirement.partition("-")
    return target.meets(first) and (not last or target.number <= parse_target(last).number)


ALWAYS = Availability()


@cache
def parse_availability(text: str) -> Availability:
    """`"V T [T...] [| V T ...]"`; V or the targets may be left out; V may be a range V-V. Raises ValueError."""
    alternatives = []
    for part in filter(None, (p.strip() for p in text.split("|"))):
        version: Version = (1, 0)
        last = NEWEST
        targets = []
        for word in part.split():
            if word[0].isdigit():
                first, _, until = word.partition("-")
                version, last = parse_version(first), parse_version(until) if until else NEWEST
            else:
                for name in word.split("-"):
                    parse_target(name)
                targets.append(word)
        alternatives.append((version, tuple(targets), last))
    return Availability(tuple(alternatives), text)
