"""The call that is being written: what its callee takes, and which argument the cursor is at."""

from dataclasses import MISSING, dataclass

from relay.cli.ops import attributes, defaults, first_sentence, word
from relay.cli.ops import find as find_operator
from relay.ir.expr import Function, GlobalVar, Var
from relay.ir.type import FuncType
from relay.lsp.context import OpenCall, context
from relay.lsp.index import Symbol
from relay.lsp.places import comment_above, definition
from relay.lsp.store import View
from relay.op.registry import alias_of, registry
from relay.typecheck.messages import show


@dataclass(frozen=True, slots=True)
class Signature:
    """A callee with its parameters, of which number `active` is being written."""

    label: str
    parameters: list[str]
    about: list[str]
    text: str
    active: int


def signature(view: View, offset: int) -> Signature | None:
    """The signature of the innermost open call at an offset of the text as it is now."""
    opened = context(view.text, offset).call
    if opened is None:
        return None
    name = opened.callee
    if name in registry or name in alias_of:
        return _operator(opened)
    document = view.document
    if name.startswith("@"):
        fn = document.mod.functions.get(GlobalVar(name[1:]))
        place = definition(document, Symbol("global", name[1:]))
        text = "" if place is None else comment_above(place.text, place.start)
        t = document.types.global_type(name[1:])
        return _function(opened, t, fn if isinstance(fn, Function) else None, text)
    if name.startswith("%"):
        at = view.edit.old(offset)
        value = document.in_scope(at).get(name)
        t = document.type_at(at, value) if isinstance(value, Var) else None
        return _function(opened, t, None, "")
    c = document.parsed.constructors.get(name)
    if c is None:
        return None
    parameters = [str(t) for t in c.inputs]
    return Signature(f"{name}({', '.join(parameters)})", parameters, [], "", opened.arguments)


def _operator(opened: OpenCall) -> Signature:
    cls = find_operator(opened.callee)
    operands = list(cls.operands)
    given = [f"{n}={'…' if d is MISSING else word(d)}" for n, d in defaults(cls)]
    names = [n for n, _ in defaults(cls)]
    leading = cls.attributes_first
    parameters = [*given[:leading], *operands, *given[leading:]]
    if opened.attribute in names:
        i = names.index(opened.attribute)
        active = i if i < leading else len(operands) + i
    else:
        active = opened.arguments
        if cls.variadic:
            active = min(active, max(len(operands) + leading - 1, 0))
    lines = {line.split()[0]: line for line in attributes(cls)}
    about = [lines.get(p.partition("=")[0], "") for p in parameters]
    label = f"{cls.name}({', '.join(parameters)})"
    return Signature(label, parameters, about, first_sentence(cls), active)


def _function(opened: OpenCall, t: object, fn: Function | None, text: str) -> Signature | None:
    if not isinstance(t, FuncType):
        return None
    names = [f"%{p.name_hint}: " for p in fn.params] if fn is not None else [""] * len(t.arg_types)
    parameters = [f"{n}{show(a)}" for n, a in zip(names, t.arg_types, strict=False)]
    label = f"{opened.callee}({', '.join(parameters)}) -> {show(t.ret_type)}"
    return Signature(label, parameters, [], text, opened.arguments)
