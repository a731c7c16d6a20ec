"""What Sphinx needs to know; `python -m website` writes the pages and runs it."""

from pathlib import Path

from relay.version import VERSION
from website.docstrings import on_docstring

HERE = Path(__file__).resolve().parent

project = "Relay"
author = "the authors of Relay"
copyright = author
version = release = VERSION
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "index"
exclude_patterns: list[str] = []
highlight_language = "text"
pygments_style = "a11y-high-contrast-light"

myst_enable_extensions = ["attrs_block"]
myst_disable_syntax = ["myst_line_comment", "myst_block_break", "myst_target"]
myst_heading_anchors = 6

myst_heading_slug_func = "website.links.slug"

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "Relay"
html_static_path = [str(HERE / "static")]
html_favicon = str(HERE / "static" / "icon.svg")
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_sphinx = False
html_copy_source = False
html_show_copyright = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "Relay"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navigation_depth": 2,
    "collapse_navigation": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "back_to_top_button": False,
}


def setup(app) -> None:
    """Docstrings go through our reader."""
    app.connect("autodoc-process-docstring", on_docstring)
