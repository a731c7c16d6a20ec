"""The program as data: expressions, types, patterns, modules, and the walks over them.

`relay.ir.structural_equal` and the like are found on first use; code of this package imports
from the defining module.
"""

from importlib import import_module
from types import ModuleType
from typing import Any

_NAMES = {
    "relay.ir.equal": "assert_structural_equal structural_equal structural_hash",
    "relay.ir.expr": "Call Constant Constructor Function GlobalVar Op RelayExpr Tuple Var",
    "relay.ir.module": "IRModule TypeData",
    "relay.ir.type": "FuncType GlobalTypeVar IncompleteType RefType TensorType TupleType Type TypeCall"
    " TypeKind TypeRelation TypeVar",
    "relay.op.op_attributes": "register_op_attr",
    "relay.text.json_format": "load_json save_json",
}
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """A name of this layer, on first use; `relay.ir.instrument` is `relay.instrument`, as people know it."""
    if name == "instrument":
        return import_module("relay.instrument")
    if name not in _HOME:
        raise AttributeError(f"module 'relay.ir' has no attribute {name!r}")
    return getattr(import_home(_HOME[name]), name)


def import_home(module: str) -> ModuleType:
    """Return the module of a name that is looked up on first use.

    Its own AttributeError, to Python a missing name, is an ImportError.
    """
    try:
        return import_module(module)
    except AttributeError as error:
        raise ImportError(f"cannot import {module!r}: {error}", name=module) from error
