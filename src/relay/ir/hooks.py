"""The few slots that later layers fill on import, so that `str(e)` and `x + y` work on bare nodes.

`ir` knows nothing about text, operators or inference; it only calls what stands here.  They are for the
methods of nodes alone: any other code imports what it calls, and `tests/test_layers.py` holds that.
"""

from collections.abc import Callable
from typing import Any


def _unfilled(*_: Any) -> Any:
    raise AssertionError("`import relay` fills this slot")


def _itself(x: Any) -> Any:
    return x


type_text: Callable[..., str] = _unfilled
"""A type as text; filled by `relay.text`."""
type_repr: Callable[..., str] = _unfilled
"""A short line for a type; filled by `relay.text`."""
expr_text: Callable[..., str] = _unfilled
"""An expression as text; filled by `relay.text`."""
module_text: Callable[..., str] = _unfilled
"""A module as text; filled by `relay.text`."""
import_standard: Callable[..., None] = _unfilled
"""Adds a standard module to a module; filled by `relay.text`."""
constant_data: Callable[[Any], Any] = _itself
"""What `Constant.data` is for an array; `relay.compat.tvm` gives it further methods."""
pickle_type: Callable[..., tuple[Any, ...]] = _unfilled
"""`__reduce__` of a type; filled by `relay.text`."""
pickle_node: Callable[..., tuple[Any, ...]] = _unfilled
"""`__reduce__` of an expression or a module; filled by `relay.text`."""
dim_arithmetic: Callable[..., Any] = _unfilled
"""`a op b` on dimensions; filled by `relay.ir.dim`."""
dim_number: Callable[..., Any] = _unfilled
"""The value of a dimension as a scalar of some dtype; filled by `relay.op`."""
dim_rebuild: Callable[..., Any] = _unfilled
"""A dimension expression around other atoms; filled by `relay.ir.dim`."""
canonical_func_type: Callable[..., Any] = _unfilled
"""A polymorphic function type in canonical form; filled by `relay.ir.subst`."""
call: Callable[..., Any] = _unfilled
"""A call of an expression with Python arguments and attributes; filled by `relay.ir.call`."""
project: Callable[..., Any] = _unfilled
"""A field of an expression; filled by `relay.ir.call`."""
index: Callable[..., Any] = _unfilled
"""The part of a tensor that slices, tensors and the like choose; filled by `relay.tracing`."""
binary: Callable[..., Any] = _unfilled
"""`a op b` on expressions (`op` is an operator's name); filled by `relay.op`."""
operator_instance: Callable[..., Any] = _unfilled
"""The operator instance for a name and a dict of attributes; filled by `relay.op`."""
op_attributes: Callable[[str], Any] = _unfilled
"""The attributes that users give to the operator of a name, by key; filled by `relay.op`."""
infer: Callable[..., Any] = _unfilled
"""A module with every type filled in; filled by `relay.typecheck`."""
checked_type: Callable[..., Any] = _unfilled
"""The type of an expression; filled by `relay.typecheck`."""
annotated_types: Callable[..., Any] = _unfilled
"""The types of expressions as far as they are annotated; filled by `relay.typecheck`."""
evaluate: Callable[..., Any] = _unfilled
"""The value of an expression in a module; filled by `relay.interpreter`."""
apply: Callable[..., Any] = _unfilled
"""The value of a function on arguments from Python; filled by `relay.interpreter`."""
display: Callable[..., dict[str, str]] = _unfilled
"""What a notebook shows of an expression or a module; filled by `relay.text`."""
view: Callable[..., Any] = _unfilled
"""A picture of a module; filled by `relay.picture`."""
