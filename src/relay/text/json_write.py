"""Programs as the node graph of the JSON format."""

# What a file holds has no static type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from relay.diagnostic import fail
from relay.ir.expr import (
    Call,
    Clause,
    Constant,
    Constructor,
    Function,
    GlobalVar,
    Grad,
    If,
    Let,
    LetRec,
    Match,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.module import IRModule, TypeData
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar, PatternWildcard
from relay.ir.same import constant_type
from relay.ir.type import Any as AnyDim
from relay.ir.type import (
    DimCall,
    DimExpr,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
    TypeVar,
)
from relay.op.base import attribute_types
from relay.text.json_arrays import encode
from relay.text.json_schema import KINDS, is_reference

VERSION = "0.14.0"
_DIM_KEYS = {"/": "tir.FloorDiv", "min": "tir.Min", "max": "tir.Max", "broadcast": "relay.Broadcast"}
_NODE: dict[str, str] = {"_checked_type_": "0", "span": "0"}


class Writer:
    """Numbers objects as they are first met, and writes each once; nothing recurses."""

    def __init__(self, keep: Callable[[Any, str], int] | None = None) -> None:
        """`keep` stores an array of a base type elsewhere and returns its number there."""
        self.keep = keep
        self.nodes: list[dict[str, Any]] = [{"type_key": ""}]
        self.arrays: list[str] = []
        self.known: dict[Any, int] = {}
        self.waiting: list[tuple[int, Any]] = []
        self.alive: list[Any] = []
        self.instances: dict[int, _OperatorAttrs] = {}

    def write(self, root: Any) -> str:
        """The whole text."""
        index = self.ref(root)
        for at, thing in self.waiting:
            self.nodes[at] = self.node(thing)
        lines = ",\n".join([f"    {json.dumps(n, ensure_ascii=False)}" for n in self.nodes])
        arrays = ",\n".join([f"    {json.dumps(a)}" for a in self.arrays])
        return (
            f'{{\n  "root": {index},\n  "nodes": [\n{lines}\n  ],\n'
            f'  "b64ndarrays": [{arrays and chr(10)}{arrays}'
            f'{arrays and chr(10) + "  "}],\n  "attrs": {{"tvm_version": "{VERSION}"}}\n}}'
        )

    # --- references -----------------------------------------------------------------------------------------

    def ref(self, thing: Any) -> int:
        """The number of the node for anything; 0 for None."""
        if thing is None:
            return 0
        plain = isinstance(thing, int | float | str)
        key = (type(thing), repr(thing)) if plain else id(thing)
        index = self.known.get(key)
        if index is None:
            index = self.known[key] = len(self.nodes)
            self.nodes.append({})
            self.alive.append(thing)
            self.waiting.append((index, thing))
        return index

    def text(self, thing: Any) -> str:
        """A reference as the attribute of a node."""
        return str(self.ref(thing))

    def several(self, things: Sequence[Any]) -> str:
        """A reference to an array of its own."""
        return self.text(_Array(things))

    def make(self, key: str, plain: Mapping[str, str] | None = None, **refs: Any) -> dict[str, Any]:
        """A node; `refs` become references, sequences arrays."""
        attrs = dict(plain or {})
        for name, thing in refs.items():
            attrs[name] = self.several(thing) if isinstance(thing, tuple | list) else self.text(thing)  # pyright: ignore[reportUnknownArgumentType]
        return {"type_key": key, "attrs": attrs} if attrs else {"type_key": key}

    # --- nodes ----------------------------------------------------------------------------------------------

    def node(self, e: Any) -> dict[str, Any]:
        """The node for anything."""
        match e:
            case Type():
                return self.type_(e)
            case _Array():
                return {"type_key": "Array", "data": [self.ref(x) for x in e.items]}
            case _Id():
                return self.make("relay.Id", name_hint=e.name)
            case Call():
                return self.make(
                    "relay.Call", _NODE, op=e.op, args=e.args, attrs=self.attrs(e), type_args=e.type_args
                )
            case Var():
                return self.make("relay.Var", _NODE, vid=_Id(e.name_hint), type_annotation=e.type_annotation)
            case Constant():
                return self.constant(e)
            case GlobalVar():
                return self.make("GlobalVar", _NODE, name_hint=e.name_hint)
            case Op():
                return {"type_key": "Op", "repr_str": e.name}
            case Constructor():
                return self.make(
                    "relay.Constructor",
                    {"tag": str(e.tag), **_NODE},
                    name_hint=e.name_hint,
                    inputs=e.inputs,
                    belong_to=e.belong_to,
                )
            case Tuple():
                return self.make("relay.Tuple", _NODE, fields=e.fields)
            case TupleGetItem():
                return self.make(
                    "relay.TupleGetItem", {"index": str(e.index), **_NODE}, tuple_value=e.tuple_value
                )
            case Function():
                return self.make(
                    "relay.Function",
                    _NODE,
                    params=e.params,
                    body=e.body,
                    ret_type=e.ret_type,
                    type_params=e.type_params,
                    attrs=_DictAttrs(e.attrs) if e.attrs else None,
                    constraints=e.constraints,
                )
            case Let():
                return self.make("relay.Let", _NODE, var=e.var, value=e.value, body=e.body)
            case LetRec():
                return self.make("relay.LetRec", _NODE, vars=e.vars, values=e.values, body=e.body)
            case If():
                return self.make(
                    "relay.If", _NODE, cond=e.cond, true_branch=e.true_branch, false_branch=e.false_branch
                )
            case Match():
                return self.make(
                    "relay.Match", {"complete": str(int(e.complete)), **_NODE}, data=e.data, clauses=e.clauses
                )
            case Clause():
                return self.make("relay.Clause", lhs=e.lhs, rhs=e.rhs)
            case RefCreate():
                return self.make("relay.RefCreate", _NODE, value=e.value)
            case RefRead():
                return self.make("relay.RefRead", _NODE, ref=e.ref)
            case RefWrite():
                return self.make("relay.RefWrite", _NODE, ref=e.ref, value=e.value)
            case Grad():
                return self.make("relay.Grad", {"kind": e.kind, **_NODE}, function=e.function)
            case _:
                return self.other(e)

    def attrs(self, e: Call) -> "_DictAttrs | _OperatorAttrs | None":
        """The attributes of a call; one node for one operator instance."""
        if isinstance(e.attrs, Mapping):
            return _DictAttrs(e.attrs) if e.attrs else None  # pyright: ignore[reportUnknownArgumentType]
        found = self.instances.get(id(e.attrs))
        if found is None and e.attrs.attributes():
            found = self.instances[id(e.attrs)] = _OperatorAttrs(e.attrs.name, e.attrs)
        return found

    def other(self, e: Any) -> dict[str, Any]:
        """Patterns, data types, modules, attributes and plain values."""
        match e:
            case PatternWildcard():
                return self.make("relay.PatternWildcard", {"span": "0"})
            case PatternVar():
                return self.make("relay.PatternVar", {"span": "0"}, var=e.var)
            case PatternConstructor():
                return self.make(
                    "relay.PatternConstructor", {"span": "0"}, constructor=e.constructor, patterns=e.patterns
                )
            case PatternTuple():
                return self.make("relay.PatternTuple", {"span": "0"}, patterns=e.patterns)
            case TypeData():
                return self.make(
                    "relay.TypeData",
                    {"is_extern": str(int(e.is_extern)), "span": "0"},
                    header=e.header,
                    type_vars=e.type_vars,
                    constructors=e.constructors,
                )
            case IRModule():
                return self.make(
                    "IRModule",
                    functions=_Map(e.functions),
                    type_definitions=_Map(e.type_definitions),
                    attrs=_DictAttrs(e.attrs) if e.attrs else None,
                    options=_DictAttrs(e.options) if e.options else None,
                    constant_types=_Map(e.constant_types),
                    imports=[i.path for i in e.imports],
                    imported=sorted(e.imported),
                )
            case _OperatorAttrs():
                return self.operator(e)
            case _Chain():
                return self.chain(e.key, e.args)
            case _DictAttrs():
                return self.make("DictAttrs", __dict__=e.values)
            case _Map():
                return {"type_key": "Map", "data": [self.ref(x) for pair in e.pairs.items() for x in pair]}
            case _:
                return self.value(e)

    def value(self, v: Any) -> dict[str, Any]:
        """A plain value: number, string, list, tuple, dict."""
        if isinstance(v, np.generic):
            v = v.item()
        if isinstance(v, Mapping):
            keys: list[Any] = list(v)  # pyright: ignore[reportUnknownArgumentType]
            if all(isinstance(k, str) for k in keys):
                return {"type_key": "Map", "keys": keys, "data": [self.ref(v[k]) for k in keys]}
            return {"type_key": "Map", "data": [self.ref(x) for k in keys for x in (k, v[k])]}
        if isinstance(v, list | tuple):
            node: dict[str, Any] = {"type_key": "Array", "data": [self.ref(x) for x in v]}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            return node if isinstance(v, list) else {**node, "attrs": {"tuple": "1"}}
        if isinstance(v, bool):
            return self.make("IntImm", {"dtype": "bool", "span": "0", "value": str(int(v))})
        if isinstance(v, int):
            return self.make(
                "IntImm",
                {"dtype": "int32" if -(2**31) <= v < 2**31 else "int64", "span": "0", "value": str(v)},
            )
        if isinstance(v, float):
            return self.make("FloatImm", {"dtype": "float64", "span": "0", "value": repr(v)})
        if isinstance(v, str):
            return {"type_key": "runtime.String", "repr_str": v}
        fail("attribute-not-printable", f"a value of class {type(v).__name__} cannot be saved as JSON")

    def operator(self, e: "_OperatorAttrs") -> dict[str, Any]:
        """The attributes of an operator, each in the form its annotation asks for."""
        attrs: dict[str, str] = {}
        hints = attribute_types(type(e.op))
        for name, v in e.op.attributes().items():
            if is_reference(e.name, name, hints[name]):
                attrs[name] = self.text(v)
            else:
                attrs[name] = (
                    ""
                    if v is None
                    else str(int(v))
                    if isinstance(v, bool)
                    else v
                    if isinstance(v, str)
                    else repr(v)
                )
        name = "".join([part.capitalize() for part in e.name.rpartition(".")[2].split("_")])
        return (
            {"type_key": f"relay.attrs.{name}Attrs", "attrs": attrs}
            if attrs
            else {"type_key": f"relay.attrs.{name}Attrs"}
        )

    def constant(self, c: Constant) -> dict[str, Any]:
        """A constant; broadcast views keep one element, strings and open literals have their own fields."""
        t, value = constant_type(c), c.value
        plain = dict(_NODE)
        refs: dict[str, Any] = {}
        if t is None:
            plain["open"] = "1"
        elif not isinstance(t.dtype, str):
            refs["base"] = t.dtype
        if (
            value.ndim
            and value.size > 1
            and all(s == 0 or n == 1 for s, n in zip(value.strides, value.shape, strict=True))
        ):
            refs["shape"] = list(value.shape)
            value = value[tuple([slice(0, 1)] * value.ndim)].reshape(())
        if value.dtype == object:
            refs.setdefault("shape", list(value.shape))
            refs["strings"] = [str(s) for s in value.flat]
            plain["data"] = "-1"
        else:
            dtype = t.dtype if t is not None and isinstance(t.dtype, str) else value.dtype.name
            if self.keep is not None:
                plain["data"] = str(self.keep(value, dtype))
            else:
                plain["data"] = str(len(self.arrays))
                self.arrays.append(encode(value, dtype))
        return self.make("relay.Constant", plain, **refs)

    # --- types ----------------------------------------------------------------------------------------------

    def type_(self, t: Type) -> dict[str, Any]:
        """The node of a type."""
        match t:
            case TensorType():
                base = {} if isinstance(t.dtype, str) else {"base": t.dtype}
                shape = list(t.shape) if isinstance(t.shape, tuple) else t.shape
                return self.make(
                    "relay.TensorType",
                    {"dtype": t.dtype if isinstance(t.dtype, str) else "", "span": "0"},
                    shape=shape,
                    **base,
                )
            case TupleType():
                return self.make("TupleType", {"span": "0"}, fields=t.fields)
            case FuncType():
                return self.make(
                    "FuncType",
                    {"span": "0"},
                    arg_types=t.arg_types,
                    ret_type=t.ret_type,
                    type_params=t.type_params,
                    type_constraints=t.type_constraints,
                )
            case RefType():
                return self.make("relay.RefType", {"span": "0"}, value=t.value)
            case TypeCall():
                return self.make("TypeCall", {"span": "0"}, func=t.func, args=t.args)
            case TypeVar():
                return self.make("TypeVar", {"kind": str(_number(t)), "span": "0"}, name_hint=t.name_hint)
            case GlobalTypeVar():
                return self.make("GlobalTypeVar", {"kind": "5", "span": "0"}, name_hint=t.name_hint)
            case IncompleteType():
                return self.make("IncompleteType", {"kind": str(_number(t)), "span": "0"})
            case TypeRelation():
                plain = {"name": t.name, "num_inputs": str(max(len(t.args or ()) - 1, 0)), "span": "0"}
                attrs = _DictAttrs(dict(t.attrs)) if t.attrs else None
                return self.make("TypeRelation", plain, args=None if t.args is None else t.args, attrs=attrs)
            case AnyDim():
                return self.make("tir.Any", {"dtype": "int32", "span": "0"})
            case DimCall():
                return self.chain(_DIM_KEYS[t.op], t.args)
            case DimExpr():
                return self.sum(t)
            case _:
                raise AssertionError(f"a type of class {type(t).__name__}")

    def chain(self, key: str, args: Sequence[Any]) -> dict[str, Any]:
        """`op(a, op(b, c))`."""
        a, *rest = args
        return self.make(key, {"span": "0"}, a=a, b=rest[0] if len(rest) == 1 else _Chain(key, tuple(rest)))

    def sum(self, t: DimExpr) -> dict[str, Any]:
        """A polynomial as nested sums and products."""
        terms = [_Chain("tir.Mul", (c, *monomial)) for monomial, c in t.terms]
        return self.chain("tir.Add", [*terms, t.constant])


def _number(t: TypeVar | IncompleteType) -> int:
    return KINDS.index(t.kind.value)


class _Array:
    """A sequence that is a field of a node."""

    __slots__ = ("items",)

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = [tuple(x) if isinstance(x, tuple) else x for x in items]  # pyright: ignore[reportUnknownArgumentType]


class _Map:
    """A mapping whose keys are nodes."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: Mapping[Any, Any]) -> None:
        self.pairs = pairs


class _Id:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class _DictAttrs:
    __slots__ = ("values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = dict(values)


class _OperatorAttrs:
    __slots__ = ("name", "op")

    def __init__(self, name: str, op: Any) -> None:
        self.name = name
        self.op = op


class _Chain:
    __slots__ = ("args", "key")

    def __init__(self, key: str, args: tuple[Any, ...]) -> None:
        self.key = key
        self.args = args
