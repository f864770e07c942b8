"""Addresses that no program should form: every form of access says what is wrong, on both engines alike, and none breaks off."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.session.module import Module
from tests.helpers import facts, same_on_both

FRAGMENT = "{%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}"
# Forms that access memory at %a (64 bits) or %s (its low half). Nothing may lie at the addresses of the first ones.
OUTSIDE = [
    "ld.u8 %r1, [%a];", "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%a+16];", "ld.const.u64 %c, [%a];", "ld.param.u8 %r1, [%a];",
    "st.u64 [%a+-8], %c;", "st.global.u8 [%a], %r1;", "atom.global.add.u32 %r1, [%a], 1;", "red.add.u64 [%a], %c;",
    "cp.async.ca.shared.global [tile], [%a], 16; cp.async.wait_all;",
    "cp.async.bulk.global.shared::cta.bulk_group [%a], [tile], 16; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    f"wmma.load.a.sync.aligned.row.m16n16k16.f16 {FRAGMENT}, [%a], %s;",
    f"wmma.load.c.sync.aligned.col.m16n16k16.global.f32 {FRAGMENT.replace('r', 'f')}, [%a], 16;",
    f"wmma.store.d.sync.aligned.row.m16n16k16.f32 [%a], {FRAGMENT.replace('r', 'f')}, %s;",
    "tensormap.replace.tile.global_address.global.b1024.b64 [%a], %c;",
]  # fmt: skip
ANYWHERE = [
    "ld.shared.v2.u32 {%r1, %r2}, [%a];", "st.shared.u8 [%s], %r1;", "atom.shared.cas.b64 %c, [%a], %c, %c;",
    "ld.local.u8 %r1, [%a];", "st.local.v4.u32 [%a+16], {%r1, %r2, %r3, %r4};", "ld.local.u8 %r1, [mine+-2147483648];",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%a];",
    "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%s], {%r1, %r2};", "mbarrier.init.shared.b64 [%a], 1;",
    f"wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {FRAGMENT}, [%a], %s;",
    "mapa.shared::cluster.u32 %r1, %s, %s; ld.shared::cluster.u32 %r2, [%r1];",
]  # fmt: skip
FORMS = OUTSIDE + ANYWHERE
FAR = st.sampled_from([1 << 32, 1 << 48, 1 << 56, 3 << 62, 1 << 63, 1 << 64])
NEAR = st.sampled_from([0, 1 << 10, 1 << 24, 1 << 31, 1 << 32])


@cache
def kernel():
    """All forms behind a switch, so that they are compiled once."""
    labels = ", ".join(f"F{n}" for n in range(len(FORMS)))
    cases = "\n".join(f"F{n}: {form} ret;" for n, form in enumerate(FORMS))
    return Module.from_text(
        f"""
.version 8.6
.target sm_90a
.address_size 64
.visible .entry wild(.param .u64 address, .param .u32 form)
{{
    .reg .b64 %a, %c;
    .reg .b32 %s, %n, %r<9>;
    .reg .f32 %f<9>;
    .shared .align 128 .b8 tile[1024];
    .local .align 16 .b8 mine[64];
    ld.param.u64 %a, [address];
    ld.param.u32 %n, [form];
    cvt.u32.u64 %s, %a;
    ways: .branchtargets {labels};
    brx.idx %n, ways;
{cases}
}}
"""
    ).kernel()


def run(form, address, checks):
    def outcome(engine):
        return kernel().launch(
            1, 32, [np.uint64(address % 2**64), form], on_error="report", engine=engine, checks=checks, banks=False
        )

    found = []
    same_on_both(lambda engine: facts(found.append(outcome(engine)) or found[-1]))
    return found[0].findings


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.sampled_from(OUTSIDE), FAR, st.integers(-64, 64), st.sampled_from(["all", "memory", "none"]))
def test_far_addresses_are_a_finding(form, base, more, checks):
    if base == 1 << 64:
        more = -abs(more) - 1
    assert any(finding.level == "error" for finding in run(FORMS.index(form), base + more, checks))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.sampled_from(FORMS), FAR | NEAR, st.integers(-64, 64), st.sampled_from(["all", "memory", "none"]))
def test_no_address_breaks_a_run(form, base, more, checks):
    run(FORMS.index(form), base + more, checks)
