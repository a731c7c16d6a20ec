"""Pages in a headless Chromium: Debian's, driven by `playwright`.

`RELAY_CHROMIUM` names another one; `RELAY_SCREENSHOTS` names a folder that keeps the pictures that
tests take.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PHONE, DESKTOP = 390, 1280
HEIGHT = {PHONE: 844, DESKTOP: 800}
LOOPBACK = ("http://127.0.0.1", "http://localhost", "file:", "data:", "blob:", "about:", "ws://127.0.0.1")

Page = Any
OpenPage = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    executable = os.environ.get("RELAY_CHROMIUM") or shutil.which("chromium")
    if executable is None:
        pytest.skip("needs Debian's chromium")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[OpenPage]:
    """`open_page(url, width=DESKTOP, scheme="light", …)`: a page of a context of its own.

    At the end of the test no page may have asked for anything outside this machine, nor written an error
    to its console.
    """
    contexts, outside, faults = [], [], []

    def opened(url: str, width: int = DESKTOP, scheme: str = "light", **options: Any) -> Page:
        size = {"width": width, "height": HEIGHT[width]}
        context = browser.new_context(viewport=size, color_scheme=scheme, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on(
            "request",
            lambda request: None if request.url.startswith(LOOPBACK) else outside.append(request.url),
        )
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not outside, f"requests that leave this machine: {outside}"
    assert not faults, f"errors in the console: {faults}"


@pytest.fixture
def screenshot(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Page, str], Path]:
    """`screenshot(page, name)`: the path of a picture of what the page shows."""
    folder = Path(os.environ.get("RELAY_SCREENSHOTS") or tmp_path)

    def taken(page: Page, name: str) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.png"
        page.screenshot(path=path)
        return path

    return taken


@pytest.fixture
def accessible() -> Callable[[Page], None]:
    """`accessible(page)`: axe finds nothing serious or critical in it."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()

    def checked(page: Page) -> None:
        found = axe.run(page, options={"preload": False}).response["violations"]
        serious = [
            f"{each['id']}: {each['help']}: {[node['target'] for node in each['nodes']][:5]}"
            for each in found
            if each["impact"] in ("serious", "critical")
        ]
        assert not serious, "\n".join(serious)

    return checked


@pytest.fixture
def fits() -> Callable[[Page], None]:
    """`fits(page)`: the page is not wider than its window."""

    def checked(page: Page) -> None:
        wide, window = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert wide <= window, f"the page is {wide} pixels wide in a window of {window}"

    return checked
