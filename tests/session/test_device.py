"""Memory that outlives launches: pointers, module variables and device arrays from one launch to the next, on both engines."""

import numpy as np
import pytest

import ptxsim
from tests.helpers import text_of

LIST = text_of("session/linked_list.ptx")


@pytest.fixture
def device():
    return ptxsim.Device("sm_90a")


@pytest.fixture
def module(device):
    return device.module(ptxsim.Module.from_text(LIST))


def test_pointers_in_memory_hold_from_launch_to_launch(device, module, engine):
    head, out = device.malloc(8), np.zeros(1, np.uint64)
    for value in (5, 7, 30):
        node = device.malloc(16)
        module.kernel("push").launch(1, 1, [head, node, value], engine=engine)
    module.kernel("total").launch(1, 1, [head, out], engine=engine)
    assert out[0] == 42
    assert device.view(head, 1, np.uint64)[0] == node
    assert device.view(node, 2, "u64")[0] == 30


def test_variables_of_a_module_live_as_long_as_the_device(device, module, engine):
    head = device.malloc(8)
    for _ in range(2):
        module.kernel("push").launch(1, 1, [head, device.malloc(16), 1], engine=engine)
    count = module.symbol("count")
    assert count[0] == 42
    count[0] = 0
    module.kernel("push").launch(1, 1, [head, device.malloc(16), 1], engine=engine)
    assert count[0] == 1
    assert module.symbol("here")[0] == device.pointer(count)


def test_every_loaded_module_has_variables_of_its_own(device, module, engine):
    other = device.module(ptxsim.Module.from_text(LIST))
    other.kernel("push").launch(1, 1, [device.malloc(8), device.malloc(16), 1], engine=engine)
    assert (module.symbol("count")[0], other.symbol("count")[0]) == (40, 41)
    assert module.symbol("here")[0] != other.symbol("here")[0]


def test_variables_of_function_bodies_are_kept_too(device, engine):
    module, out = (
        device.module(ptxsim.Module.from_text(text_of("session/variables_of_bodies.ptx"))),
        device.array(np.zeros(1, np.uint32)),
    )
    found = []
    for name in ("ticket", "other", "ticket", "other"):
        module.kernel(name).launch(1, 1, [out], engine=engine)
        found.append(int(out[0]))
    assert found == [7, 100, 8, 101]


def test_an_array_on_the_device_is_passed_by_its_address(device, module, engine):
    values, out = device.array(np.array([0, 0], np.uint64)), device.array(np.zeros(2, np.uint64))
    module.kernel("push").launch(1, 1, [values, device.malloc(16), 9], engine=engine)
    run = module.kernel("total").launch(1, 1, [values, out[1:]], engine=engine)
    assert out.tolist() == [0, 9]
    assert run.outputs["out"].tolist() == [9]
    assert device.pointer(values) == device.pointer(values[1:]) - 8


def test_arrays_with_an_offset_or_without_elements(device, module, engine):
    out = device.array(np.zeros(4, np.uint64))
    head = device.array(np.array([0], np.uint64))
    module.kernel("push").launch(1, 1, [head, device.malloc(16), 6], engine=engine)
    module.kernel("total").launch(1, 1, [head, ptxsim.DeviceArray(out, 16)], engine=engine)
    assert out.tolist() == [0, 0, 6, 0]
    assert device.array(np.zeros((0, 3))).shape == (0, 3)


def test_ctas_on_threads_see_the_device(device):
    """More threads than one repeat the launch in order where they must; pointers are the same for all."""
    rows = [device.malloc(128) for _ in range(8)]
    table = device.array(np.array(rows, np.uint64))
    device.launch(ptxsim.Module.from_text(text_of("session/rows.ptx")).kernel(), 8, 32, [table], jobs=2)
    assert [device.view(row, 32, "u32").tolist() for row in rows] == [[cta] * 32 for cta in range(8)]


