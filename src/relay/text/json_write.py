"""Programs as the node graph of the JSON format."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from relay.diagnostic import fail
from relay.ir.alias import TypeAlias
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
    Pattern,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    VMap,
)
from relay.ir.module import IRModule, TypeData
from relay.ir.same import constant_type
from relay.ir.type import Type
from relay.op.attribute import attribute_types
from relay.op.base import Operator
from relay.text.json_arrays import encode
from relay.text.json_graph import Chain, DictAttrs, Identity, Items, Node, OperatorAttrs, Pairs
from relay.text.json_schema import DIMENSION_MARK, FIELDS, is_reference
from relay.text.json_types import TypeGraph

VERSION = "0.14.0"
_NODE: dict[str, str] = {"_checked_type_": "0", "span": "0"}


class Writer(TypeGraph):
    """Writes each object once; nothing recurses."""

    def __init__(self, keep: Callable[[Any, str], int] | None = None) -> None:
        """`keep` stores an array of a dtype elsewhere and returns its number there."""
        super().__init__()
        self.keep = keep
        self.arrays: list[str] = []
        self.instances: dict[int, OperatorAttrs] = {}

    def write(self, root: Any) -> str:
        """The whole text."""
        index = self.ref(root)
        for at, thing in self.waiting:
            self.nodes[at] = self.node(thing)
        lines = ",\n".join([f"    {json.dumps(n, ensure_ascii=False)}" for n in self.nodes])
        arrays = ",\n".join([f"    {json.dumps(a)}" for a in self.arrays])
        arrays = f"[\n{arrays}\n  ]" if arrays else "[]"
        return (
            f'{{\n  "root": {index},\n  "nodes": [\n{lines}\n  ],\n  "b64ndarrays": {arrays},\n'
            f'  "attrs": {{"tvm_version": "{VERSION}"}}\n}}'
        )

    def node(self, e: Any) -> Node:
        """The node for anything."""
        match e:
            case Type():
                return self.type_(e)
            case Items():
                return {"type_key": "Array", "data": [self.ref(x) for x in e.items]}
            case Identity():
                return self.make("relay.Id", name_hint=e.name)
            case Call():
                return self.make(
                    "relay.Call",
                    _NODE,
                    op=e.op,
                    args=e.args,
                    attrs=self.attrs(e),
                    type_args=e.written_type_args,
                )
            case Var():
                return self.make(
                    "relay.Var", _NODE, vid=Identity(e.name_hint), type_annotation=e.type_annotation
                )
            case Constant():
                return self.constant(e)
            case GlobalVar():
                return self.make("GlobalVar", _NODE, name_hint=e.name_hint)
            case Op():
                return {"type_key": "Op", "repr_str": e.name}
            case Constructor():
                named: dict[str, Any] = {"field_names": e.field_names} if e.field_names else {}
                named |= {"written": e.written} if e.written else {}
                return self.make(
                    "relay.Constructor",
                    {"tag": str(e.tag), **_NODE},
                    name_hint=e.name_hint,
                    inputs=e.inputs,
                    belong_to=e.belong_to,
                    **named,
                )
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
                    attrs=DictAttrs(e.attrs) if e.attrs else None,
                    constraints=e.constraints,
                )
            case Match():
                return self.make(
                    "relay.Match", {"complete": str(int(e.complete)), **_NODE}, data=e.data, clauses=e.clauses
                )
            case Clause():
                if e.guard is None:
                    return self.make("relay.Clause", lhs=e.lhs, rhs=e.rhs)
                return self.make("relay.Clause", lhs=e.lhs, rhs=e.rhs, guard=e.guard)
            case Let() | LetRec() | If() | Tuple() | RefCreate() | RefRead() | RefWrite():
                return self.plain(e, _NODE)
            case Grad():
                return self.make("relay.Grad", {"kind": e.kind, **_NODE}, function=e.function)
            case VMap():
                axes = {name: json.dumps(a) for name, a in e.changed_axes.items()}
                return self.make("relay.VMap", {**axes, **_NODE}, function=e.function)
            case _:
                return self.other(e)

    def plain(self, e: Any, more: Mapping[str, str]) -> Node:
        """A node whose fields are those of the format, by the same names."""
        kind = type(e).__name__
        return self.make(f"relay.{kind}", more, **{name: getattr(e, name) for name in FIELDS[kind]})

    def attrs(self, e: Call) -> DictAttrs | OperatorAttrs | None:
        """The attributes of a call; one node for one operator instance."""
        attrs: Any = e.attrs
        if not isinstance(attrs, Operator) or attrs.is_described:
            return DictAttrs(dict(attrs)) if attrs.keys() else None
        found = self.instances.get(id(attrs))
        if found is None and attrs.attributes():
            found = self.instances[id(attrs)] = OperatorAttrs(attrs.name, attrs)
        return found

    def other(self, e: Any) -> Node:
        """Patterns, data types, modules, attributes and plain values."""
        match e:
            case Pattern():
                return self.plain(e, {"span": "0"})
            case TypeData():
                return self.make(
                    "relay.TypeData",
                    {"is_extern": str(int(e.is_extern)), "span": "0"},
                    header=e.header,
                    type_vars=e.type_vars,
                    constructors=e.constructors,
                )
            case TypeAlias():
                return self.make(
                    "relay.TypeAlias", {"span": "0"}, header=e.header, type_vars=e.type_vars, type=e.type
                )
            case IRModule():
                aliases: dict[str, Any] = {"aliases": list(e.aliases.values())} if e.aliases else {}
                return self.make(
                    "IRModule",
                    **aliases,
                    functions=Pairs(e.functions),
                    type_definitions=Pairs(e.type_definitions),
                    attrs=DictAttrs(e.attrs) if e.attrs else None,
                    options=DictAttrs(e.options) if e.options else None,
                    constant_types=Pairs(e.constant_types),
                    imports=[i.path for i in e.imports],
                    imported=sorted(e.imported),
                )
            case OperatorAttrs():
                return self.operator(e)
            case Chain():
                return self.chain(e.key, e.args)
            case DictAttrs():
                return self.make("DictAttrs", __dict__=e.values)
            case Pairs():
                return {"type_key": "Map", "data": [self.ref(x) for pair in e.pairs.items() for x in pair]}
            case _:
                return self.value(e)

    def value(self, v: Any) -> Node:
        """A plain value: number, string, list, tuple, dict."""
        if isinstance(v, np.generic):
            v = cast(Any, v).item()
        if isinstance(v, Mapping):
            return self.mapping(cast("Mapping[Any, Any]", v))
        if isinstance(v, list | tuple):
            data = [self.ref(x) for x in cast("Sequence[Any]", v)]
            mark = {} if isinstance(v, list) else {"attrs": {"tuple": "1"}}
            return {"type_key": "Array", "data": data, **mark}
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
        fail("attribute-not-printable", f"a value of class {v.__class__.__name__} cannot be saved as JSON")

    def mapping(self, v: Mapping[Any, Any]) -> Node:
        """A dict: the keys are texts in the node, or nodes of their own."""
        if all(isinstance(k, str) for k in v):
            return {"type_key": "Map", "keys": list(v), "data": [self.ref(x) for x in v.values()]}
        return {"type_key": "Map", "data": [self.ref(x) for pair in v.items() for x in pair]}

    def operator(self, e: OperatorAttrs) -> Node:
        """The attributes of an operator, each in the form its annotation asks for."""
        attrs: dict[str, str] = {}
        hints = attribute_types(e.op.__class__)
        for name, v in e.op.attributes().items():
            if is_reference(e.name, name, hints[name]):
                attrs[name] = self.text(v)
            elif isinstance(v, Type):
                attrs[name] = DIMENSION_MARK + self.text(v)
            else:
                attrs[name] = _plain(v)
        name = "".join([part.capitalize() for part in e.name.rpartition(".")[2].split("_")])
        return self.make(f"relay.attrs.{name}Attrs", attrs)

    def constant(self, c: Constant) -> Node:
        """A constant; views keep one element, strings and open literals have fields of their own."""
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


def _plain(v: Any) -> str:
    """An attribute that stands for itself."""
    if v is None:
        return ""
    if isinstance(v, bool):
        return str(int(v))
    return v if isinstance(v, str) else repr(v)
