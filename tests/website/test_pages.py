"""The pages of the site, before Sphinx reads them: what is there, where links lead, what is generated."""

import inspect
import os
import re
from pathlib import PurePosixPath

import pytest

import relay
from relay.cli.explain import pages as error_pages
from relay.cli.std import entries
from relay.op.registry import registry
from relay.text.imports import standard_names
from support import ROOT
from website.charts import Chart, chart_of
from website.docstrings import restructured
from website.links import FENCED, linked, page_of
from website.navigation import ENTRY, contents
from website.pages import LANDING, site_pages
from website.reference_pages import MODULES, data_docstring, public_names, value_of

LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]+)\)")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return site_pages()[0]


def test_every_page_is_listed_for_readers() -> None:
    listed = set(ENTRY.findall((ROOT / LANDING).read_text()))
    docs = {str(p.relative_to(ROOT / "docs").with_suffix("")) for p in (ROOT / "docs").rglob("*.md")}
    missing = sorted(docs - listed - {"README"})
    assert not missing, f"docs/README.md has no line for {missing}"


def test_links_between_pages_lead_to_pages(pages: dict[str, str]) -> None:
    broken: list[str] = []
    for path, text in pages.items():
        if path.startswith("files/") and path.removesuffix(".md").endswith(".md"):
            continue  # the text of a page, as a file
        for target in LINK.findall("".join(FENCED.split(text)[::2])):
            to = os.path.normpath(PurePosixPath(path).parent / target)
            is_picture = to.endswith((".png", ".svg"))
            if target.endswith((".md", ".rst")) and to not in pages:
                broken.append(f"{path}: {target}")
            if is_picture and not to.startswith("charts/") and not (ROOT / "docs" / to).exists():
                broken.append(f"{path}: {target}")
    assert not broken


def test_each_operator_error_and_definition_is_on_a_page(pages: dict[str, str]) -> None:
    for name in registry:
        assert f"# {name}\n" in pages[f"operators/{name}.md"]
        assert f"(operators/{name}.md)" in pages["operators.md"]
    assert {f"errors/{code}.md" for code in error_pages()} <= set(pages)
    for module in standard_names():
        for entry in entries(module):
            assert f"## {entry.name}\n" in pages[f"library/{module}.md"]


def test_the_page_of_an_operator_has_what_the_manual_has(pages: dict[str, str]) -> None:
    page = pages["operators/nn.conv2d.md"]
    assert "| `strides` | `int \\| (int, …)` | (1, 1) |" in page
    assert "[`bad-layout`](../errors/bad-layout.md)" in page
    assert ": Tensor[(1, 1, 1, 1), float32]" in page
    assert "{py:function} relay.nn.conv2d(data, weight" in page


def test_pages_are_the_same_each_time(pages: dict[str, str]) -> None:
    assert list(site_pages()[0].items()) == list(pages.items())


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_a_docstring(module: str) -> None:
    for name in public_names(module):
        value = value_of(module, name)
        said = inspect.getdoc(value) if callable(value) else " ".join(data_docstring(module, name))
        assert said, f"{module}.{name}"


def test_every_public_name_is_on_a_page(pages: dict[str, str]) -> None:
    for module in MODULES:
        for name in public_names(module):
            assert re.search(rf":: {re.escape(module)}\.{name}$", pages[f"api/{module}.rst"], re.MULTILINE)
    assert {m for m in relay._SUBMODULES if hasattr(getattr(relay, m), "__all__")} <= {
        *[m.removeprefix("relay.") for m in MODULES], "qnn"
    }  # fmt: skip


def test_links_of_the_repository_are_links_of_the_site() -> None:
    text = "[a](../src/relay/errors/arity.md) [b](../examples/) [c](native.md#memory) `[A](%x: A)` [d](no.md)"
    moved, found = linked(text, "docs/language.md")
    assert moved == (
        "[a](errors/arity.md) [b](files/examples.md) [c](native.md#memory) `[A](%x: A)` [d](no.md)"
    )
    assert found == {"src/relay/errors/arity.md", "examples", "docs/native.md"}
    assert page_of("docs/tutorial/README.md") == "tutorial/index.md"
    assert contents(["a"]) == "```{toctree}\n:hidden:\n\na\n```\n"


def test_docstrings_become_restructured_text() -> None:
    lines = ["Of `Var`s and *stars*:", "- one `a", "  b`", "- two_", "", ">>> f(*x)", "1"]
    assert restructured(lines) == [
        r"Of \ ``Var``\ s and \*stars\*:", "", r"- one \ ``a b``\ ", r"- two\_", "",
        "::", "", "   >>> f(*x)", "   1", "",
    ]  # fmt: skip


def test_a_table_of_times_becomes_a_chart() -> None:
    rows = "| MLP | 2 / 1 | 3 (x) | d |\n| CNN | 4 | - | d |\n"
    table = "| model | Relay | JAX | date |\n|---|---|---|---|\n" + rows
    assert chart_of("t", table) == Chart("t", ("MLP", "CNN"), {"JAX": (1.5, None)})
    assert chart_of("t", "| model | share |\n|---|---|\n| MLP | 2 |\n") is None
