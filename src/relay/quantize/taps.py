"""Running a compiled program while values inside of it are watched."""

import sys
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from relay.diagnostic import RelayError, did_you_mean, fail
from relay.driver.compilation import build
from relay.interpreter.arguments import convert_argument, is_mapping
from relay.ir.expr import Expr, Function
from relay.ir.module import IRModule
from relay.transform.rewriting.rewriter import call_of

PROGRESS_DELAY_SECONDS = 2.0
"""A bar shows after this time."""


def tapped(number: int, *values: Expr) -> Expr:
    """A tap on the first value, which shows all."""
    return call_of("tap", values, values[0], number=number)


def run_on(mod: IRModule, examples: Iterable[Any]) -> int:
    """Compile `@main` and call it on each example; the number of them (`calibration-input`)."""
    return sum([1 for _ in runs((mod,), examples)])


def runs(programs: Sequence[IRModule], examples: Iterable[Any]) -> Generator[list[Any]]:
    """What several programs with one signature give for each example.

    An example is a dict by the names of parameters, a tuple or list with one value for each, or an array for
    the only parameter.  Raises `calibration-input` for an example that does not fit.
    """
    built: list[Any] = [build(mod, cache=False) for mod in programs]
    main = programs[0]["main"]
    assert isinstance(main, Function)
    for number, example in enumerate(watched(examples)):
        args = arguments(programs[0], main, example, number)
        yield [f(*args) for f in built]


def arguments(mod: IRModule, main: Function, example: Any, number: int) -> list[Any]:
    """The arguments of a call for an example (`calibration-input`)."""
    names = [p.name_hint for p in main.params]
    if is_mapping(example):
        values = _by_name(names, example, number)
    else:
        values: list[Any] = [example]
        if isinstance(example, tuple) or (isinstance(example, list) and len(names) != 1):  # pyright: ignore[reportUnknownArgumentType]
            values = list(example)  # pyright: ignore[reportUnknownArgumentType]
        if len(values) != len(names):
            found = f"{len(values)} value{'s' * (len(values) != 1)} for {len(names)} parameters"
            hint = f"the parameters are {_listing(names)}"
            fail("calibration-input", f"example {number} has {found}", hint=hint)
    env: dict[Any, Any] = {}
    for p, x in zip(main.params, values, strict=True):
        try:
            convert_argument("@main", p, x, env, mod)
        except RelayError as error:
            first = error.diagnostics[0]
            message = f"example {number} does not fit: {first.message}"
            fail("calibration-input", message, first.span, label=first.label, hint=first.hint)
    return values


def _by_name(names: Sequence[str], example: Mapping[str, Any], number: int) -> list[Any]:
    for n in example:
        if n not in names:
            hint = did_you_mean(n, names) or f"the parameters are {_listing(names)}"
            fail("calibration-input", f"example {number}: `@main` has no parameter `{n}`", hint=hint)
    missing = [n for n in names if n not in example]
    if missing:
        message = f"example {number} has no value for {_listing(missing)}"
        fail("calibration-input", message, hint="values that are the same for all go to `params`")
    return [example[n] for n in names]


def _listing(names: Sequence[str], most: int = 6) -> str:
    return ", ".join([f"`{n}`" for n in names[:most]]) + (", …" if len(names) > most else "")


def watched(examples: Iterable[Any]) -> Generator[Any]:
    """The examples, with a bar on standard error once they take long, if that is a terminal."""
    began, bar, task = time.monotonic(), None, None
    total = len(examples) if isinstance(examples, Sequence) else None
    try:
        for i, x in enumerate(examples):
            if bar is None and time.monotonic() - began > PROGRESS_DELAY_SECONDS and sys.stderr.isatty():
                from rich.console import Console
                from rich.progress import Progress

                bar = Progress(console=Console(stderr=True), transient=True)
                task = bar.add_task("calibrating", total=total, completed=i)
                bar.start()
            yield x
            if bar is not None and task is not None:
                bar.advance(task)
    finally:
        if bar is not None:
            bar.stop()


def checked_examples(examples: Any) -> Iterable[Any]:
    """What calibration goes over: an iterable of examples (`calibration-input`)."""
    if is_mapping(examples):
        hint = "for one example, give a list of it: `[{…}]`"
        fail("calibration-input", "calibration is an iterable of examples, not a dict", hint=hint)
    if isinstance(examples, np.ndarray) or not isinstance(examples, Iterable):
        hint = "give a list of inputs: `[x1, x2]`"
        kind = type(examples).__name__  # pyright: ignore[reportUnknownArgumentType]
        fail("calibration-input", f"calibration is an iterable of examples, not {kind}", hint=hint)
    return examples  # pyright: ignore[reportUnknownVariableType]
