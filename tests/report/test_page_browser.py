"""The page in headless Chromium: opened, clicked, keys, dark; nothing asked of the network, nothing on the console."""

import re
import shutil

import pytest

from ptxsim.cli import main
from tests.helpers import CASES, DATA, ROOT, SAMPLES

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra `browser`)")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
SCREENSHOTS = ROOT / "build" / "screenshots"  # git ignores it
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is there")]


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, request):
    """Opens a page; at the end nothing may have gone to the console or asked for. What was seen last stays, to be looked at."""
    said, windows = [], []

    def open_(path, scheme="light"):
        window = chromium.new_page(color_scheme=scheme, viewport={"width": 1300, "height": 900})
        window.on("console", lambda message: said.append(message.text))
        window.on("pageerror", lambda error: said.append(str(error)))
        window.on("request", lambda request: request.url.startswith(("file:", "data:")) or said.append(request.url))
        window.goto(path.as_uri())
        window.wait_for_function("document.body.dataset.ready !== undefined")
        windows.append(window)
        return window

    yield open_
    for number, window in enumerate(windows):
        name = re.sub(r"\W+", "-", request.node.name).strip("-") + f"-{number}" * bool(number)
        window.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
        window.close()
    assert said == []


@pytest.fixture(scope="module")
def gemm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    old = folder / "old.json"
    with old.open("w") as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr("click.echo", lambda text, err=False: err or file.write(str(text)))
        main(["profile", str(SAMPLES / "mma_gemm_conflicts.ptx"), "--format", "json"])
    main(["run", str(SAMPLES / "mma_gemm_swizzled.ptx"), "--against", str(old), "--report", str(folder / "gemm.html")])
    return folder / "gemm.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_chart_is_drawn_and_readable(opened, gemm, scheme):
    window = opened(gemm, scheme)
    for chart in ("stalls", "pipes", "roofline", "occupancy", "memory", "whom", "against"):
        assert window.locator(f"[data-chart={chart}] svg rect, [data-chart={chart}] svg path").count() > 1, chart
        assert window.locator(f"[data-chart={chart}] svg").get_attribute("aria-label")
    ink, paper = (window.evaluate(f"getComputedStyle(document.body).{name}") for name in ("color", "backgroundColor"))
    light = [sum(map(int, colour[4:-1].split(","))) for colour in (ink, paper)]
    assert abs(light[0] - light[1]) > 500 and (light[0] > light[1]) == (scheme == "dark")


def test_numbers_stand_at_their_lines(opened, gemm):
    window = opened(gemm)
    row = window.locator(".ptx .l", has_text="ldmatrix.sync.aligned").first
    assert " of " in row.locator("i.w").text_content()
    assert any("short_scoreboard" in text for text in window.locator("i.r").all_text_contents())


def test_the_source_opens_at_its_hottest_line(opened, gemm):
    window = opened(gemm)
    inside = window.evaluate("""(() => { const rows = Object.entries(Page.data.lines), pane = document.querySelector('.ptx').getBoundingClientRect();
        const hottest = d3.greatest(rows, ([, row]) => d3.sum(Object.values(row.r ?? {})))[0], line = Page.line(hottest).getBoundingClientRect();
        return [Number(hottest), line.top >= pane.top && line.bottom <= pane.bottom]; })()""")
    assert inside[0] > 30 and inside[1]


def test_the_timeline_zooms_and_a_wait_says_who_ended_it(opened, gemm):
    window = opened(gemm)
    canvas = window.locator("[data-chart=timeline] canvas")
    canvas.focus()
    for key in ("+", "+", "ArrowRight", "ArrowLeft", "0"):
        canvas.press(key)
    state = "document.querySelector('[data-chart=timeline]').timeline"
    assert window.evaluate(f"{state}.transform.k") == 1
    canvas.press("+")
    assert window.evaluate(f"{state}.transform.k") > 1.5
    canvas.press("0")
    place = window.evaluate(f"""(() => {{ const t = {state}, w = t.data.waits, i = w[5].findIndex((by) => by >= 0);
        return [t.x(w[1][i] + w[2][i] / 2), t.y(w[0][i]) + 8]; }})()""")
    canvas.click(position={"x": place[0], "y": place[1]})
    said = window.locator("[data-chart=timeline] output").inner_text()
    assert "waited" in said and "ended by" in said
    window.locator("[data-chart=timeline] output a").click()
    assert window.locator(".l.here").count() == 1


