"""What traced values have of NumPy's arrays."""
# ruff: noqa: F821 - annotations in quotes are Relay types

import operator
from typing import Any

import numpy as np
import pytest

import relay
from relay.ir.traced import Traced, untraced

X = np.arange(6, dtype="float32").reshape(2, 3) - 2
N = np.array([[7, -3, 2], [1, 5, -6]], "int32")
B = X > 0


OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "lt", "le", "gt", "ge", "eq", "ne"]


def agree(f: Any, *args: Any) -> None:
    """Demand that a function gives on traced values what it gives on arrays, interpreted and compiled."""
    expected = np.asarray(f(*args))
    for run in (relay.function(f), relay.compile(f)):
        found = np.asarray(run(*args))
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert found.shape == expected.shape


@pytest.mark.parametrize("name", OPERATORS)
def test_arithmetic_with_numbers_and_arrays_both_ways(name: str) -> None:
    f = getattr(operator, name)
    row = np.array([1, 2, 4], "float32")
    agree(f, X, X * 2 + 1)
    agree(lambda x: f(x, 2), X)
    agree(lambda x: f(3.5, x + 3), X)
    agree(lambda x: f(x, row), X)
    agree(lambda x: f(row, x + 3), X)
    agree(lambda x: f(x, np.float32(2)), X)
    agree(lambda x: f(np.float32(2), x + 3), X)


@pytest.mark.parametrize("name", ["floordiv", "mod"])
def test_division_of_integers_rounds_down(name: str) -> None:
    f = getattr(operator, name)
    agree(lambda x: f(x, 4), N)
    agree(lambda x: f(x, -4), N)


@pytest.mark.parametrize("f", [
    lambda x: x**2, lambda x: 2.0**x, lambda x: -x, lambda x: +x, lambda x: abs(x), lambda x: x @ x.T,
    lambda x: np.ones((1, 2), "float32") @ x,
])  # fmt: skip
def test_other_arithmetic(f: Any) -> None:
    agree(f, X)


@pytest.mark.parametrize("f", [
    lambda x, y: x & y, lambda x, y: x | y, lambda x, y: x ^ y, lambda x, y: ~x,
])  # fmt: skip
def test_logic_is_of_truth_values_or_bits(f: Any) -> None:
    agree(f, B, ~B)
    agree(lambda x, y: f(x, y) if x.dtype != "bool" else x, N, N + 1)


def test_shifts() -> None:
    agree(lambda x: x << 2, N)
    agree(lambda x: x >> 1, N)
    agree(lambda x: 1 << (x & 3), N)


@pytest.mark.parametrize("f", [
    np.sin, np.exp, np.sqrt, np.absolute, np.arctan, lambda x: np.maximum(x, 0), lambda x: np.add(1, x),
    lambda x: np.arctan2(x, 2), lambda x: np.power(x, 2),
])  # fmt: skip
def test_functions_of_numpy(f: Any) -> None:
    agree(lambda x: f(x), abs(X))


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "std", "var", "argmax", "argmin"])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_reductions(name: str, axis: int | None) -> None:
    agree(lambda x: getattr(x, name)(axis), X)
    agree(lambda x: getattr(x, name)(axis=axis, keepdims=True), X)


def test_reductions_over_several_axes_and_of_truth_values() -> None:
    wanted = [X.std(0, ddof=1), X.var(ddof=1)]
    results = relay.function(lambda x: (x.std(0, unbiased=True), x.var(unbiased=True)))(X)
    for result, value in zip(results, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(result), value, rtol=1e-6)
    agree(lambda x: x.sum((0, 2)), np.ones((2, 3, 4), "float32"))
    agree(lambda x: x.any(0), B)
    agree(lambda x: x.all(), B)


@pytest.mark.parametrize("f", [
    lambda x: x.reshape(3, 2), lambda x: x.reshape((-1,)), lambda x: x.reshape([6]), lambda x: x.T,
    lambda x: x.transpose(), lambda x: x.transpose(1, 0), lambda x: x.transpose((1, 0)),
    lambda x: x.flatten(), lambda x: x.ravel(),
    lambda x: x[None].squeeze(), lambda x: x[:, None].squeeze(1),
    lambda x: x[:0].reshape(0, 3), lambda x: x.astype("int32"), lambda x: x.astype(np.float64),
    lambda x: x.astype(bool),
])  # fmt: skip
def test_shapes_and_dtypes_change(f: Any) -> None:
    agree(f, X)


def test_shape_and_dtype_are_known() -> None:
    @relay.function
    def f(x: Any):
        assert x.shape == (2, 3)
        assert x.ndim == 2
        assert x.size == 6
        assert len(x) == 2
        assert x.dtype == np.float32
        assert x.dtype == "float32"
        assert (x > 0).dtype == bool
        assert relay.nn.relu(x).T.shape == (3, 2)
        assert [row.shape for row in x] == [(3,), (3,)]
        first, second = x
        return first + second

    assert f(X).tolist() == X.sum(0).tolist()


