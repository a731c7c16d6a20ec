"""What importers that scripts bring ask while they build programs."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from relay.compat.tvm.analyses import infer_shape
from relay.compat.tvm.arrays import NDArray
from relay.compat.tvm.values import shown
from relay.diagnostic import RelayError
from relay.interpreter.machine import evaluate
from relay.ir.bind import substitute
from relay.ir.build import const, var
from relay.ir.expr import Expr, Tuple, TupleWrapper, Var
from relay.ir.module import IRModule
from relay.ir.vars import free_vars
from relay.op.registry import get as registered
from relay.transform.expression_passes import FoldConstantExpr

__all__ = [
    "fold_constant", "get_name", "get_relay_op", "infer_channels", "infer_value", "new_var", "shape_of",
    "try_infer_value", "try_resolve_var_to_const", "unbind",
]  # fmt: skip


def new_var(name_hint: str, type_annotation: Any = None, shape: Any = None, dtype: str = "float32") -> Var:
    """A variable."""
    return var(name_hint, type_annotation, shape, dtype)


def infer_channels(inputs: Expr, transpose: bool = False) -> Any:
    """How many channels a convolution with that weight gives; `transpose`: a transposed one."""
    return infer_shape(inputs)[1 if transpose else 0]


def infer_value(input_val: Expr, params: Mapping[str, Any], mod: IRModule | None = None) -> NDArray:
    """The value of an expression whose variables have values by their names; a `RelayError` without one."""
    values = {v: params[v.name_hint] for v in free_vars(input_val) if v.name_hint in params}
    bound = substitute(input_val, {v: const(np.asarray(value)) for v, value in values.items()})
    return shown(evaluate(IRModule() if mod is None else mod, bound))


def try_infer_value(
    val: Expr,
    on_success: Callable[[Any], Any] | None = None,
    on_failure: Callable[[], Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> tuple[Any, bool]:
    """The value of an expression as an array of NumPy, or the expression, and whether it has a value."""
    try:
        found = infer_value(val, parameters or {}).numpy()
    except RelayError:
        return (val if on_failure is None else on_failure()), False
    return (found if on_success is None else on_success(found)), True


def fold_constant(node: Expr, mod: IRModule | None = None) -> Expr:
    """An expression, with what can be computed now as constants."""
    return FoldConstantExpr(node, IRModule() if mod is None else mod)


def try_resolve_var_to_const(x: Expr, graph_params: Mapping[str, Any]) -> Expr:
    """A variable whose value is known as a constant; anything else as it is."""
    if isinstance(x, Var) and x.name_hint in graph_params:
        return const(np.asarray(graph_params[x.name_hint]))
    return x


def get_name(node: Var) -> str:
    """The name of a variable."""
    return node.name_hint


def get_relay_op(op_name: str) -> Any:
    """What builds calls of an operator, by the name without its family (`unknown-operator`)."""
    op: Any = import_module("relay.op")
    for family in (op, *[getattr(op, name) for name in ("nn", "image", "vision")]):
        found = getattr(family, op_name, None)
        if callable(found):
            return found
    return registered(op_name)


def shape_of(x: Expr, dtype: str = "int64", start: int | None = None, end: int | None = None) -> Expr:
    """The sizes of a tensor from axis `start` up to `end`: a constant, if they are known."""
    shape = infer_shape(x)
    if all(isinstance(d, int) for d in shape):
        return const(np.asarray(shape[start:end], dtype))
    op: Any = import_module("relay.op")
    sizes = op.shape_of(x, dtype)
    if start is None and end is None:
        return sizes
    return op.strided_slice(sizes, begin=[start or 0], end=[len(shape) if end is None else end])


def unbind(data: Expr, axis: int = 0) -> TupleWrapper:
    """The parts of a tensor at each place along an axis, without it."""
    op: Any = import_module("relay.op")
    count = infer_shape(data)[axis]
    parts = op.split(data, count, axis)
    return TupleWrapper(Tuple([op.squeeze(parts[i], axis=[axis]) for i in range(count)]), count)
