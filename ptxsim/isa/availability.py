"""Since when and where a form or one of its words exists: `"7.0 sm_80"`, `"8.0 sm_90a | 8.6 sm_100a sm_103a"`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ptxsim.types import Target, Version, parse_target, parse_version


@dataclass(frozen=True, slots=True)
class Availability:
    """Alternatives of (first PTX version, target requirements); a requirement is met as Target.meets says."""

    alternatives: tuple[tuple[Version, tuple[str, ...]], ...] = ()
    text: str = ""

    def problem(self, version: Version, target: Target) -> tuple[str, str] | None:
        """None if available, else (finding name, words): wrong-target or wrong-version."""
        if not self.alternatives:
            return None
        too_new = None
        for since, requirements in self.alternatives:
            if not requirements or any(target.meets(r) for r in requirements):
                if version >= since:
                    return None
                too_new = min(too_new or since, since)
        if too_new:
            return (
                "wrong-version",
                f"needs .version {too_new[0]}.{too_new[1]}, the module says {version[0]}.{version[1]}",
            )
        wanted = ", ".join(r for _, requirements in self.alternatives for r in requirements)
        return "wrong-target", f"needs target {wanted}, the module says {target}"

    def __bool__(self) -> bool:
        return bool(self.alternatives)


ALWAYS = Availability()


@cache
def parse_availability(text: str) -> Availability:
    """`"V T [T...] [| V T ...]"`; V or the targets may be left out. Raises ValueError."""
    alternatives = []
    for part in filter(None, (p.strip() for p in text.split("|"))):
        version: Version = (1, 0)
        targets = []
        for word in part.split():
            if word[0].isdigit():
                version = parse_version(word)
            else:
                parse_target(word)
                targets.append(word)
        alternatives.append((version, tuple(targets)))
    return Availability(tuple(alternatives), text)
