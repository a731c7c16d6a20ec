"""The documentation as a site: `make site`, and then open build/site/html/index.html.

The pages are `docs/*.md` as GitHub shows them, the pages of errors, and what is generated from the package:
the manuals of operators and of the standard library, and the reference of the Python API.  They are gathered
in build/site/pages, and Sphinx makes HTML of them; any warning is an error.
"""

import argparse
import shutil
import time
from pathlib import Path

from sphinx.cmd.build import main as sphinx

from website.charts import draw_all
from website.links import ROOT
from website.pages import site_pages

PICTURES = (".png", ".svg")
HERE = Path(__file__).resolve().parent


def main() -> int:
    """Build the site; the exit status is Sphinx's."""
    parser = argparse.ArgumentParser(prog="python -m website", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", help="where all is written")
    parser.add_argument("--jobs", default="auto", help="how many processes write pages")
    args = parser.parse_args()
    start = time.perf_counter()
    pages, html, read = args.out / "pages", args.out / "html", args.out / "read"
    for folder in (pages, html, read):
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{write(pages)} pages in {time.perf_counter() - start:.1f} s", flush=True)
    options = ["--fail-on-warning", "--keep-going", "--quiet", "--jobs", args.jobs]
    folders = ["--conf-dir", str(HERE), "--doctree-dir", str(read), str(pages), str(html)]
    status = sphinx(["--builder", "html", *options, *folders])
    print(f"{html / 'index.html'} after {time.perf_counter() - start:.1f} s")
    return status


def write(folder: Path) -> int:
    """Write every page and picture; how many pages there are."""
    found, charts = site_pages()
    for path, text in found.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    for picture in sorted((ROOT / "docs").rglob("*")):
        if picture.suffix in PICTURES and HERE not in picture.parents:
            shutil.copyfile(picture, folder / picture.relative_to(ROOT / "docs"))
    draw_all(charts, folder)
    return len(found)


if __name__ == "__main__":
    raise SystemExit(main())
