"""Sequences of tensors."""

from typing import Any

import numpy as np

from relay.frontend.onnx.arrange import parts
from relay.frontend.onnx.containers import Items
from relay.frontend.onnx.graph import Scope
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.onnx.tensors import dtype_of
from relay.frontend.support import axis_in, cast, scalar
from relay.frontend.value import Value, apply_global, call, constant, open_call
from relay.ir.expr import Call, Function, GlobalVar, Let, Var
from relay.ir.type import TypeCall


@converts("SequenceConstruct")
def sequence_construct(node: Node, *xs: Value) -> Value:
    """A sequence of those tensors."""
    return Items(node.mod, xs)


@converts("SequenceEmpty")
def sequence_empty(node: Node) -> Value:
    """No tensors."""
    return Items(node.mod, [], dtype_of(node.int("dtype", 1)))


def position(node: Node, x: Value, at: Value) -> Value:
    """A place in a list, which counts from the end if it is negative, as int32."""
    place = cast(scalar(at), "int32")
    if place.array is not None and place.array >= 0:
        return place
    length = apply_global(node.mod, "length", x)
    return call("where", call("less", place, 0), place + length, place)


def place_in(node: Node, at: Value, count: int, places: int) -> int:
    """One of `places` from the front of a sequence of `count` known elements, or as often from its end."""
    place = int(at.number("a place in a sequence"))
    if not -count <= place < places:
        return node.fail(f"there is no place {place} in a sequence of {count}")
    return place + count if place < 0 else place


@converts("SequenceAt")
def sequence_at(node: Node, xs: Value, at: Value) -> Value:
    """One tensor of a sequence."""
    if isinstance(xs, Items):
        return xs.items[place_in(node, at, len(xs.items), len(xs.items))]
    return apply_global(node.mod, "nth", xs, position(node, xs, at))


@converts("SequenceInsert")
def sequence_insert(node: Node, xs: Value, x: Value, at: Value | None = None) -> Value:
    """A sequence with one tensor more, at the end or at a place."""
    if isinstance(xs, Items):
        count = len(xs.items)
        place = count if at is None else place_in(node, at, count, count + 1)
        return Items(node.mod, [*xs.items[:place], x, *xs.items[place:]], x.dtype)
    if at is None:
        return apply_global(node.mod, "concat", xs, Items(node.mod, [x]))
    return apply_global(node.mod, "insert_at", xs, position(node, xs, at), loose(xs, x))


def loose(xs: Value, x: Value) -> Value:
    """An element in the type that the list's elements have."""
    assert isinstance(xs.type, TypeCall)
    element: Any = xs.type.args[0]
    var = Var("item", element, span=None)
    return Value(Let(var, x.expr, var), element, sources=x.sources)


@converts("SequenceErase")
def sequence_erase(node: Node, xs: Value, at: Value | None = None) -> Value:
    """A sequence without its last tensor, or without one at a place."""
    if isinstance(xs, Items):
        place = place_in(node, constant(-1) if at is None else at, len(xs.items), len(xs.items))
        return Items(node.mod, [v for i, v in enumerate(xs.items) if i != place], xs.dtype_hint)
    place = constant(-1, "int32") if at is None else at
    return apply_global(node.mod, "remove_at", xs, position(node, xs, place))


@converts("SequenceLength")
def sequence_length(node: Node, xs: Value) -> Value:
    """How many tensors there are."""
    if isinstance(xs, Items):
        return constant(np.asarray(len(xs.items), "int64"))
    return cast(apply_global(node.mod, "length", xs), "int64")


@converts("ConcatFromSequence")
def concat_from_sequence(node: Node, xs: Value) -> Value:
    """The tensors one after another, or stacked along a new axis."""
    new = bool(node.int("new_axis", 0))
    if isinstance(xs, Items):
        axis = axis_in(node.int("axis"), xs.items[0].rank + new) if xs.items else 0
        return call("stack" if new else "concatenate", tuple(xs.items), axis=axis)
    assert isinstance(xs.type, TypeCall)
    element = Value(Var("x", xs.type.args[0]), xs.type.args[0])
    axis = axis_in(node.int("axis"), element.rank + new)
    one = call("expand_dims", element, axis=axis) if new else element
    rows = Value(Var("rows", without(one, axis)), without(one, axis))
    grown = call("concatenate", (rows, one), axis=axis)
    step = Function((rows.expr, element.expr), grown.expr, without(one, axis))  # pyright: ignore[reportArgumentType]
    first = Function((element.expr,), one.expr, without(one, axis))  # pyright: ignore[reportArgumentType]
    head, tail = apply_global(node.mod, "hd", xs), apply_global(node.mod, "tl", xs)
    probe = Call(GlobalVar("foldl"), (step, Call(first, (head.stand_in,)), tail.stand_in))
    return open_call(probe, [head, tail], node.mod)


def without(x: Value, axis: int) -> Any:
    """The type of `x` with any size along an axis."""
    from relay.ir.type import ANY, TensorType

    return TensorType([ANY if i == axis else d for i, d in enumerate(x.shape)], x.dtype)


@converts("SplitToSequence")
def split_to_sequence(node: Node, x: Value, sizes: Value | None = None) -> Value:
    """Parts along an axis, as a sequence."""
    axis = axis_in(node.int("axis", 0), x.rank)
    length = x.size(axis)
    if sizes is None:
        found = parts(node, x, [1] * length, axis)
        if not node.int("keepdims", 1):
            found = [call("squeeze", v, axis=(axis,)) for v in found]
        return Items(node.mod, found)
    given = sizes.numbers("the sizes")
    if sizes.rank == 0:
        each = given[0]
        if each < 1:
            return node.fail(f"its parts cannot have the size {each}")
        given = [min(each, length - i) for i in range(0, length, each)]
    return Items(node.mod, parts(node, x, given, axis))


@converts("SequenceMap")
def sequence_map(node: Node, xs: Value, *others: Value) -> Any:
    """A graph over each element; other sequences go along, tensors are the same each time."""
    if not isinstance(xs, Items):
        return node.fail("the length of its sequence must be known")
    body = node.graph("body")
    rows: list[list[Value]] = []
    for k, x in enumerate(xs.items):
        scope: Scope = node.scope.inner()
        scope.prefix = f"{scope.prefix}{node.name}.{k}/"
        operands = [x, *[o.items[k] if isinstance(o, Items) else o for o in others]]
        scope.values.update({i.name: v for i, v in zip(body.input, operands, strict=True)})
        rows.append(scope.run(body, f"{node.scope.importer.name}:{node.name}.body"))
        node.scope.bindings.made += scope.bindings.made
    return tuple([Items(node.mod, column) for column in zip(*rows, strict=True)])
