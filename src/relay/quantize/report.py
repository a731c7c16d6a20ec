"""How far a quantised program is from its float32, operator by operator."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay.interpreter.effects import floats_in
from relay.ir.expr import Call, Expr
from relay.ir.module import IRModule
from relay.op.tap import listening
from relay.quantize.calibration import no_examples
from relay.quantize.insertion import Changes, rewritten
from relay.quantize.sites import Site
from relay.quantize.taps import checked_examples, runs, tapped


@dataclass(slots=True)
class Difference:
    """How far some numbers are from those that they stand for, gathered over many arrays."""

    signal: float = 0.0
    noise: float = 0.0
    product: float = 0.0
    other: float = 0.0
    max_error: float = 0.0

    def add(self, exact: Any, found: Any) -> None:
        """Compare two arrays of one shape where the exact one is finite; those of two shapes are not."""
        if np.shape(exact) != np.shape(found):
            return
        x, y = (np.asarray(v).ravel().astype("float64") for v in (exact, found))
        is_finite = np.isfinite(x)
        x, y = x[is_finite], y[is_finite]
        gap = y - x
        self.signal += float(x @ x)
        self.noise += float(gap @ gap)
        self.product += float(x @ y)
        self.other += float(y @ y)
        self.max_error = max(self.max_error, float(np.abs(gap).max(initial=0)))

    @property
    def snr(self) -> float:
        """The ratio of signal to noise in decibels: `10 log10(sum(x * x) / sum((y - x) ** 2))`."""
        if self.noise == 0:
            return float("inf")
        return 10 * float(np.log10(self.signal / self.noise)) if self.signal else float("-inf")

    @property
    def cosine(self) -> float:
        """The cosine of the angle between the two, 1 where they point the same way."""
        size = (self.signal * self.other) ** 0.5
        return self.product / size if size else 1.0


@dataclass(frozen=True)
class Row:
    """One quantised operator.  `alone` is its error on the float32 input, `total` with that of all before."""

    name: str
    operator: str
    place: str
    alone: Difference
    total: Difference


@dataclass(frozen=True)
class Report:
    """The quantised operators of a program in their order, and the error of each.

    `print` shows a table; `save_plot` draws it.
    """

    rows: tuple[Row, ...]
    examples: int
    result: Difference
    """The error of what the program returns."""

    def by_sensitivity(self) -> list[Row]:
        """The operators from the most sensitive to the least: by the noise that each adds by itself."""
        return sorted(self.rows, key=lambda r: r.alone.snr)

    def table(self) -> Any:
        """A table for `rich`."""
        from rich.table import Table

        table = Table(title=f"quantised operators ({len(self.rows)}), examples ({self.examples})")
        table.add_column("operator")
        table.add_column("where")
        for title in ("SNR", "max error", "cosine", "SNR with errors before", "max error", "cosine"):
            table.add_column(title, justify="right")
        table.add_column("sensitivity", justify="right")
        rank = {r.name: i for i, r in enumerate(self.by_sensitivity(), 1)}
        for r in self.rows:
            cells = [*_cells(r.alone), *_cells(r.total)]
            table.add_row(r.name, r.place, *cells, str(rank[r.name]))
        table.add_section()
        table.add_row("result", "", "", "", "", *_cells(self.result), "")
        return table

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=120, color_system=None)
        with console.capture() as capture:
            console.print(self.table())
        return capture.get()

    def save_plot(self, path: Any) -> None:
        """Draw the ratio of signal to noise at each operator, alone and with the errors before it.

        Needs matplotlib, which the extra `plot` has.
        """
        from importlib import import_module

        plt: Any = import_module("matplotlib.pyplot")

        figure, axes = plt.subplots(figsize=(max(6, 0.4 * len(self.rows)), 4))
        names = [r.name for r in self.rows]
        axes.plot(names, [r.alone.snr for r in self.rows], marker="o", label="alone")
        axes.plot(names, [r.total.snr for r in self.rows], marker="o", label="with errors before it")
        axes.set_ylabel("signal to noise [dB]")
        axes.tick_params(axis="x", rotation=90)
        axes.grid(alpha=0.3)
        axes.legend()
        figure.tight_layout()
        figure.savefig(path, dpi=150)
        plt.close(figure)


def _cells(d: Difference) -> tuple[str, str, str]:
    return f"{d.snr:.1f} dB", f"{d.max_error:.3g}", f"{d.cosine:.5f}"


def compared(
    mod: IRModule,
    sites: Sequence[Site],
    alone: Callable[[Site, Call], Expr],
    quantized: Callable[[Callable[[Site, Call], Expr]], IRModule],
    examples: Iterable[Any] | None,
) -> Report:
    """The report on a program that is quantised at some sites.

    `alone` makes of a call in float32 the same call quantised, and `quantized` the whole program, with what
    it is given around the calls of sites.  Raises `missing-calibration`, `calibration-input`.
    """
    if examples is None:
        no_examples("the report needs examples")
    rows = {s: Row(s.name, s.operator, place_of(s), Difference(), Difference()) for s in sites}
    seen: dict[Site, deque[Any]] = {s: deque() for s in sites}

    def keep(site: Site) -> Callable[..., None]:
        def heard(exact: Any, found: Any) -> None:
            rows[site].alone.add(exact, found)
            seen[site].append(np.array(exact))

        return heard

    def compare(site: Site) -> Callable[..., None]:
        def heard(found: Any) -> None:
            if seen[site]:  # loops may take more rounds with rounded numbers
                rows[site].total.add(seen[site].popleft(), found)

        return heard

    result, count = Difference(), 0
    with listening([*map(keep, sites), *map(compare, sites)]) as numbers:
        first = dict(zip(sites, numbers, strict=False))
        second = dict(zip(sites, numbers[len(sites) :], strict=True))
        around = Changes(result=lambda s, call: tapped(first[s], call, alone(s, call)))
        programs = rewritten(mod, sites, around), quantized(lambda s, call: tapped(second[s], call))
        for exact, found in runs(programs, checked_examples(examples)):
            count += 1
            for x, y in zip(floats_in(exact), floats_in(found), strict=False):
                result.add(x, y)
            for left in seen.values():
                left.clear()
    if not count:
        no_examples("the report has no examples")
    return Report(tuple(rows.values()), count, result)


def place_of(site: Site) -> str:
    """Where a site is in the source."""
    span = site.call.span
    return "" if span is None else f"{span.source.name}:{span.line}"
