"""What an error says: types in the user's words, what was expected and what was found."""

from collections.abc import Collection
from typing import Any

from relay.diagnostic import did_you_mean
from relay.ir.dtype import DTYPES
from relay.ir.subst import map_type
from relay.ir.type import (
    DimCall,
    DimExpr,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    Kind,
    TensorType,
    Type,
    TypeCall,
    TypeVar,
)
from relay.ir.type_base import HAS_ERROR
from relay.typecheck.unknown import ERROR, Mismatch, Term, Unknown, head, kind_of, zonk

MAX_TYPE_CHARS = 400
_CASTABLE = {TensorType, Unknown, TypeVar, str}


class Fault(Exception):  # noqa: N818
    """A fault that has no place yet."""

    def __init__(self, code: str, message: str, label: str = "", hint: str = "") -> None:
        super().__init__(code, message)
        self.code, self.message, self.label, self.hint = code, message, label, hint


def undefined(name: str, known: Collection[str]) -> tuple[str, str]:
    """The fault that no definition has that name, and its hint: `known` ones are those of the module."""
    if known:
        return f"the module has no `@{name}`", did_you_mean(name, known)
    hint = "an expression defines nothing: `relay.create_executor(mod=mod).evaluate(e)` takes those of `mod`"
    return f"no module is given that defines `@{name}`", hint


def show(t: Term | None) -> str:
    """A type, shape, dimension or dtype as text, cut where it is very long."""
    t = zonk(t)
    if isinstance(t, tuple):
        dims: tuple[Any, ...] = t
        return f"({', '.join([show(d) for d in dims])}{',' if len(dims) == 1 else ''})"
    if t is ERROR:
        return "_"
    if not isinstance(t, Type):
        return str(t)
    number = t.dtype if isinstance(t, TensorType) and t.shape == () else t
    if isinstance(number, Unknown) and number.allowed is not None and number.is_literal:
        return "a number" if any("int" in d for d in number.allowed) else "a number with a point"
    shown: Type = map_type(t, lambda _: IncompleteType(), HAS_ERROR)
    text = str(_cut(shown) if _is_large(shown) else shown)
    return text if len(text) <= MAX_TYPE_CHARS else f"{text[:MAX_TYPE_CHARS]}…"


def _is_large(root: Type) -> bool:
    """Whether a type has more parts, each counted as often as it occurs, than can be shown."""
    stack, count = [root], 0
    while stack and count <= MAX_TYPE_CHARS:
        count += 1
        stack += stack.pop().children
    return count > MAX_TYPE_CHARS


def _cut(t: Type, depth: int = 3) -> Type:
    """A type with `_` for what is deep inside."""
    if isinstance(t, FuncType) and t.type_params:
        return t
    if depth == 0 and t.children:
        return IncompleteType()
    return t.rebuild(tuple([_cut(c, depth - 1) for c in t.children]))


def describe(m: Mismatch, expected: Term, found: Term, why: str = "", subject: str = "") -> Fault:
    """A mismatch in words: what was expected, what was found, which parts differ; `subject` comes first."""
    because = f" ({why})" if why else ""
    match m.code:
        case "infinite-type":
            return Fault(
                m.code,
                f"{subject}a type would have to contain itself",
                f"{_name(m.a)} occurs in {_part(m.b)}",
                "a recursive structure needs a data type: `type T { … }`",
            )
        case "type-escape":
            return Fault(
                m.code,
                f"{subject}the type parameter `{_part(m.b)}` would leave the function that declares it",
                hint=f"declare `{_part(m.b)}` on an outer function, or leave the type out",
            )
        case "literal-kind":
            return _literal_kind(m, subject)
        case "dtype-not-supported":
            return Fault(m.code, f"{subject}{_part(m.a)} is not allowed here{because}", hint=allowed(m.b))
        case _:
            message = f"{subject}expected {show(expected)}, found {show(found)}{because}"
            return Fault(
                m.code, message, _difference(m, show(expected), show(found)), _hint(m, expected, found)
            )


def _part(t: Term | frozenset[str]) -> str:
    return f"one of {listed(t)}" if isinstance(t, frozenset) else show(t)