def test_symbolic_sizes_are_dimensions() -> None:
    @relay.function
    def f(x: "Tensor[(n, 4), float32]"):
        n, four = x.shape
        assert four == 4
        assert str(n) == "n"
        return x.reshape(n, 2, 2).sum(-1)

    assert f(np.ones((3, 4), "float32")).tolist() == [[2, 2]] * 3
    assert str(f.function.ret_type) == "Tensor[(n, 2), float32]"


def test_rank_and_dtype_that_are_not_known_are_explained() -> None:
    s, t = relay.TypeVar("s", relay.TypeKind.Shape), relay.TypeVar("t", relay.TypeKind.BaseType)

    def f(x: relay.TensorType(s, t), what: str = "shape"):
        return getattr(x, what)

    for what, message in (("shape", "the rank of Tensor[s, t]"), ("dtype", "the dtype of Tensor[s, t]")):
        with pytest.raises(relay.RelayError) as error:
            relay.function(lambda x, f=f, what=what: f(x, what))(relay.var("x", relay.TensorType(s, t)))
        assert error.value.codes == ("traced-type",)
        assert message in error.value.diagnostics[0].message


def test_fields_of_a_tuple() -> None:
    @relay.function
    def f(p: "(float32, (Tensor[(2,), float32], int32))"):
        x, (y, _) = p
        assert len(p) == 2
        with pytest.raises(IndexError, match="field 2 of a tuple of 2"):
            p[2]
        return y * x, p[-1][1]

    found, number = f((2.0, ([1.0, 2.0], 3)))
    assert found.tolist() == [2, 4]
    assert number == 3


def test_results_of_operators_have_methods_too() -> None:
    def f(x: Any) -> Any:
        low, high, _ = relay.split(x, 3, axis=1)
        return relay.concatenate([low, high.T.reshape(2, 1)], axis=1).sum(0)

    assert relay.function(f)(X).tolist() == X[:, :2].sum(0).tolist()


def test_traced_values_and_nodes_go_together() -> None:
    @relay.function
    def f(x: "float32"):
        chosen = relay.If(x > 0, x, -x)
        return chosen + x * chosen, relay.Tuple([x, chosen]), relay.TupleGetItem(relay.Tuple([x]), 0)

    assert f(-2.0) == (-2, (-2, 2), -2)


def test_types_of_a_long_program_are_asked_for_as_it_grows() -> None:
    @relay.function
    def f(x: Any):
        for _ in range(2000):
            assert x.shape == (2, 3)
            x = x + 1
        return x

    assert f(X).tolist() == (X + 2000).tolist()


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda x: x.shape, "the type of `x` is not known"),
        (lambda x: (x + 1).dtype, "the type of `x` is not known"),
        (lambda x: x[0].shape, "the type of `x` is not known"),
    ],
)
def test_type_that_is_not_known_is_explained(use: Any, message: str) -> None:
    with pytest.raises(relay.RelayError) as error:
        _ = relay.function(use).function
    (d,) = error.value.diagnostics
    assert d.code == "traced-type"
    assert message in d.message


@pytest.mark.parametrize(
    ("annotation", "use", "message"),
    [
        (
            "(float32, float32)",
            lambda x: x.shape,
            "only a tensor has a shape, and this is (float32, float32)",
        ),
        ("Tensor[(?, ?), float32]", lambda x: x.reshape(*x.shape, 1), "leaves more than one size open"),
    ],
)
def test_what_a_type_does_not_say_is_explained(annotation: str, use: Any, message: str) -> None:
    def f(x: Any) -> Any:
        return use(x)

    f.__annotations__["x"] = annotation
    with pytest.raises(relay.RelayError) as error:
        relay.function(f)
    (d,) = error.value.diagnostics
    assert d.code == "traced-type"
    assert message in d.message


def test_method_that_is_not_there_is_explained() -> None:
    with pytest.raises(AttributeError, match=r"no `exp`; relay.exp\(x\) is an operator"):
        relay.function(lambda x: x.exp())(X)
    with pytest.raises(AttributeError, match=r"no `reshap`; did you mean `reshape`"):
        relay.function(lambda x: x.reshap(3))(X)


def test_division_of_integers_is_refused() -> None:
    for f in (lambda x: x / 2, lambda x: 2 / x, lambda x: x[0] / x.sum()):
        with pytest.raises(relay.RelayError) as error:
            relay.function(f)(np.array([3, 4]))
        assert error.value.codes == ("dtype-not-supported",)
        assert "x // y rounds down" in error.value.diagnostics[0].hint
    assert relay.function(lambda x: x // 2 + relay.divide(-x, 2))(np.array([3])).tolist() == [0]
    assert "/" in str(relay.function(lambda x: x / 2))


def test_operands_may_nest_deep() -> None:
    x = relay.var("x", shape=(), dtype="float32")
    deep: Any = Traced(x, None)
    for _ in range(100_000):
        deep = [deep, ()]
    found = untraced(deep)
    for _ in range(100_000):
        found, rest = found
        assert rest == ()
    assert found is x


def test_a_format_of_numbers_needs_a_number():
    with pytest.raises(relay.RelayError, match="number of a traced value"):
        relay.function(lambda x: f"{x:.2f}")(1.0)
