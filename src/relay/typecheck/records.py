"""Fields of records by name: which record is meant, and what is wrong where none is."""

from typing import TYPE_CHECKING, Any

from relay.diagnostic import did_you_mean
from relay.ir.expr import Constructor
from relay.ir.module import IRModule, TypeData
from relay.ir.subst import substitute_type
from relay.ir.type import GlobalTypeVar, Type, TypeCall
from relay.op.records import field_name, quoted, record_of
from relay.op.subscript import Subscript
from relay.op.update import IndexUpdate
from relay.text.other_languages import member_hint
from relay.typecheck.goals import Goal, OperatorGoal, Silenced, Wait
from relay.typecheck.messages import Fault, show
from relay.typecheck.unknown import ERROR, Unknown, head

if TYPE_CHECKING:
    from relay.typecheck.inference import Inference


def field_type(t: Any, name: str, mod: IRModule) -> Type:
    """The type of a field of a record type; raises `Wait`, `Silenced` or `Fault`."""
    if t is ERROR:
        raise Silenced
    if type(t) is Unknown:
        raise Wait(t)
    header = head(t.func) if type(t) is TypeCall else None
    if type(header) is Unknown:
        raise Wait(header)
    data = mod.type_definitions.get(header) if type(header) is GlobalTypeVar else None
    if data is None:
        message = f"`.{name}` is a field of a record, but this is {show(t)}"
        raise Fault("expected-record", message, hint=member_hint(name) or _records_hint(mod, name))
    c = _only_constructor(data, name)
    return substitute_type(
        c.inputs[c.field_names.index(name)], dict(zip(data.type_vars, t.args, strict=True))
    )


def _only_constructor(data: TypeData, name: str) -> Constructor:
    """The constructor of a record that has that field."""
    of = data.header.name
    c = record_of(data)
    if c is None:
        several = len(data.constructors) > 1
        raise Fault(
            "expected-record",
            f"`{of}` has several constructors, and `.{name}` is a field of a record, which has one"
            if several
            else f"the fields of `{of}` have no names, so `.{name}` is none of them",
            hint="take it apart by `match`"
            if several
            else f"declare the names: type {of} {{ {of} {{ {name}: … }} }}",
        )
    if name not in c.field_names:
        hint = did_you_mean(name, c.field_names) or f"its fields are {quoted(c.field_names)}"
        raise Fault("unknown-field", f"`{of}` has no field `{name}`", hint=hint)
    return c


def records_with(mod: IRModule, name: str) -> list[TypeData]:
    """The records of a module that have a field."""
    return [
        data
        for data in mod.type_definitions.values()
        if (c := record_of(data)) is not None and name in c.field_names
    ]


def _records_hint(mod: IRModule, name: str) -> str:
    found = [data.header.name for data in records_with(mod, name)]
    return f"the field is one of {quoted(found)}" if found else ""


def decide_fields(inf: "Inference", mark: int) -> None:
    """For a field of something unknown, take the only record that has it (`ambiguous-field`); what outer
    functions may still decide waits.
    """
    again = True
    while again:
        again = False
        for g in inf.pending[mark:]:
            t = _unknown_record(g)
            if t is not None and t.level > inf.level:
                again = True
                _decide(inf, g, t)
                inf.settle()


def _unknown_record(g: Goal) -> Unknown | None:
    """The type that a goal waits for, if that is for a field of it."""
    t = head(g.types[0]) if not g.done and _wanted_field(g) else None
    return t if type(t) is Unknown else None


def _wanted_field(g: Goal) -> str:
    """The name of the field that a goal is about; the empty text if it is about no field."""
    op = g.op if type(g) is OperatorGoal else None
    return field_name(op.items) if isinstance(op, Subscript | IndexUpdate) else ""


def _decide(inf: "Inference", g: Goal, t: Unknown) -> None:
    """Bind an unknown type to the record that has the field."""
    name = _wanted_field(g)
    found = records_with(inf.mod, name)
    if len(found) == 1:
        (data,) = found
        inf.cause = g.call
        inf.bind(t, TypeCall(data.header, tuple([Unknown(p.kind, t.level) for p in data.type_vars])))
        return
    g.done = True
    for part in g.types:
        inf.silence(part)
    inf.diagnose(
        "ambiguous-field" if found else "unknown-field",
        f"`.{name}` may be a field of {quoted([data.header.name for data in found])}"
        if found
        else f"no record has a field `{name}`",
        g.call,
        hint="annotate what it is taken of: a parameter `%x: T`, or `(%x : T)`" if found else "",
    )
