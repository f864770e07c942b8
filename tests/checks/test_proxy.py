"""What findings of proxies say. What needs a fence, and which one is needless: cases in tests/cases/cp_async, bulk, tensor_copy."""

from tests.helpers import CASES, run_text


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