def test_keys_and_theme(opened, gemm):
    window = opened(gemm)
    window.keyboard.press("?")
    assert window.locator("dialog#keys").is_visible()
    window.keyboard.press("Escape")
    window.keyboard.press("h")
    assert window.locator(".l.here").count() == 1
    window.keyboard.press("t")
    assert window.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_click_on_ptx_marks_the_line_that_it_was_made_from(opened, tmp_path):
    (tmp_path / "k.cu").write_text("__global__ void k(float* x) {\n  *x = 1;\n}\n")
    (tmp_path / "k.ptx").write_text(
        f'// ptxsim: launch block=32\n// ptxsim: arg x = zeros(1):f32\n.version 8.0\n.target sm_80\n.address_size 64\n.file 1 "{tmp_path}/k.cu"\n'
        ".visible .entry k(.param .u64 x)\n{\n.reg .b64 %p;\n.loc 1 2 3\nld.param.u64 %p, [x];\nst.global.f32 [%p+8], 0f3F800000;\nret;\n}\n"
    )
    main(["run", str(tmp_path / "k.ptx"), "--report", str(tmp_path / "k.html")])
    window = opened(tmp_path / "k.html")
    window.locator("#line-12").click()
    assert window.locator("#file-0-2.mate").count() == 1 and window.locator(".ptx .mate").count() >= 2
    assert window.locator("#file-0-2 .said").count() == 1  # out of bounds


def test_copies_of_the_tma_and_who_waited_for_them(opened, tmp_path):
    file = CASES / "tensor_copy" / "tile_in_and_out.ptx"
    main(["profile", str(file), "--report", str(tmp_path / "k.html")])
    window = opened(tmp_path / "k.html")
    tracks = window.evaluate("Page.data.timeline.tracks.map((track) => track.name ?? track)")
    assert any("TMA" in str(track) for track in tracks), tracks
    assert window.evaluate(
        "document.querySelector('[data-chart=timeline]').timeline.data.waits[5].some((by) => by >= 0)"
    )
    assert window.locator("[data-chart=whom] svg rect").count() >= 1
    assert window.locator(".ptx .l", has_text="cp.async.bulk.tensor").locator("i").count() >= 1


def test_python_of_triton_stands_beside_its_ptx(opened, tmp_path):
    text = (DATA / "ptx" / "cumsum.sm_90.ptx").read_text()
    name, line = re.search(r'\.file\s+1 "[^"]*?([\w.]+\.py)"', text)[1], int(re.search(r"\.loc\s+1 (\d+)", text)[1])
    (tmp_path / name).write_text("".join(f"line = {number}\n" for number in range(1, line + 50)))
    (tmp_path / "k.ptx").write_text(text)
    main(["run", str(tmp_path / "k.ptx"), "--grid", "1", "--block", "128", "--report", str(tmp_path / "k.html")])
    window = opened(tmp_path / "k.html")
    assert window.locator(".listing.sides h4").inner_text().endswith(name)
    window.locator(".ptx .l[data-o]").first.click()
    assert window.locator(".original .mate").count() == 1
    wide = "e => e.getBoundingClientRect().width"
    python, ptx = (window.locator(f".listing.sides > .pane >> nth={n}").evaluate(wide) for n in (0, 1))
    assert abs(python - ptx) < 2


def test_a_page_of_many_launches_shows_the_one_that_is_chosen(opened, tmp_path):
    from ptxsim.programs.page import write_page
    from ptxsim.report.page.document import run_part
    from ptxsim.session.ptxfile.file import Options, run_file

    records = []
    for number, name in enumerate(("mma_gemm_conflicts", "mma_gemm_swizzled", "mma_gemm_conflicts")):
        result = run_file(SAMPLES / f"{name}.ptx", options=Options(profile=1, banks=True))
        records.append({"launch": number, **result.run.to_dict(), "part": run_part(result, f"p{number}-"), "text": ""})
    write_page(tmp_path / "all.html", "program", records)
    window = opened(tmp_path / "all.html")
    assert window.locator(".run:visible").count() == 1 and window.locator(".source:visible").count() == 1
    shown = window.locator(".ptx:visible").inner_text()
    window.locator("[data-show='1'] button").click()
    window.wait_for_function("document.body.dataset.ready === '1'")
    assert window.locator(".source:visible").count() == 1 and window.locator(".ptx:visible").inner_text() != shown
    window.keyboard.press("[")
    window.wait_for_function("document.body.dataset.ready === '0'")
