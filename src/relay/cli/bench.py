"""`relay bench FILE [ARGS]`: how long a program takes, on each backend."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, cast

import click
import numpy as np

from relay.cli.calls import command, entry_of
from relay.cli.files import read_module
from relay.cli.inputs import Input, arrange, read_weights
from relay.cli.progress import progress
from relay.cli.reports import json_option, print_json
from relay.cli.run import refuse_options
from relay.diagnostic import fail
from relay.ir.dtype import is_float, to_numpy
from relay.ir.expr import Expr, Function
from relay.ir.module import IRModule
from relay.ir.type import TensorType, Type

BACKENDS = ("native", "xla", "interpreter")
DEFAULT_BACKENDS = ("native", "interpreter")
MIN_ROUND_SECONDS = 0.005
"""The least time that a backend works in each round."""


@dataclass
class Runner:
    """A backend with a program to run."""

    name: str
    prepared: float
    """Seconds from the annotated program to the first result."""
    call: Callable[[], Any]
    number: int = 1
    times: list[float] = field(default_factory=list[float])


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--entry", default="main", metavar="NAME", help="The definition to run (default: main).")
@click.option(
    "--weights", metavar="FILE", help="A .safetensors, .npz or .params file of parameters, by name."
)
@click.option(
    "--backend",
    multiple=True,
    type=click.Choice(BACKENDS),
    help="One of them, several if repeated (default: native and interpreter).",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=15,
    metavar="N",
    help="The number of timed rounds (default: 15).",
)
@json_option
@click.argument("file")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def bench(
    file: str,
    args: Sequence[str],
    entry: str,
    weights: str | None,
    backend: Sequence[str],
    rounds: int,
    as_json: bool,
) -> None:
    """Time the program in FILE on inputs, as `relay run` takes them.

    The backends take turns in one process, so that what else the machine does meets all of them.  Without any
    inputs, tensors of known shapes are filled with random numbers.
    """
    from relay.typecheck.infer import infer

    refuse_options((file, *args))
    with progress("checking"):
        mod = infer(read_module(file))
    name = entry.removeprefix("@")
    main = entry_of(mod, name)
    params = list(main.params) if isinstance(main, Function) else []
    by_name = {} if weights is None else read_weights(weights)
    if not args and not by_name:
        inputs = [Input(f"random {p.name_hint}", random_array(p.type_annotation)) for p in params]
    else:
        inputs = arrange([p.name_hint for p in params], args, by_name)
    what, arrays = command(mod, name, inputs) if isinstance(main, Function) else (main, [])
    runners = [prepared(which, mod, what, arrays) for which in backend or DEFAULT_BACKENDS]
    with progress("timing"):
        for _ in range(rounds):
            for r in runners:
                r.times.append(timed(r))
    if as_json:
        print_json([runner_object(r) for r in runners])
    else:
        show(runners)


def runner_object(r: Runner) -> dict[str, Any]:
    """The times of a backend for machines, in seconds."""
    from relay.backend.native.host.timing import BenchmarkResult

    found = BenchmarkResult(r.times)
    times = {"median_s": found.median, "min_s": found.min, "times_s": r.times}
    return {"backend": r.name, "first_result_s": r.prepared, **times}


def prepared(name: str, mod: IRModule, what: Expr, arrays: Sequence[Any]) -> Runner:
    """A backend that has run once."""
    from relay.driver.executor import create_executor

    start = perf_counter()
    with progress(f"preparing {name}"):
        fn = what if isinstance(what, Function) else Function((), what, span=what.span)
        function = create_executor(name, mod).evaluate(fn)
        function(*arrays)
    runner = Runner(name, perf_counter() - start, lambda: function(*arrays))
    once = timed(runner)
    runner.number = max(1, round(MIN_ROUND_SECONDS / max(once, 1e-8)))
    return runner


def timed(runner: Runner) -> float:
    """Seconds that one call takes now."""
    call, rounds = runner.call, range(runner.number)
    start = perf_counter()
    for _ in rounds:
        call()
    return (perf_counter() - start) / runner.number


def random_array(t: Type | None) -> Any:
    """Numbers for a parameter of a known shape (`missing-input`)."""
    if not isinstance(t, TensorType) or not t.is_closed or t.dtype == "string":
        fail("missing-input", f"random inputs are tensors of known shapes, not {t}", hint="give the inputs")
    rng, dtype = np.random.default_rng(0), str(t.dtype)
    shape = t.concrete_shape
    numbers = rng.standard_normal(shape) if is_float(dtype) else rng.integers(0, 2, shape)
    return cast("Any", np.asarray(numbers)).astype(to_numpy(dtype))


def show(runners: Sequence[Runner]) -> None:
    """Print a table."""
    from rich.console import Console
    from rich.table import Table

    from relay.backend.native.host.timing import BenchmarkResult
    from relay.picture.times import format_seconds

    table = Table()
    for head in ("backend", "first result after", "median", "least", "times as fast"):
        table.add_column(head, justify="left" if head == "backend" else "right")
    found = [BenchmarkResult(r.times) for r in runners]
    slowest = max([b.median for b in found])
    for r, b in zip(runners, found, strict=True):
        cells = (
            format_seconds(r.prepared),
            format_seconds(b.median),
            format_seconds(b.min),
            f"{slowest / b.median:.1f}",
        )
        table.add_row(r.name, *cells)
    Console().print(table)
