"""Charts of the tables on the page of performance, drawn when the site is built.

A chart stands below each table of times that has a column for Relay and columns for other systems.  It shows,
for every row, the time of each system divided by Relay's.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from website.links import slug

PEERS = (
    "ONNX Runtime", "OpenVINO", "PyTorch", "inductor", "JAX", "NumPy", "PyTorch by levels", "JAX, padded",
    "Relay, call by call",
)  # fmt: skip
RELAY = ("Relay", "Relay, batched")
TIMES = ("model", "milliseconds", "nanoseconds of a call")
"""What heads the names of rows in the tables whose columns are times."""
TABLE = re.compile(r"(?:^\|.*\|\n)+", re.MULTILINE)
HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
FOLDER = "charts"
STYLES = {"light": "default", "dark": "dark_background"}
WIDTH_INCHES, ROW_INCHES, MARGIN_INCHES = 6.5, 0.3, 1.1


@dataclass(frozen=True)
class Chart:
    """A table as a chart: for each row the times of other systems divided by Relay's, None where unknown."""

    title: str
    rows: tuple[str, ...]
    ratios: dict[str, tuple[float | None, ...]]


def with_charts(page: str) -> tuple[str, dict[str, Chart]]:
    """The page with a chart below each table that has one, and the charts by name."""
    text, end = "", 0
    charts: dict[str, Chart] = {}
    for table in TABLE.finditer(page):
        text += page[end : table.end()]
        end = table.end()
        chart = chart_of(title(page[: table.start()]), table[0])
        if chart is not None:
            same = [c for c in charts.values() if c.title == chart.title]
            name = slug(chart.title) + (f"-{len(same) + 1}" if same else "")
            charts[name] = chart
            text += "\n" + shown(chart, name)
    return text + page[end:], charts


def title(before: str) -> str:
    """The heading of a section, and that of its part."""
    found = HEADING.findall(before)
    upper = max(i for i, (marks, _) in enumerate(found) if marks == "##")
    return ", ".join([text for _, text in found[upper:][:1] + found[upper + 1 :][-1:]])


def chart_of(title: str, table: str) -> Chart | None:
    """The chart of a table, if its columns are times of Relay and of other systems."""
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    own = next((i for i, name in enumerate(head) if name in RELAY), None)
    others = [i for i, name in enumerate(head) if name in PEERS]
    if own is None or not others or head[0] not in TIMES:
        return None
    threads = head.index("threads") if "threads" in head else None
    names = [row[0] if threads is None else f"{row[0]}, threads: {row[threads]}" for row in rows]
    ratios = {head[i]: tuple([ratio(row[i], row[own]) for row in rows]) for i in others}
    return Chart(title, tuple(names), ratios)


def ratio(other: str, own: str) -> float | None:
    """The first number of one cell divided by that of another."""
    found, base = NUMBER.search(other), NUMBER.search(own)
    return float(found[0]) / float(base[0]) if found and base and float(base[0]) else None


def shown(chart: Chart, name: str) -> str:
    """The Markdown that shows a chart on light and on dark pages."""
    about = f"Chart of the table above, {chart.title}: the time of each system divided by that of Relay"
    pictures = [
        f"```{{image}} {picture(name, scheme)}\n:alt: {about}\n:class: only-{scheme} chart\n```\n"
        for scheme in STYLES
    ]
    return "\n".join(pictures)


def picture(name: str, scheme: str) -> str:
    """The place of a picture in the site."""
    return f"{FOLDER}/{name}-{scheme}.svg"


def draw_all(charts: dict[str, Chart], folder: Path) -> None:
    """The pictures of the charts, below the folder of the pages."""
    (folder / FOLDER).mkdir()
    for name, chart in charts.items():
        for scheme, style in STYLES.items():
            draw(chart, style, folder / picture(name, scheme))


def draw(chart: Chart, style: str, path: Path) -> None:
    """The picture of a chart: a mark for each system on the line of each row, right of 1 if slower."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter, NullFormatter

    with plt.style.context(style), plt.rc_context({"svg.hashsalt": "relay", "font.size": 9}):
        figure, axes = plt.subplots(figsize=(WIDTH_INCHES, ROW_INCHES * len(chart.rows) + MARGIN_INCHES))
        for (system, ratios), marker in zip(chart.ratios.items(), "osD^vPXh*", strict=False):
            known = [(r, y) for y, r in enumerate(ratios) if r is not None]
            if known:
                axes.plot(*zip(*known, strict=True), marker, label=system, alpha=0.85)
        axes.axvline(1, color="grey", linewidth=1)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_yticks(range(len(chart.rows)), chart.rows)
        axes.set_ylim(len(chart.rows) - 0.5, -0.5)
        axes.grid(axis="y", alpha=0.3)
        axes.set_xlabel("time / time of Relay (logarithmic): Relay is faster right of 1")
        figure.legend(loc="upper center", ncols=4, frameon=False)
        figure.tight_layout(rect=(0, 0, 1, 1 - 0.45 / figure.get_figheight()))
        figure.savefig(path, transparent=True, metadata={"Date": None})
        plt.close(figure)
