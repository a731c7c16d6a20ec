"""What each node of the JSON format becomes."""

import json
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from relay.diagnostic import RelayError
from relay.ir.alias import AliasCall, TypeAlias
from relay.ir.axes import expect_axes
from relay.ir.dtype import dtype_name
from relay.ir.expr import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Grad,
    If,
    Let,
    LetRec,
    Match,
    Op,
    Pattern,
    RefCreate,
    RefRead,
    RefWrite,
    RelayExpr,
    Tuple,
    TupleGetItem,
    Var,
    VMap,
)
from relay.ir.module import Import, IRModule, TypeData
from relay.ir.pattern import (
    PatternAs,
    PatternConstructor,
    PatternLiteral,
    PatternOr,
    PatternTuple,
    PatternVar,
    PatternWildcard,
)
from relay.ir.type import (
    ANY,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    Kind,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
    TypeVar,
)
from relay.op import registry
from relay.text.json_read import Makers, Reader, bad, dimension
from relay.text.json_schema import KINDS

_set = object.__setattr__


def _expr(r: Reader, i: int, name: str) -> Any:
    return _of(RelayExpr, r, i, name)


def _of(cls: type | tuple[type, ...], r: Reader, i: int, name: str, *, optional: bool = False) -> Any:
    """What attribute `name` refers to, which must be a `cls`."""
    found = r.get(i, name)
    if (found is None and optional) or isinstance(found, cls):
        return found
    bad(f"`{name}` of node {i} has the wrong type")


def _several(cls: type | None, r: Reader, i: int, name: str) -> tuple[Any, ...]:
    """The items of the array that attribute `name` refers to."""
    found: Any = r.get(i, name)
    if found is None:
        return ()
    items = cast("Sequence[Any]", found) if isinstance(found, list | tuple) else (None,)
    if cls is not None and not all(isinstance(x, cls) for x in items):
        bad(f"`{name}` of node {i} is not a list of the right type")
    return tuple(items)


def _make_array(r: Reader, i: int) -> Any:
    items = [r.built[r.index(d)] for d in r.nodes[i].get("data", [])]
    return tuple(items) if r.attrs(i).get("tuple") == "1" else items


def _map(r: Reader, i: int) -> dict[Any, Any]:
    node = r.nodes[i]
    data = [r.built[r.index(d)] for d in node.get("data", [])]
    keys = node.get("keys", [])
    if keys:
        if len(keys) != len(data) or not all(isinstance(k, str) for k in keys):
            bad(f"node {i} has {len(keys)} keys and {len(data)} values")
        return dict(zip(keys, data, strict=True))
    if len(data) % 2:
        bad(f"node {i} has a key without a value")
    return dict(zip(data[::2], data[1::2], strict=True))


def _int(r: Reader, i: int) -> int:
    value = r.integer(i, "value")
    return bool(value) if r.plain(i, "dtype", "int32") in ("bool", "uint1") else value


def _op(r: Reader, i: int) -> Op:
    name = r.nodes[i].get("repr_str") or r.nodes[i].get("global_key")
    if not isinstance(name, str):
        bad(f"node {i} is an operator without a name")
    return registry.get(name)


def _call(r: Reader, i: int) -> Call:
    op = _expr(r, i, "op")
    attrs = r.call_attributes(i)
    args = _several(RelayExpr, r, i, "args")
    type_args = () if type(op) is Op else _type_args(r, i, "type_args")  # of an operator: those of `args`
    return Call(op, args, attrs or None, type_args, span=r.span(i))


def _type_args(r: Reader, i: int, name: str) -> tuple[Any, ...]:
    """Types, shapes, dimensions and dtypes."""
    found = [_shape(r, i, name, t) if isinstance(t, list) else t for t in _several(None, r, i, name)]
    if not all(isinstance(t, Type | tuple | str) or type(t) is int for t in found):
        bad(f"`{name}` of node {i} are not types")
    return tuple(found)


