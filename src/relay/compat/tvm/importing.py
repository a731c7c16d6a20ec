"""What importers that scripts bring ask while they build programs."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from relay.compat.tvm.analyses import infer_shape
from relay.compat.tvm.arrays import NDArray
from relay.compat.tvm.values import shown
from relay.diagnostic import RelayError
from relay.interpreter.machine import evaluate
from relay.ir.bind import substitute
from relay.ir.build import const, var
from relay.ir.expr import Expr, Var
from relay.ir.module import IRModule
from relay.ir.vars import free_vars
from relay.transform.expression_passes import FoldConstantExpr

__all__ = ["fold_constant", "infer_channels", "infer_value", "new_var", "try_infer_value"]


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
