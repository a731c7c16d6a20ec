"""The rules of small passes, each on its own: what it makes of a program, and that the value stays."""

import numpy as np
import pytest

from relay.interpreter.machine import Interpreter
from relay.text.api import parse
from relay.transform.passes.canonical_cast import canonicalize_cast
from relay.transform.passes.canonical_ops import CANONICAL, canonicalize_ops
from relay.transform.passes.fast_arithmetic import FAST, fast_math
from relay.transform.passes.simplify_inference import INFERENCE, PROJECTION, simplify_inference
from relay.transform.passes.to_anf import to_anf
from relay.typecheck.infer import infer
from transform.cases import verified
from transform.rules import Cases, assert_complete, assert_rule, assert_same, body_of

X = "Tensor[(2, 3), float32]"
C = "Tensor[(3,), float32]"
INFERENCE_CASES: dict[str, Cases] = {
    "nn.dropout(x).0 => x": [(f"%x: {X}", "nn.dropout(%x, rate=0.1).0", "%x")],
    "nn.dropout(x) => (x, ones_like(x))": [(f"%x: {X}", "nn.dropout(%x)", "(%x, ones_like(%x))")],
    "nn.batch_norm(…)": [
        (
            f"%x: {X}, %b: {C}, %m: {C}",
            "nn.batch_norm(%x, %b, %b, %m, [1.0, 2.0, 3.0], scale=False).0",
            "%0 = rsqrt([1f, 2f, 3f] + 1e-05f); %x * %0 + (-(%m * %0) + %b)",
        ),
    ],
}
CANONICAL_CASES: dict[str, Cases] = {
    "nn.bias_add(x, b) => x + expand_dims(b)": [
        (f"%x: {X}, %b: {C}", "nn.bias_add(%x, %b, axis=-1)", "%x + %b"),
        (
            "%x: Tensor[(2, 3, 4, n), float16], %b: Tensor[(3,), float16]",
            "nn.bias_add(%x, %b)",
            "%x + expand_dims(%b, axis=1, num_newaxis=2)",
        ),
    ],
    "nn.batch_flatten, contrib_reverse_reshape => reshape": [
        ("%x: Tensor[(2, 3, 4), float32]", "nn.batch_flatten(%x)", "reshape(%x, newshape=(2, 12))"),
        (
            "%x: Tensor[(2, 3, 4), float32]",
            "contrib_reverse_reshape(%x, newshape=(-3, 0))",
            "reshape(%x, newshape=(6, 4))",
        ),
        ("%x: Tensor[(n, 3, 4), float32]", "nn.batch_flatten(%x)", "nn.batch_flatten(%x)"),
    ],
    "collapse_sum_to(x) => sum(x)": [
        (f"%x: {X}", "collapse_sum_to(%x, shape=(3,))", "sum(%x, axis=(0,))"),
        (
            f"%x: {X}",
            "collapse_sum_to(%x, shape=(2, 1))",
            "reshape(sum(%x, axis=(1,)), newshape=(2, 1))",
        ),
    ],
}
FAST_CASES: dict[str, Cases] = {
    "(x * a) * b": [(f"%x: {X}", "3.0 * (%x * 5.0)", "%x * 15f")],
    "(x + a) + b": [(f"%x: {X}", "3.0 + (%x + 5.0)", "%x + 8f")],
    "x / c => x * (1 / c)": [
        (f"%x: {X}", "%x / 3.0", "%x * 0.33333334f"),
        (f"%x: {X}", "%x / 0.0", "%x / 0f"),
    ],
    "x / sqrt(y)": [(f"%x: {X}", "%x / sqrt([1.0, 2.0, 3.0])", "%x * rsqrt([1f, 2f, 3f])")],
    "x ** 0.5 => sqrt(x)": [
        (f"%x: {X}", "abs(%x) ** 0.5", "sqrt(abs(%x))"),
        (f"%x: {X}", "abs(%x) ** -0.5", "rsqrt(abs(%x))"),
    ],
    "x ** 4": [(f"%x: {X}", "%x ** 4.0", "%0 = %x * %x; %0 * %0")],
    "exp(x) * exp(y)": [("%n: Tensor[(2,), int32]", "let %k = cast(%n > 2, float32); exp(%k) * exp(%k)",
                         "let %k = cast(%n > 2, float32); exp(%k + %k)")],
    "exp(x) => fast_exp(x)": [
        (f"%x: {X}", "exp(%x)", "fast_exp(%x)"),
        ("%z: Tensor[(2,), float64]", "exp(%z)", "exp(%z)"),
    ],
    "tanh(x) => fast_tanh(x)": [(f"%x: {X}", "tanh(%x)", "fast_tanh(%x)")],
    "erf(x) => fast_erf(x)": [(f"%x: {X}", "erf(%x)", "fast_erf(%x)")],
    "x * 0 => 0": [("%n: Tensor[(), int32]", "cast(%n, float32) * 0.0", "0f")],
    "nn.softmax": [("", "nn.softmax([[1.0, 2.0]], axis=0)", "nn.fast_softmax([[1f, 2f]], axis=0)")],
}  # fmt: skip