def _shape(r: Reader, i: int, name: str, dims: Any) -> tuple[Any, ...]:
    """A list as a shape."""
    shape = tuple(cast("Sequence[Any]", dims)) if isinstance(dims, list | tuple) else (None,)
    if not all((type(d) is int and d >= 0) or isinstance(d, Type) for d in shape):
        bad(f"`{name}` of node {i} is not a shape")
    return shape


def _var(r: Reader, i: int) -> Var:
    name = r.get(i, "vid") if "vid" in r.attrs(i) else r.name(i)
    if not isinstance(name, str):
        bad(f"the variable of node {i} has no name")
    return Var(name, _of(Type, r, i, "type_annotation", optional=True), span=r.span(i))


def _make_constant(r: Reader, i: int) -> Constant:
    strings: Any = r.get(i, "strings")
    shape: Any = r.get(i, "shape")
    if strings is not None:
        value: Any = np.array([str(s) for s in strings], object)
        dtype: str | None = "string"
        value = np.broadcast_to(value.reshape(()), shape) if value.size == 1 else value.reshape(shape)
    else:
        value, dtype = r.data(i)
        if shape is not None:
            value = np.broadcast_to(value, tuple(shape))
    if r.attrs(i).get("open") == "1":
        return Constant(value, None, span=r.span(i))
    element = r.get(i, "base") or dtype or dtype_name(value.dtype)
    return Constant(value, TensorType(value.shape, element), span=r.span(i))


def _function(r: Reader, i: int) -> Function:
    attrs = _settings(r, i, "attrs")
    return Function(
        _several(Var, r, i, "params"),
        _expr(r, i, "body"),
        _of(Type, r, i, "ret_type", optional=True),
        _several(TypeVar, r, i, "type_params"),
        attrs,
        _several(TypeRelation, r, i, "constraints"),
        span=r.span(i),
    )


def _item(r: Reader, i: int) -> TupleGetItem:
    name = "tuple_value" if "tuple_value" in r.attrs(i) else "tuple"
    return TupleGetItem(_expr(r, i, name), r.integer(i, "index"), span=r.span(i))


def _match(r: Reader, i: int) -> Match:
    return Match(
        _expr(r, i, "data"),
        _several(Clause, r, i, "clauses"),
        r.plain(i, "complete", "1") in ("1", "true"),
        span=r.span(i),
    )


def _grad(r: Reader, i: int) -> Grad:
    kind: Any = r.plain(i, "kind")
    if kind not in ("grad", "vjp", "jvp"):
        bad(f"node {i} is a derivative of unknown kind")
    return Grad(kind, _expr(r, i, "function"), span=r.span(i))


def _vmap(r: Reader, i: int) -> VMap:
    axes = [_axes(r, i, name) for name in ("in_axes", "out_axes")]
    return VMap(_expr(r, i, "function"), *axes, span=r.span(i))


def _axes(r: Reader, i: int, name: str) -> Any:
    """Axes as JSON in a text, in which tuples are lists."""
    try:
        return expect_axes(json.loads(str(r.plain(i, name, "0"))), name)
    except (ValueError, RecursionError, RelayError):
        bad(f"node {i} has no axes in `{name}`")


def _constructor(r: Reader, i: int) -> Constructor:
    inputs, data = _several(Type, r, i, "inputs"), _of(GlobalTypeVar, r, i, "belong_to")
    names = tuple([str(name) for name in cast("list[str]", r.get(i, "field_names") or ())])
    try:
        written = _several(Type, r, i, "written") if r.get(i, "written") else ()
        return Constructor(r.name(i), inputs, data, 0, names, written, span=r.span(i))
    except ValueError as error:
        bad(f"node {i}: {error}")


def _type_data(r: Reader, i: int) -> TypeData:
    """A data type; constructors are numbered by position, whatever number the file has."""
    constructors = _several(Constructor, r, i, "constructors")
    for tag, c in enumerate(constructors):
        _set(c, "tag", tag)
    return TypeData(
        _of(GlobalTypeVar, r, i, "header"),
        _several(TypeVar, r, i, "type_vars"),
        constructors,
        r.plain(i, "is_extern", "0") == "1",
        span=r.span(i),
    )


