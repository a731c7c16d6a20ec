"""What tests of passes share: running programs before and after, by value and by the work that it takes."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from relay.analysis.well_formedness import assert_well_formed
from relay.diagnostic import RelayError
from relay.interpreter import machine
from relay.interpreter.machine import Interpreter
from relay.interpreter.value import ConstructorValue, RefValue
from relay.ir.module import IRModule
from relay.text.parser import parse_module
from relay.typecheck.check import check
from relay.typecheck.infer import infer

Change = Callable[[IRModule], IRModule]


def plain(value: Any) -> Any:
    """A value to compare: tensors to the bit, references by what they hold, functions not at all."""
    match value:
        case tuple():
            return ("tuple", *[plain(v) for v in value])
        case RefValue():
            return ("ref", plain(value.value))
        case ConstructorValue():
            return (value.constructor.name, *[plain(v) for v in value.fields])
        case np.ndarray() | np.generic():
            array = np.asarray(value)
            return (array.dtype.name, array.shape, array.tobytes())
        case _:
            return "function"


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """Counts how often each operator runs."""
    counts: Counter[str] = Counter()
    original, original_value = machine.operator_function, machine.operator_value

    def counted(world: Any, e: Any) -> Callable[..., Any]:
        run = original(world, e)

        def call(*args: Any) -> Any:
            counts[e.op.name] += 1
            return run(*args)

        return call

    def counted_value(op: Any) -> Any:
        value = original_value(op)
        run = value.apply

        def call(*args: Any) -> Any:
            counts[op.name] += 1
            return run(*args)

        value.apply = call
        return value

    machine.operator_function, machine.operator_value = counted, counted_value
    try:
        yield counts
    finally:
        machine.operator_function, machine.operator_value = original, original_value


def outcome(mod: IRModule, args: tuple[Any, ...], entry: str = "main") -> tuple[Any, Counter[str]]:
    """The value of an entry (or the code of its failure), and the work it took."""
    with counting() as counts:
        try:
            return plain(Interpreter(mod).evaluate(entry, *args)), counts
        except RelayError as error:
            return error.codes, counts


def verified(mod: IRModule) -> IRModule:
    """A module that is well-formed and well-typed."""
    assert_well_formed(mod)
    check(mod)
    return mod


def program(text: str) -> IRModule:
    """A module from text, annotated."""
    return infer(parse_module(text))


def shown(mod: IRModule, name: str = "main") -> str:
    """A definition as text."""
    return str(mod[name])
