"""`relay.function`: traced Python functions."""
# ruff: noqa: F821 - annotations in quotes are Relay types

import numpy as np
import pytest

import relay


def test_operators_on_variables_build_the_body() -> None:
    @relay.function
    def f(x: relay.TensorType((3,), "float32"), y: relay.TensorType((3,), "float32")):
        return x * 2 + relay.nn.relu(y)

    assert f(np.array([1, 2, 3], "float32"), np.array([-1, 0, 1], "float32")).tolist() == [2, 4, 7]
    assert isinstance(f.function, relay.Function)
    assert str(f.mod.type_of(f.function.body)) == "Tensor[(3,), float32]"
    assert relay.create_executor(mod=f.mod).evaluate()([1, 1, 1], y=[0, 0, 0]).tolist() == [2, 2, 2]


def test_texts_of_types_share_their_dimensions() -> None:
    @relay.function
    def f(x: "Tensor[(n, 4), float32]", y: "Tensor[(n, 4), float32]") -> "Tensor[(n, 4), float32]":
        return x + y

    ones = np.ones((2, 4), "float32")
    assert f(ones, ones).shape == (2, 4)
    with pytest.raises(relay.RelayError) as error:
        f(ones, np.ones((3, 4), "float32"))
    assert error.value.codes == ("argument-type",)


def test_without_annotations_it_is_as_general_as_its_body() -> None:
    @relay.function
    def square(x):
        return x * x

    assert square(3) == 9
    assert square(np.float64(1.5)) == 2.25
    assert square(np.array([1, 2], "int8")).dtype == "int8"


def test_python_runs_while_it_is_traced() -> None:
    @relay.function
    def power(x: "float32", n=3):
        result = x
        for _ in range(n - 1):
            result = result * x
        return result

    assert power(2) == 8
    assert [p.name for p in power.function.params] == ["x"]


def test_results_may_be_tuples_and_numbers() -> None:
    @relay.function
    def f(x: "(int32, float32)"):
        return x[0], (x[1], 1)

    assert f((3, 0.5)) == (3, (0.5, 1))


def test_it_can_be_used_in_another_one() -> None:
    @relay.function
    def double(x):
        return x + x

    @relay.function
    def f(x: "int32"):
        return double(double(x)) + double(x=x)

    assert f(1) == 6


def test_branch_on_a_traced_value_is_explained() -> None:
    with pytest.raises(relay.RelayError) as error:

        @relay.function
        def f(x: "float32"):
            if x > 0:
                return x
            return -x

    (d,) = error.value.diagnostics
    assert d.code == "traced-control-flow"
    assert d.span is not None
    assert d.span.source.line_text(d.span.line).strip() == "if x > 0:"


def test_loop_over_a_traced_value_is_explained() -> None:
    with pytest.raises(relay.RelayError) as error:

        @relay.function
        def f(x: "Tensor[(3,), float32]"):
            return sum(list(x))

    assert error.value.codes == ("traced-control-flow",)


@pytest.mark.parametrize("make", [
    lambda: relay.function(lambda *xs: xs[0]),
    lambda: relay.function(lambda x: None),
    lambda: relay.function(lambda *, x: x),
])  # fmt: skip
def test_signature_that_means_nothing_is_refused(make: object) -> None:
    with pytest.raises(relay.RelayError) as error:
        make()
    assert error.value.codes == ("bad-signature",)


def test_annotation_that_is_no_type_is_refused() -> None:
    with pytest.raises(relay.RelayError) as error:

        @relay.function
        def f(x: 3):
            return x

    assert error.value.codes == ("bad-signature",)


def test_type_error_in_the_body_shows_the_python_line() -> None:
    @relay.function
    def f(x: "Tensor[(2,), float32]", y: "Tensor[(3,), float32]"):
        return x + y

    with pytest.raises(relay.RelayError) as error:
        f(np.ones(2, "float32"), np.ones(3, "float32"))
    (d,) = error.value.diagnostics
    assert d.code == "broadcast-mismatch"
    assert d.span is not None
    assert d.span.source.line_text(d.span.line).strip() == "return x + y"


def test_postponed_annotations_are_understood() -> None:
    source = """
from __future__ import annotations
import relay
@relay.function
def f(x: relay.TensorType((), "int32"), y: "int32") -> relay.scalar_type("int32"):
    return x - y
"""
    scope: dict[str, object] = {}
    exec(source, scope)
    f = scope["f"]
    assert f(5, 3) == 2
    assert str(f.function.params[1].type_annotation) == "int32"