def _make_kind(r: Reader, i: int) -> Kind:
    number = r.integer(i, "kind", "0")
    return Kind[KINDS[number]] if 0 <= number < len(KINDS) else Kind.AdtHandle


def _tensor(r: Reader, i: int) -> TensorType:
    shape: Any = r.get(i, "shape")
    dtype = r.get(i, "base") or dtype_name(r.plain(i, "dtype"))
    return TensorType(shape if isinstance(shape, Type) else _shape(r, i, "shape", shape or ()), dtype)


def _type_call(r: Reader, i: int) -> TypeCall:
    return TypeCall(_of((GlobalTypeVar, TypeVar), r, i, "func"), _type_args(r, i, "args"))


def _relation(r: Reader, i: int) -> TypeRelation:
    name = r.get(i, "func") or r.plain(i, "name")
    args = None if r.get(i, "args") is None else _several(None, r, i, "args")
    return TypeRelation(str(name), args, _settings(r, i, "attrs"))


def _settings(r: Reader, i: int, name: str) -> dict[str, Any]:
    """Attributes by name."""
    found = dict(r.get(i, name) or {})
    if not all(isinstance(key, str) for key in found):
        bad(f"`{name}` of node {i} has keys that are not text")
    return found


def _make_module(r: Reader, i: int) -> IRModule:
    functions: Any = r.get(i, "functions") or {}
    types: Any = r.get(i, "type_definitions") or {}
    mod = IRModule(attrs=_settings(r, i, "attrs"), options=_settings(r, i, "options"))
    for name, e in functions.items():
        if not isinstance(e, RelayExpr):
            bad(f"a definition of node {i} is not an expression")
        mod[GlobalVar(name, span=r.nowhere) if isinstance(name, str) else name] = cast("Expr", e)
    for header, data in types.items():
        if not isinstance(data, TypeData):
            bad(f"`type_definitions` of node {i} has an item that is not a data type")
        mod.type_definitions[header if isinstance(header, GlobalTypeVar) else data.header] = data
    aliases: Any = r.get(i, "aliases") or ()
    for alias in aliases:
        if not isinstance(alias, TypeAlias):
            bad(f"`aliases` of node {i} has an item that is not an alias")
        mod.aliases[alias.header] = alias
    constant_types: Any = r.get(i, "constant_types") or {}
    mod.constant_types.update(constant_types)
    mod.imports += [Import(str(path)) for path in r.get(i, "imports") or ()]
    mod.imported |= set(cast("list[str]", r.get(i, "imported") or ()))
    return mod


