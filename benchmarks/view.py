"""How long pictures take: to make the page of a program, and to open it in headless Chromium.

    pip install playwright && python benchmarks/view.py --nodes 10000 --rounds 5

Each round opens an empty page too.  It prints the median and the extremes of the seconds until the page has
drawn, and the ratio to the empty page.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import relay


def program(nodes: int, definitions: int) -> str:
    each = max(1, nodes // definitions // 2)
    lines: list[str] = []
    for d in range(definitions):
        lines.append(f"def @f{d}(%v0: Tensor[(8, 8), float32]) -> Tensor[(8, 8), float32] {{")
        lines += [f"  let %v{i + 1} = nn.relu(%v{i}) + %v{max(0, i - 3)};" for i in range(each)]
        lines.append(f"  %v{each}\n}}")
    calls = "".join([f"  let %y{d + 1} = @f{d}(%y{d});\n" for d in range(definitions)])
    return "\n".join([*lines, f"def @main(%y0: Tensor[(8, 8), float32]) {{\n{calls}  %y{definitions}\n}}"])


def opened(browser, url: str, is_ready: str) -> float:
    page = browser.new_page()
    start = time.perf_counter()
    page.goto(url)
    page.wait_for_selector(is_ready)
    took = time.perf_counter() - start
    page.close()
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--definitions", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    start = time.perf_counter()
    mod = relay.infer(relay.parse(program(args.nodes, args.definitions), "large.relay"))
    print(f"parse and infer: {time.perf_counter() - start:.2f} s")
    start = time.perf_counter()
    view = mod.view("large.relay")
    html = view.html()
    took = time.perf_counter() - start
    print(f"page of {len(view.graph.nodes):,} nodes: {took:.2f} s, {len(html) / 1e6:.1f} MB")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        full, empty = Path(folder, "large.html"), Path(folder, "empty.html")
        full.write_text(html)
        empty.write_text("<!doctype html><body>empty</body>")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        pairs = [
            (opened(browser, full.as_uri(), "body[data-ready]"), opened(browser, empty.as_uri(), "body"))
            for _ in range(args.rounds)
        ]
        browser.close()
    for name, times in (("open", [a for a, _ in pairs]), ("empty page", [b for _, b in pairs])):
        print(f"{name}: median {statistics.median(times):.2f} s, {min(times):.2f} to {max(times):.2f}")
    print(f"ratio: {statistics.median([a / b for a, b in pairs]):.1f}")


if __name__ == "__main__":
    main()
