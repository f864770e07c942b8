"""The pytest plugin: collection of .ptx files, the fixture, and what failed comparisons say."""

import importlib
import pkgutil
import subprocess
import sys
from importlib.metadata import entry_points

import ml_dtypes  # noqa: F401
import pytest

from ptxsim import checks, engine, instructions, session
from ptxsim.report.pages import page

pytest_plugins = ["pytester"]

# pytester forgets what an inner run imports. Everything that registers itself is therefore imported before.
instructions.load_families()
for package in (checks, engine, session):
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(found.name)

# Loaded by its entry point where ptxsim is installed, else by hand.
LOADED = any(point.value == "ptxsim.pytest_plugin" for point in entry_points(group="pytest11"))
PLUGIN = [] if LOADED else ["-p", "ptxsim.pytest_plugin"]


@pytest.fixture
def folder(pytester):
    kernels = pytester.mkdir("kernels")
    (kernels / "good.ptx").write_text(page("out-of-bounds").instead)
    (kernels / "bad.ptx").write_text(page("out-of-bounds").example)
    (kernels / "expected.ptx").write_text("// ptxsim: expect out-of-bounds\n" + page("out-of-bounds").example)
    (kernels / "no_directives.ptx").write_text(".version 8.0\n.target sm_90a\n")
    return pytester


def test_files_with_directives_are_tests(folder):
    result = folder.runpytest(*PLUGIN, "--ptx", "kernels", "-v")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*error*PTX201*out-of-bounds*", "*st.global.u32 *", "*^^^^*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_without_the_option_nothing_is_collected(folder):
    assert folder.runpytest(*PLUGIN, "kernels").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_python_tests_are_left_out_unless_they_are_named(folder):
    folder.makepyfile(test_a="def test_a(): pass")
    folder.runpytest(*PLUGIN, "--ptx", "kernels/good.ptx").assert_outcomes(passed=1)
    folder.runpytest(*PLUGIN, "--ptx", "kernels/good.ptx", "test_a.py").assert_outcomes(passed=2)


def test_a_folder_that_is_not_there_is_reported(folder):
    result = folder.runpytest(*PLUGIN, "--ptx", "nowhere")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_the_fixture_launches_with_all_checks(folder):
    folder.makepyfile(
        """
        def test_it(ptx):
            kernel = ptx.module("kernels/good.ptx").kernel()
            out = ptx.zeros(32, "u32")
            run = kernel.launch(1, 32, [out])
            assert run.findings == []
            assert out == range(32)
            assert out != range(1, 33)

        def test_findings(ptx):
            run = ptx.module("kernels/bad.ptx").kernel().launch(1, 32, [ptx.zeros(31, "u32")], on_error="report")
            assert run.findings == []

        def test_run(ptx):
            assert ptx.run("kernels/good.ptx").passed
        """
    )
    result = folder.runpytest(*PLUGIN, "test_the_fixture_launches_with_all_checks.py")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*there are findings*", "*out-of-bounds*"])


def test_a_file_that_fails_fails_the_test(folder):
    folder.makepyfile(
        """
        def test_default(ptx):
            ptx.run("kernels/bad.ptx")

        def test_reported(ptx):
            result = ptx.run("kernels/bad.ptx", on_error="report")
            assert not result.passed and result.findings[0].name == "out-of-bounds"
        """
    )
    result = folder.runpytest(*PLUGIN, "test_a_file_that_fails_fails_the_test.py")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*error*PTX201*out-of-bounds*"])


@pytest.mark.slow
def test_failures_show_the_test_and_not_ptxsim(folder):
    folder.makepyfile(
        """
        def test_finding(ptx):
            ptx.module("kernels/bad.ptx").kernel().launch(1, 32, [ptx.zeros(31, "u32")])

        def test_file(ptx):
            ptx.run("kernels/bad.ptx")

        def test_text(ptx):
            ptx.text("nonsense").kernel()

        def test_close(ptx):
            ptx.assert_close(ptx.ones(4, "f32"), 2)

        def test_name(ptx):
            ptx.Module

        def test_package():
            import numpy, ptxsim

            ptxsim.Module.from_file("kernels/bad.ptx").kernel().launch(1, 32, [numpy.zeros(31, "u4")])

        def test_launch():
            import ptxsim

            ptxsim.Module.from_file("kernels/bad.ptx").kernel().launch(1, 32, [])

        def test_module():
            import ptxsim

            ptxsim.Module.from_text("nonsense")

        def test_snippet():
            import ptxsim

            ptxsim.snippet("nonsense;")

        def test_arrays(ptx):
            ptx.zeros(4, "f31")

        def test_missing_file(ptx):
            ptx.run("nowhere.ptx")

        def test_misspelt_option(ptx):
            ptx.module("kernels/bad.ptx").kernel().launch(grid=1, blok=32)
        """
    )
    result = folder.runpytest(*PLUGIN, "test_failures_show_the_test_and_not_ptxsim.py")
    result.assert_outcomes(failed=12)
    result.stdout.fnmatch_lines(["*there is no file nowhere.ptx in *", "*a launch has no 'blok': did you mean block?*"])
    result.stdout.no_re_match_line(r".*(pathlib|inspect)\.py:\d+: .*")
    result.stdout.no_re_match_line(r".*ptxsim/.*\.py:\d+: .*")
    whole = folder.runpytest(*PLUGIN, "--full-trace", "-k", "test_snippet")
    whole.stdout.re_match_lines([r".*ptxsim/session/snippet\.py:\d+: .*"])


