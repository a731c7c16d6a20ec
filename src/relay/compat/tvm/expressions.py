"""Nodes as scripts make them: `span` may be the last of the positional arguments, constants have a dtype.

A stand-in makes nodes of its class and has them as its instances; the nodes are Relay's.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from relay.ir import expr

__all__ = [
    "BaseFunc", "Call", "Constant", "ExprWithOp", "Function", "If", "Let", "RefCreate", "RefRead", "RefWrite",
    "Tuple", "TupleGetItem",
    "Var",
]  # fmt: skip


class _StandIn(type):
    """The class of stand-ins."""

    made: Any
    """The class of nodes."""
    build: Callable[..., Any]
    """What makes a node."""
    count: int
    """How many arguments come before the span."""

    def __call__(cls, *args: Any, **named: Any) -> Any:
        """A node."""
        if "variable" in named:  # of `Let`
            named["var"] = named.pop("variable")
        span = {"span": args[cls.count]} if len(args) > cls.count else {}
        return cls.build(*args[: cls.count], **span, **named)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.made)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.made)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.made, name)


def _stand_in(made: Any, count: int, build: Callable[..., Any] | None = None) -> Any:
    """What stands in for a class of nodes, whose span comes behind `count` arguments."""
    parts = {"made": made, "count": count, "build": staticmethod(build or made), "__doc__": made.__doc__}
    return _StandIn(made.__name__, (), parts)


def _closed(data: Any, span: Any = None) -> expr.Constant:
    """A constant of the dtype that its data has."""
    return expr.constant(np.asarray(data), span=span)


Call, Function = _stand_in(expr.Call, 4), _stand_in(expr.Function, 5)
Let, If = _stand_in(expr.Let, 3), _stand_in(expr.If, 3)
Tuple, TupleGetItem = _stand_in(expr.Tuple, 1), _stand_in(expr.TupleGetItem, 2)
RefCreate, RefRead, RefWrite = (
    _stand_in(expr.RefCreate, 1),
    _stand_in(expr.RefRead, 1),
    _stand_in(expr.RefWrite, 2),
)
ExprWithOp = expr.RelayExpr
"""What expressions with arithmetic are: all."""
BaseFunc = expr.Function
"""What the functions of a module are."""
Var, Constant = _stand_in(expr.Var, 2), _stand_in(expr.Constant, 1, _closed)
