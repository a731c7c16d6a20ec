"""`FakeQuantizationToInteger` of operators on elements: the numbers of the program on floats, to a step."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relay
from known_runs import var
from relay import transform

BY_CHANNEL = np.array([0.5, 0.25, 0.125], "float32")
ZEROS = np.array([3, -2, 0], "int32")


def check(
    build: Callable[..., relay.Expr],
    *,
    shapes: tuple[tuple[int, ...], ...] = ((1, 4, 6, 6),),
    scales: tuple[Any, ...] = (0.5, 0.25),
    zeros: tuple[Any, ...] = (3, -2),
    out: tuple[Any, Any] = (0.5, 1),
    steps: int = 1,
) -> None:
    xs = [var(f"x{i}", *shape, dtype="int8") for i, shape in enumerate(shapes)]
    numbers = [
        relay.qnn.op.dequantize(x, relay.const(s, "float32"), relay.const(z, "int32"), axis=1)
        for x, s, z in zip(xs, scales, zeros, strict=False)
    ]
    scale, zero = relay.const(out[0], "float32"), relay.const(out[1], "int32")
    e = relay.qnn.op.quantize(build(*numbers), scale, zero, axis=1)
    mod = transform.InferType()(relay.IRModule.from_expr(relay.Function(xs, e)))
    made = transform.FakeQuantizationToInteger()(mod)
    assert "qnn.dequantize" not in str(made)
    rng = np.random.default_rng(0)
    args = [rng.integers(-128, 128, s).astype("int8") for s in shapes]
    expected = relay.create_executor("debug", mod=mod).evaluate()(*args).astype("int32")
    for kind in ("debug", "native"):
        found = relay.create_executor(kind, mod=made).evaluate()(*args).astype("int32")
        assert np.abs(found - expected).max() <= steps


ELEMENTS: dict[str, Callable[[relay.Expr], relay.Expr]] = {
    "adaptive_avg_pool2d": lambda x: relay.nn.adaptive_avg_pool2d(x, (2, 4)),
    "resize2d, linear": lambda x: relay.image.resize2d(x, (12, 9), method="linear"),
    "resize2d, nearest": lambda x: relay.image.resize2d(x, (3, 12), method="nearest_neighbor"),
    "split": lambda x: relay.concatenate(list(relay.split(x, 2, axis=1))[::-1], axis=1),
    "topk, values": lambda x: relay.topk(x, k=2, ret_type="values"),
    "topk, both": lambda x: relay.topk(x, k=2)[0],
    "copy": relay.copy,
    "max": lambda x: relay.max(x, axis=[1, 2]),
    "min": lambda x: relay.min(x, axis=[2, 3], keepdims=True),
    "sum": lambda x: relay.sum(x, axis=[3]),
    "minimum of a constant": lambda x: relay.minimum(x, relay.const(6.0)),
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_elements(name: str) -> None:
    check(ELEMENTS[name])


@pytest.mark.parametrize("name", ["minimum", "maximum"])
def test_extreme_of_two_scales(name: str) -> None:
    check(lambda x, y: getattr(relay, name)(x, y), shapes=((3, 4), (3, 4)))


@pytest.mark.parametrize(
    "build", [lambda x: relay.clip(x, 0.0, 6.0), lambda x: relay.clip(x, -3.3, 100.0), relay.nn.relu]
)
def test_bounds_by_channel(build: Callable[..., relay.Expr]) -> None:
    options = {"shapes": ((2, 3, 4, 4),), "scales": (BY_CHANNEL,), "zeros": (ZEROS,)}
    check(build, **options, out=(BY_CHANNEL, ZEROS))
    check(build, **options, out=(0.5, 1))


@pytest.mark.parametrize("name", ["add", "subtract", "multiply"])
def test_pairs_by_channel(name: str) -> None:
    scales, zeros = (BY_CHANNEL, 0.25), (ZEROS, 1)
    shapes = ((2, 3, 4), (2, 3, 4))
    check(getattr(relay, name), shapes=shapes, scales=scales, zeros=zeros, out=(2.0, 0), steps=2)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: relay.image.resize2d(x, (12, 9), method="cubic"),
        lambda x: relay.topk(x, k=2)[1].astype("float32"),
        lambda x: relay.maximum(x, relay.exp(relay.cast(relay.cast(x, "int32"), "float32"))),
    ],
)
def test_what_has_no_form_in_integers_stays(build: Callable[..., relay.Expr]) -> None:
    x = relay.qnn.op.dequantize(var("x", 1, 4, 6, 6, dtype="int8"), relay.const(0.5), relay.const(0))
    e = relay.qnn.op.quantize(build(x), relay.const(0.5), relay.const(0))
    mod = transform.InferType()(relay.IRModule.from_expr(e))
    assert "qnn.dequantize" in str(transform.FakeQuantizationToInteger()(mod))
