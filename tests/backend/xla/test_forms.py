"""XLA's own forms of operators beside their references."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relay
from backend.xla.near import assert_near
from relay.backend.xla.checks import Checks
from relay.backend.xla.namespace import Namespace
from relay.backend.xla.operators import traced
from relay.backend.xla.program import xla_context
from relay.interpreter.machine import evaluate
from relay.op.registry import instance

pytestmark = pytest.mark.extras
jax = pytest.importorskip("jax", reason="needs jax, which `.ci/run-extras jax` installs")


SWAPPED = str.maketrans("IO", "OI")
"""The channels of a convolution are the others for its transpose."""


def alike(name: str, attrs: dict[str, Any], *operands: Any) -> Any:
    """The reference's value, which XLA's has to be near."""
    op = instance(name, attrs)
    wanted = op.evaluate(*operands)
    near = {"float64": 1e-9, "float32": 1e-4}.get(str(wanted.dtype), 5e-2)
    with xla_context(jax, jax.devices()[0]):
        found = traced(Namespace(jax, Checks(jax)), op, [jax.numpy.asarray(x) for x in operands])
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(np.float64(found), np.float64(wanted), near, near * 20)
    return wanted


@pytest.mark.parametrize("seed", range(24))
def test_convolutions_and_their_derivatives(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def several(count: int, least: int, most: int) -> tuple[int, ...]:
        return tuple(rng.integers(least, most + 1, count).tolist())

    def named(sizes: tuple[int, ...], axes: str, layout: str) -> Any:
        return rng.standard_normal([sizes[axes.index(letter)] for letter in layout]).astype(dtype)

    dtype = jax.numpy.dtype(["float32", "float64", "float16", "bfloat16"][seed % 4])
    groups, (per_group, multiple) = 1 + seed % 3, several(2, 1, 2)
    given, out = str(rng.choice(["NCHW", "NHWC", "HWNC"])), str(rng.choice(["NCHW", "NHWC"]))
    kernel = str(rng.choice(["OIHW", "HWIO"]))
    window = several(2, 1, 3)
    x = named((2, groups * per_group, *several(2, 6, 9)), "NCHW", given)
    w = named((groups * multiple, per_group, *window), "OIHW", kernel)
    attrs: dict[str, Any] = {"groups": groups, "strides": several(2, 1, 3), "dilation": several(2, 1, 2)}
    attrs["padding"] = several(4, 0, 2)
    y = alike("nn.conv2d", {**attrs, "data_layout": given, "kernel_layout": kernel, "out_layout": out}, x, w)
    to_weight = {**attrs, "grad_layout": out, "data_layout": given, "kernel_layout": kernel}
    alike("nn.conv2d_backward_weight", {**to_weight, "kernel_size": window}, y, x)
    alike("nn.conv2d_backward_weight", to_weight, y, x)
    to_data = {**attrs, "data_layout": out, "out_layout": given, "output_padding": several(2, 0, 1)}
    alike("nn.conv2d_transpose", {**to_data, "kernel_layout": kernel.translate(SWAPPED)}, y, w)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_attention_to_no_key_is_zero(dtype: str) -> None:
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((2, n, 4)).astype(jax.numpy.dtype(dtype)) for n in (3, 5, 5))
    keep = rng.random((2, 3, 5)) > 0.4
    keep[0, 1] = keep[1, 2] = False
    for mask in (keep, np.where(keep, 0, -np.inf).astype(q.dtype)):
        y = alike("nn.attention", {"causal": True}, q, k, v, mask)
        assert not y[0, 1].any()
        assert not y[1, 2].any()
    alike("nn.safe_softmax", {"axis": 1}, np.where(keep, q[..., :1], -np.inf).astype(q.dtype))


@pytest.mark.parametrize("name", ["max", "avg"])
@pytest.mark.parametrize("seed", range(12))
def test_pooling_and_its_derivative(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (2, 3, 8, 9)).astype("float32")
    x[0, 0, 2, 3] = np.nan if seed % 2 else 0
    strides, dilation = rng.integers(1, 4, 2).tolist(), rng.integers(1, 3, 2).tolist()
    attrs: dict[str, Any] = {"pool_size": (2 + seed % 2, 3), "strides": tuple(strides), "padding": (0, 1)}
    attrs |= {"dilation": tuple(dilation), "ceil_mode": bool(seed % 3)}
    if name == "avg":
        attrs["count_include_pad"] = bool(seed % 4)
    y = alike(f"nn.{name}_pool2d", attrs, x)
    alike(f"nn.{name}_pool2d_grad", attrs, rng.standard_normal(y.shape).astype("float32"), x)


@pytest.mark.parametrize("name", ["sigmoid", "erf", "erfc", "ndtr", "nn.gelu", "nn.silu"])
def test_smooth_functions_far_from_zero(name: str) -> None:
    for dtype in ("float32", "float64"):
        alike(name, {}, np.asarray([-1e4, -90, -9, -2.5, -1e-3, 0, 0.5, 3, 20, 1e4], dtype))


@pytest.mark.parametrize(
    ("call", "limits"),
    [
        ("nn.gelu(%x)", [0, math.inf]),
        ('nn.gelu(%x, approximate="tanh")', [0, math.inf]),
        ("nn.silu(%x)", [0, math.inf]),
        ("nn.silu(%x, alpha=-2.0)", [-math.inf, 0]),
        ("nn.silu(%x, alpha=0.0)", [-math.inf, math.inf]),
    ],
)
def test_gates_have_limits_at_infinities(call: str, limits: list[float]) -> None:
    mod = relay.parse(f"def @main(%x: Tensor[(2,), float32]) {{ {call} }}")
    infinities = np.array([-math.inf, math.inf], "float32")
    np.testing.assert_array_equal(relay.build(mod, target="xla")(infinities), limits)


@pytest.mark.parametrize(
    ("call", "zero", "slope"),
    [
        (
            "nn.gelu(%x)",
            -0.7517915246935645,
            lambda x: math.erfc(-x / math.sqrt(2)) / 2 + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi),
        ),
        ("nn.silu(%x)", -1.2784645427610737, lambda x: (1 + x / (1 + math.exp(x))) / (1 + math.exp(-x))),
    ],
)
def test_slopes_keep_their_digits_next_to_their_zeros(
    call: str, zero: float, slope: Callable[[float], float]
) -> None:
    x = np.float32(zero) + np.arange(-2, 3, dtype="float32") * np.spacing(np.float32(abs(zero)))
    text = f"def @f(%x: Tensor[(5,), float32]) {{ sum({call}) }} " \
           "def @main(%x: Tensor[(5,), float32]) { grad(@f)(%x).1.0 }"  # fmt: skip
    found = relay.build(relay.parse(text), target="xla")(x)
    np.testing.assert_allclose(found, [slope(float(v)) for v in x], 1e-6)


@pytest.mark.parametrize(
    "body",
    [
        "nn.pad(%x, pad_width=((1, 2), (0, 3)))",
        "nn.dilate(%x, strides=(2, 3))",
        "grad(fn(%y: Tensor[(6, 8), float32]) { sum(tanh(%y[1:5:2, 2:])) })(%x)",
        "grad(fn(%y: Tensor[(6, 8), float32]) { sum(tanh(split(%y, indices_or_sections=2).1)) })(%x)",
    ],
)
def test_blocks_are_written_without_a_scatter(body: str) -> None:
    mod = relay.parse(f"def @main(%x: Tensor[(6, 8), float32]) {{ {body} }}")
    built = relay.build(mod, "xla")
    x = np.random.default_rng(0).standard_normal((6, 8), "float32")
    assert_near(built(x), evaluate(relay.infer(mod), "main", x))
    whole = built.by_name["main"].whole
    (structure,) = whole.kept
    assert "scatter" not in whole.lowered(structure).as_text()


BLOCKS = [
    (slice(1, 3),), (1, slice(None)), (slice(2, -1), -2), (slice(3, 1),), 2, (..., 2),
    (slice(None, None, 2), slice(1, 6, 3)), (slice(None), slice(None, None, -1)),
]  # fmt: skip


@pytest.mark.parametrize("at", BLOCKS)
def test_blocks_are_what_numpy_says(at: Any) -> None:
    x = np.arange(30, dtype="float32").reshape(5, 6)
    values = -np.arange(x[at].size, dtype="float32").reshape(x[at].shape)
    found = Namespace(jax, Checks(jax)).placed(jax.numpy.asarray(x), at, values)
    x[at] = values
    np.testing.assert_array_equal(found, x)
