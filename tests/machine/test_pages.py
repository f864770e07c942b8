"""Large memory of the host lies far from everything else, however many devices there are."""

import itertools
import os

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
