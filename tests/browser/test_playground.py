"""The playground in a headless Chromium, on a local server."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

pytestmark = pytest.mark.extras
PHONE, DESKTOP = 390, 1280
LIMIT_S = 20
PATIENCE_MS = 90_000
LOOP = "def @f(%n: int32) -> int32 { if (%n < 0) { 1 } else { @f(%n) } }\n@f(1)"
ENDLESS_TRACE = 'def @f(%n: int32) -> int32 { @f(trace("at {}", %n)) }\n@f(1)'
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    pytest.importorskip("starlette")
    argv = [sys.executable, "-c", "from relay.cli.main import main; main()", "playground", "--port", "0"]
    started = subprocess.Popen([*argv, "--time-limit", str(LIMIT_S)], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    yield started.stdout.readline().split()[0]
    started.terminate()
    assert started.wait(20) in (0, -signal.SIGTERM)


@pytest.fixture
def playground(open_page: Open, server: str) -> Open:
    """`playground(width, …)`: the page, when it has checked its first program."""

    def opened(width: int = DESKTOP, fragment: str = "", **options: Any) -> Any:
        page = open_page(server + fragment, width, **options)
        page.set_default_timeout(PATIENCE_MS)
        page.wait_for_selector("body[data-ready]")
        page.wait_for_selector("body[data-checked]")
        return page

    return opened


def write(page: Any, text: str) -> None:
    """Replace the program by another one, as a user does, and wait until it is checked."""
    page.click("#editor .cm-content")
    page.keyboard.press("Control+a")
    page.evaluate("delete document.body.dataset.checked")
    page.keyboard.insert_text(text)
    page.wait_for_selector("body[data-checked]")
    assert page.evaluate("document.body.dataset.checked") != "failed", page.text_content("#problems")


def program(page: Any) -> str:
    """The text in the editor."""
    lines = page.locator("#editor .cm-line").all()
    return "\n".join(line.evaluate("l => [...l.childNodes].filter(n => n.className != 'cm-inlay')"
                                   ".map(n => n.textContent).join('')") for line in lines)  # fmt: skip


def until(page: Any, expression: str) -> None:
    """Wait for an expression to hold; the page's policy lets no script evaluate texts in it."""
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, expression
        time.sleep(0.05)


def run(page: Any) -> str:
    """Run the program and wait; what is said of it."""
    page.click("#tab-run")
    page.click("#run")
    page.wait_for_selector("#run:not([disabled])")
    return page.inner_text("#output")


def test_a_mistake_is_underlined_where_it_is(playground: Open) -> None:
    page = playground()
    write(page, "def @main(%x: float32) {\n  let %y = %x + 1.0;\n  foor(%y)\n}")
    assert page.inner_text(".cm-lintRange-error") == "foor"
    assert page.inner_text("#check-state") == "1 problem"
    page.click("#tab-problems")
    assert "unknown-name" in page.inner_text("#problems")
    assert "hint: did you mean `floor`?" in page.inner_text("#problems")
    page.click("#problems .fix")
    page.wait_for_selector("body[data-checked='0']")
    assert "floor(%y)" in program(page)
    assert page.locator(".cm-lintRange-error").count() == 0


def test_a_problem_leads_to_its_place(playground: Open) -> None:
    page = playground()
    write(page, "// one\n// two\nfoo(1)")
    page.click("#tab-problems")
    page.click("#problems .place")
    assert page.evaluate("getSelection().toString()") == "foo"


def test_a_program_runs_on_inputs(playground: Open) -> None:
    page = playground()
    write(page, 'def @main(%x: Tensor[(n,), float32], %k: float32) { trace("x is {}", %x) * %k }')
    assert "missing-input" in run(page)
    page.fill("#input-x", "[1.0, 2.0]")
    page.fill("#input-k", "3")
    said = run(page)
    assert "done in" in said
    assert "x is [1.0, 2.0]" in said
    assert "[3.0, 6.0]" in said
    page.select_option("#backend", "native")
    assert "[3.0, 6.0]" in run(page)
    page.fill("#input-x", "/etc/secret.npy")
    assert "input-from-file" in run(page)
    write(page, 'import "./other"\n1')
    assert "import-not-found" in run(page)


def test_the_keyboard_runs_and_moves_between_tabs(playground: Open) -> None:
    page = playground()
    write(page, "2.0 * 3.0")
    page.keyboard.press("Control+Enter")
    until(page, "document.querySelector('#output .value')?.textContent === '6.0'")
    page.focus("#tab-run")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#panel-types:not([hidden]) .cm-editor")
    assert page.evaluate("document.activeElement.id") == "tab-types"
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.id") == "tab-graph"


