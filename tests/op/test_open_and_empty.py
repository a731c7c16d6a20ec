"""Operators on tensors of an open size that is 0 when the program runs, as machine code."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest

import relay
from op.operands import operands_of
from relay.ir.expr import Call, Function, Op, Var
from relay.ir.module import IRModule
from relay.ir.type import Kind, TensorType, TupleType, Type, TypeVar
from relay.op.arrays import array_type
from relay.op.base import Sample
from relay.op.registry import registry

CHOOSERS = [
    name
    for name in sorted(registry)
    if registry[name].__module__.rpartition(".")[2] in ("arg_reduce", "index", "sort", "take", "unique")
    or name.startswith("vision.")
]
"""Operators that sort, search, choose or suppress."""


def emptied(x: Any, size: int) -> Any:
    """An operand without the elements along the axes of a size."""
    if isinstance(x, tuple):
        return tuple(emptied(field, size) for field in x)
    array = np.asarray(x)
    return array[tuple(slice(0 if d == size else None) for d in array.shape)]


def opened(t: Type, size: int, n: TypeVar) -> Type:
    """The type of an operand whose axes of a size are open."""
    if isinstance(t, TupleType):
        return TupleType([opened(field, size, n) for field in t.fields])
    assert isinstance(t, TensorType)
    return TensorType([n if d == size else d for d in t.concrete_shape], t.dtype)


def sizes_of(x: Any) -> set[int]:
    """The sizes of the axes of an operand."""
    return set().union(*map(sizes_of, x)) if isinstance(x, tuple) else {*np.asarray(x).shape}


def cases(name: str, s: Sample) -> Iterator[tuple[IRModule, list[Any]]]:
    """Programs that are well typed with one size open, and their operands with none of it."""
    operands = operands_of(s)
    for size in sorted(set().union(*map(sizes_of, operands)) - {0}):
        n = TypeVar("n", Kind.Dim)
        params = [Var(f"x{i}", opened(array_type(x), size, n)) for i, x in enumerate(operands)]
        call = Call(Op.get(name), tuple(params), dict(s.attrs))
        try:
            yield (
                relay.infer(IRModule.from_expr(Function(tuple(params), call))),
                [emptied(x, size) for x in operands],
            )
        except relay.RelayError:
            continue


def outcome(kind: str, mod: IRModule, operands: list[Any]) -> Any:
    """The shapes and elements of the result, or the word "refused"."""
    try:
        value = relay.create_executor(kind, mod=mod).evaluate()(*operands)
    except relay.RelayError:
        return "refused"
    fields = value if isinstance(value, tuple) else (value,)
    return [(np.shape(x), np.asarray(x).tolist()) for x in fields]


@pytest.mark.parametrize("programs", [2, pytest.param(9, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", CHOOSERS)
def test_machine_code_does_what_the_interpreter_does_with_none(name: str, programs: int) -> None:
    for mod, operands in islice(cases(name, registry[name].samples[0]), programs):
        assert outcome("native", mod, operands) == outcome("debug", mod, operands)


NO_BOXES = np.zeros((1, 0, 6), "float32")


@pytest.mark.parametrize("kind", ["debug", "native"])
def test_no_boxes(kind: str) -> None:
    head = "def @main(%x: Tensor[(1, n, 6), float32], %c: Tensor[(1,), int32], %i: Tensor[(1, n), int32]) "
    valid = relay.parse(head + "{ vision.get_valid_counts(%x, 0.5) }")
    count, rows, places = relay.create_executor(kind, mod=valid).evaluate()(
        NO_BOXES, np.zeros(1, "int32"), np.zeros((1, 0), "int32")
    )
    assert (count.tolist(), rows.shape, places.shape) == ([0], (1, 0, 6), (1, 0))
    suppressed = relay.parse(head + "{ vision.non_max_suppression(%x, %c, %i, 3, 0.5) }")
    kept, count = relay.create_executor(kind, mod=suppressed).evaluate()(
        NO_BOXES, np.zeros(1, "int32"), np.zeros((1, 0), "int32")
    )
    assert (kept.shape, count.tolist()) == ((1, 0), [[0]])


def test_a_row_of_an_empty_axis_is_not_looked_for_by_a_vector_without_elements() -> None:
    text = "def @main(%x: Tensor[(n,), float32], %i: Tensor[(m,), int64]) { take(%x, %i, axis=0) }"
    run = relay.create_executor("native", mod=relay.parse(text)).evaluate()
    x = np.arange(3, dtype="float32")
    assert run(x, np.zeros(0, "int64")).shape == (0,)
    assert run(x[:0], np.zeros(0, "int64")).shape == (0,)
    with pytest.raises(relay.RelayError, match="index-out-of-range"):
        run(x[:0], np.zeros(1, "int64"))
