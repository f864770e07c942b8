"""The heap of device code: what malloc gives and free takes back. It lasts as long as the device memory it lies in."""

from __future__ import annotations

from collections import defaultdict

# Its size where the host does not set another (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation").
HEAP_BYTES = 8 << 20
HEAP = "device heap"
_UNIT = 16
Owner = tuple[int, int, int]  # a thread: CTA, warp, lane


class Heap:
    """Blocks at multiples of 16 bytes, given upward.

    A block that was freed is given again to the thread that freed it, whose own order no check doubts; to others only where
    nothing else is left.
    """

    def __init__(self, start: int, size: int):
        self.start, self.next, self.end = start, start, start + size
        self.sizes: dict[int, int] = {}
        self.unused: dict[int, dict[Owner, list[int]]] = defaultdict(dict)  # by size, then by who freed them

    def allocate(self, size: int, owner: Owner) -> int:
        """The address of `size` bytes, or 0 where there are not so many."""
        size = -(-max(size, 1) // _UNIT) * _UNIT
        freed = self.unused[size]
        if owner not in freed and self.next + size <= self.end:
            address, self.next = self.next, self.next + size
        elif freed:
            who = owner if owner in freed else next(iter(freed))
            address = freed[who].pop()
            if not freed[who]:
                del freed[who]
        else:
            return 0
        self.sizes[address] = size
        return address

    def release(self, address: int, owner: Owner) -> bool:
        """Take a block back; False if there is none at the address. 0 is no block, and may be given back."""
        if address == 0:
            return True
        size = self.sizes.pop(address, None)
        if size is None:
            return False
        self.unused[size].setdefault(owner, []).append(address)
        return True
