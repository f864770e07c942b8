"""`ptxsim debug --screen` as a person drives it: keys, commands, what is seen."""

import asyncio

import pytest

pytest.importorskip("textual", reason="the extra `screen` is not installed")

from textual.widgets import Input, RichLog, Static

from ptxsim.debugger.screen import Screen
from ptxsim.debugger.session import Session
from ptxsim.source import Source
from tests.helpers import SAMPLES

GEMM = SAMPLES / "mma_gemm_conflicts.ptx"


@pytest.mark.slow
def test_keys_and_commands_move_and_the_state_is_in_view():
    product = next(n for n, text in enumerate(GEMM.read_text().split("\n"), 1) if text.strip().startswith("mma.sync"))

    async def drive():
        session = Session(Source.from_file(GEMM))
        screen = Screen(session)
        async with screen.run_test(size=(160, 50)) as pilot:

            async def settle():
                await screen.workers.wait_for_complete()
                await pilot.pause()

            await settle()
            first = session.here.op.line
            for key in ("f10", "f10", "f8"):
                await pilot.press(key)
                await settle()
            assert session.execution.position == 2 and session.here.op.line > first
            screen.query_one(Input).value = f"break {product} if lane == 3 && warp == 1"
            await pilot.press("enter")
            await settle()
            await pilot.press("f5")
            await settle()
            assert session.here.op.line == product and session.lane == 3
            assert f"●→{product:>5}" in str(screen.query_one("#text", Static).content)
            source = screen.query_one("#source")
            assert 0 < product - source.scroll_y <= source.size.height  # in view
            seen = str(screen.query_one("#panels", Static).content)
            assert "a: 16x16 float16" in seen and "CTA 0 warp  1: line" in seen and "── barriers ──" in seen
            assert any("stops at line" in line.text for line in screen.query_one(RichLog).lines)
            await pilot.press("f9")
            await settle()
            assert not session.breakpoints
            screen.query_one(Input).value = "quit"
            await pilot.press("enter")
            await screen.workers.wait_for_complete()
        session.close()

    asyncio.run(asyncio.wait_for(drive(), 120))
