"""Broken kernels that nobody who wrote the tool had in mind: what is printed names the cause."""

from pathlib import Path

import pytest

from ptxsim.cli import main

HERE = Path(__file__).parent / "newcomer"
# What has to be read to know the cause, in order.
CAUSES = {
    "partial_sums": ["race-shared", "writes here", "put a barrier between line 24 and line 28"],
    "two_pitches": ["uninitialized-read", "check the index"],
    "one_group_too_few": [
        "cp-async-not-waited",
        "cp.async.wait_group 1 at line 17 returns while the newest group goes on",
    ],
    "b_by_rows": ["expectation-failed", "stored at line 22", "--print 20:a and --print 20:b"],
    "barrier_in_a_branch": ["deadlock", "64 of 128 threads have come (warps 0, 1)"],
    "one_arrival_short": ["deadlock", "64 of 65 arrived"],
    "right_neighbour": [
        "expectation-failed",
        "ld.shared.f32 at line 17 accesses weight",
        "computed from tile, which has 256 bytes: byte 256",
    ],
    "below_the_array": ["out-of-bounds", "16 bytes before hist"],
    "flag_without_release": [
        "race-global",
        "through a flag with release and acquire of scope gpu",
        "it lacks a release at",
    ],
    "next_round": [
        "race-shared",
        "line 30 of the next round meets line 33 of this one",
        "at the end of the loop, after line 33",
    ],
    "two_swizzles": [
        "all with row bit 2 set",
        "the tile of A is stored with one swizzle and read with another",
        "p ^ (r % 4)",
    ],
    "half_the_bytes": ["256 bytes more came for the mbarrier full", "announce the bytes of all copies"],
    "stored_then_copied_out": ["missing-proxy-fence", "add fence.proxy.async.shared::cta; after line 19"],
    "nothing_waits": ["missing-wgmma-fence", "out-of-bounds", "0x400..0x1400"],
}


@pytest.mark.thin(5)
@pytest.mark.parametrize("name", CAUSES)
def test_what_is_printed_names_the_cause(name, capsys):
    assert main(["run", str(HERE / f"{name}.ptx"), "--engine", "interpreter"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    for piece in CAUSES[name]:
        assert piece in shown, f"{piece}:\n{shown}"
        shown = shown[shown.index(piece) :]


def test_every_kernel_is_tried():
    assert {path.stem for path in HERE.glob("*.ptx")} == set(CAUSES)
