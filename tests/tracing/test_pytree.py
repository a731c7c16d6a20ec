"""Nested arguments and results, and the traces that are kept for them."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

import relay
from relay.ir.expr import as_expr
from relay.tracing import function as tracing
from relay.tracing.pytree import LEAF, Leaf, Node, flatten, unflatten

ONES = np.ones(3, "float32")


@dataclass
class Layer:
    w: Any
    b: Any
    kind: str = field(default="relu", metadata={"static": True})


@dataclass(frozen=True, slots=True)
class Pair:
    x: Any
    y: Any


class Point(NamedTuple):
    x: Any
    y: Any


def leaves(value: Any) -> tuple[Any, Any]:
    """The parts of a nested value, and its structure."""
    return flatten(value, lambda x, _: (x, LEAF), "value")


@pytest.mark.parametrize(
    "value",
    [
        3,
        (1, 2),
        [1, (2, [3])],
        {"b": 1, "a": (2, 3)},
        Point(1, [2]),
        Pair(1, {"z": 2}),
        Layer(1, 2, "tanh"),
        (None, (), []),
    ],
)
def test_nested_value_is_made_again_of_its_parts(value: Any) -> None:
    parts, tree = leaves(value)
    assert unflatten(tree, parts, lambda x, _: x, lambda x, i: x[i]) == value
    assert leaves(value)[1] == tree
    assert hash(leaves(value)[1]) == hash(tree)


def test_parts_of_a_dict_go_by_its_sorted_keys() -> None:
    parts, tree = leaves({"b": 1, "a": 2})
    assert parts == (2, 1)
    assert tree == Node(dict, ("a", "b"), (Leaf(), Leaf()))
    assert tree == leaves({"a": 5, "b": 6})[1]


def test_deep_value_is_flattened() -> None:
    value: Any = 1
    for _ in range(20_000):
        value = [value]
    parts, tree = leaves(value)
    again = unflatten(tree, parts, lambda x, _: x, lambda x, i: x[i])
    for _ in range(20_000):
        (again,) = again
    assert again == 1


def test_containers_of_a_function_are_what_python_has() -> None:
    @relay.function
    def f(p: dict[str, Any], q: Point, r: list[Any]):
        assert isinstance(q, Point)
        assert isinstance(r, list)
        return {"sum": p["w"] + p["b"], "point": Point(q.y, q.x), "rest": [*r, None]}

    found = f({"w": ONES, "b": 2.0}, Point(1, 2), [3, (4,)])
    assert found["sum"].tolist() == [3, 3, 3]
    assert found["point"] == Point(2, 1)
    assert found["rest"] == [3, (4,), None]


def test_dataclasses_go_in_and_come_out() -> None:
    @relay.function
    def step(layer: Layer, x: Any) -> Layer:
        assert layer.kind == "relu"
        return Layer(layer.w * x, layer.b + 1, layer.kind)

    found = step(Layer(ONES, 1.0), 3.0)
    assert isinstance(found, Layer)
    assert found.w.tolist() == [3, 3, 3]
    assert found.b == 2
    assert relay.function(lambda p: Pair(p.y, p.x))(Pair(1, 2)) == Pair(2, 1)


def test_static_field_is_part_of_the_structure() -> None:
    @relay.function
    def apply(layer: Layer, x: Any):
        return relay.nn.relu(x * layer.w) if layer.kind == "relu" else relay.tanh(x * layer.w)

    assert apply(Layer(-ONES, 0.0), 1.0).tolist() == [0, 0, 0]
    assert apply(Layer(-ONES, 0.0, "tanh"), 1.0)[0] == pytest.approx(np.tanh(-1))


@pytest.mark.parametrize("build", [lambda f: f, relay.compile], ids=["run", "compile"])
def test_gradients_have_the_structure_of_arguments(build: Callable[[Any], Any]) -> None:
    def loss(p: Any, x: Any) -> Any:
        return ((p["layer"].w * x + p["layer"].b) ** 2).sum() * p["scale"][0]

    p = {"layer": Layer(ONES * 2, np.float32(1)), "scale": [np.float32(0.5)]}
    value, by_p = build(relay.value_and_grad(loss, 0))(p, ONES)
    assert value == 13.5
    assert by_p["layer"].w.tolist() == [3, 3, 3]
    assert by_p["layer"].b == 9
    assert by_p["scale"] == [27]


def test_pulled_back_cotangents_have_the_structure_of_arguments() -> None:
    def f(p: Any) -> Any:
        return {"double": p["x"] * 2, "sum": p["x"].sum()}

    y, back = relay.vjp(f)({"x": ONES})
    assert y["double"].tolist() == [2, 2, 2]
    (by_p,) = back({"double": ONES, "sum": 1.0})
    assert by_p["x"].tolist() == [3, 3, 3]

    @relay.function
    def inside(p: Any):
        y, back = relay.vjp(f)(p)
        return back({"double": y["double"], "sum": 0.0})[0]["x"]

    assert inside({"x": ONES}).tolist() == [4, 4, 4]


def test_call_of_another_function_keeps_structures() -> None:
    @relay.function
    def halves(p: Any):
        return {"x": p["x"] / 2, "y": (p["y"] / 2,)}

    @relay.function
    def f(x: Any):
        found = halves({"y": x, "x": 3.0})
        return found["x"] + found["y"][0]

    assert f(ONES).tolist() == [2, 2, 2]


def test_traces_are_kept_by_structure_and_types() -> None:
    runs: list[Any] = []

    @relay.function
    def f(p: Any, n: int = 1):
        runs.append(p)
        return p["x"] * n

    for value in (ONES, ONES * 2, ONES.astype("float64"), np.ones(4, "float32")):
        f({"x": value})
    assert len(runs) == 3
    f({"x": ONES, "y": 1})
    f({"y": 2, "x": ONES})
    assert len(runs) == 4
    f({"x": ONES}, n=2)
    f({"x": ONES}, n=1)
    assert len(runs) == 5
    f({"x": ONES}, n=1.0)
    assert len(runs) == 6


def test_as_many_traces_are_kept_as_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "MAX_KEPT", 2)
    runs: list[int] = []

    @relay.function
    def f(x: Any):
        runs.append(x.shape[0])
        return x

    for n in (1, 2, 1, 3, 1, 2):
        f(np.ones(n))
    assert runs == [1, 2, 3, 2]


def test_values_that_are_not_traced_tell_traces_apart() -> None:
    @relay.function
    def f(x: Any, table: Any = (), options: Any = None):
        return x + relay.sum(relay.const(np.asarray(table, "float32")))

    long = np.zeros(5000, "float32")
    other = long.copy()
    other[2500] = 1
    assert f(np.float32(1), table=long) == 1
    assert f(np.float32(1), table=other) == 2
    assert f(np.float32(1), table=[1.0, 2.0], options={"a": {1}}) == 4


@dataclass
class Hidden:
    x: Any


class Unknown:
    pass


@pytest.mark.parametrize(
    ("value", "where", "found"),
    [
        (Unknown(), "p", "Unknown"),
        ({"w": [1, Unknown()]}, "p['w'][1]", "Unknown"),
        (Hidden({1, 2}), "p.x", "set"),
        (OrderedDict(x=1), "p", "OrderedDict"),
        ((np.array([object()]),), "p[0]", "array"),
    ],
)
def test_leaf_that_is_no_value_is_named(value: Any, where: str, found: str) -> None:
    with pytest.raises(relay.RelayError) as error:
        relay.function(lambda p: 1)(value)
    (d,) = error.value.diagnostics
    assert d.code == "bad-argument"
    assert d.message.startswith(f"`{where}` cannot be given to a Relay function")
    assert found in d.label


def test_keys_without_an_order_are_refused() -> None:
    with pytest.raises(relay.RelayError) as error:
        relay.function(lambda p: 1)({"a": 1, 2: 3})
    (d,) = error.value.diagnostics
    assert d.code == "bad-argument"
    assert d.message == "the keys of a dict have no order: they are of int, str"


def test_python_annotations_say_nothing_of_types() -> None:
    source = """
