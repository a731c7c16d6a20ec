"""The fixtures find what they are there to find."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.extras

PAGE = "<!doctype html><html lang='en'><title>t</title><main><h1>Title</h1>{}</main></html>"


def written(folder: Path, body: str) -> str:
    file = folder / "page.html"
    file.write_text(PAGE.format(body))
    return file.as_uri()


def test_a_plain_page_is_accessible_and_fits(open_page, accessible, fits, screenshot, tmp_path):
    page = open_page(written(tmp_path, "<p>text</p>"), width=390)
    accessible(page)
    fits(page)
    assert screenshot(page, "plain").stat().st_size > 1000


def test_a_picture_without_a_text_is_found(open_page, accessible, tmp_path):
    page = open_page(written(tmp_path, "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>"))
    with pytest.raises(AssertionError, match="image-alt"):
        accessible(page)


def test_a_wide_page_is_found(open_page, fits, tmp_path):
    page = open_page(written(tmp_path, "<div style='width: 2000px'>x</div>"), width=390)
    with pytest.raises(AssertionError, match="pixels wide"):
        fits(page)
