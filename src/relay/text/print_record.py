"""Which bindings print as a record whose fields are written in another order than they are declared in."""

from collections.abc import Container
from typing import Any, NamedTuple

from relay.ir.expr import Call, Constructor, Let
from relay.text.parse_record import is_at_any_time
from relay.text.survey import Survey


class Written(NamedTuple):
    """A record as it is written: the call, and the fields with their values in that order."""

    call: Call
    fields: dict[str, Any]


def written(e: Let, survey: Survey, named: tuple[Container[Any], ...]) -> Written | None:
    """The record that bindings are, as `Records.record` makes them; None for other bindings.

    The nodes in `named` print by a name.
    """
    bound: dict[Any, Any] = {}
    at: Any = e
    while type(at) is Let and at.var.type_annotation is None and at.var.name_hint[:1] == "_":
        if is_at_any_time(at.value) or at.var in survey.repeated:
            return None
        bound[at.var] = at.value
        at = at.body
        if any(at in names for names in named):
            return None
    if type(at) is not Call or type(at.op) is not Constructor or at.attrs:
        return None
    if not bound or len(at.op.field_names) != len(at.args):
        return None
    args: dict[str, Any] = dict(zip(at.op.field_names, at.args, strict=True))
    fields_of = {a.name_hint: name for name, a in args.items() if a in bound and a.name_hint == f"_{name}"}
    if len(fields_of) != len(bound):
        return None
    first = {fields_of[v.name_hint]: value for v, value in bound.items()}
    later = {name: a for name, a in args.items() if name not in first}
    if not all(map(is_at_any_time, later.values())):
        return None
    for fields in ({**first, **later}, {**later, **first}):
        if [*fields] != [*args]:
            return Written(at, fields)
    return None
