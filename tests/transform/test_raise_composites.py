"""Activations, norms and attention that programs spell out become operators, with the same values."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.ir.module import IRModule
from relay.transform.passes.algebra import simplify_expr
from relay.transform.passes.dead_code import dead_code
from relay.transform.passes.raise_composites import raise_composites
from relay.transform.passes.to_anf import to_anf

GELU = "nn.gelu(%x)"
BY_TANH = 'nn.gelu(%x, approximate="tanh")'
ACTIVATIONS = [
    ("%x * 0.5f * (erf(%x * 0.70710678f) + 1f)", GELU),
    ("%x * (erf(%x / 1.41421356f) + 1f) * 0.5f", GELU),
    ("%x * (erf(%x * 0.70710678f) * 0.5f + 0.5f)", GELU),
    ("%x * (1f + erf(%x / 1.41421356f)) / 2f", GELU),
    ("%x * ndtr(%x)", GELU),
    ("%x * 0.5f * (tanh((%x + %x * %x * %x * 0.044715f) * 0.7978845608f) + 1f)", BY_TANH),
    ("0.5f * %x * (1f + tanh(0.7978845608f * %x * (1f + 0.044715f * %x * %x)))", BY_TANH),
    ("0.5f * %x * (1f + tanh(0.7978845608f * (%x + 0.044715f * power(%x, 3f))))", BY_TANH),
    ("%x * sigmoid(%x)", "nn.silu(%x)"),
    ("sigmoid(%x * 1.702f) * %x", "nn.silu(%x, alpha=1.702)"),
    ("log(exp(%x) + 1f)", "nn.softplus(%x)"),
    ("log1p(exp(%x))", "nn.softplus(%x)"),
    ("nn.relu(%x) + log(exp(negative(abs(%x))) + 1f)", "nn.softplus(%x)"),
    ("%x * tanh(log(1f + exp(%x)))", "nn.mish(%x)"),
    ("%x * clip(%x + 3f, a_min=0f, a_max=6f) / 6f", "nn.hard_swish(%x)"),
    ("%x * clip(%x * 0.16666667f + 0.5f, a_min=0f, a_max=1f)", "nn.hard_swish(%x)"),
    ("%x * nn.hard_sigmoid(%x)", "nn.hard_swish(%x)"),
]
MEAN = "mean(%x, axis=-1, keepdims=True)"
NORMS = [
    ("%x * rsqrt(mean(%x * %x, axis=-1, keepdims=True) + 1e-4f)", "nn.rms_norm(%x, epsilon=0.0001)"),
    (
        "%x / sqrt(mean(power(%x, 2f), axis=[-1], keepdims=True) + 1e-4f) * %g",
        "nn.rms_norm(%x, %g, epsilon=0.0001)",
    ),
    (
        f"let %d = %x - {MEAN}; %d / sqrt(mean(%d * %d, axis=-1, keepdims=True) + 1e-4f) * %g + %b",
        "nn.layer_norm(%x, %g, %b, epsilon=0.0001)",
    ),
    (
        f"(%x - {MEAN}) * (1f / sqrt(variance(%x, axis=-1, keepdims=True) + 1e-4f)) * %g + %b",
        "nn.layer_norm(%x, %g, %b, epsilon=0.0001)",
    ),
]
SCORES = "nn.matmul(%q, %k, transpose_b=True)"
SHARED = "nn.matmul(%q, repeat(%kk, repeats=2, axis=1), transpose_b=True)"
STRETCHED = (
    "reshape(broadcast_to(expand_dims({0}, axis=2), shape=(2, 2, 2, 7, {1})), newshape=(2, 4, 7, {1}))"
)
ATTENTION = [
    (f"nn.matmul(nn.softmax({SCORES} * 0.5f), %v)", 'nn.attention(%q, %k, %v, scale=0.5, masked_rows="nan")'),
    (
        "nn.matmul(nn.softmax(nn.matmul(%q, transpose(%k, axes=[0, 1, 3, 2])) / 4f + %m), %v)",
        'nn.attention(%q, %k, %v, %m, scale=0.25, masked_rows="nan")',
    ),
    (
        f"nn.matmul(nn.softmax({SHARED} + %m), repeat(%vv, repeats=2, axis=1))",
        'nn.attention(%q, %kk, %vv, %m, scale=1.0, group_size=2, masked_rows="nan")',
    ),
    (
        f"nn.matmul(nn.softmax(nn.matmul(%q, {STRETCHED.format('%kk', 8)}, transpose_b=True)),"
        f" {STRETCHED.format('%vv', 6)})",
        'nn.attention(%q, %kk, %vv, scale=1.0, group_size=2, masked_rows="nan")',
    ),
]
OPERANDS = {
    "x": (3, 8), "g": (8,), "b": (8,), "q": (2, 4, 5, 8), "k": (2, 4, 7, 8), "v": (2, 4, 7, 6),
    "m": (2, 1, 5, 7), "kk": (2, 2, 7, 8), "vv": (2, 2, 7, 6),
}  # fmt: skip


def program(body: str) -> IRModule:
    """A module with that body, of those operands that it mentions."""
    params = ", ".join([f"%{n}: Tensor[{s}, float32]" for n, s in OPERANDS.items()])
    return relay.infer(relay.parse(f"def @main({params}) {{ {body} }}"))


def arguments() -> list[Any]:
    rng = np.random.default_rng(4)
    return [rng.standard_normal(s).astype("float32") for s in OPERANDS.values()]


def result(mod: IRModule) -> str:
    """What the body of a module computes, without bindings."""
    return dead_code(mod).astext().split("{\n")[1].strip().strip("}").strip()


@pytest.mark.parametrize(("spelled", "operator"), [*ACTIVATIONS, *NORMS, *ATTENTION])
def test_what_is_spelled_out_becomes_the_operator(spelled: str, operator: str) -> None:
    mod = simplify_expr(program(spelled))
    raised = raise_composites(mod)
    assert result(raised) == operator
    assert raise_composites(raised) is raised
    assert operator in raise_composites(to_anf(mod)).astext()
    xs = arguments()
    np.testing.assert_allclose(
        relay.run(raised, "main", xs), relay.run(mod, "main", xs), rtol=2e-5, atol=1e-6
    )


SAFE = f"nn.matmul(nn.safe_softmax({SCORES} + %m), %v)"
MASKED_ROWS = [
    (
        f"nn.matmul(nn.softmax({SCORES} + %m), %v)",
        'nn.attention(%q, %k, %v, %m, scale=1.0, masked_rows="nan")',
    ),
    (SAFE, "nn.attention(%q, %k, %v, %m, scale=1.0)"),
    (
        f"let %keep = %m > 0f; nn.matmul(where(%keep, nn.softmax(where(%keep, {SCORES}, -inff)), 0f), %v)",
        "nn.attention(%q, %k, %v, %keep, scale=1.0)",
    ),
]


@pytest.mark.parametrize(("spelled", "operator"), MASKED_ROWS)
@pytest.mark.parametrize("executor", ["debug", "native"])
def test_rows_whose_keys_are_all_masked_keep_their_value(spelled: str, operator: str, executor: str) -> None:
    mod = program(spelled)
    raised = raise_composites(mod)
    assert operator.split(" ")[-1] in result(raised)
    assert "nn.attention" in result(raised)
    xs = dict(zip(OPERANDS, arguments(), strict=True))
    xs["m"][:, :, 2] = -np.inf
    for m in (mod, raised):
        rows = relay.create_executor(executor, m).evaluate()(*xs.values())[:, :, 2]
        assert np.isnan(rows).all() if "nan" in operator else not rows.any()


def test_a_causal_mask_that_is_known_becomes_an_attribute() -> None:
    keep = relay.const(np.tri(5, 7, dtype=bool))
    q, k, v = (relay.var(n, shape=OPERANDS[n], dtype="float32") for n in "qkv")
    for condition, operator in (
        (keep, 'nn.attention(%q, %k, %v, causal=True, scale=1.0, masked_rows="nan")'),
        (
            relay.var("keep", shape=(5, 7), dtype="bool"),
            'nn.attention(%q, %k, %v, %keep, scale=1.0, masked_rows="nan")',
        ),
    ):
        scores = relay.where(
            condition, relay.nn.matmul(q, k, transpose_b=True), relay.const(-np.inf, "float32")
        )
        fn = relay.Function(
            [q, k, v, *([] if condition is keep else [condition])],
            relay.nn.matmul(relay.nn.softmax(scores), v),
        )
        assert result(raise_composites(relay.infer(IRModule.from_expr(fn)))) == operator


@pytest.mark.parametrize(
    "body",
    [
        "%x * 0.5f * (erf(%x * 0.7f) + 1f)",
        "%x * 0.4f * (erf(%x * 0.70710678f) + 1f)",
        "%b * (erf(%x * 0.70710678f) * 0.5f + 0.5f)",
        "%x * 0.5f * (tanh((%x + %x * %x * 0.044715f) * 0.7978845608f) + 1f)",
        "%b * sigmoid(%x)",
        "log(exp(%x) + 2f)",
        "%x * clip(%x + 3f, a_min=0f, a_max=5f) / 6f",
        "%x * rsqrt(mean(%x * %x, axis=0, keepdims=True) + 1e-4f)",
        f"let %w = nn.softmax({SCORES}); (%w, nn.matmul(%w, %v))",
        f"nn.matmul(nn.softmax({SCORES}, axis=1), %v)",
    ],
)
def test_what_only_looks_like_it_stays(body: str) -> None:
    mod = program(body)
    assert raise_composites(mod) is mod
