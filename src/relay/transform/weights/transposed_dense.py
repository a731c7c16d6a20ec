"""Dense layers that transpose their weights, with weights that are transposed already."""

from collections.abc import Mapping, Sequence
from typing import Any

from relay.ir.expr import Call, Expr, Function
from relay.op.nn.dense import Dense
from relay.op.reshape import Transpose
from relay.transform.weights.stored_weights import Values, with_stored_weights


def with_transposed_dense(func: Function, params: Mapping[str, Any]) -> tuple[Function, Values]:
    """A function and the values of its parameters, with `nn.dense(x, w.T)` for `nn.dense(x, transpose(w))`.

    The parameter `w.T` has the value of `w`, transposed.
    """

    def stored(e: Call, weight: Any) -> Mapping[str, Any] | None:
        return {"T": weight.T} if weight.ndim == 2 else None

    def read(e: Call, weight: Sequence[Expr]) -> Expr:
        return e.rebuild((e.op, e.args[0], *weight))

    return with_stored_weights(func, params, stored, read, transposed_weight)


def transposed_weight(e: Call) -> Expr | None:
    """The weight that a dense layer reads transposed."""
    weight = e.args[1] if isinstance(e.attrs, Dense) else None
    is_turned = isinstance(weight, Call) and isinstance(weight.attrs, Transpose)
    return weight.args[0] if is_turned and isinstance(weight, Call) else None
