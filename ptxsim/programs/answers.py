"""What launches are remembered for: elements that were asked about, and tensors that a program finds to be wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ptxsim.diagnostic import PtxError
from ptxsim.session.module import Kernel
from ptxsim.session.options import LaunchOptions

if TYPE_CHECKING:
    from ptxsim.programs.wanted import Wanted
    from ptxsim.programs.why import Remembered

Hosts = Mapping[int, tuple[int, int]]  # by address in the host's memory: address in device memory, bytes
_MOST_TOLD = 5  # answers to one question
_MOST_BYTES = 64 << 20  # of launches that are remembered for a comparison that may come
_MOST_LAUNCHES = 64
_MOST_COPIES = 256


@dataclass(frozen=True, slots=True)
class _Past:
    """A launch that is remembered, the bytes of its memory, and what that was a copy of. moved: where that is, if another launch gave the
    same that is not made again."""

    launch: Remembered
    size: int
    hosts: Hosts
    moved: Callable[[Hosts], Hosts] = dict


class Answers:
    """Answers the questions of `--why` as launches come, and who wrote what a comparison of the program's finds wrong."""

    def __init__(self, wanted: Wanted, say: Callable[[str], None]):
        self.wanted, self.say = wanted, say
        self.told = dict.fromkeys(wanted.why, 0)
        self._refused = set[str]()  # what has been said of elements that arrays do not have
        self.are_compared = False  # the program's comparisons are listened to (programs.comparisons)
        self._copies: deque[tuple[int, int, int]] = deque(
            maxlen=_MOST_COPIES
        )  # to the host: address there, on the device, bytes
        self._past: deque[_Past] = deque(maxlen=_MOST_LAUNCHES)

    def before(
        self, kernel: Kernel, args: Sequence[bytes], options: LaunchOptions, number: int, hosts: Hosts | None
    ) -> Callable[[], list[str]] | None:  # fmt: skip
        """A launch is about to run; what is returned tells of it afterwards, and gives the questions that it answers."""
        large = sum(size for _, size in (hosts or {}).values()) > _MOST_BYTES
        if options.sample or not (self.told or (self.are_compared and not large)):
            return None  # what a sample has written goes nowhere
        from ptxsim.programs.why import Remembered

        try:
            launch = Remembered(kernel, args, options, number)
        except PtxError:
            return None  # the launch itself says why
        if self.are_compared:
            self._remember(launch, hosts or {})
        return lambda: self._tell(launch)

    def _remember(self, launch: Remembered, hosts: Hosts) -> None:
        size = sum(allocation.size for allocation in launch.memory.allocations)
        while self._past and sum({p.launch.number: p.size for p in self._past}.values()) + size > _MOST_BYTES:
            self._past.popleft()
        if size <= _MOST_BYTES:
            self._past.append(_Past(launch, size, hosts))

    def again(self, number: int | None, moved: Callable[[Hosts], Hosts]) -> None:
        """A launch would do what the one of this number has done, and is not made. moved: where its storages are, of where that one's were."""
        past = next((past for past in self._past if past.launch.number == number), None)
        if past is not None:
            self._past.append(replace(past, moved=moved))

    def _tell(self, launch: Remembered) -> list[str]:
        from ptxsim.programs.why import parse_question

        answered = []
        for text, count in self.told.items():
            if count > _MOST_TOLD:
                continue
            try:
                found = launch.lineage_of(parse_question(text))
            except IndexError as error:  # another launch may have the element
                refusal = f"--why {text}: {error}"
                if refusal not in self._refused:
                    self.say(refusal)
                self._refused.add(refusal)
                continue
            if found is None or not found.stored.any():
                continue
            self.told[text] += 1
            more = (
                f"--why {text}: only the first {_MOST_TOLD} launches are told of; --only NAME --skip N chooses others"
            )
            self.say(launch.told(found) if count < _MOST_TOLD else more)
            answered.append(text)
        return answered

    def copied(self, host: int, device: int, size: int) -> None:
        """Bytes of device memory have been copied to the host's."""
        if self.are_compared:
            self._copies.append((host, device, size))

    def of_host(self, address: int) -> str | None:
        """Of an element in the host's memory that a launch may have written, in lines; None where none that is remembered has."""
        copies = ((host, device, size) for host, device, size in reversed(self._copies))
        copied = next((device + address - host for host, device, size in copies if host <= address < host + size), None)
        for past in reversed(self._past):
            hosts = past.moved(past.hosts).items()
            places = (device + address - host for host, (device, size) in hosts if host <= address < host + size)
            place = next(places, copied)
            told = past.launch.told_at(place) if place is not None else None
            if told is not None:
                return told
        return None
