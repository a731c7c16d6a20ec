"""Forms of random programs that take values apart: matches, and `let` with patterns."""

from collections.abc import Sequence
from typing import Any

from generators.sugar import BOOL, INT, STRING, Many, Product, Scope, Tensor, Writer

WEIGHTS = Tensor((2,))
"""The type of the first field of the record that every program has."""


def clauses(w: Writer, data: str, several: Sequence[tuple[str, str]]) -> str:
    """A match, in one of its two forms."""
    if w.rng.random() < 0.3:
        body = " ".join([f"case {p} {{ {e} }}" for p, e in several])
        return f"(match({data}) {{ {body} }})"
    body = ", ".join([f"{p} => {e}" for p, e in several])
    return f"(match ({data}) {{ {body} }})"


def guard(w: Writer, scope: Scope, size: int) -> str:
    return f" if ({w.expr(BOOL, scope, size)})" if w.rng.random() < 0.4 else ""


def match_int(w: Writer, t: Any, scope: Scope, size: int) -> str:
    """Literals, alternatives and a name."""
    n = size // 5
    several = [
        (f"0{guard(w, scope, n)}", w.expr(t, scope, n)),
        (f"1 | -2 | {w.rng.randint(3, 6)}", w.expr(t, scope, n)),
    ]
    name = w.local()
    last = w.rng.choice(["_", name, f"_ as {name}"])
    inner = scope if last == "_" else scope.inside((name, INT))
    if last != "_":
        several.append((f"{last} if ({name} > 2)", w.expr(t, inner, n)))
    return clauses(w, w.expr(INT, scope, n), [*several, (last, w.expr(t, inner, n))])


def match_bool(w: Writer, t: Any, scope: Scope, size: int) -> str:
    a, b = w.pair(t, scope, size // 2)
    first = w.rng.choice(["True", "(True, _)", "(True, True)"])
    if first == "True":
        return clauses(w, w.expr(BOOL, scope, size // 3), [("True", a), ("False", b)])
    data = w.expr(Product((BOOL, BOOL)), scope, size // 3)
    return clauses(w, data, [(first, a), ("(False, _)" if "_" in first else "_", b)])


def match_tuple(w: Writer, t: Any, scope: Scope, size: int) -> str:
    """A tuple taken apart, with a name for a part."""
    u, v = w.type_(0), w.type_(0)
    a, b, c = w.names(3)
    data = w.expr(Product((INT, Product((u, v)))), scope, size // 3)
    inner = scope.inside((a, u), (b, v), (c, Product((u, v))))
    lhs = f"({{}}, ({a}, {b}) as {c})"
    first = (lhs.format("0 | 1") + guard(w, inner, size // 5), w.expr(t, inner, size // 4))
    return clauses(w, data, [first, (lhs.format("_"), w.expr(t, inner, size // 4))])


def match_list(w: Writer, t: Any, scope: Scope, size: int) -> str:
    """List patterns, nested, with guards and alternatives."""
    item = w.type_(0)
    n, (a, b, c) = size // 5, w.names(3)
    one, more = scope.inside((a, item)), scope.inside((a, item), (b, item), (c, Many(item)))
    two = w.rng.choice([f"[| {a}, {b}, ..{c} |]", f"Cons({a}, [| {b}, ..{c} |])"])
    several = [
        (two + guard(w, more, n), w.expr(t, more, n)),
        (w.rng.choice([f"[| {a} |]", f"[| {a} |] | [| {a}, _, .._ |]"]), w.expr(t, one, n)),
        rest(w, t, item, c, scope, n),
    ]
    return clauses(w, w.expr(Many(item), scope, n), several)


def rest(w: Writer, t: Any, item: Any, name: str, scope: Scope, size: int) -> tuple[str, str]:
    """A clause for every other list."""
    lhs = w.rng.choice(["_", f"_ as {name}", name])
    return lhs, w.expr(t, scope if lhs == "_" else scope.inside((name, Many(item))), size)


def option(w: Writer, t: Any, scope: Scope, size: int) -> str:
    """An option that is made and taken apart."""
    name = w.local()
    made = f"Some({w.expr(t, scope, size // 3)})"
    data = f"(if ({w.expr(BOOL, scope, 2)}) {{ {made} }} else {{ None }})"
    other = w.expr(t, scope, size // 3)
    if w.rng.random() < 0.5:
        return f"{{ let Some({name}) = {data} else {{ {other} }}; {name} }}"
    return clauses(w, data, [(f"Some({name})", name), ("None", other)])


def match_string(w: Writer, t: Any, scope: Scope, size: int) -> str:
    """Strings as patterns."""
    n, name = size // 4, w.local()
    several = [
        ('"ab"', w.expr(t, scope, n)),
        ('"" | "a" | "12"', w.expr(t, scope, n)),
        (f'{name} if ({name} < "b")', w.expr(t, scope.inside((name, STRING)), n)),
        ("_", w.expr(t, scope, n)),
    ]
    del several[w.rng.randint(0, 2)]
    return clauses(w, w.expr(STRING, scope, n), several)


def match_record(w: Writer, t: Any, scope: Scope, size: int) -> str:
    """A record taken apart by the names of its fields."""
    a, k = w.names(2)
    n, inner = size // 4, scope.inside((a, WEIGHTS), (k, INT))
    several = [
        (f"Layer {{ k: 0 | 1, w: {a} }}{guard(w, scope, n)}", w.expr(t, scope.inside((a, WEIGHTS)), n)),
        (f"Layer {{ w: {a}, k: {k} }} if ({k} > 2)", w.expr(t, inner, n)),
    ]
    last = w.rng.choice(["Layer { .. }", "_", f"Layer {{ w: {a}, .. }}"])
    several.append((last, w.expr(t, scope.inside((a, WEIGHTS)) if a in last else scope, n)))
    return clauses(w, w.record(scope, n), several)


def let_record(w: Writer, t: Any, scope: Scope, size: int) -> str:
    """A record taken apart by `let`."""
    a, k = w.names(2)
    record, n = w.record(scope, size // 3), size // 3
    if w.rng.random() < 0.5:
        inner = scope.inside((a, WEIGHTS), (k, INT))
        return f"{{ let Layer {{ k: {k}, w: {a} }} = {record}; {w.expr(t, inner, n)} }}"
    rest, other = w.expr(t, scope.inside((a, WEIGHTS)), n), w.block(t, scope, n)
    return f"{{ let Layer {{ k: 1 | 2, w: {a} }} = {record} else {other}; {rest} }}"


FORMS = {
    object: (
        match_int, match_bool, match_tuple, match_list, match_list, match_string, match_record, let_record,
        option,
    ),
}  # fmt: skip
"""Forms by the type that they have; those of `object` have any."""
