"""Large memory of the host lies far from everything else, however many devices there are."""

import itertools

from ptxsim.machine import pages
from ptxsim.session.device import Device


def test_many_devices_live_far_away():
    devices = [Device("sm_90") for _ in range(40)]
    places = sorted(device.memory.bytes.ctypes.data for device in devices)
    assert places[0] >= pages._FAR and places[-1] < pages._END
    assert min(b - a for a, b in itertools.pairwise(places)) >= devices[0].memory.space
