"""Proxy fences: what needs one, and which one is needless."""

import pytest

from tests.helpers import CASES, names, run_text

FENCE = "fence.proxy.async.shared::cta;"
KERNEL = """// ptxsim: launch grid=1 block=64
// ptxsim: arg A = ramp(64):u32
// ptxsim: arg D = zeros(64):u32
// ptxsim: expect D == arange(64)
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 A, .param .u64 D)
{
    .shared .align 128 .b8 tile[256];
    .reg .b64 %A, %D, %p;
    .reg .b32 %t, %s;
    .reg .pred %first;
    ld.param.u64 %A, [A];
    ld.param.u64 %D, [D];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %p, %t, 4;
    add.u64 %p, %A, %p;
    mov.u32 %s, tile;
    mad.lo.u32 %s, %t, 4, %s;
    cp.async.ca.shared.global [%s], [%p], 4;
    WAIT
    bar.sync 0;
    setp.eq.u32 %first, %t, 0;
    @!%first bra done;
    mov.u32 %s, tile;
    cp.async.bulk.global.shared::cta.bulk_group [%D], [%s], 256;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
done:
    ret;
}
"""
WAITS = ["cp.async.wait_all;", "cp.async.commit_group; cp.async.wait_group 0;"]


def found(after_the_copy, engine):
    return names(run_text(KERNEL.replace("WAIT", after_the_copy), engine=engine, checks="all").findings)


@pytest.mark.parametrize("wait", WAITS)
def test_cp_async_writes_through_the_generic_proxy_so_that_its_fence_is_needed(wait, engine):
    assert found(f"{wait} {FENCE}", engine) == []
    assert found(wait, engine) == ["missing-proxy-fence"]


def test_a_fence_before_the_copy_has_landed_publishes_nothing(engine):
    assert "missing-proxy-fence" in found(f"{FENCE} {WAITS[0]}", engine)


def test_a_second_fence_after_one_copy_is_needless(engine):
    assert found(f"{WAITS[0]} {FENCE} {FENCE}", engine) == ["needless-fence"]


def test_many_problems_do_not_hide_those_that_follow():
    (finding,) = run_text((CASES / "bulk/many_without_fence.ptx").read_text()).run.findings
    assert finding.notes[-1] == "the same at lines 27, 28, and with lines 20, 21"


def test_a_product_that_nobody_waits_for_is_committed_to_an_mbarrier():
    text = (CASES / "tcgen05/product.ptx").read_text()
    waits = ("tcgen05.commit", "mbarrier.try_wait", "bra WAIT", "tcgen05.ld")
    text = "\n".join(line for line in text.splitlines() if not any(word in line for word in waits))
    found = next(finding for finding in run_text(text).run.findings if "may still read" in finding.message)
    assert "mbarrier" in found.help and "bulk" not in found.help


def test_a_copy_to_what_has_been_written_is_said_to_write(engine):
    text = (CASES / "tensor_copy/tile_in_and_out.ptx").read_text()
    text = text.replace("    fence.mbarrier_init", "    st.shared.b32 [tile], 0;\n    fence.mbarrier_init")
    (finding,) = run_text(text, engine=engine).run.findings
    assert finding.name == "missing-proxy-fence" and ":bytes writes shared memory at tile" in finding.message
