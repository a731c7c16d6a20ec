"""What `x + y` on expressions builds."""

from typing import Any

from relay.ir import hooks
from relay.ir.expr import Expr, RelayExpr
from relay.ir.traced import current, takes_traced
from relay.ir.type import Dimension, TensorType
from relay.op.registry import builders


def binary(name: str, *operands: Any) -> Expr:
    """What `x + y` on expressions builds."""
    expr = next((o for o in operands if isinstance(o, RelayExpr)), None)
    if expr is None:
        raise TypeError(f"{name} of {operands!r} is not an expression")
    trace = current.get()
    if trace is not None and any(isinstance(o, Dimension) for o in operands):
        t = trace.get(expr)
        dtype = t.dtype if isinstance(t, TensorType) and isinstance(t.dtype, str) else "int64"

        def number(o: Any) -> Any:
            return builders["cast"](builders["dim_value"](o), dtype=dtype) if isinstance(o, Dimension) else o

        operands = tuple(map(number, operands))
    return builders[name](*operands)


hooks.binary = takes_traced(binary)
