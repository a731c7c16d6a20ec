"""Forms of random programs with strings, references, local recursion and the loops of the
standard library.
"""

from typing import Any

from generators.sugar import BOOL, INT, STRING, TEXTS, Many, Scope, Writer


def piece(w: Writer, t: Any, scope: Scope, size: int) -> str:
    """A string made of others."""
    rng = w.rng
    s = w.expr(STRING, scope, size // 2)
    forms = [
        f"({s} + {w.expr(STRING, scope, size // 2)})",
        f"@string_slice({s}, {rng.randint(-3, 2)}, {rng.randint(-2, 4)})",
        f"@to_string({w.expr(rng.choice([INT, BOOL]), scope, size // 2)})",
        f'@string_join({w.expr(Many(STRING), scope, size // 2)}, "{rng.choice([",", "", "é"])}")',
        f"@{rng.choice(['pad_left', 'pad_right'])}({s}, {rng.randint(0, 5)})",
        f"@string_repeat(@string_slice({s}, 0, 3), {rng.randint(-1, 3)})",
        f'@hd(@string_split({s}, ","))',
    ]
    return rng.choice(forms)


def measure(w: Writer, t: Any, scope: Scope, size: int) -> str:
    """A number that a string has or is."""
    s = w.expr(STRING, scope, size // 2)
    other = w.expr(INT, scope, size // 3)
    forms = [
        f"cast(@string_length({s}), int32)",
        f'@length(@string_split({s}, "a"))',
        f'cast(@string_find({s}, "{w.rng.choice(TEXTS[1:4])}", 0), int32)',
        f"(match (@parse_int({s})) {{ Some(%v) => cast(%v, int32), None => {other} }})",
        f"{{ let Some(%v) = @parse_int({s}) else {{ {other} }}; cast(%v, int32) + 1 }}",
    ]
    return w.rng.choice(forms)


def comparison(w: Writer, t: Any, scope: Scope, size: int) -> str:
    """A comparison of strings."""
    a, b = w.pair(STRING, scope, size)
    return f"({a} {w.rng.choice(['==', '<', '>=', '!='])} {b})"


def loop(w: Writer, t: Any, scope: Scope, size: int) -> str:
    """A loop of the standard library over few numbers, or over a list."""
    i, acc = w.names(2)
    form, start = w.rng.randint(0, 2), w.expr(t, scope, size // 3)
    if form == 0:
        body = w.expr(t, scope.inside((i, INT), (acc, t)), size // 3)
        return f"@fori(0, {w.rng.randint(0, 3)}, fn ({i}: int32, {acc}: {t}) -> {t} {{ {body} }}, {start})"
    if form == 1:
        body = w.expr(t, scope.inside((i, INT), (acc, t)), size // 3)
        head = f"(({i}, {acc}): (int32, {t}))"
        test = f"{i} < {w.rng.randint(0, 3)} && {w.expr(BOOL, scope.inside((i, INT), (acc, t)), size // 4)}"
        step = f"fn {head} -> (int32, {t}) {{ ({i} + 1, {body}) }}"
        return f"@while_loop(fn {head} -> bool {{ {test} }}, {step}, (0, {start})).1"
    item = w.type_(0)
    step = (
        f"fn ({acc}: {t}, {i}: {item}) -> {t} {{ {w.expr(t, scope.inside((i, item), (acc, t)), size // 3)} }}"
    )
    return f"@foldl({step}, {start}, {w.expr(Many(item), scope, size // 3)})"


def recursion(w: Writer, t: Any, scope: Scope, size: int) -> str:
    """Two local functions that call each other a few times."""
    i, acc = w.names(2)
    inner, head = scope.inside((i, INT), (acc, t)), f"fn ({i}: int32, {acc}: {t}) -> {t}"

    def function(other: str) -> str:
        stop = f"if ({i} <= 0) {{ {w.expr(t, inner, size // 4)} }}"
        return f"{head} {{ {stop} else {{ {other}({i} - 1, {w.expr(t, inner, size // 4)}) }} }}"

    start = f"({w.rng.randint(0, 3)}, {w.expr(t, scope, size // 4)})"
    if w.rng.random() < 0.4:
        return f"{{ let %go = {function('%go')}; %go{start} }}"
    return f"{{ let rec %even = {function('%odd')} and %odd = {function('%even')}; %even{start} }}"


def cell(w: Writer, t: Any, scope: Scope, size: int) -> str:
    """A cell that may be written to."""
    first, second = w.pair(t, scope, size)
    test = w.expr(BOOL, scope, size // 4)
    write = f"ref_write(%cell, {second})"
    if w.rng.random() < 0.5:
        write = f"if ({test}) {{ {write} }} else {{ () }}"
    return f"{{ let %cell = ref({first}); {write}; ref_read(%cell) }}"


def shared(w: Writer, t: Any, scope: Scope, size: int) -> str:
    """A graph binding, which is evaluated where it is used first."""
    w.bindings += 1
    u, name = w.type_(0), f"%{w.bindings}"
    value = w.expr(u, scope, size // 3)
    return f"{{ {name} = ({value} : {u}); {w.expr(t, scope.inside((name, u)), size // 2)} }}"


def mapped(w: Writer, t: Many, scope: Scope, size: int) -> str:
    """A list made of another."""
    item, (x,) = w.type_(0), w.names(1)
    if w.rng.random() < 0.3:
        xs = w.expr(t, scope, size // 2)
        test = w.expr(BOOL, scope.inside((x, t.item)), size // 3)
        return f"@filter(fn ({x}: {t.item}) -> bool {{ {test} }}, {xs})"
    body = w.expr(t.item, scope.inside((x, item)), size // 3)
    return f"@map(fn ({x}: {item}) -> {t.item} {{ {body} }}, {w.expr(Many(item), scope, size // 2)})"


FORMS = {
    object: (loop, loop, recursion, cell, shared),
    STRING: (piece, piece, piece),
    INT: (measure,),
    BOOL: (comparison,),
    Many: (mapped,),
}
"""Forms by the type that they have; those of `object` have any."""
