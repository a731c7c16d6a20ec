"""Running extremes, modes and histograms against their definitions, by both backends."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import relay
from relay.diagnostic import RelayError

RNG = np.random.default_rng(5)


def run(text: str, x: Any, shape: str = "") -> list[Any]:
    """The value of an expression of `%x`: by the interpreter, and by machine code."""
    mod = relay.parse(f"def @main(%x: Tensor[{shape or x.shape}, {x.dtype}]) {{ {text} }}")
    return [relay.create_executor(e, mod=mod).evaluate()(x) for e in ("debug", "native")]


def running(x: Any, axis: int, is_better: Any) -> tuple[Any, Any]:
    """Extremes and places as PyTorch defines them, one element after the other."""
    lines = np.moveaxis(x, axis, -1)
    values, places = np.empty_like(lines), np.empty(lines.shape, "int64")
    for index in np.ndindex(*lines.shape[:-1]):
        best, at = lines[index][0], 0
        for i, v in enumerate(lines[index]):
            if v != v or (best == best and is_better(v, best)):
                best, at = v, i
            values[(*index, i)], places[(*index, i)] = best, at
    return np.moveaxis(values, -1, axis), np.moveaxis(places, -1, axis)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int8", "uint8", "int64"])
@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_running_extremes_are_those_of_their_definition(name: str, dtype: str) -> None:
    x = RNG.integers(0, 4, (3, 6, 5)).astype(dtype)
    if dtype not in ("int8", "uint8", "int64"):
        x[0, 2], x[1, 1:3, 0], x[2, 0], x[2, 5] = np.nan, np.nan, -np.inf, np.inf
    better = np.greater_equal if name == "cummax" else np.less_equal
    for axis in (0, 1, -1):
        wanted = running(x, axis, better)
        for values, places in run(f'{name}(%x, axis={axis}, dtype="int64")', x):
            assert values.dtype == x.dtype
            np.testing.assert_array_equal(values.astype("float64"), wanted[0].astype("float64"))
            np.testing.assert_array_equal(places, wanted[1])


def test_the_cotangent_goes_to_where_the_extreme_is() -> None:
    x = np.asarray([[1.0, 3.0, 2.0, 5.0], [4.0, 1.0, 4.0, 0.0]])
    for name, wanted in (("cummax", [[1, 2, 0, 1], [2, 0, 2, 0]]), ("cummin", [[4, 0, 0, 0], [1, 2, 0, 1]])):
        for found in run(f"grad(fn (%y) {{ sum({name}(%y).0) }})(%x).1.0", x):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("shape", ["", "(n, m)"])
def test_a_mode_is_the_least_of_the_most_frequent(shape: str) -> None:
    x = RNG.integers(0, 4, (20, 9)).astype("int32")
    for values, places in run("mode(%x)", x, shape):
        for line, value, place in zip(x, values, places, strict=True):
            counts = np.bincount(line)
            assert value == np.argmax(counts)
            assert place == np.flatnonzero(line == value)[-1]
    for values, places in run('mode(%x, axis=0, keepdims=True, dtype="int64")', x, shape):
        assert values.shape == places.shape == (1, 9)
        np.testing.assert_array_equal(values[0], [np.argmax(np.bincount(line)) for line in x.T])
        np.testing.assert_array_equal(np.take_along_axis(x, places, 0), values)
        assert places.dtype == np.int64


def test_the_derivative_of_a_mode_is_that_of_an_element() -> None:
    for found in run("grad(fn (%y) { mode(%y).0 })(%x).1.0", np.asarray([3.0, 1.0, 2.0, 1.0, 3.0])):
        np.testing.assert_array_equal(found, [0, 0, 0, 1, 0])


@pytest.mark.parametrize("shape", ["", "(n, m)"])
def test_counts_in_bins_are_those_of_numpy(shape: str) -> None:
    x = RNG.normal(size=(30, 40)).astype("float32")
    for attrs, limits in ((", bins=7, min=-1.5, max=1.25", (-1.5, 1.25)), (", bins=10", None)):
        wanted, _ = np.histogram(x, 7 if limits else 10, limits)
        for found in run(f"histc(%x{attrs})", x, shape):
            assert found.dtype == np.float32
            np.testing.assert_array_equal(found, wanted)


def test_counts_at_the_ends_of_what_there_is() -> None:
    inf = np.inf
    some = np.asarray([0.0, 4.0, 4.5, -0.5, np.nan, inf, -inf, 2.0], "float64")
    for found in run("histc(%x, bins=2, min=0.0, max=4.0)", some):
        np.testing.assert_array_equal(found, [1, 2])
    for found in run("histc(%x, bins=4)", np.full(3, 2.0, "float32")):
        np.testing.assert_array_equal(found, [0, 0, 3, 0])
    for found in run("histc(%x, bins=3)", np.zeros((0, 2), ml_dtypes.bfloat16)):
        np.testing.assert_array_equal(found.astype("float32"), [0, 0, 0])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("cummax(1.0)", "axis-out-of-range"),
        ("cummin([1, 2], axis=1)", "axis-out-of-range"),
        ('mode(zeros((0,), dtype="int8"))', "shape-constraint"),
        ("histc([1.0], bins=0)", "attribute-value"),
        ("histc([1.0], min=2.0, max=1.0)", "attribute-value"),
        ("histc([1i32])", "dtype-not-supported"),
    ],
)
def test_what_has_no_extremes_and_no_bins(text: str, code: str) -> None:
    with pytest.raises(RelayError) as found:
        relay.infer(relay.parse(f"def @main() {{ {text} }}"))
    assert [d.code for d in found.value.diagnostics] == [code]
