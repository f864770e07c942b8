"""The heap of device code: what malloc gives and free takes back. It lasts as long as the device memory it lies in."""

from __future__ import annotations

from collections import defaultdict

# Its size where the host does not set another (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation").
HEAP_BYTES = 8 << 20
HEAP = "device heap"
_UNIT = 16


class Heap:
    """Blocks at multiples of 16 bytes, given upward; a block that was freed is given again to who asks for that size."""

    def __init__(self, start: int, size: int):
        self.next, self.end = start, start + size
        self.sizes: dict[int, int] = {}
        self.unused: dict[int, list[int]] = defaultdict(list)

    def allocate(self, size: int) -> int:
        """The address of `size` bytes, or 0 where there are not so many."""
        size = -(-max(size, 1) // _UNIT) * _UNIT
        if self.unused[size]:
            address = self.unused[size].pop()
        elif self.next + size <= self.end:
            address, self.next = self.next, self.next + size
        else:
            return 0
        self.sizes[address] = size
        return address

    def release(self, address: int) -> bool:
        """Take a block back; False if there is none at the address. 0 is no block, and may be given back."""
        if address == 0:
            return True
        size = self.sizes.pop(address, None)
        if size is None:
            return False
        self.unused[size].append(address)
        return True
