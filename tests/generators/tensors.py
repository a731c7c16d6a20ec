"""Forms of random programs that have tensors: parts with computed bounds and masks, copies with parts
replaced, products of stacks, attributes by position, derivatives and loops.
"""

from generators.sizes import Definition
from generators.sugar import BOOL, FLOAT, INT, Many, Product, Scope, Tensor, Writer


def sizes(shape: tuple[int, ...]) -> str:
    """A shape in text."""
    return f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"


def bound(w: Writer, scope: Scope, size: int) -> str:
    """A bound of a slice: nothing, a number, or a computed one."""
    if w.rng.random() < 0.5:
        return w.rng.choice(["", str(w.rng.randint(-4, 4))])
    return w.expr(INT, scope, size)


def part(w: Writer, t: Tensor, scope: Scope, size: int) -> str:
    """A subscript of axis 0, of known size or not."""
    form = w.rng.randint(0, 4)
    if form == 0:
        return w.place(t.shape[0], scope, size)
    if form == 1:
        return f"[{', '.join([w.place(t.shape[0], scope, size // 2) for _ in range(w.rng.randint(1, 3))])}]"
    if form == 2:
        return f"{w.expr(Tensor(t.shape[:1]), scope, size)} > {w.rng.uniform(-1, 1):.2f}f"
    if form == 3 and len(t.shape) > 1:
        return f"..., {w.place(t.shape[-1], scope, size)}"
    return f"{bound(w, scope, size // 2)}:{bound(w, scope, size // 2)}{w.rng.choice(['', ':', ':2', ':-1'])}"


