"""Python arguments that public functions can do nothing with."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relay

CASES: list[tuple[Callable[[Any], object], str]] = [
    (relay.parse, "not text"), (relay.parse_expr, "not text"), (relay.infer, "not a module"),
    (relay.infer_expr, "not an expression"), (relay.check, "not a module"), (relay.grad, "not an expression"),
    (relay.vjp, "not an expression"), (relay.jvp, "not an expression"),
    (relay.IRModule.from_expr, "not an expression"), (relay.transform.FuseOps(), "not a module"),
    (lambda x: relay.create_executor("debug", x), "not a module"),
    (lambda x: relay.transform.Sequential([x]), "not a pass"), (relay.var, "name of a variable is text"),
    (lambda x: relay.analysis.count_layers(x, ["nn.dense"]), "not an expression"),
    (relay.analysis.free_vars, "not an expression"), (relay.analysis.all_vars, "not an expression"),
    (lambda x: relay.const(0, x), "a dtype is a name such as `float32`"),
    (lambda x: relay.Span(x, 0, 0, 0, 0), "a Source or a SourceName"),
    (lambda x: relay.transform.PassContext(str(x)), "opt_level is a number"),  # pyright: ignore[reportArgumentType]
]  # fmt: skip


@pytest.mark.parametrize(("function", "message"), CASES)
def test_what_it_is_not_is_said(function: Callable[[Any], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        function(3)


WITH_DTYPE: list[Callable[[Any], object]] = [
    lambda t: relay.const(0, t),
    lambda t: relay.var("x", dtype=t),
    lambda t: relay.var("x", shape=(2,), dtype=t),
]


@pytest.mark.parametrize("build", WITH_DTYPE)
def test_a_type_is_not_a_dtype(build: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match="not the TensorType int32"):
        build(relay.scalar_type("int32"))


@pytest.mark.parametrize(
    ("name", "hint"), [("double", "write `float64`"), ("half", "write `float16`"), ("flot32", "did you mean")]
)
def test_a_name_that_is_not_a_dtype_is_refused_with_a_hint(name: str, hint: str) -> None:
    for build in (
        lambda: relay.var("x", dtype=name),
        lambda: relay.var("x", shape=(2,), dtype=name),
        lambda: relay.const(1, name),
    ):
        with pytest.raises(ValueError, match=f"`{name}` is not a dtype; {hint}"):
            build()


def test_a_module_is_not_an_expression() -> None:
    with pytest.raises(TypeError, match="not an expression"):
        relay.analysis.count_layers(relay.IRModule(), ["nn.dense"])  # pyright: ignore[reportArgumentType]


def test_expression_is_indexed_by_numbers_of_fields_and_by_slices() -> None:
    x = relay.var("x", shape=(3, 4))
    assert isinstance(x[0], relay.TupleGetItem)
    assert str(relay.Function([x], x[:, 1:3])).endswith("{ %x[:, 1:3] }")
    rows = relay.Function([x], x[np.array([2, 0])][::-1, relay.const(np.array([1]))])
    found = relay.create_executor("debug").evaluate(rows)(np.arange(12, dtype="float32").reshape(3, 4))
    assert found.tolist() == [[1], [9]]
    with pytest.raises(relay.RelayError, match="a tensor cannot be indexed with 'a'"):
        x["a"]