MAKERS: Makers = {
    "Array": _make_array, "Map": _map, "StrMap": _map, "IntImm": _int,
    "FloatImm": lambda r, i: float(r.plain(i, "value")),
    "String": lambda r, i: r.string(i), "VirtualDevice": lambda r, i: r.string(i),
    "Op": _op, "Call": _call, "Var": _var, "Id": lambda r, i: r.name(i), "Constant": _make_constant,
    "GlobalVar": lambda r, i: GlobalVar(r.name(i), span=r.span(i)),
    "Tuple": lambda r, i: Tuple(_several(RelayExpr, r, i, "fields"), span=r.span(i)),
    "TupleGetItem": _item, "Function": _function,
    "Let": lambda r, i: Let(_of(Var, r, i, "var"), _expr(r, i, "value"), _expr(r, i, "body"), span=r.span(i)),
    "LetRec": lambda r, i: LetRec(
        _several(Var, r, i, "vars"), _several(RelayExpr, r, i, "values"), _expr(r, i, "body"),
        span=r.span(i)),
    "If": lambda r, i: If(
        _expr(r, i, "cond"), _expr(r, i, "true_branch"), _expr(r, i, "false_branch"), span=r.span(i)),
    "Match": _match,
    "Clause": lambda r, i: Clause(
        _of(Pattern, r, i, "lhs"), _expr(r, i, "rhs"), _of(RelayExpr, r, i, "guard", optional=True),
        span=r.nowhere),
    "RefCreate": lambda r, i: RefCreate(_expr(r, i, "value"), span=r.span(i)),
    "RefRead": lambda r, i: RefRead(_expr(r, i, "ref"), span=r.span(i)),
    "RefWrite": lambda r, i: RefWrite(_expr(r, i, "ref"), _expr(r, i, "value"), span=r.span(i)),
    "Grad": _grad,
    "VMap": _vmap,
    "PatternWildcard": lambda r, i: PatternWildcard(span=r.span(i)),
    "PatternVar": lambda r, i: PatternVar(_of(Var, r, i, "var"), span=r.span(i)),
    "PatternConstructor": lambda r, i: PatternConstructor(
        _of(Constructor, r, i, "constructor"), _several(Pattern, r, i, "patterns"), span=r.span(i)),
    "PatternTuple": lambda r, i: PatternTuple(_several(Pattern, r, i, "patterns"), span=r.span(i)),
    "PatternLiteral": lambda r, i: PatternLiteral(_of(Constant, r, i, "value"), span=r.span(i)),
    "PatternOr": lambda r, i: PatternOr(_several(Pattern, r, i, "patterns"), span=r.span(i)),
    "PatternAs": lambda r, i: PatternAs(
        _of(Pattern, r, i, "pattern"), _of(Var, r, i, "var"), span=r.span(i)),
    "TypeAlias": lambda r, i: TypeAlias(
        _of(GlobalTypeVar, r, i, "header"), _several(TypeVar, r, i, "type_vars"), _of(Type, r, i, "type"),
        span=r.span(i)),
    "AliasCall": lambda r, i: AliasCall(
        _of(GlobalTypeVar, r, i, "func"), _type_args(r, i, "args"), _of(Type, r, i, "target")),
    "Constructor": _constructor, "TypeData": _type_data, "TensorType": _tensor,
    "TupleType": lambda r, i: TupleType(_several(Type, r, i, "fields")),
    "RefType": lambda r, i: RefType(_of(Type, r, i, "value")),
    "RelayRefType": lambda r, i: RefType(_of(Type, r, i, "value")),
    "FuncType": lambda r, i: FuncType(_several(Type, r, i, "arg_types"), _of(Type, r, i, "ret_type"),
                                      _several(TypeVar, r, i, "type_params"),
                                      _several(TypeRelation, r, i, "type_constraints")),
    "TypeCall": _type_call, "TypeVar": lambda r, i: TypeVar(r.name(i), _make_kind(r, i)),
    "GlobalTypeVar": lambda r, i: GlobalTypeVar(r.name(i)),
    "IncompleteType": lambda r, i: IncompleteType(_make_kind(r, i)), "TypeRelation": _relation,
    "EnvFunc": lambda r, i: str(r.nodes[i].get("repr_str", "")),
    "DictAttrs": lambda r, i: r.get(i, "__dict__") or {}, "IRModule": _make_module, "Module": _make_module,
    "tir.Any": lambda r, i: ANY, "Any": lambda r, i: ANY,
    "Span": lambda r, i: None, "SourceName": lambda r, i: None,
    "tir.Var": lambda r, i: TypeVar(r.name(i, "name"), Kind.Dim),
    "tir.SizeVar": lambda r, i: TypeVar(r.name(i, "name"), Kind.Dim),
    "Variable": lambda r, i: TypeVar(r.name(i, "name"), Kind.Dim),
    **{key: dimension(op) for key, op in (
        ("Add", "+"), ("Sub", "-"), ("Mul", "*"), ("FloorDiv", "/"), ("Div", "/"), ("Min", "min"),
        ("Max", "max"), ("Broadcast", "broadcast"))},
}  # fmt: skip


def read_json(text: str, arrays: Sequence[Any] | None = None) -> Any:
    """What a JSON text says; `arrays` are the data of constants where the text does not have them itself."""
    return Reader(text, MAKERS, arrays).read()
