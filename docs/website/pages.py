"""The pages of the site, by their paths: those of the repository, and those generated from the package."""

from collections.abc import Iterator

from website.charts import Chart, with_charts
from website.file_pages import file_pages
from website.library_pages import library_pages
from website.links import DOCS, ERRORS, ROOT, captioned, lenient, linked, page_of
from website.navigation import landing_page, section_pages
from website.operator_pages import ORPHAN, operator_pages
from website.reference_pages import reference_pages

WRITTEN = ("CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages at the root of the repository."""
LANDING, PERFORMANCE = "docs/README.md", "docs/performance.md"


def site_pages() -> tuple[dict[str, str], dict[str, Chart]]:
    """The text of every page by its path, and the charts that the pages show."""
    charts: dict[str, Chart] = {}
    found: dict[str, str] = {}
    for pages in (repository_pages(charts), operator_pages(), library_pages(), reference_pages()):
        for path, text in pages:
            assert path not in found, f"two sources of the page {path}"
            found[path] = text
    return found, charts


def repository_pages(charts: dict[str, Chart]) -> Iterator[tuple[str, str]]:
    """The pages written by hand, and those of the files that they link to; `charts` gets their charts."""
    links: set[str] = set()
    for source in sources():
        text, found = linked(captioned((ROOT / source).read_text()), source)
        links |= found
        if source == LANDING:
            yield from section_pages(text)
            text = landing_page(text)
        elif source.startswith(ERRORS):
            text = f"{ORPHAN}\n[Errors](../errors.md)\n\n{lenient(text)}"
        elif source == PERFORMANCE:
            text, drawn = with_charts(text)
            charts.update(drawn)
        yield page_of(source), text
    yield from file_pages(links)


def sources() -> list[str]:
    """The Markdown pages of the repository that are in the site."""
    docs = [str(p.relative_to(ROOT)) for p in sorted((ROOT / DOCS).rglob("*.md"))]
    errors = [str(p.relative_to(ROOT)) for p in sorted((ROOT / ERRORS).glob("*.md"))]
    return [*docs, *errors, *WRITTEN]
