"""Why a type is what it is: where the types of the expressions in an error come from."""

from typing import TYPE_CHECKING, Any

from relay.diagnostic import Note, name_of_local
from relay.ir.expr import Call, Constant, Constructor, Expr, Function, GlobalVar, Let, LetRec, Match, Op, Var
from relay.ir.pattern import pattern_vars
from relay.ir.type import TensorType, TupleType
from relay.ir.walk import post_order
from relay.typecheck.messages import show
from relay.typecheck.unknown import ERROR, Unknown, has_unknown, zonk

if TYPE_CHECKING:
    from relay.typecheck.inference import Inference

MOST_NOTES = 4


def notes(inf: "Inference", operands: Any) -> tuple[Note, ...]:
    """Where the types of these expressions come from: declarations, bindings and uses, nearest first."""
    found: dict[tuple[str, str], Note] = {}
    queue: list[Expr] = list(operands)
    asked: set[Expr] = set()
    while queue and len(found) < MOST_NOTES:
        e = queue.pop(0)
        if e in asked:
            continue
        asked.add(e)
        for note in _why(inf, e, queue):
            found.setdefault((note.message, str(note.span)), note)
    return tuple(list(found.values())[:MOST_NOTES])


def _why(inf: "Inference", e: Expr, queue: list[Expr]) -> list[Note]:
    match e:
        case Var():
            return _why_var(inf, e, queue)
        case Constant() if e.is_open and e.is_scalar:
            t = zonk(inf.constant_dtype.get(e))
            return [Note(f"the literal {e.value[()]} is {t}", e.span)] if isinstance(t, str) else []
        case Constant() | Op() | Constructor() | GlobalVar() | Function():
            return []
        case _:
            t = zonk(inf.types.get(e))
            if t is None or t is ERROR:
                return []
            return [Note(f"{_phrase(e)} is {show(t)}", e.span)] if not has_unknown(t) else []


def _phrase(e: Expr) -> str:
    if type(e) is Call and isinstance(e.op, Op | GlobalVar | Constructor):
        return f"the result of `{e.attrs.spelled if type(e.op) is Op else e.op.name}`"
    return "this"


def _why_var(inf: "Inference", v: Var, queue: list[Expr]) -> list[Note]:
    raw = inf.vars.get(v)
    if raw is None or zonk(raw) is ERROR:
        return []
    shown, name = show(raw), name_of_local(v.name, v.span)
    if v.type_annotation is not None and not has_unknown(v.type_annotation):
        return [Note(f"`{name}` is declared {shown}", v.span)]
    binder = binders_of(inf).get(v)
    if isinstance(binder, Let | LetRec):
        value = binder.value if isinstance(binder, Let) else binder.values[binder.vars.index(v)]
        if isinstance(value, Call):
            queue += [a for a in value.args if type(a) is Var]
        return [Note(f"`{name}` is {shown}, the value it is bound to", value.span)]
    if isinstance(binder, Match):
        return [Note(f"`{name}` is {shown}, matched here", v.span)]
    causes = [c for c in _causes(raw) if c.span is not None]
    if causes:
        return [Note(f"`{name}` is {shown} because of its use here", c.span) for c in causes[:2]]
    return [] if has_unknown(zonk(raw)) else [Note(f"`{name}` is {shown}", v.span)]


def _causes(raw: Any) -> list[Expr]:
    """The expressions that bound the unknowns at the head of a type, its dtype and its shape."""
    found: list[Expr] = []
    stack, steps = [raw], 0
    while stack and steps < 50:
        t, steps = stack.pop(), steps + 1
        if type(t) is Unknown and t.bound is not None:
            if t.why is not None and t.why not in found:
                found.append(t.why)
            stack.append(t.bound)
        elif type(t) is TensorType:
            stack += [t.shape, t.dtype]
        elif type(t) is TupleType:
            stack += reversed(t.fields)
    return found


def binders_of(inf: "Inference") -> dict[Var, Expr]:
    """Which node binds each variable, found when the first error asks."""
    if inf.binders is None:
        inf.binders = {}
        for root in inf.roots:
            for e in post_order(root):
                match e:
                    case Let():
                        inf.binders[e.var] = e
                    case LetRec():
                        inf.binders.update(dict.fromkeys(e.vars, e))
                    case Function():
                        inf.binders.update(dict.fromkeys(e.params, e))
                    case Match():
                        inf.binders.update({v: e for c in e.clauses for v in pattern_vars(c.lhs)})
                    case _:
                        pass
    return inf.binders
