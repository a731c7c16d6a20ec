"""How a definition lies on several devices: its attributes `mesh` and `shard`.

`mesh: {"data": 4, "model": 2}` names axes of devices and says how many there are along each.  `shard: {"x":
("data", None)}` says of parameters along which of these axes their own are split: a name stands for a
parameter, and `state.1` or `layer.w` for a field of one.  What is said of a tuple or of other data is said of
each tensor in it that it can be said of: one whose sizes divide.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, NoReturn, TypeAlias, cast

from relay.diagnostic import Span, did_you_mean, fail
from relay.ir.expr import Call, Expr, Function
from relay.ir.module import IRModule
from relay.ir.type import GlobalTypeVar, TensorType, TupleType, Type, TypeCall
from relay.ir.walk import post_order
from relay.op.annotation import ONE_USE, Shard, mesh_axes
from relay.op.records import opened, quoted, record_of
from relay.typecheck.query import Types

MESH, SHARD = "mesh", "shard"
Spec: TypeAlias = tuple[str | tuple[str, ...] | None, ...]
"""For each axis of a tensor the axis of the mesh that it is split along, several, or None."""
Path: TypeAlias = tuple[str, ...]
"""A parameter, and the fields that lead to a part of it: numbers in tuples, names in records."""


@dataclass(frozen=True)
class Sharding:
    """What a definition says of devices.  `mesh` has the sizes of its axes, in order."""

    name: str
    mesh: Mapping[str, int]
    specs: Mapping[Path, Spec]
    span: Span | None

    @property
    def size(self) -> int:
        """How many devices there are in the mesh."""
        return prod(self.mesh.values())

    def parts(self, part: str | tuple[str, ...] | None) -> int:
        """Into how many parts an axis is split."""
        return prod([self.mesh[a] for a in ((part,) if isinstance(part, str) else part or ())])

    def spec(self, path: Path, shape: Sequence[int]) -> Spec:
        """How the tensor at a path of a parameter, or inside of what is there, is split (`bad-sharding`)."""
        for length in range(len(path), 0, -1):
            found = self.specs.get(path[:length])
            if found is None:
                continue
            fault = self.fault(found, shape)
            if not fault:
                return found
            if length == len(path):
                fail("bad-sharding", f"`%{'.'.join(path)}`: {fault}", self.span)
            return ()
        return ()

    def fault(self, spec: Spec, shape: Sequence[Any]) -> str:
        """Why a tensor of a shape cannot be split so; sizes that are not numbers may be right."""
        if len(spec) > len(shape):
            return f"{len(spec)} axes are named of a tensor of rank {len(shape)}"
        for axis, (part, size) in enumerate(zip(spec, shape, strict=False)):
            count = self.parts(part)
            if isinstance(size, int) and size % count:
                devices = f"the {count} devices of {spelled(part)}"
                return f"the size {size} of axis {axis} is not a multiple of {devices}"
        return ""

    def type_fault(self, spec: Spec, t: Type | None) -> str:
        """Why a tensor of a type cannot be split so, as far as its type says."""
        return self.fault(spec, t.shape) if isinstance(t, TensorType) and isinstance(t.shape, tuple) else ""


def spelled(part: str | tuple[str, ...] | None) -> str:
    """The axes of a mesh that an axis of a tensor is split along."""
    return quoted((part,) if isinstance(part, str) else part or ())


def sharding_of(mod: IRModule, name: str) -> Sharding | None:
    """What a definition of an annotated module says of devices, checked as far as its types are known; None
    where it has no mesh (`bad-mesh`, `bad-sharding`).
    """
    definition = mod[name]
    if not isinstance(definition, Function):
        return None
    at = partial(place, definition, name)
    if MESH not in definition.attrs:
        if SHARD in definition.attrs:
            hint = 'give the definition a mesh: mesh: {"data": 8}'
            fail("bad-mesh", f"`shard` of `@{name}` needs a mesh", at(SHARD), hint=hint)
        return None
    mesh = checked_mesh(definition.attrs[MESH], name, at(MESH))
    found = Sharding(name, mesh, {}, at(SHARD))
    specs = specs_of(definition.attrs.get(SHARD, {}), name, found)
    params = {p.name_hint: p.type_annotation for p in definition.params}
    for path, spec in specs.items():
        t, word = type_at(mod, params, path, found.span), ".".join(path)
        fault = found.type_fault(spec, t)
        if fault:
            fail("bad-sharding", f"`%{word}`: {fault}", at(SHARD, word))
    return Sharding(name, mesh, specs, found.span)


def checked_mesh(value: Any, name: str, span: Span | None) -> dict[str, int]:
    """The value of the attribute `mesh`, a dict of sizes by the names of axes (`bad-mesh`)."""
    entries: Mapping[Any, Any] = cast("Mapping[Any, Any]", value) if isinstance(value, Mapping) else {}
    is_right = all(isinstance(a, str) and type(n) is int and n > 0 for a, n in entries.items())
    if not entries or not is_right:
        hint = 'it has the number of devices along each axis: mesh: {"data": 4, "model": 2}'
        fail("bad-mesh", f"the mesh of `@{name}` cannot be {value!r}", span, hint=hint)
    return dict(entries)


def specs_of(value: Any, name: str, sharding: Sharding) -> dict[Path, Spec]:
    """The value of the attribute `shard`, by paths (`bad-sharding`)."""
    refuse = partial(fail, "bad-sharding", span=sharding.span)
    hint = 'it is like shard: {"x": ("data", None)}'
    if not isinstance(value, Mapping):
        refuse(f"`shard` of `@{name}` cannot be {value!r}", hint=hint)
    found: dict[Path, Spec] = {}
    for key, given in cast("Mapping[Any, Any]", value).items():
        spec: Any = (given,) if isinstance(given, str) else tuple(given) if is_several(given) else None
        if not isinstance(key, str) or spec is None or not all(map(is_part, spec)):
            refuse(f"`shard` of `@{name}` cannot say {given!r} of {key!r}", hint=hint)
        check_axes(spec, sharding.mesh, f"`%{key}`", sharding.span)
        found[tuple(key.removeprefix("%").split("."))] = spec
    return found


def is_several(value: Any) -> bool:
    """Whether a value is a tuple or a list."""
    return isinstance(value, tuple | list)


def is_part(part: Any) -> bool:
    """Whether a value says along which axes of a mesh an axis is split."""
    names = part if is_several(part) else () if part is None else (part,)
    return all(isinstance(a, str) for a in names)


def check_axes(spec: Spec, mesh: Mapping[str, int], what: str, span: Span | None) -> None:
    """Demand that a specification names axes of the mesh, each once (`bad-sharding`)."""
    axes = mesh_axes(spec)
    for i, a in enumerate(axes):
        if a not in mesh:
            listing = ", ".join([f"`{m}`" for m in mesh])
            hint = did_you_mean(a, list(mesh)) or f"its axes are {listing}"
            fail("bad-sharding", f"{what}: the mesh has no axis `{a}`", span, hint=hint)
        if a in axes[:i]:
            fail("bad-sharding", f"{what}: the axis `{a}` of the mesh is used twice", span, hint=ONE_USE)


def type_at(mod: IRModule, params: Mapping[str, Type | None], path: Path, span: Span | None) -> Type | None:
    """The type of a part of a parameter; None where only values say what parts there are (`bad-sharding`)."""

    def refuse(step: str, known: Sequence[str], what: str) -> NoReturn:
        hint = did_you_mean(step, known) or f"there are {', '.join([f'`{k}`' for k in known[:8]]) or 'none'}"
        fail("bad-sharding", f"`shard` names `%{'.'.join(path)}`: {what} `{step}`", span, hint=hint)

    if path[0] not in params:
        refuse(path[0], list(params), "there is no parameter")
    t = params[path[0]]
    for step in path[1:]:
        match t:
            case TupleType():
                names, types = [str(i) for i in range(len(t.fields))], t.fields
            case TypeCall() if is_record(t, mod):
                record = opened(t, mod)
                names, types = record.constructor.field_names, record.fields
            case TensorType():
                names, types = (), ()
            case _:
                return None
        if step not in names:
            refuse(step, names, "there is no field")
        t = types[names.index(step)]
    return t


def is_record(t: TypeCall, mod: IRModule) -> bool:
    """Whether a type is that of a record."""
    return isinstance(t.func, GlobalTypeVar) and record_of(mod.type_definitions[t.func]) is not None


def check_marks(definitions: Iterable[Expr], sharding: Sharding, types: Types) -> None:
    """Demand that each `shard` in some definitions names axes of the mesh, and splits sizes that these divide
    (`bad-sharding`).
    """
    seen: set[Expr] = set()
    for definition in definitions:
        for e in post_order(definition, seen):
            if isinstance(e, Call) and isinstance(e.attrs, Shard):
                check_axes(e.attrs.spec, sharding.mesh, "`shard`", e.span)
                fault = sharding.type_fault(e.attrs.spec, types(e))
                if fault:
                    fail("bad-sharding", f"`shard`: {fault}", e.span)


def place(definition: Function, name: str, attribute: str, word: str = "") -> Span | None:
    """Where an attribute of a definition stands in its text, or a quoted word in it; else the definition."""
    span = definition.span
    if span is None:
        return None
    text = span.source.text
    block = re.search(rf"\battributes\s+@?{re.escape(name)}\s*\{{", text)
    start = block.end() if block else span.start
    found = re.compile(rf"\b{attribute}\s*[:=]").search(text, start)
    if found is None:
        return span
    quoted = text.find(f'"{word}"', found.end()) if word else -1
    at = (quoted, quoted + len(word) + 2) if quoted >= 0 else (found.start(), found.start() + len(attribute))
    return Span(span.source, *at)