def _name(t: Term | frozenset[str]) -> str:
    text = _part(t)
    return "it" if text == "_" else text


def _difference(m: Mismatch, expected: str, found: str) -> str:
    """Which parts differ, where that is not what the message says anyway."""
    a, b = _part(m.a), _part(m.b)
    if isinstance(m.a, frozenset) or isinstance(m.b, frozenset) or kind_of(m.a) is not kind_of(m.b):
        return ""
    if a == b or (a, b) == (expected, found):
        return ""
    match m.code:
        case "rank-mismatch" if isinstance(m.a, tuple) and isinstance(m.b, tuple):
            return f"rank {len(m.a)} is not rank {len(m.b)}"
        case "dtype-mismatch":
            return f"the dtypes are {a} and {b}"
        case "shape-mismatch":
            return f"the sizes are {a} and {b}" if kind_of(m.a) is Kind.Dim else f"the shapes are {a} and {b}"
        case _:
            return f"{a} is not {b}"


def _hint(m: Mismatch, expected: Term, found: Term) -> str:
    """What to do about a mismatch."""
    if m.code == "dtype-mismatch" and not {type(head(expected)), type(head(found))} - _CASTABLE:
        wanted = _part(m.a)
        if "string" in (wanted, _part(m.b)):
            return '`@to_string(…)` of "std/string" makes a string of a number, `@parse_int` reads one'
        to = wanted if wanted in DTYPES else "float32"
        return f"dtypes are never promoted; convert with `cast(…, {to})`"
    if isinstance(m.a, TypeCall) and isinstance(m.b, TypeCall):
        return f"only a constructor of `{show(m.a.func)}` makes one; `match` takes a `{show(m.b.func)}` apart"
    data = [show(t.func) for t in (head(expected), head(found)) if isinstance(t, TypeCall)]
    if _is_list(head(expected)) and isinstance(tensor := head(found), TensorType) and tensor.shape != ():
        return "a list is `[| a, b |]`; `[a, b]` is a tensor"
    if m.code == "type-mismatch" and len(data) == 1:
        whole = f"a constructor of `{data[0]}` makes one"
        return whole if isinstance(head(expected), TypeCall) else f"`match` takes a `{data[0]}` apart"
    if isinstance(m.a, DimExpr | DimCall) or isinstance(m.b, DimExpr | DimCall):
        return "a size that is known only at run time is written `?`"
    return ""


def _is_list(t: Any) -> bool:
    return isinstance(t, TypeCall) and isinstance(t.func, GlobalTypeVar) and t.func.name_hint == "List"


def _literal_kind(m: Mismatch, subject: str) -> Fault:
    """A number where a dtype is required that it cannot be: one, or one of several."""
    if isinstance(m.a, frozenset):
        can_be, hint = m.a, allowed(m.b)
        wanted = "bool" if m.b == frozenset({"bool"}) else ""
    else:
        can_be = m.b if isinstance(m.b, frozenset) else ()
        wanted, hint = show(m.a), ""
    if wanted in _NO_NUMBER or any("int" in d for d in can_be):
        message = f"a number cannot {f'be {wanted}' if wanted else 'stand here'}"
        hint = _NO_NUMBER.get(wanted, hint)
    else:
        message = f"a literal with a point or an exponent cannot be {wanted or 'an integer'}"
        hint = "write the number as an integer: `1000` for `1e3`; "
        if subject or not wanted:
            hint += "or convert the other operand with `cast(…, float32)`"
        else:
            hint += f"`cast(…, {wanted})` converts what is computed"
    return Fault(m.code, subject + message, hint=hint)


_NO_NUMBER = {
    "bool": "write `True` or `False`, or compare: `%x != 0`",
    "string": 'a string is quoted: "1"; `@to_string(…)` of "std/string" makes one of a number',
}


def allowed(names: Term | frozenset[str]) -> str:
    """Which dtypes a class has, as a hint."""
    return f"allowed are {listed(names)}" if isinstance(names, frozenset) else ""


def listed(names: Collection[str]) -> str:
    """Dtypes in their usual order."""
    return ", ".join([d for d in DTYPES if d in names])