def test_a_loop_is_stopped_by_its_button_and_by_the_limit(playground: Open) -> None:
    page = playground()
    write(page, ENDLESS_TRACE)
    page.click("#run")
    until(page, "document.querySelector('#output .log').textContent.startsWith('at 1')")
    page.click("#stop")
    page.wait_for_selector("#run:not([disabled])")
    assert "stopped" in page.inner_text("#output")
    assert "at 1" in page.inner_text("#output .log")
    write(page, LOOP)
    assert "time-limit" in run(page)
    write(page, "1 + 2")
    assert "3" in run(page)


def workers(parent: int) -> int:
    """How many processes a process has started that are still there."""
    children = Path(f"/proc/{parent}/task/{parent}/children")
    return len(children.read_text().split())


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_closed_page_leaves_nothing_running(open_page: Open) -> None:
    argv = [sys.executable, "-c", "from relay.cli.main import main; main()", "playground", "--port", "0"]
    started = subprocess.Popen([*argv, "--time-limit", "600"], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    page = open_page(started.stdout.readline().split()[0])
    page.set_default_timeout(PATIENCE_MS)
    page.wait_for_selector("body[data-checked]")
    before = workers(started.pid)
    write(page, LOOP)
    page.click("#run")
    page.wait_for_selector("#stop:not([disabled])")
    time.sleep(1)
    page.close()
    deadline = time.monotonic() + 15
    while workers(started.pid) >= before and time.monotonic() < deadline:
        time.sleep(0.2)
    assert workers(started.pid) == before - 1
    started.terminate()
    started.wait(20)
    assert not Path(f"/proc/{started.pid}/task").exists() or os.name == "nt"


def test_types_are_shown_in_the_text_and_on_hovering(playground: Open) -> None:
    page = playground()
    write(page, "def @main(%x: Tensor[(n, 2), float32]) {\n  let %y = sum(%x, axis=1);\n  %y\n}")
    page.wait_for_selector(".cm-inlay")
    assert page.locator(".cm-inlay").all_text_contents() == [
        " -> Tensor[(n,), float32]",
        ": Tensor[(n,), float32]",
    ]
    page.hover("#editor .cm-line >> text=sum")
    page.wait_for_selector(".hover")
    assert "Tensor[(n,), float32]" in page.inner_text(".hover")
    page.uncheck("#inlays")
    assert page.locator(".cm-inlay").count() == 0
    page.click("#tab-types")
    page.wait_for_selector("#typed .cm-editor")
    assert "-> Tensor[(n,), float32] {" in page.inner_text("#typed")


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_passes_are_compared(playground: Open, width: int) -> None:
    page = playground(width)
    write(page, "def @main(%x: float32) {\n  let %unused = exp(%x);\n  %x + (1.0 + 2.0)\n}")
    page.click("#tab-passes")
    page.fill("#pipeline", "fold_constants,dead_code")
    page.click("#pipeline-form button")
    page.wait_for_selector("#comparison .cm-changedLine, #comparison .cm-deletedChunk")
    assert page.locator("#comparison .cm-editor").count() == (2 if width == DESKTOP else 1)
    shown = page.inner_text("#comparison")
    assert "exp(%x)" in shown
    assert "%x + 3f" in shown
    page.fill("#pipeline", "dead_cod")
    page.keyboard.press("Enter")
    page.wait_for_selector("#comparison .failed")
    assert "did you mean `dead_code`?" in page.inner_text("#comparison")


def test_a_program_is_shared_by_its_address(playground: Open, server: str) -> None:
    page = playground()
    text = 'def @main(%x: float32) {\n  trace("größer 😀", %x)\n}'
    write(page, text)
    page.fill("#input-x", "2.5")
    page.fill("#pipeline", "dead_code") if page.is_visible("#pipeline") else None
    page.click("#share")
    until(page, "location.hash.startsWith('#1:')")
    fragment = page.evaluate("location.hash")
    other = playground(fragment=fragment)
    assert program(other) == text
    assert other.input_value("#input-x") == "2.5"
    assert "2.5" in run(other)


def test_an_address_that_is_broken_is_said_to_be(playground: Open) -> None:
    page = playground(fragment="#1:AAAAAAAA")
    assert "no program that can be read" in page.inner_text("#announcement")


def test_examples_open(playground: Open) -> None:
    page = playground()
    page.evaluate("delete document.body.dataset.checked")
    page.select_option("#samples", "gradient")
    page.wait_for_selector("body[data-checked='0']")
    assert page.input_value("#input-steps") == "100"
    assert "1.4142135" in run(page)
    page.fill("#input-steps", "3")
    page.select_option("#samples", "mistake")
    until(page, "!document.querySelector('#input-steps')")
    page.wait_for_selector("#input-b")
    page.select_option("#samples", "gradient")
    until(page, "document.querySelector('#input-steps')?.value === '100'")
    write(page, "1 + 2")
    assert page.evaluate("document.querySelector('#samples').selectedIndex") == 0


def test_the_program_is_formatted(playground: Open) -> None:
    page = playground()
    write(page, "def @main(){1+2}")
    page.click("#format")
    until(page, "document.querySelectorAll('#editor .cm-line').length > 2")
    assert program(page) == "def @main() {\n  1 + 2\n}\n"


TABS = ("run", "problems", "types", "passes")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_the_page_is_accessible_and_fits(
    playground: Open,
    accessible: Callable[[Any], None],
    fits: Callable[[Any], None],
    screenshot: Callable[[Any, str], Path],
    width: int,
    scheme: str,
) -> None:
    page = playground(width, scheme=scheme)
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    for sample in ("mistake", "passes"):
        page.select_option("#samples", sample)
        until(page, "document.querySelector('#samples').selectedIndex > 0")
        for tab in TABS:
            page.click(f"#tab-{tab}")
            page.wait_for_timeout(400)
            screenshot(page, f"playground-{sample}-{tab}-{width}-{scheme}")
            accessible(page)
            fits(page)


def test_the_graph_is_drawn_in_a_frame_of_its_own(
    playground: Open, screenshot: Callable[[Any, str], Path]
) -> None:
    page = playground()
    write(page, "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x + 1.0) }")
    page.click("#tab-graph")
    frame = page.frame_locator("#picture iframe")
    frame.locator("svg >> text=nn.relu").first.wait_for(state="attached")
    screenshot(page, "playground-graph")
    assert page.get_attribute("#picture iframe", "sandbox") == "allow-scripts"
    write(page, "foo(1)")
    page.wait_for_selector("#picture .failed")


STAND_IN = """
export const loadPyodide = async () => ({
  loadPackage: async () => {}, unpackArchive: () => {}, runPython: () => {},
  pyimport: () => ({answer_text: (text, log) => {
    const request = JSON.parse(text)
    const entries = [{name: "main", parameters: []}]
    if (request.ask === "check") return JSON.stringify({diagnostics: [], inlays: [], entries})
    if (request.program === "loop") for (;;);
    log("from the stand-in")
    return JSON.stringify({text: `browser: ${request.program}`, seconds: 0.001})
  }}),
})
"""


def test_the_browser_has_an_engine_of_its_own(browser: Any, server: str) -> None:
    """Pyodide is stood in for; `editors/playground/test/loader.test.js` loads Pyodide itself."""
    context = browser.new_context()
    asked: list[str] = []

    def fulfil(route: Any) -> None:
        asked.append(route.request.url)
        headers = {"Access-Control-Allow-Origin": "*"}
        route.fulfill(body=STAND_IN, content_type="text/javascript", headers=headers)

    context.route("https://cdn.jsdelivr.net/**", fulfil)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(server)
    page.wait_for_selector("body[data-checked]")
    assert asked == []
    page.select_option("#engine", "browser")
    assert page.is_disabled("#backend")
    write(page, "one")
    said = run(page)
    assert "from the stand-in" in said
    assert "browser: one" in said
    assert len(asked) == 1
    assert asked[0].endswith("/pyodide.mjs")
    write(page, "loop")
    page.click("#run")
    page.wait_for_timeout(300)
    page.click("#stop")
    page.wait_for_selector("#run:not([disabled])")
    assert "stopped" in page.inner_text("#output")
    write(page, "two")
    assert "browser: two" in run(page)
    context.close()


def test_a_browser_without_network_is_told_so(browser: Any, server: str) -> None:
    context = browser.new_context()
    context.route("https://cdn.jsdelivr.net/**", lambda route: route.abort())
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(server)
    page.wait_for_selector("body[data-checked]")
    page.select_option("#engine", "browser")
    assert "Python in the browser failed" in run(page)
    context.close()


def test_light_and_dark_are_changed_by_a_button(playground: Open) -> None:
    page = playground()
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_pages_of_other_sites_are_not_answered(server: str) -> None:
    for headers in ({"Origin": "http://other.example"}, {"Host": "other.example"}):
        ask = Request(f"{server}ask", b"{}", {"Content-Type": "application/json", **headers})
        with pytest.raises(HTTPError) as refused:
            urlopen(ask)
        assert refused.value.code in (403, 421)
    with urlopen(server) as page:
        assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
