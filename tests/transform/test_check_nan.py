"""Checks for NaN and infinity: what is reported, and where, in every evaluator."""

from collections.abc import Callable

import numpy as np
import pytest

import relay

TEXT = """
def @loss(%x: Tensor[(3,), float32]) -> float32 {
  let %p = nn.softmax(%x + [0f, -inff, 0f]);
  let %q = if (sum(%x) > 100f) { %p / 0f } else { %p };
  sum(sqrt(%q))
}
def @main(%x: Tensor[(3,), float32]) { @loss(%x) }
def @slope(%x: Tensor[(3,), float32]) { grad(@loss)(%x) }
"""
X = np.ones(3, "float32")
RUNS: dict[str, Callable[[str], object]] = {
    "run": lambda entry: relay.run(relay.parse(TEXT), entry, [X], check_nan=True),
    "build": lambda entry: relay.build(relay.parse(TEXT), entries=[entry], check_nan=True)(X),
    **{
        kind: lambda entry, kind=kind: relay.create_executor(
            kind, mod=relay.parse(TEXT), check_nan=True
        ).evaluate(entry)(X)
        for kind in ("debug", "native")
    },
    "expression": lambda entry: relay.create_executor(
        "debug", mod=relay.parse(TEXT), check_nan=True
    ).evaluate(relay.Call(relay.GlobalVar(entry), (relay.const(X),))),
}


def test_expressions_over_a_module_are_checked():
    for kind in ("debug", "native"):
        executor = relay.create_executor(kind, mod=relay.parse(TEXT), check_nan=True)
        with pytest.raises(relay.RelayError, match="makes an infinity"):
            executor.evaluate(relay.Call(relay.GlobalVar("slope"), (relay.const(X),)))


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_the_first_operator_that_makes_one_is_named(run: Callable[[str], object]):
    assert np.isclose(run("main"), np.sqrt(2))  # -inff goes in, and exp(-inff) is 0
    with pytest.raises(relay.RelayError) as caught:
        run("slope")
    (found,) = caught.value.diagnostics
    assert found.code == "not-finite"
    assert "makes an infinity" in found.message
    assert found.span is not None
    assert found.span.line == 5
    assert [n.message for n in found.notes if n.message.startswith("operand")]


@pytest.mark.parametrize(
    ("e", "found"),
    [
        ("log(%x - %x)", "`log` makes an infinity"),
        ("sqrt(%x - 5f)", "`sqrt` makes a NaN"),
        ("1f / (%x - %x) - 1f / (%x - %x)", "`divide` makes an infinity"),
        ("%x - (%x + inff)", ""),
        ("(%x + inff) - (%x + inff)", "`subtract` makes a NaN"),
        ("where(%x > 0f, %x, %x / 0f)", "`divide` makes an infinity"),
        ("nn.relu(%x * inff)", ""),
        ("split(%x / 0f, indices_or_sections=3).0", "`divide` makes an infinity"),
        ("split(%x, indices_or_sections=3).0 * 1e30f * 1e30f", "`multiply` makes an infinity"),
        ("cast(cast(%x * 70000f, float16), float32)", "`cast` makes an infinity"),
        ("cast(%x, int32) / 2", ""),
        ("nn.dropout(%x).0", ""),
    ],
)
@pytest.mark.parametrize("kind", ["debug", "native"])
def test_what_only_hands_one_on_is_not_reported(e: str, found: str, kind: str):
    mod = relay.parse(f"def @main(%x: Tensor[(3,), float32]) {{ {e} }}")
    run = relay.create_executor(kind, mod=mod, check_nan=True).evaluate()
    if found:
        with pytest.raises(relay.RelayError, match=found):
            run(X)
    else:
        run(X)


def test_functions_of_python_are_checked():
    def f(x):
        return relay.log(x - 1.0)

    for call in (relay.build(f, check_nan=True), relay.create_executor(mod=f, check_nan=True).evaluate()):
        assert call(X + 1).tolist() == [0, 0, 0]
        with pytest.raises(relay.RelayError, match="`log` makes an infinity"):
            call(X)


def test_the_pass_is_idempotent_and_leaves_fused_functions():
    mod = relay.infer(relay.parse("def @main(%x: Tensor[(3,), float32]) { tanh(log(%x)) }"))
    once = relay.transform.CheckNan()(mod)
    assert once.astext().count("check_nan(") == 2
    assert relay.transform.CheckNan()(once) is once
    fused = relay.transform.FuseOps()(mod)
    assert relay.transform.CheckNan()(fused) is fused
    sequence = relay.transform.Sequential([relay.transform.ToANormalForm(), relay.transform.CheckNan()])
    assert relay.run(sequence(mod), "main", [X]).tolist() == [0, 0, 0]


def test_the_text_goes_round():
    mod = relay.transform.CheckNan()(relay.infer(relay.parse(TEXT)))
    assert relay.structural_equal(relay.parse(mod.astext()), mod)
