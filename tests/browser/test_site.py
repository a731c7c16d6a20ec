"""The site as readers see it, on a phone and on a desktop: `make site` builds what these tests open."""

import functools
import http.server
import os
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

import pytest

from support import ROOT

pytestmark = pytest.mark.extras

SITE = Path(os.environ.get("RELAY_SITE", ROOT / "build" / "site" / "html"))
PHONE, DESKTOP = 390, 1280
PAGES = (
    "index.html", "learn.html", "tutorial/index.html", "coming-from-jax.html", "language.html",
    "library.html", "library/list.html", "operators.html", "operators/nn.conv2d.html", "passes.html",
    "errors.html", "errors/broadcast-mismatch.html", "api.html", "api/relay.html", "api/relay.optim.html",
    "performance.html", "architecture.html", "glossary.html", "files/examples.html",
    "files/examples/knn.relay.html", "changelog.html", "search.html?q=conv2d", "genindex.html",
)  # fmt: skip
"""A page of each kind."""
MOST_CLICKS = 2


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of the site, served on this machine."""
    if not (SITE / "index.html").exists():
        pytest.skip("needs the site that `make site` builds")
    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "light"), (DESKTOP, "dark")])
def test_a_page_fits_and_is_accessible(
    site, page, width, scheme, open_page, fits, accessible, screenshot
) -> None:
    opened = open_page(site + page, width=width, scheme=scheme)
    screenshot(opened, f"{page.replace('/', '-').partition('.html')[0]}-{width}-{scheme}")
    fits(opened)
    accessible(opened)


@pytest.mark.parametrize("page", ["index.html", "operators/nn.conv2d.html", "performance.html"])
@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "dark"), (DESKTOP, "light")])
def test_the_other_scheme_is_accessible_too(
    site, page, width, scheme, open_page, fits, accessible, screenshot
) -> None:
    test_a_page_fits_and_is_accessible(site, page, width, scheme, open_page, fits, accessible, screenshot)


def test_the_schemes_differ_and_the_reader_can_choose(site, open_page) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    light = open_page(site + "index.html").evaluate(colour)
    page = open_page(site + "index.html", scheme="dark")
    assert page.evaluate(colour) != light
    page.locator(".theme-switch-button").first.click()
    page.locator("[data-mode='light']:visible").first.click()
    page.wait_for_function(f"{colour} == {light!r}")


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_search_finds_an_operator(site, width, open_page, screenshot) -> None:
    page = open_page(site + "index.html", width=width)
    page.keyboard.press("Control+k")
    page.keyboard.type("nn.conv2d")
    screenshot(page, f"search-{width}")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=nn.conv2d*")
    page.locator("#search-results a[href*='operators/nn.conv2d.html']").first.click()
    assert page.locator("h1").inner_text().startswith("nn.conv2d")


def test_the_keyboard_leads_past_the_header_and_through_the_page(site, open_page) -> None:
    page = open_page(site + "language.html")
    page.keyboard.press("Tab")
    assert "Skip to main content" in page.evaluate("document.activeElement.innerText")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_a_phone_has_the_contents_behind_a_button(site, open_page, accessible, screenshot) -> None:
    page = open_page(site + "language.html", width=PHONE)
    entry = page.locator("#pst-primary-sidebar-modal a", has_text="Batching")
    assert not entry.is_visible()
    button = page.locator("button.primary-toggle")
    button.focus()
    page.keyboard.press("Enter")
    entry.wait_for(state="visible")
    screenshot(page, "contents-390")
    accessible(page)
    page.keyboard.press("Escape")
    entry.wait_for(state="hidden")


def test_programs_are_coloured_and_charts_are_shown(site, open_page) -> None:
    page = open_page(site + "language.html")
    assert page.locator(".highlight-relay .kd").count() > 50
    assert page.locator(".highlight-relay .err").count() == 0
    page = open_page(site + "performance.html", scheme="dark")
    widths = page.evaluate(
        "[...document.querySelectorAll('img.chart')].map(x => [x.naturalWidth, x.offsetWidth])"
    )
    assert len(widths) >= 10
    assert all(natural > 0 for natural, _ in widths)
    assert sum(shown > 0 for _, shown in widths) == len(widths) // 2


class Links(HTMLParser):
    """The names that a page has, and where its links lead: all, and those of its text alone."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.all: set[str] = set()
        self.text: set[str] = set()
        self.is_text = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.is_text = self.is_text or tag == "article"
        self.names.add(given.get("id") or "")
        target = given.get("href") or given.get("src") or ""
        if target and not target.startswith(("http:", "https:", "mailto:", "data:")):
            self.all.add(target)
            if tag == "a" and self.is_text:
                self.text.add(target)

    def handle_endtag(self, tag: str) -> None:
        self.is_text = self.is_text and tag != "article"


@pytest.fixture(scope="module")
def links(site) -> dict[str, Links]:
    """Each page of the site with its names and links; templates of the theme, in `_static`, are not pages."""
    found: dict[str, Links] = {}
    for path in sorted(SITE.rglob("*.html")):
        name = path.relative_to(SITE).as_posix()
        if not name.startswith("_static/"):
            found[name] = Links()
            found[name].feed(path.read_text())
    return found


def test_every_link_leads_to_a_page_and_a_place_on_it(links) -> None:
    broken: list[str] = []
    for page, own in links.items():
        for target in own.all:
            path, anchor = urldefrag(urljoin(f"/{page}", target))
            to = unquote(path.partition("?")[0]).removeprefix("/") or "index.html"
            if not (SITE / to).exists() or (
                anchor and to in links and unquote(anchor) not in links[to].names
            ):
                broken.append(f"{page}: {target}")
    assert not broken


def test_every_page_is_two_clicks_away(links) -> None:
    clicks, edge = {"index.html"}, {"index.html"}
    for _ in range(MOST_CLICKS):
        edge = {
            urldefrag(urljoin(f"/{page}", target))[0].removeprefix("/")
            for page in edge
            for target in (links[page].text if page in links else ())
        }
        clicks |= edge
    of_sphinx = {"genindex.html", "py-modindex.html", "search.html"}
    far = {page for page in links if not page.startswith("files/")} - clicks - of_sphinx
    sections = {
        page
        for page in far
        if page.removesuffix(".html")
        in ("learn", "programs", "models", "running", "reference", "development")
    }
    assert far == sections, "reached by the header alone"