def test_a_launch_leaves_nothing_behind(device, module, engine):
    before = device.memory.allocated
    module.kernel("total").launch(1, 1, [np.zeros(1, np.uint64), np.zeros(1, np.uint64)], engine=engine)
    with pytest.raises(ptxsim.PtxError, match="2 arguments"):
        module.kernel("total").launch(1, 1, [1], engine=engine)
    assert device.memory.allocated == before


def test_use_after_free_is_out_of_bounds(device, module, engine):
    head = device.array(np.zeros(1, np.uint64))
    node = device.malloc(16)
    module.kernel("push").launch(1, 1, [head, node, 1], engine=engine)
    device.free(node)
    device.malloc(16)  # does not get the address that is free
    run = module.kernel("total").launch(1, 1, [head, np.zeros(1, np.uint64)], engine=engine, on_error="report")
    assert [f.name for f in run.findings] == ["out-of-bounds"]
    assert "byte 0 of device memory (16 bytes), which has been freed" in run.findings[0].message


def test_past_the_end_is_out_of_bounds(device, module, engine):
    run = module.kernel("push").launch(1, 1, [device.malloc(4), device.malloc(16), 1], engine=engine, on_error="report")
    assert [f.name for f in run.findings] == ["out-of-bounds"]


def test_a_plain_module_is_loaded_when_it_is_launched(device, engine):
    kernel = ptxsim.Module.from_text(LIST).kernel("push")
    head = device.malloc(8)
    for value in (1, 2):
        device.launch(kernel, 1, 1, [head, device.malloc(16), value], engine=engine)
    out = np.zeros(1, np.uint64)
    device.launch(kernel.module.kernel("total"), 1, 1, [head, out], engine=engine)
    assert out[0] == 3


def test_what_device_code_allocates_lasts(device, engine):
    module, where, out = (
        device.module(ptxsim.Module.from_text(text_of("session/kept_on_the_heap.ptx"))),
        device.malloc(8),
        np.zeros(1, np.uint64),
    )
    module.kernel("keep").launch(1, 1, [where], engine=engine)
    module.kernel("use").launch(1, 1, [where, out], engine=engine)
    assert out[0] == 1234


def test_checks_and_banks_repeat_the_launch_without_touching_the_device(device, module, engine):
    head = device.array(np.zeros(1, np.uint64))
    run = module.kernel("push").launch(1, 1, [head, device.malloc(16), 3], engine=engine, checks="all")
    assert run.banks.global_rows
    assert module.symbol("count")[0] == 41
    again = run.banks
    device.free(head)
    assert run.banks is again


def test_misuse_is_said(device, module):
    pointer = device.malloc(64)
    with pytest.raises(ptxsim.PtxError, match="right after the end of device memory"):
        device.view(pointer + 64, 1)
    with pytest.raises(ptxsim.PtxError, match="an array in host memory"):
        device.free(np.zeros(1))
    device.free(pointer)
    with pytest.raises(ptxsim.PtxError, match="where no allocation begins"):
        device.free(pointer)
    with pytest.raises(ptxsim.PtxError, match="sm_90a"):
        module.kernel("total").launch(1, 1, [0, 0], target="sm_100a")
    with pytest.raises(MemoryError):
        ptxsim.Device("sm_80", memory=1 << 20).malloc(1 << 21)


def test_addresses_are_used_again_when_there_are_no_others():
    device = ptxsim.Device("sm_80", memory=1 << 20)
    first = device.malloc(1 << 18)
    device.view(first, 4)[:] = 1
    kept = device.malloc(1 << 18)
    device.free(first)
    assert device.malloc(1 << 18) > kept
    again = device.malloc(1 << 18)
    assert again == first and not device.view(again, 4).any()


def test_no_pointer_is_an_address_of_the_process(device):
    assert device.malloc(1) > np.zeros(1).ctypes.data
    assert device.malloc(1) >= 1 << 48
