"""The signature language: parsed once, solved from operands to result and back."""

from typing import Any, ClassVar

import numpy as np
import pytest

from op.concrete import Concrete
from relay.diagnostic import RelayError
from relay.ir.type import Kind, TensorType, TupleType, TypeVar
from relay.op.attribute import DTypeName
from relay.op.base import FLOATING, Operator
from relay.op.kind import Derivative
from relay.op.registry import alias_of, builders, operator, registry
from relay.op.signature import Signature

N = TypeVar("n", Kind.Dim)


def t(*dims: Any, dtype: str = "float32") -> TensorType:
    return TensorType(dims, dtype)


class Plain:
    """An operator without attributes, as far as a signature sees one."""

    dtypes = FLOATING


class Sized(Plain):
    """One with attributes."""

    __dataclass_fields__: ClassVar[dict[str, Any]] = {"depth": None, "units": None, "dtype": None}
    depth = 4
    units = None
    dtype = "int32"


def solve(text: str, args: list[Any], out: Any = None, op: Any = Plain) -> Any:
    """The result type, or with `out` the operands' types."""
    typing = Concrete()
    result = typing.fresh("type") if out is None else out
    given = [typing.fresh("type") if a is None else a for a in args]
    Signature.of(text).relate(op, typing, given, result)
    return typing.resolve(result) if out is None else tuple(typing.resolve(a) for a in given)


CASES = [
    ("(..., n, k) t, (m, k) t -> (..., n, m) t", [t(5, 2, 3), t(4, 3)], t(5, 2, 4)),
    ("(..., n, k) t, (m, k) t -> (..., n, m) t", [t(2, 3), t(4, 3)], t(2, 4)),
    ("(..., n, k) t, (..., k, m) t -> (..., n, m) t", [t(7, N, 3), t(7, 3, 4)], t(7, N, 4)),
    ("() t -> (1) t", [t()], t(1)),
    ("(n) t -> () int64", [t(3)], t(dtype="int64")),
    ("(n) t, (n) bool -> (n) t", [t(3), t(3, dtype="bool")], t(3)),
    ("(n, m) t -> (n * m) t", [t(N, 3)], t(N * 3)),
    ("(n) t -> (2 * n + 1) t", [t(N)], t(N * 2 + 1)),
    ("(n) t -> ((n - 1) / 2) t", [t(9)], t(4)),
    ("((n) t, (n) t) -> (n, 2) t", [TupleType([t(3), t(3)])], t(3, 2)),
    ("(n) t -> ((n) t, (n) int32)", [t(3)], TupleType([t(3), t(3, dtype="int32")])),
    ("(...) t -> (...) bool", [t(2, 3)], t(2, 3, dtype="bool")),
    ("(n) t -> (n, n) t", [t(N)], t(N, N)),
    ("-> (3) float32", [], t(3)),
]


@pytest.mark.parametrize(("text", "args", "expected"), CASES)
def test_result_follows_from_operands(text: str, args: list[Any], expected: Any) -> None:
    assert solve(text, args) is expected


def test_an_operand_follows_from_the_result() -> None:
    text = "(..., n, k) t, (m, k) t -> (..., n, m) t"
    x, w = solve(text, [None, t(4, 3)], t(5, 2, 4))
    assert (x, w) == (t(5, 2, 3), t(4, 3))
    assert solve("(...) t -> (...) bool", [t(2)], t(2, dtype="bool")) == (t(2),)


def test_a_rank_that_nothing_decides_is_asked_for() -> None:
    with pytest.raises(AssertionError, match="nothing decides"):
        solve("(..., n) t -> (...) t", [None])


def test_attributes_are_sizes_and_dtypes() -> None:
    assert solve("(n) t -> (n, depth) dtype", [t(3)], op=Sized) is t(3, 4, dtype="int32")
    assert solve("(units, k) t, (k) t -> (units) t", [t(5, 3), t(3)], op=Sized) is t(5)


def test_trailing_optional_operands_may_be_missing() -> None:
    text = "(n, k) t, (m, k) t, (m) t -> (n, m) t"
    assert solve(text, [t(2, 3), t(4, 3)]) is t(2, 4)
    assert solve(text, [t(2, 3), t(4, 3), t(4)]) is t(2, 4)


@pytest.mark.parametrize(("text", "args", "code"), [
    ("(n, k) t, (m, k) t -> (n, m) t", [t(2, 3), t(4, 5)], "type-mismatch"),
    ("(n, k) t -> (n) t", [t(2)], "rank-mismatch"),
    ("(..., n, k) t -> (n) t", [t(2)], "rank-mismatch"),
    ("(n) t, (n) t -> (n) t", [t(2), t(2, dtype="float64")], "type-mismatch"),
    ("(n) t -> (n) t", [t(2, dtype="int32")], "dtype-not-supported"),
    ("(n) int32 -> (n) int32", [t(2)], "type-mismatch"),
    ("(2, n) t -> (n) t", [t(3, 4)], "type-mismatch"),
    ("(..., n) t, (..., n) t -> (n) t", [t(3, 4), t(5, 4)], "type-mismatch"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(text: str, args: list[Any], code: str) -> None:
    with pytest.raises(RelayError) as error:
        solve(text, args)
    assert error.value.codes == (code,)


@pytest.mark.parametrize("text", ["(n) t", "n t -> (n) t", "(n t -> (n) t", "(n) -> (n) t",
"(n) t -> (n) t, (n) t",
                                  "(n,, m) t -> (n) t", "(n +) t -> () t", "(n, ...) t -> () t",
                                  "(n) t -> (n) t)", "",
                                  "(n) 3 -> () t", "((n) t -> (n) t"])  # fmt: skip
def test_a_signature_that_cannot_be_read_is_a_diagnostic(text: str) -> None:
    with pytest.raises(RelayError) as error:
        Signature.of(text)
    assert error.value.codes == ("signature-syntax",)


def test_a_signature_is_parsed_once() -> None:
    assert Signature.of("(n) t -> (n) t") is Signature.of("(n) t -> (n) t")


def test_an_operator_with_a_signature() -> None:
    try:

        @operator("test.outer")
        class Outer(Operator):
            """The outer product of two vectors."""

            signature = "(n) t, (m) t -> (n, m) t"
            derivative = Derivative.MULTILINEAR

            def reference(self, np: Any, x: Any, y: Any) -> Any:
                return np.outer(x, y)

            def transpose(self, g: Any, x: Any, y: Any) -> Any:
                return builders["einsum"]((g, y), "ij,j->i"), builders["einsum"]((g, x), "ij,i->j")

        typing = Concrete()
        assert typing.resolve(Outer().infer(typing, t(2), t(N))) is t(2, N)
        assert Outer().evaluate(np.ones(2), np.ones(3)).shape == (2, 3)
        assert builders["test.outer"].__doc__ == Outer.__doc__
    finally:
        registry.pop("test.outer", None)
        builders.pop("test.outer", None)
        alias_of.pop("test.outer", None)


def test_a_signature_for_another_number_of_operands_is_refused_at_registration() -> None:
    with pytest.raises(RelayError) as error:

        @operator("test.wrong")
        class Wrong(Operator):
            """Two operands, a signature for one."""

            signature = "(n) t -> (n) t"
            derivative = Derivative.ZERO
            dtype: DTypeName = DTypeName("int32")

            def reference(self, np: Any, x: Any, y: Any) -> Any:
                return x

    assert error.value.codes == ("signature-syntax",)
    assert "test.wrong" not in registry
