"""Large memory of the host lies far from everything else, however many devices there are."""

import itertools
import mmap
import os

import numpy as np
import pytest

from ptxsim.machine import pages
from ptxsim.session.device import Device


def test_many_devices_live_far_away():
    devices = [Device("sm_90") for _ in range(40)]
    places = sorted(device.memory.bytes.ctypes.data for device in devices)
    assert places[0] >= pages._FAR and places[-1] < pages._END
    assert min(b - a for a, b in itertools.pairwise(places)) >= devices[0].memory.space


def test_spare_memory_is_wiped_and_used_again():
    spare = pages.Spare()
    first = spare.take(1 << 22)
    first[[0, 5000, 1 << 20, (1 << 21) + 17]] = 7  # pages here and there
    place = first.ctypes.data
    spare.put([(first, (1 << 21) + 4096)])
    again = spare.take(1 << 22)
    assert again.ctypes.data == place or not os.path.exists(pages._PAGEMAP)
    assert not again.any()
    assert spare.take(1 << 22).ctypes.data != again.ctypes.data


def test_no_more_spare_memory_is_kept_than_is_allowed():
    spare = pages.Spare(most_bytes=1 << 20, most=3)
    memories = [spare.take(1 << 20) for _ in range(4)]
    for memory in memories:
        memory[: 1 << 19] = 1
    spare.put((memory, 1 << 19) for memory in memories)
    assert len(spare._held) == (2 if os.path.exists(pages._PAGEMAP) else 0)


def test_without_word_of_its_pages_no_memory_is_kept(monkeypatch):
    monkeypatch.setattr(pages, "_PAGEMAP", "/nowhere")
    spare = pages.Spare()
    spare.put([(spare.take(1 << 21), 1 << 21)])
    assert not spare._held


@pytest.mark.parametrize("size", (0, 3, 8, 21, pages._PIECE, 3 * pages._PIECE + 13))
def test_what_is_copied_to_zeros_is_there(size):
    source, target = np.zeros((2, size), np.uint8)
    source[-3:] = 5  # bytes that make no whole word
    source[size // 2 : size // 2 + 1] = 7
    pages.copy_to_zeros(source, target)
    assert np.array_equal(source, target)


@pytest.mark.parametrize("size", (mmap.PAGESIZE, 100_001, 3 << 20))
def test_pages_are_moved_again_and_again(size):
    held = pages.reserve(size)
    held[-1] = 5
    for count in range(1, 5):
        wider = pages.reserve(2 * len(held))
        if not pages.move(held, wider):
            assert (held.sum(), wider.any()) == (5 * count, False)
            pages.copy_to_zeros(held, wider)
        else:
            assert not held.any()
        wider[-1] = 5
        held = wider
    assert np.array_equal(np.flatnonzero(held), [(size << n) - 1 for n in range(5)]) and held.max() == 5


def test_zeros_are_not_copied():
    source, target = np.zeros(2 * pages._PIECE, np.uint8), np.full(2 * pages._PIECE, 9, np.uint8)
    source[0] = 1
    pages.copy_to_zeros(source, target)
    assert not target[1 : pages._PIECE].any() and (target[pages._PIECE :] == 9).all()
