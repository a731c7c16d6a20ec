"""Which arguments of a call are operands and which are attributes."""

import inspect
from functools import cache
from math import inf

from relay.op.attribute import attribute_types
from relay.op.base import Operator
from relay.op.registry import builders, registry


@cache
def attribute_order(cls: type[Operator]) -> tuple[str, ...]:
    """The attributes in the order in which calls may give them by position: that of the builder."""
    known = attribute_types(cls)
    first = [name for name in inspect.signature(builders[cls.name]).parameters if name in known]
    return (*first, *[name for name in known if name not in first])


@cache
def most_operands(cls: type[Operator]) -> float:
    """How many arguments are operands; in text, those behind them are attributes."""
    return inf if cls.variadic or not attribute_order(cls) else len(cls.operands)


def computed_hint(cls: type[Operator]) -> str:
    """What to do about a computed argument where attributes begin; nothing where it has no attributes."""
    dynamic, order = registry.get(f"dyn.{cls.name}"), attribute_order(cls)
    if dynamic is not None:
        call = f"{dynamic.name}({', '.join(dynamic.operands)})"
        return f"attributes are known when the program is written; `{call}` takes what is computed"
    return f"attributes such as `{order[0]}` are known when the program is written" if order else ""
