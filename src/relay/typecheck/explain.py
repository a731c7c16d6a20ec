"""What an error says: types in the user's words, and why they are what they are."""

from typing import TYPE_CHECKING, Any

from relay.diagnostic import Note
from relay.ir import hooks
from relay.ir.expr import Call, Constant, Constructor, Expr, Function, GlobalVar, Let, LetRec, Match, Op, Var
from relay.ir.pattern import pattern_vars
from relay.ir.type import DimCall, DimExpr, Kind, TensorType, TupleType, Type
from relay.ir.walk import post_order
from relay.typecheck.unify import ERROR, Mismatch, Unknown, has_unknown, kind_of, zonk

if TYPE_CHECKING:
    from relay.typecheck.expressions import Inference
    from relay.typecheck.solver import Fault

LONGEST = 400
MOST_NOTES = 4


def show_type(t: Any) -> str:
    """A type, shape, dimension or base type as text, cut where it is very long."""
    t = zonk(t)
    if isinstance(t, tuple):
        return f"({', '.join([show_type(d) for d in t])}{',' if len(t) == 1 else ''})"
    if t is ERROR:
        return "_"
    if not isinstance(t, Type):
        return str(t)
    if isinstance(t, Unknown) and t.allowed is not None and t.is_literal:
        return "an integer or float" if any("int" in d for d in t.allowed) else "a float"
    text = hooks.type_text(t)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def describe(m: Mismatch, expected: Any, found: Any, why: str, goal: Any) -> "Fault":
    """A mismatch in words: what was expected, what was found, which parts differ."""
    from relay.typecheck.solver import Fault

    subject = f"`{goal.what}`: " if goal is not None and goal.name else ""
    because = f" ({why})" if why else ""
    match m.code:
        case "infinite-type":
            return Fault(
                m.code,
                f"{subject}a type would have to contain itself",
                f"{_name(m.a)} occurs in {show_type(m.b)}",
                "a recursive structure needs a data type: `type T { … }`",
            )
        case "type-escape":
            return Fault(
                m.code,
                f"{subject}the type parameter `{m.b.name}` would leave the function that declares it",
                hint=f"declare `{m.b.name}` on an outer function, or leave the type out",
            )
        case "literal-kind":
            return _literal_kind(m, subject)
        case "dtype-not-supported":
            return Fault(m.code, f"{subject}{show_type(m.a)} is not allowed here{because}", hint=allowed(m.b))
        case _:
            pass
    message = f"{subject}expected {show_type(expected)}, found {show_type(found)}{because}"
    label = ""
    if kind_of(m.a) is kind_of(m.b) and (show_type(m.a), show_type(m.b)) != (
        show_type(expected),
        show_type(found),
    ):
        label = _difference(m)
    return Fault(m.code, message, label, m.hint or hint_for(m, expected, found))


def _name(t: Any) -> str:
    text = show_type(t)
    return "it" if text == "_" else text


def _difference(m: Mismatch) -> str:
    a, b = show_type(m.a), show_type(m.b)
    if a == b:
        return ""
    match m.code:
        case "rank-mismatch":
            return f"rank {len(m.a)} is not rank {len(m.b)}"
        case "dtype-mismatch":
            return f"the base types are {a} and {b}"
        case "shape-mismatch":
            return f"the sizes are {a} and {b}" if kind_of(m.a) is Kind.Dim else f"the shapes are {a} and {b}"
        case _:
            return f"{a} is not {b}"


def hint_for(m: Mismatch, expected: Any, found: Any) -> str:
    """What to do about a mismatch."""
    if m.code == "dtype-mismatch":
        wanted = zonk(m.a)
        to = wanted if isinstance(wanted, str) else "float32"
        return f"base types are never promoted; convert with `cast(…, {to})`"
    if m.code in ("shape-mismatch", "rank-mismatch") and _has_dim_parts(m):
        return "a size that is known only at run time is written `?`"
    return ""


def _has_dim_parts(m: Mismatch) -> bool:
    return isinstance(m.a, DimExpr | DimCall) or isinstance(m.b, DimExpr | DimCall)


def _literal_kind(m: Mismatch, subject: str) -> "Fault":
    from relay.typecheck.solver import Fault

    wanted = m.a if isinstance(m.a, str) else show_type(zonk(m.a)) if not isinstance(m.a, frozenset) else ""
    class_ = m.b if isinstance(m.b, frozenset) else frozenset[str]()
    if any("int" in d for d in class_):
        return Fault(
            m.code,
            f"{subject}a number cannot be {wanted}" if wanted else f"{subject}a number cannot stand here",
            hint="write `True` or `False`, or compare: `%x != 0`" if wanted == "bool" else "",
        )
    whole = (
        f"{subject}a literal with a point cannot be {wanted}"
        if wanted
        else f"{subject}a literal with a point cannot be an integer"
    )
    return Fault(m.code, whole, hint="write the number without a point, or convert with `cast(…, float32)`")


def allowed(names: Any) -> str:
    """Which base types a class has, as a hint."""
    from relay.typecheck.solver import listed

    return f"allowed are {listed(names)}" if isinstance(names, frozenset) else ""


# --- why ------------------------------------------------------------------------------------------------------


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
            return [Note(f"{_phrase(e)} is {show_type(t)}", e.span)] if not has_unknown(t) else []


def _phrase(e: Expr) -> str:
    return (
        f"the result of `{e.op.name}`"
        if type(e) is Call and isinstance(e.op, Op | GlobalVar | Constructor)
        else "this"
    )


def _why_var(inf: "Inference", v: Var, queue: list[Expr]) -> list[Note]:
    raw = inf.vars.get(v)
    if raw is None or zonk(raw) is ERROR:
        return []
    shown = show_type(raw)
    if v.type_annotation is not None and not has_unknown(v.type_annotation):
        return [Note(f"`%{v.name}` is declared {shown}", v.span)]
    binder = binders_of(inf).get(v)
    if isinstance(binder, Let | LetRec):
        value = binder.value if isinstance(binder, Let) else binder.values[binder.vars.index(v)]
        if isinstance(value, Call):
            queue += [a for a in value.args if type(a) is Var]
        return [Note(f"`%{v.name}` is {shown}, the value it is bound to", value.span)]
    if isinstance(binder, Match):
        return [Note(f"`%{v.name}` is {shown}, matched here", v.span)]
    causes = [c for c in _causes(raw) if c.span is not None]
    if causes:
        return [Note(f"`%{v.name}` is {shown} because of its use here", c.span) for c in causes[:2]]
    return [] if has_unknown(zonk(raw)) else [Note(f"`%{v.name}` is {shown}", v.span)]


def _causes(raw: Any) -> list[Expr]:
    """The expressions that bound the unknowns at the head of a type, its base type and its shape."""
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
