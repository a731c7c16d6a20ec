"""`DynamicToStatic` of operators whose sizes are constants: the static operators, of the same value."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relay
from known_runs import module, same, var
from relay import transform
from relay.op import dyn

X = np.arange(6, dtype="float32").reshape(2, 3)
IMAGE = X[None, None]
TWO = relay.const(2.0)
CASES: dict[str, tuple[Callable[[], relay.Expr], tuple[Any, ...], Any]] = {
    "squeeze": (lambda: dyn.squeeze(var("x", 1, 2, 3), relay.const([0])), (X[None],), X),
    "tile": (lambda: dyn.tile(var("x", 2, 3), relay.const([2, 1])), (X,), np.tile(X, (2, 1))),
    "full": (
        lambda: dyn.full(var("x"), relay.const([2, 1])),
        (np.float32(3),),
        np.full((2, 1), 3, "float32"),
    ),
    "sparse_to_dense": (
        lambda: dyn.sparse_to_dense(relay.const([1, 3]), relay.const([5]), var("x", 2), relay.const(-1.0)),
        (np.array([7, 8], "float32"),),
        np.array([-1, 7, -1, 8, -1], "float32"),
    ),
    "zeros": (lambda: dyn.zeros(relay.const([2, 1]), "int8"), (), np.zeros((2, 1), "int8")),
    "ones": (lambda: dyn.ones(relay.const([3]), "float32"), (), np.ones(3, "float32")),
    "one_hot": (
        lambda: dyn.one_hot(relay.const([0, 2]), relay.const(1.0), relay.const(0.0), relay.const(3)),
        (),
        np.eye(3, dtype="float32")[[0, 2]],
    ),
    "expand_dims": (lambda: dyn.expand_dims(var("x", 2, 3), relay.const(-1)), (X,), X[..., None]),
    "pad": (
        lambda: dyn.nn.pad(var("x", 2, 3), relay.const([[1, 0], [-1, 2]]), TWO),
        (X,),
        np.pad(X[:, 1:], ((1, 0), (0, 2)), constant_values=2),
    ),
    "upsampling": (
        lambda: dyn.nn.upsampling(var("x", 1, 1, 2, 3), TWO, TWO),
        (IMAGE,),
        IMAGE.repeat(2, 2).repeat(2, 3),
    ),
    "upsampling3d": (
        lambda: dyn.nn.upsampling3d(var("x", 1, 1, 1, 2, 3), relay.const(1.0), TWO, TWO),
        (IMAGE[None],),
        IMAGE[None].repeat(2, 3).repeat(2, 4),
    ),
    "resize2d": (
        lambda: dyn.image.resize2d(
            var("x", 1, 1, 2, 3),
            relay.const([4, 6]),
            relay.const(np.zeros(4, "float32")),
            method="nearest_neighbor",
            coordinate_transformation_mode="asymmetric",
        ),
        (IMAGE,),
        IMAGE.repeat(2, 2).repeat(2, 3),
    ),
    "sizes of another tensor": (
        lambda: dyn.tile(var("x", 2, 3), relay.shape_of(relay.zeros((2, 1), "float32"))),
        (X,),
        np.tile(X, (2, 1)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_known_sizes_become_attributes(case: str) -> None:
    build, args, expected = CASES[case]
    made = transform.DynamicToStatic()(module(build()))
    assert "dyn." not in str(made)
    assert made["main"].ret_type == relay.TensorType(expected.shape, str(expected.dtype))
    for kind in ("debug", "native"):
        same(relay.create_executor(kind, mod=made).evaluate()(*args), expected)


@pytest.mark.parametrize(
    "build",
    [
        lambda: dyn.tile(var("x", 2, 3), var("n", 2, dtype="int64")),
        lambda: dyn.squeeze(var("x", 2, 3), relay.const([0])),
        lambda: dyn.zeros(relay.const([-2]), "float32"),
    ],
)
def test_sizes_that_are_unknown_or_wrong_stay_operands(build: Callable[[], relay.Expr]) -> None:
    mod = module(build())
    assert "dyn." in str(transform.DynamicToStatic()(mod))