from __future__ import annotations
import numpy as np
import relay
@relay.function
def f(p: dict[str, np.ndarray], x: np.ndarray, y: "float64") -> np.ndarray:
    return p["w"] * x + relay.cast(y, "float32")
"""
    scope: dict[str, Any] = {}
    exec(source, scope)
    assert scope["f"]({"w": ONES}, ONES, 2).tolist() == [3, 3, 3]


@pytest.mark.parametrize("depth", [10_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_deep_nesting_is_as_safe_as_none(depth: int) -> None:
    deep: Any = ONES
    for _ in range(depth):
        deep = (deep,)

    def sum_inside(d: Any) -> Any:
        while isinstance(d, tuple):
            d = d[0]
        return d.sum()

    assert relay.function(sum_inside)(deep) == 3
    tree, again = leaves(deep)[1], leaves(deep)[1]
    assert tree == again
    assert hash(tree) == hash(again)
    assert str(tree) == "(" * depth + "*" + ",)" * depth
    assert leaves([deep])[1] != leaves((deep,))[1]
    assert isinstance(as_expr(deep), relay.Tuple)


def test_a_place_deep_inside_is_named() -> None:
    deep: Any = {"w": [1.0, print]}
    for _ in range(3):
        deep = (deep,)
    with pytest.raises(relay.RelayError, match=r"`d\[0\]\[0\]\[0\]\['w'\]\[1\]` cannot be given"):
        relay.function(lambda d: 1.0)(deep)


RECORDS = """
type Layer[o: Dim, i: Dim] { Layer { w: Tensor[(o, i), float32], b: Tensor[(o,), float32] } }
def @main(%w: Tensor[(2, 3), float32], %b: Tensor[(2,), float32]) { (Layer { w: %w, b: %b }, 1f) }
"""


def test_records_are_nested_values() -> None:
    given = relay.build(relay.parse(RECORDS))(np.ones((2, 3), "float32"), np.zeros(2, "float32"))
    layer = given[0]

    def apply(params: Any, x: Any) -> Any:
        return {"y": params[0].w @ x + params[0].b, "layer": params[0], "twice": (params[0].w * 2,)}

    for f in (relay.function(apply), relay.compile(apply)):
        found = f(given, ONES)
        np.testing.assert_array_equal(found["y"], [3, 3])
        assert found["layer"] == layer
        np.testing.assert_array_equal(found["layer"].w, layer.w)
    slope = relay.grad(lambda layer, x: (layer.w @ x + layer.b).sum())(layer, ONES)[1][0]
    np.testing.assert_array_equal(slope.w, np.ones((2, 3)))
    np.testing.assert_array_equal(slope.b, np.ones(2))
    assert str(leaves(given)[1]) == "(Layer { w: *, b: * }, *)"
    last = relay.function(lambda layer: relay.fori(0, 3, lambda i, layer: layer, layer))(layer)
    assert last == layer
    with pytest.raises(AttributeError, match="`Layer` has no field `v`; its fields are w, b"):
        relay.function(lambda layer: layer.v)(layer)


def test_a_record_type_in_an_annotation_is_explained() -> None:
    def f(layer: "Dense[2, 3]", x: Any) -> Any:  # noqa: F821 - a Relay type
        return layer

    with pytest.raises(relay.RelayError, match="there is no type `Dense`") as error:
        relay.function(f)
    assert error.value.diagnostics[0].hint.startswith("a parameter without an annotation takes records")