def replaced(w: Writer, t: Tensor, scope: Scope, size: int) -> str | None:
    """A copy with parts replaced, by a number that is stretched to them."""
    if not t.shape:
        return None
    count = w.rng.randint(1, 2)
    x = w.expr(t, scope, size // 2)
    parts = [f"[{part(w, t, scope, size // 5)}]: {w.expr(FLOAT, scope, size // 5)}" for _ in range(count)]
    return f"({x} with {{ {', '.join(parts)} }})"


def masked(w: Writer, t: Tensor, scope: Scope, size: int) -> str | None:
    """A copy with what a mask of all axes takes replaced."""
    if not t.shape:
        return None
    x = w.expr(t, scope, size // 2)
    mask = f"{w.expr(t, scope, size // 3)} {w.rng.choice(['<', '>'])} {w.rng.uniform(-1, 1):.2f}f"
    return f"({x} with {{ [{mask}]: {w.expr(FLOAT, scope, size // 3)} }})"


def part_of_open_size(w: Writer, t: Tensor, scope: Scope, size: int) -> str | None:
    """The sum over a part whose size is known when the program runs."""
    whole = Tensor((w.rng.randint(1, 3), *t.shape))
    if len(whole.shape) > 4:
        return None
    x = w.expr(whole, scope, size // 2)
    if w.rng.random() < 0.4:
        return f"sum({x}[{w.expr(Tensor(whole.shape[:1]), scope, size // 3)} > 0.1f], 0)"
    return f"sum({x}[{bound(w, scope, size // 4)}:{bound(w, scope, size // 4)}], 0)"


def gathered(w: Writer, t: Tensor, scope: Scope, size: int) -> str | None:
    """Rows at places, some of them computed."""
    if not t.shape:
        return None
    rows = w.rng.randint(1, 3)
    places = ", ".join([w.place(rows, scope, size // 4) for _ in range(t.shape[0])])
    return f"{w.expr(Tensor((rows, *t.shape[1:])), scope, size // 2)}[[{places}]]"


def checked(w: Writer, t: Tensor, scope: Scope, size: int) -> str | None:
    """A part of open size that happens to have the right one, which an annotation checks."""
    if not t.shape:
        return None
    x = w.expr(Tensor((t.shape[0] + 1, *t.shape[1:])), scope, size)
    n = f"@length({w.list_(Many(INT), scope, 0)}) * 0 + {t.shape[0]}"
    return f"({x}[{w.rng.choice([f':{n}', f'1:{n} + 1'])}] : {t})"


def stacked(w: Writer, t: Tensor, scope: Scope, size: int) -> str | None:
    """A product of stacks of matrices, which broadcast, or with a vector on one side."""
    rng, shape, k = w.rng, t.shape, w.rng.randint(1, 3)
    if not shape:
        return None
    if len(shape) == 1 or rng.random() < 0.3:
        left = Tensor((*shape, k)), Tensor((k,))
        right = Tensor((k,)), Tensor((*shape[:-1], k, shape[-1]))
        a, b = rng.choice([left, right])
    else:
        stack = tuple([rng.choice([n, 1]) for n in shape[:-2]])[rng.randint(0, len(shape) - 2) :]
        a, b = Tensor((*shape[:-1], k)), Tensor((*stack, k, shape[-1]))
    return f"({w.expr(a, scope, size // 2)} @ {w.expr(b, scope, size // 2)})"


def by_position(w: Writer, t: Tensor, scope: Scope, size: int) -> str | None:
    """An operator whose attributes are given by their positions."""
    rng, shape = w.rng, t.shape
    if not shape or len(shape) > 3:
        return None
    size, axis = size // 2, rng.randint(0, len(shape) - 1)
    before, n, after = shape[:axis], shape[axis], shape[axis + 1 :]

    def given(*sizes: int) -> str:
        return w.expr(Tensor(sizes), scope, size)

    same, fewer = [lambda: given(*shape), lambda: given(*before, *after)]
    forms = [
        lambda: f"clip({same()}, -0.5, {rng.choice([1, 0.75])})",
        lambda: f"nn.leaky_relu({same()}, 0.1)",
        lambda: f"nn.softmax({same()}, {axis})",
        lambda: f"cumsum({same()}, {axis})",
        lambda: f"reverse({same()}, {axis})",
        lambda: f"squeeze({given(*before, 1, *shape[axis:])}, [{axis}])",
        lambda: f"split({given(*before, 2 * n, *after)}, 2, {axis}).{rng.randint(0, 1)}",
        lambda: f"transpose({given(*shape[::-1])}, {sizes(tuple(range(len(shape)))[::-1])})",
        lambda: f"broadcast_to({given(*after)}, {sizes(shape)})",
        lambda: f"full({w.expr(FLOAT, scope, size)}, {sizes(shape)})",
        lambda: f"tile({given(*before, 1, *after)}, {sizes((*(1,) * axis, n, *(1,) * len(after)))})",
        lambda: f"repeat({given(*before, 1, *after)}, {n}, {axis})",
        lambda: f"take({given(*before, 3, *after)}, [{', '.join('102' * n)[: 3 * n - 2]}], {axis})",
        lambda: f"cast({same()} > 0.1f, float32)",
        lambda: f"stack(({', '.join([fewer() for _ in range(n)])},), {axis})",
    ]
    if n == 1:
        forms += [
            lambda: f"expand_dims({fewer()}, {axis}, 1)",
            lambda: f"sum({given(*before, 2, *after)}, {axis}, True)",
        ]
    return rng.choice(forms)()


def call_of_definition(w: Writer, t: Tensor, scope: Scope, size: int) -> str | None:
    """A call of a definition that is polymorphic in sizes."""
    at = [(d, found) for d in w.definitions if (found := d.sizes_for(t.shape)) is not None]
    if not at:
        return None
    d, (n, m) = w.rng.choice(at)
    return f"@{d.name}({', '.join(arguments(w, d, n, m, scope, size // 2))})"


def arguments(w: Writer, d: Definition, n: int, m: int, scope: Scope, size: int) -> list[str]:
    """Arguments of a definition for the sizes `n` and `m`."""

    def tensor(*shape: int) -> str:
        return w.expr(Tensor(shape), scope, size // 2)

    def dense(rows: int, columns: int) -> str:
        return f"Dense {{ w: {tensor(rows, columns)}, b: {tensor(rows)} }}"

    match d.form:
        case "matrix":
            return [tensor(n, m)]
        case "alias":
            return [tensor(n, m), tensor(m)]
        case "tuple" | "pattern":
            return [w.expr(Product((Tensor((n, m)), Tensor((n,)))), scope, size)]
        case "record":
            return [dense(n, m), tensor(n, m)]
        case "field":
            pair = f"Pair {{ step: 1, last: {dense(n, m)}, first: {dense(m, n)} }}"
            return [pair, f"({tensor(m, n)}, {tensor(m)})"]
        case _:
            return [tensor(2 * n + 1), tensor(m)]


def gradient(w: Writer, t: Tensor, scope: Scope, size: int) -> str | None:
    """The gradient of a function, or its tangent."""
    x, form = w.names(1)[0], w.rng.randint(0, 2)
    if form == 0:
        body = w.block(FLOAT, scope.inside((x, t)), size // 2)
        return f"grad(fn ({x}: {t}) -> float32 {body})({w.expr(t, scope, size // 2)}).1.0"
    u = Tensor((w.rng.randint(1, 3),))
    a, b = w.pair(u if form == 1 else t, scope, size // 2)
    if form == 1:
        body = w.block(t, scope.inside((x, u)), size // 2)
        return f"jvp(fn ({x}: {u}) -> {t} {body})(({a},), ({b},)).{w.rng.randint(0, 1)}"
    body = w.block(u, scope.inside((x, t)), size // 2)
    given = w.expr(u, scope, size // 3)
    return f"{{ let (_, %back) = vjp(fn ({x}: {t}) -> {u} {body})({a}); %back({given}).0 }}"


def scanned(w: Writer, t: Tensor, scope: Scope, size: int) -> str | None:
    """A loop over the rows of a tensor that gives rows."""
    if not t.shape or 0 in t.shape:
        return None
    carry, row, result = w.type_(0), Tensor((2,)), Tensor(t.shape[1:])
    a, b = w.names(2)
    inner = scope.inside((a, carry), (b, row))
    step = w.expr(Product((carry, result)), inner, size // 3)
    rows = w.expr(Tensor((t.shape[0], 2)), scope, size // 3)
    f = f"fn ({a}: {carry}, {b}: {row}) -> {Product((carry, result))} {{ {step} }}"
    return f"@scan({f}, {w.expr(carry, scope, size // 3)}, {rows}).1"


def extreme(w: Writer, t: object, scope: Scope, size: int) -> str:
    """Where the largest element of a part is, counted along the whole."""
    x = w.expr(Tensor((w.rng.randint(1, 3), 2)), scope, size)
    return f"argmax(reshape({x}, (-1,)), 0)"


def some(w: Writer, t: object, scope: Scope, size: int) -> str:
    """Whether some or all elements are as said."""
    x = w.expr(Tensor((w.rng.randint(1, 3), 2)), scope, size)
    return f"{w.rng.choice(['any', 'all'])}({x}[{w.rng.choice([':1', '::2', '...'])}] > 0.3f, 1)[0]"


def quotient(w: Writer, t: object, scope: Scope, size: int) -> str:
    """A quotient, in each of its forms."""
    x = w.expr(t, scope, size)
    if t == INT:
        return w.rng.choice([f"div({x}, 3)", f"({x} / -2)", f"({x} % 4)", f"floor_divide({x}, -3)"])
    return w.rng.choice([f"div({x}, 2.5)", f"({x} / 4.0f)", f"(tanh({x}) ** 2.0f)"])


FORMS = {
    Tensor: (
        replaced, masked, part_of_open_size, gathered, checked, stacked, by_position, by_position,
        call_of_definition, call_of_definition, call_of_definition, gradient, scanned,
    ),
    INT: (extreme, quotient),
    FLOAT: (quotient,),
    BOOL: (some,),
}  # fmt: skip
"""Forms by the type that they have."""