@pytest.mark.parametrize(
    ("book", "cases"),
    [(INFERENCE, INFERENCE_CASES), (CANONICAL, CANONICAL_CASES), (FAST, FAST_CASES)],
    ids=["inference", "canonical", "fast"],
)
def test_each_rule_does_what_it_says(book, cases):
    assert_complete(book.entries, cases)
    for text, several in cases.items():
        more = PROJECTION if book is INFERENCE else ()
        assert_rule(book.entries, text, several, more)


NORMS = [
    "nn.batch_norm(%x, %g, %b, %b, abs(%g)).0",
    "nn.batch_norm(%x, %g, %b, %b, abs(%g), center=False, axis=1).1",
    "nn.layer_norm(%x, %g, %b, axis=1)",
    "nn.instance_norm(%x, %g, %b)",
    "nn.group_norm(%x, %g, %b, num_groups=3)",
    "nn.l2_normalize(%x, eps=0.1, axis=(1,))",
    "let %t = nn.batch_norm(%x, %g, %b, %b, abs(%g)); (%t.2, fn (%y: float32) { %t.0 * %y }(2.0))",
]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("body", NORMS)
def test_norms_are_arithmetic(body: str, dtype: str):
    text = f"def @main(%x: Tensor[(2, 3, 4), float32], %g: {C}, %b: {C}) {{ {body} }}".replace(
        "float32", dtype
    )
    mod = infer(parse(text))
    rng = np.random.default_rng(0)
    given = [rng.normal(size=s).astype(dtype) for s in ((2, 3, 4), (3,), (3,))]
    before = Interpreter(mod).evaluate("main", *given)
    for form in (mod, to_anf(mod)):
        out = verified(simplify_inference(form))
        assert "norm" not in str(out)
        after = Interpreter(out).evaluate("main", *given)
        for a, b in zip(before, after, strict=True) if isinstance(before, tuple) else ((before, after),):
            np.testing.assert_allclose(a, b, rtol=2e-3 if dtype == "float16" else 1e-5)


CASTS = [
    ("let %w = cast(%x, int32); %w * %w", None),
    ("let %w = cast(%x, int32); nn.relu(%w) + abs(%w)",
     "let %w = cast(%x, int32);\nnn.relu(cast(%x, int32)) + abs(cast(%x, int32))"),
    ("%0 = cast(%x, int32); nn.relu(%0) + abs(%0)", "nn.relu(cast(%x, int32)) + abs(cast(%x, int32))"),
    ("let %w = cast(%x, int8); nn.relu(%w) + abs(%w)", None),
    ("let %w = cast(%x, int32); nn.relu(%w) + fn () { abs(%w) }()", None),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), CASTS)
def test_a_widening_cast_is_not_shared_by_calls_of_a_block(body: str, expected: str | None):
    mod = infer(parse(f"def @main(%x: Tensor[(4,), int16]) {{ {body} }}"))
    out = verified(canonicalize_cast(mod))
    if expected is None:
        assert out is mod
    else:
        assert body_of(out) == body_of(infer(parse(f"def @main(%x: Tensor[(4,), int16]) {{ {expected} }}")))
    given = np.asarray([300, -5, 0, 7], np.int16)
    assert canonicalize_cast(out) is out
    assert_same(*(Interpreter(m).evaluate("main", given) for m in (mod, out)), exact=True)
    verified(canonicalize_cast(to_anf(mod)))


@pytest.mark.parametrize("change", [simplify_inference, canonicalize_ops, canonicalize_cast, fast_math])
def test_a_program_without_such_operators_is_the_same_object(change):
    mod = infer(parse("def @main(%x: float32) { let %y = sin(%x); if (%y > 0.0) { %y } else { cos(%x) } }"))
    assert change(mod) is mod
    anf = to_anf(mod)
    assert change(anf) is anf