def test_an_error_in_a_snippet_fails_the_test(folder):
    folder.makepyfile(
        """
        import numpy as np

        ROWS = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"

        def test_error(ptx):
            ptx.snippet(ROWS, registers={"1": 0}, shared=np.arange(64, dtype="u2"))

        def test_reported(ptx):
            s = ptx.snippet(ROWS, registers={"1": 0}, shared=np.arange(64, dtype="u2"), on_error="report")
            assert s.findings[0].name == "ldmatrix-row-address"
        """
    )
    folder.runpytest(*PLUGIN).assert_outcomes(failed=1, passed=1)


def test_defects_of_ptxsim_keep_their_frames(folder):
    folder.makepyfile(
        """
        def test_defect(monkeypatch):
            import ptxsim.session.launch

            monkeypatch.setattr(ptxsim.session.launch, "Arguments", lambda *_: 1 / 0)
            ptxsim.Module.from_file("kernels/bad.ptx").kernel().launch(1, 32, [None])
        """
    )
    result = folder.runpytest(*PLUGIN, "test_defects_of_ptxsim_keep_their_frames.py")
    result.stdout.re_match_lines([r".*ptxsim/session/launch\.py:\d+: .*"])


def test_the_fixture_has_the_names_of_the_package_and_says_what_a_module_is_called(pytester):
    pytester.makepyfile(
        """
        import pytest, ptxsim

        def test_it(ptx):
            assert ptx.TensorMap is ptxsim.TensorMap and ptx.fragment is ptxsim.fragment
            with pytest.raises(AttributeError, match=r"ptx\\.module"):
                ptx.Module
        """
    )
    pytester.runpytest(*PLUGIN).assert_outcomes(passed=1)


def test_a_failed_comparison_says_where_and_what_the_wrong_ones_share(pytester):
    pytester.makepyfile(
        """
        def test_it(ptx):
            a = ptx.ramp((16, 8), "f16")
            d = a.copy()
            d[8:] += 1
            assert d == a

        def test_shapes(ptx):
            assert ptx.zeros((2, 3), "f16") == ptx.zeros((3, 2), "f16")

        def test_close(ptx):
            ptx.assert_close(ptx.ones(4, "f32"), 1)
            ptx.assert_close(ptx.ones(4, "f32"), 1.5, atol=0.1)
        """
    )
    result = pytester.runpytest(*PLUGIN)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "*left[[]8,0] is 65, expected 64*",
            "*64 of 128 elements are wrong, exactly those with row bit 3 set*",
            "*2x3 and 3x2*",
            "*left[[]0] is 1, expected 1.5*",
        ]
    )


def test_a_wrong_element_of_an_instruction_names_lane_and_register(pytester):
    pytester.makepyfile(
        """
        import numpy as np

        def test_it(ptx):
            form = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
            a, b, c = ptx.ints((16, 16), "f16"), ptx.ints((16, 8), "f16"), ptx.zeros((16, 8), "f32")
            d = ptx.execute(form, a, b, c)
            assert d == a.astype("f4") @ b.astype("f4")
            expected = a.astype("f4") @ b.astype("f4")
            expected[9, 3] += 1
            assert d == expected
        """
    )
    result = pytester.runpytest(*PLUGIN)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*left[[]9,3] is *lane 5, register d3*"])


def test_a_wrong_element_of_a_launch_names_line_register_and_thread(folder):
    folder.makepyfile(
        """
        def test_it(ptx):
            out = ptx.zeros(32, "u32")
            ptx.module("kernels/good.ptx").kernel().launch(1, 32, [out])
            expected = list(range(32))
            assert out == expected
            expected[7] = 0
            assert out == expected
        """
    )
    result = folder.runpytest(*PLUGIN, "test_a_wrong_element_of_a_launch_names_line_register_and_thread.py")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*left[[]7] is 7, expected 0: stored at line 15 from %r1 by CTA 0 warp 0 lane 7*"])


def test_the_plugin_loads_nothing_heavy():
    code = "import sys, ptxsim.pytest_plugin; assert not {'numpy', 'lark', 'numba', 'click'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
