"""Sizes given as expressions: builders make the operators that take them as operands.

Expected values are NumPy's.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relay
from known_runs import same, value, var
from relay import RelayError

X = np.arange(6, dtype="float32").reshape(2, 3)
IMAGE = X[None, None]
WIDE = IMAGE.repeat(2, 2).repeat(2, 3)
TWO = np.float32(2)


def sizes(n: int) -> relay.Var:
    return var("sizes", n, dtype="int64")


CASES: dict[str, tuple[Callable[[], relay.Expr], tuple[Any, ...], Any]] = {
    "reshape": (lambda: relay.reshape(var("x", 2, 3), sizes(2)), (X, np.array([3, 2])), X.reshape(3, 2)),
    "reshape, mixed": (
        lambda: relay.reshape(var("x", 2, 3), [var("n", dtype="int32"), 2]),
        (X, np.int32(3)),
        X.reshape(3, 2),
    ),
    "zeros": (lambda: relay.zeros(sizes(2), "int8"), (np.array([3, 2]),), np.zeros((3, 2), "int8")),
    "ones": (lambda: relay.ones(sizes(1), "float32"), (np.array([3]),), np.ones(3, "float32")),
    "full": (
        lambda: relay.full(relay.const(2.0), sizes(2), "float32"),
        (np.array([3, 2]),),
        np.full((3, 2), 2, "float32"),
    ),
    "tile": (lambda: relay.tile(var("x", 2, 3), sizes(2)), (X, np.array([3, 2])), np.tile(X, (3, 2))),
    "topk": (
        lambda: relay.topk(var("x", 2, 3), var("k", dtype="int64"), ret_type="values"),
        (X, np.int64(2)),
        X[:, :0:-1],
    ),
    "broadcast_to": (
        lambda: relay.broadcast_to(var("x", 2, 3), sizes(3)),
        (X, np.array([4, 2, 3])),
        np.broadcast_to(X, (4, 2, 3)),
    ),
    "one_hot": (
        lambda: relay.one_hot(
            var("i", 2, dtype="int32"),
            relay.const(1.0),
            relay.const(0.0),
            var("n", dtype="int32"),
            -1,
            "float32",
        ),
        (np.array([0, 2], "int32"), np.int32(3)),
        np.eye(3, dtype="float32")[[0, 2]],
    ),
    "strided_slice": (
        lambda: relay.strided_slice(var("x", 2, 3), [0, 1], sizes(2)),
        (X, np.array([2, 3])),
        X[:, 1:],
    ),
    "strided_slice, axes": (
        lambda: relay.strided_slice(var("x", 2, 3), [var("b", dtype="int64")], [3], axes=[1]),
        (X, np.int64(1)),
        X[:, 1:],
    ),
    "pad": (
        lambda: relay.nn.pad(var("x", 2, 3), var("w", 2, 2, dtype="int64")),
        (X, np.array([[1, 0], [0, 1]])),
        np.pad(X, ((1, 0), (0, 1))),
    ),
    "pad, mixed": (
        lambda: relay.nn.pad(var("x", 2, 3), ((1, var("w", dtype="int64")), (0, 1)), 5.0),
        (X, np.int64(2)),
        np.pad(X, ((1, 2), (0, 1)), constant_values=5),
    ),
    "expand_dims": (
        lambda: relay.expand_dims(var("x", 2, 3), var("a", dtype="int64")),
        (X, np.int64(0)),
        X[None],
    ),
    "squeeze": (lambda: relay.squeeze(var("x", 1, 2, 3), sizes(1)), (X[None], np.array([0])), X),
    "resize2d": (
        lambda: relay.image.resize2d(
            var("x", 1, 1, 2, 3),
            sizes(2),
            method="nearest_neighbor",
            coordinate_transformation_mode="asymmetric",
        ),
        (IMAGE, np.array([4, 6])),
        WIDE,
    ),
    "upsampling": (
        lambda: relay.nn.upsampling(var("x", 1, 1, 2, 3), var("h"), var("w")),
        (IMAGE, TWO, TWO),
        WIDE,
    ),
    "upsampling3d": (
        lambda: relay.nn.upsampling3d(var("x", 1, 1, 1, 2, 3), var("d"), var("h"), var("w")),
        (IMAGE[None], np.float32(1), TWO, TWO),
        WIDE[None],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_size_is_an_expression(case: str) -> None:
    build, args, expected = CASES[case]
    same(value(build(), *args), expected)


def test_constant_is_a_size_that_is_known() -> None:
    call = relay.reshape(var("x", 2, 3), relay.const([3, 2]))
    assert call.op == relay.op.get("reshape")
    assert call.attrs.newshape == (3, 2)
    assert relay.topk(var("x", 2, 3), relay.const(2)).attrs.k == 2
    assert relay.zeros((relay.const(2), 1), "float32").attrs.shape == (2, 1)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_resize_to_a_dimension(rank: int) -> None:
    n = relay.TypeVar("n", relay.Kind.Dim)
    x = relay.var("x", shape=(1, 1) + (n,) * rank)
    resize = getattr(relay.image, f"resize{rank}d")
    e = resize(x, (2 * n,) * rank, method="nearest_neighbor", coordinate_transformation_mode="asymmetric")
    mod = relay.infer(relay.IRModule({"main": relay.Function([x], e, None, [n])}))
    assert mod["main"].ret_type.shape == (1, 1) + (2 * n,) * rank
    given = np.arange(2**rank, dtype="float32").reshape((1, 1) + (2,) * rank)
    expected = given
    for axis in range(2, 2 + rank):
        expected = expected.repeat(2, axis)
    for kind in ("debug", "native"):
        same(relay.create_executor(kind, mod=mod).evaluate()(given), expected)


def test_attribute_of_another_operator_is_no_expression() -> None:
    with pytest.raises(RelayError, match="attribute `axis` of `concatenate`"):
        relay.concatenate([var("x", 2)], axis=var("a", dtype="int64"))
