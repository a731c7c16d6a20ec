"""What the nodes of the JSON format look like: which fields refer to other nodes, and which hold text.

Every attribute of a node is a string.  Most name another node by its index (`"0"` is none); numbers, truth
values and dtypes stand for themselves.  For the attributes of operators our own annotations tell which is
which: a field that may be None, a tuple or a choice of types is a reference, as in the files of old, and so
are the few numbers of `REFERENCES`.
"""

import typing
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

from relay.op.attribute import DTypeName, Size

FIELDS: dict[str, tuple[str, ...]] = {
    "Var": ("vid", "type_annotation"), "Id": (), "GlobalVar": (), "Constant": ("shape", "strings", "base"),
    "Tuple": ("fields",), "TupleGetItem": ("tuple_value", "tuple"),
    "Function": ("params", "body", "ret_type", "type_params", "attrs", "constraints"),
    "Let": ("var", "value", "body"), "LetRec": ("vars", "values", "body"),
    "If": ("cond", "true_branch", "false_branch"), "Match": ("data", "clauses"),
    "Clause": ("lhs", "rhs", "guard"),
    "RefCreate": ("value",), "RefRead": ("ref",), "RefWrite": ("ref", "value"), "Grad": ("function",),
    "VMap": ("function",),
    "PatternWildcard": (), "PatternVar": ("var",), "PatternConstructor": ("constructor", "patterns"),
    "PatternTuple": ("patterns",), "PatternLiteral": ("value",), "PatternOr": ("patterns",),
    "PatternAs": ("pattern", "var"), "Constructor": ("inputs", "belong_to", "field_names", "written"),
    "TypeAlias": ("header", "type_vars", "type"), "AliasCall": ("func", "args", "target"),
    "TypeData": ("header", "type_vars", "constructors"),
    "TensorType": ("shape", "base"), "TupleType": ("fields",), "RefType": ("value",),
    "RelayRefType": ("value",),
    "FuncType": ("arg_types", "ret_type", "type_params", "type_constraints"), "TypeCall": ("func", "args"),
    "TypeVar": (), "GlobalTypeVar": (), "IncompleteType": (), "TypeRelation": ("args", "func", "attrs"),
    "EnvFunc": (), "Op": (), "IntImm": (), "FloatImm": (), "String": (), "Any": (), "SizeVar": (),
    "Variable": (),
    "Add": ("a", "b"), "Sub": ("a", "b"), "Mul": ("a", "b"), "FloorDiv": ("a", "b"), "Div": ("a", "b"),
    "Min": ("a", "b"), "Max": ("a", "b"), "Broadcast": ("a", "b"),
    "DictAttrs": ("__dict__",), "Span": ("source_name",), "SourceName": (), "SequentialSpan": ("spans",),
    "IRModule": (
        "functions", "type_definitions", "attrs", "options", "constant_types", "imports", "imported",
        "aliases",
    ),
    "Module": ("functions", "type_definitions", "attrs"),
}  # fmt: skip
"""The fields of each kind of node that refer to other nodes."""
CALL = ("op", "args", "type_args")

REFERENCES = frozenset(
    {
        ("repeat", "repeats"),
        ("stack", "axis"),
        ("gather", "axis"),
        ("gather_nd", "batch_dims"),
        ("topk", "k"),
        ("scatter_elements", "axis"),
        ("take", "batch_dims"),
        ("reverse", "axis"),
    }
)
"""Attributes with a plain number that the files nevertheless keep in a node of its own."""
IGNORED = frozenset(
    {
        "span",
        "_checked_type_",
        "virtual_device_",
        "auto_scheduler_rewritten_layout",
        "meta_schedule_original_shape",
    }
)
"""Attributes that only another compiler has a use for."""
DIMENSION_MARK = "@"
"""Before the node of a dimension, where an attribute is a plain number otherwise."""
KINDS = ("Type", "Dim", "BaseType", "Shape", "Constraint", "AdtHandle")
"""Kinds by number.  The format has no kind of whole shapes; it gets the number that nothing else has."""


def is_reference(op: str, name: str, hint: Any) -> bool:
    """Whether an attribute of an operator refers to a node."""
    if (op, name) in REFERENCES:
        return True
    origin, args = get_origin(hint), get_args(hint)
    if origin in (typing.Union, UnionType):
        words = [a for a in args if a is not NoneType and get_origin(a) is not Literal]
        return words != [DTypeName] and words != [str]
    return origin is not Literal and hint not in (int, Size, float, bool, str, DTypeName)


def is_dimension(v: Any, hint: Any) -> bool:
    """Whether the text of an attribute refers to the node of a dimension."""
    return hint == Size and isinstance(v, str) and v.startswith(DIMENSION_MARK)


def short_key(type_key: str) -> str:
    """The last part of a type key: `relay.expr.Call`, `relay.Call` and `Call` are one."""
    return type_key.rpartition(".")[2]
