"""Clusters that follow each other in native code are what each would be alone: registers, shared and local memory, mbarriers, limits."""

from __future__ import annotations

import numpy as np
import pytest

from ptxsim import Module
from ptxsim.engine.compiled.run.context import NativeContext

PLACES = ("ctaid.x", "ctaid.y", "ctaid.z", "clusterid.x", "clusterid.y", "clusterid.z", "smid", "cluster_ctarank")

WHERE = """
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out) .reqnctapercluster {cluster}
{{
    .reg .b64 %o, %a, %l; .reg .b32 %t, %n, %m, %v; .reg .pred %p;
    .shared .b32 tile[64];
    .local .b32 kept[2];
    ld.param.u64 %o, [out]; mov.u32 %t, %tid.x;
    mov.u32 %n, %ctaid.z; mov.u32 %m, %nctaid.y; mul.lo.u32 %n, %n, %m; mov.u32 %m, %ctaid.y; add.u32 %n, %n, %m;
    mov.u32 %m, %nctaid.x; mul.lo.u32 %n, %n, %m; mov.u32 %m, %ctaid.x; add.u32 %n, %n, %m;
    mad.lo.u32 %n, %n, 64, %t; mul.wide.u32 %a, %n, 40; add.u64 %o, %o, %a;
    mov.u32 %m, tile; mad.lo.u32 %m, %t, 4, %m; ld.shared.u32 %v, [%m]; st.shared.u32 [%m], %n; st.global.u32 [%o], %v;
    mov.u64 %l, kept; ld.local.u32 %v, [%l]; st.local.u32 [%l], %n; st.global.u32 [%o+4], %v;
    {stores}
    ret;
}}
"""


def where(cluster: str) -> str:
    stores = " ".join(f"mov.u32 %v, %{name}; st.global.u32 [%o+{8 + 4 * i}], %v;" for i, name in enumerate(PLACES))
    return WHERE.format(cluster=cluster, stores=stores)


@pytest.fixture
def entered(monkeypatch):
    """How often native code has been entered."""
    found, enter = [], NativeContext.enter

    def noted(self, function, warp=0):
        found.append(function)
        return enter(self, function, warp)

    monkeypatch.setattr(NativeContext, "enter", noted)
    return found


@pytest.mark.parametrize("cluster, grid", [("1, 1, 1", (6, 5, 4)), ("2, 1, 2", (6, 5, 4)), ("1, 2, 1", (3, 8, 2))])
@pytest.mark.parametrize("seed", [0, 3])
def test_each_knows_where_it_is(entered, cluster, grid, seed):
    kernel = Module.from_text(where(cluster)).kernel()
    found = {}
    for engine in ("interpreter", "compiled"):
        out = np.zeros((np.prod(grid), 64, 10), np.uint32)
        kernel.launch(grid, 64, [out], engine=engine, seed=seed, on_error="report", checks="none")
        found[engine] = out
    assert np.array_equal(found["compiled"], found["interpreter"])
    z, y, x = np.unravel_index(np.arange(np.prod(grid)), grid[::-1])
    rows = found["compiled"]
    for axis, expected in enumerate((x, y, z)):
        assert (rows[:, :, 2 + axis] == expected[:, None]).all()
    assert (rows[:, :, 1] == rows[0, 0, 1]).all() and (
        rows[:, :, 0] == rows[0, 0, 0]
    ).all()  # nothing of the one before
    assert len(entered) < 10


def test_those_that_a_slice_ends_with_follow_each_other(entered):
    text = where("1, 1, 1").replace("ret;", "add.u32 %v, %v, %n; " * 1100 + "st.global.u32 [%o], %v; ret;")
    kernel, out = Module.from_text(text).kernel(), np.zeros(100 * 64 * 10, np.uint32)
    run = kernel.launch(100, 64, [out], engine="compiled", jobs=1, checks="none")
    assert run.warp_instructions > 100 * 2000 and len(entered) < 20


@pytest.mark.parametrize("most", [1, 500, 1001, 20000])
def test_a_limit_stops_them(most):
    text = where("1, 1, 1")
    for engine in ("interpreter", "compiled"):
        run = Module.from_text(text).kernel().launch(
            4000, 64, [np.zeros(4000 * 64 * 10, np.uint32)], engine=engine, max_steps=most, on_error="report", checks="none"
        )  # fmt: skip
        assert [finding.name for finding in run.findings] == ["limit-reached"]
        assert run.warp_instructions > most
