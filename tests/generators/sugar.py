"""Expressions and statements of random programs, by their types, with the short forms of the language."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from generators.sizes import Definition

INT, FLOAT, BOOL, STRING = "int32", "float32", "bool", "string"
TEXTS = ("", "a", "ab", "b,a", "12", "-7", "1.5", "é\\n", "x y", "{}")


@dataclass(frozen=True)
class Tensor:
    """A tensor of float32."""

    shape: tuple[int, ...]

    def __str__(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        return f"Tensor[({sizes}{',' * (len(self.shape) == 1)}), float32]"


@dataclass(frozen=True)
class Product:
    """A tuple."""

    fields: tuple[Any, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.fields))}{',' * (len(self.fields) == 1)})"


@dataclass(frozen=True)
class Many:
    """A list."""

    item: Any

    def __str__(self) -> str:
        return f"List[{self.item}]"


@dataclass(frozen=True)
class Scope:
    """The variables at hand, with their types."""

    vars: tuple[tuple[str, Any], ...] = ()

    def inside(self, *bound: tuple[str, Any]) -> "Scope":
        """A scope that binds more; names may hide others."""
        names = {name for name, _ in bound}
        return Scope((*[v for v in self.vars if v[0] not in names], *bound))

    def of_type(self, t: Any) -> list[str]:
        """The variables of a type."""
        return [name for name, u in self.vars if u == t]


Form = Callable[["Writer", Any, Scope, int], str | None]
"""Writes an expression of a type; None where it has none of that type."""

LARGEST = 200
"""The most elements of what a subscript takes a part of, which would get ever larger in subscripts of it."""


class Writer:
    """Writes expressions by their types; `more` has forms by the type, or the class of types."""

    def __init__(
        self, rng: Random, more: Mapping[Any, Sequence[Form]], definitions: Sequence[Definition]
    ) -> None:
        self.rng = rng
        self.more = more
        self.definitions = definitions
        self.bindings = 0
        self.anything: list[Callable[[Any, Scope, int], str]] = [
            self.field, self.conditional, self.applied, self.applied, self.traced, self.braces, self.braces,
            self.bound, self.bound,
        ]  # fmt: skip

    # --- types and names

    def type_(self, depth: int) -> Any:
        """A type that parameters may have; below, lists as well."""
        form = self.rng.random()
        if depth and form < 0.2:
            return Product(tuple([self.type_(depth - 1) for _ in range(self.rng.randint(1, 3))]))
        if form < 0.6:
            return Tensor(tuple([self.rng.randint(1, 3) for _ in range(self.rng.randint(1, 3))]))
        return self.rng.choice([INT, INT, INT, FLOAT, FLOAT, BOOL, STRING])

    def local(self) -> str:
        """A name, which may hide another."""
        return "%" + self.rng.choice(["x", "y", "z", "with", "as", "data", "n", "t1"])

    def names(self, count: int) -> list[str]:
        """Names that differ."""
        return [f"%{name}" for name in self.rng.sample(["a", "b", "c", "d", "head", "rest"], count)]

    # --- expressions

    def expr(self, t: Any, scope: Scope, size: int) -> str:
        """An expression of a type, that may stand as an operand of anything."""
        known = scope.of_type(t)
        if known and (size <= 1 or self.rng.random() < 0.3):
            return self.rng.choice(known)
        if size > 2 and self.rng.random() < 0.45:
            return self.rng.choice(self.anything)(t, scope, size - 1)
        if size > 2 and self.rng.random() < 0.5 and (text := self.other(t, scope, size - 1)):
            return text
        if isinstance(t, Tensor):
            return self.tensor(t, scope, size - 1)
        if isinstance(t, Product):
            fields = [self.expr(f, scope, size // len(t.fields)) for f in t.fields]
            return f"({', '.join(fields)}{',' * (len(fields) == 1)})"
        if isinstance(t, Many):
            return self.list_(t, scope, size)
        return {INT: self.int_, FLOAT: self.float_, BOOL: self.bool_, STRING: self.string_}[t](
            scope, size - 1
        )

    def other(self, t: Any, scope: Scope, size: int) -> str | None:
        """An expression of one of the other forms."""
        forms = [*self.more.get(t if isinstance(t, str) else type(t), ()), *self.more[object]]
        return self.rng.choice(forms)(self, t, scope, size)

    def pair(self, t: Any, scope: Scope, size: int) -> tuple[str, str]:
        """Two expressions of a type."""
        return self.expr(t, scope, size // 2), self.expr(t, scope, size // 2)

    def int_(self, scope: Scope, size: int) -> str:
        rng = self.rng
        if size <= 0:
            return rng.choice([str(rng.randint(0, 9)), f"(-{rng.randint(1, 9)})", f"{rng.randint(0, 9)}i32"])
        form = rng.randint(0, 6)
        if form >= 5:
            return f"{self.record(scope, size)}.k"
        if form == 0:
            return f"@length({self.expr(Many(rng.choice([INT, FLOAT])), scope, size)})"
        if form == 1:
            return f"[{', '.join(self.pair(INT, scope, size))}, 7i32][{rng.randint(-3, 2)}]"
        a, b = self.pair(INT, scope, size)
        if form == 2:
            return f"{rng.choice(['mul', 'sub', 'add', 'maximum'])}({a}, {b})"
        return f"({a} {rng.choice('+-*')} {b})"

    def float_(self, scope: Scope, size: int) -> str:
        rng = self.rng
        if size <= 0:
            return f"{rng.uniform(0, 2):.2f}" + rng.choice(["", "f"])
        form = rng.randint(0, 6)
        if form == 6:
            return f"@average({self.expr(Tensor((rng.randint(1, 3),)), scope, size)})"
        if form == 0:
            n = rng.randint(1, 3)
            a, b = self.pair(Tensor((n,)), scope, size)
            return f"({a} @ {b})"
        if form == 1:
            t = Tensor(tuple([rng.randint(1, 3) for _ in range(rng.randint(1, 2))]))
            places = ", ".join([self.place(n, scope, size // 3) for n in t.shape])
            return f"{self.expr(t, scope, size // 2)}[{places}]"
        if form == 2:
            x = self.expr(Tensor((rng.randint(1, 3),)), scope, size)
            return f"sum({x}[{x} > {rng.uniform(-1, 1):.2f}f])"
        if form == 3:
            return f"tanh({self.expr(FLOAT, scope, size)})"
        a, b = self.pair(FLOAT, scope, size)
        return f"{rng.choice(['mul', 'sub'])}({a}, {b})" if form == 4 else f"({a} {rng.choice('+-*')} {b})"

    def record(self, scope: Scope, size: int) -> str:
        """A record, made or changed."""
        w, k = self.expr(Tensor((2,)), scope, size // 2), self.expr(INT, scope, size // 2)
        fields = [f"w: {w}", f"k: {k}"]
        self.rng.shuffle(fields)
        made = f"Layer {{ {', '.join(fields)} }}"
        if self.rng.random() < 0.5:
            return made
        return f"({made} with {{ k: {self.expr(INT, scope, size // 3)} }})"

    def bool_(self, scope: Scope, size: int) -> str:
        if size <= 0:
            return self.rng.choice(["True", "False"])
        form = self.rng.randint(0, 3)
        if form == 3:
            return f'("{self.rng.choice("ab")}" + "b" {self.rng.choice(["==", "<"])} "ab")'
        if form == 0:
            return f"({' && '.join(self.pair(BOOL, scope, size))})"
        if form == 1:
            return f"(!{self.expr(BOOL, scope, size)} || {self.expr(BOOL, scope, size // 2)})"
        a, b = self.pair(INT, scope, size)
        return f"({a} {self.rng.choice(['<', '<=', '==', '!=', '>'])} {b})"

    def string_(self, scope: Scope, size: int) -> str:
        return f'"{self.rng.choice(TEXTS)}"'

    def list_(self, t: Many, scope: Scope, size: int) -> str:
        count = self.rng.randint(0, 3)
        items = [self.expr(t.item, scope, size // (count + 1)) for _ in range(count)]
        if self.rng.random() < 0.3 and size > 0:
            items.append(f"..{self.expr(t, scope, size // (count + 1))}")
        return f"[| {', '.join(items)} |]" if items else f"([||] : {t})"

    def place(self, size: int, scope: Scope, room: int) -> str:
        """An index within an axis, known or computed."""
        if room > 1 and self.rng.random() < 0.4:
            return f"minimum(maximum({self.expr(INT, scope, room)}, -{size}), {size - 1})"
        return str(self.rng.randint(-size, size - 1))

    # --- tensors

    def tensor(self, t: Tensor, scope: Scope, size: int) -> str:
        rng = self.rng
        if size <= 0:
            return self.literal(t.shape)
        form = rng.randint(0, 7)
        if form == 7 and t.shape:
            if t.shape == (2,):
                return f"{self.record(scope, size)}.w"
            part = self.expr(Tensor((1, *t.shape[1:])), scope, size // 2)
            return f"({self.expr(t, scope, size // 2)} with {{ [:1]: {part} }})"
        if form == 0 and len(t.shape) >= 2:
            k = rng.randint(1, 3)
            a = self.expr(Tensor((*t.shape[:-1], k)), scope, size // 2)
            return f"({a} @ {self.expr(Tensor((k, t.shape[-1])), scope, size // 2)})"
        if form <= 2:
            return self.subscript(t, scope, size)
        if form == 3:
            other = Tensor((int(np.prod(t.shape)),)) if rng.random() < 0.5 else Tensor(t.shape[::-1])
            sizes = "".join([f"{n}, " for n in t.shape])
            return f"reshape({self.expr(other, scope, size)}, ({sizes}))"
        if form == 4:
            axis = rng.randint(0, len(t.shape))
            other = Tensor((*t.shape[:axis], rng.randint(1, 3), *t.shape[axis:]))
            name = rng.choice(["sum", "max", "mean"])
            return f"{name}({self.expr(other, scope, size)}, {axis})"
        a, b = self.pair(t, scope, size)
        if form == 5:
            return f"{rng.choice(['mul', 'sub', 'maximum'])}({a}, {b})"
        return f"({a} {rng.choice('+-*')} {b})"

    def literal(self, shape: tuple[int, ...]) -> str:
        """Numbers in brackets, or a tensor of ones."""
        if shape and self.rng.random() < 0.3:
            return f"ones(({', '.join(map(str, shape))},), float32)"
        if not shape:
            return f"{self.rng.uniform(-1, 1):.2f}f"
        return f"[{', '.join([self.literal_row(shape[1:]) for _ in range(shape[0])])}]"

    def literal_row(self, shape: tuple[int, ...]) -> str:
        if not shape:
            return f"{self.rng.uniform(-1, 1):.2f}f"
        return f"[{', '.join([self.literal_row(shape[1:]) for _ in range(shape[0])])}]"

    def subscript(self, t: Tensor, scope: Scope, size: int) -> str:
        """A part of a larger tensor that has this shape."""
        rng = self.rng
        shape: list[int] = []
        parts: list[str] = []
        for n in t.shape:
            if rng.random() < 0.25:
                shape.append(axis := rng.randint(1, 3))
                parts.append(self.place(axis, scope, 0))
            form = rng.randint(0, 6)
            if n == 1 and form == 0:
                parts.append("None")
                continue
            first, after = rng.randint(0, 1), rng.randint(0, 1)
            choices = [
                (n, ":"), (n, "::-1"), (n + first, f"{first}:" if first else ":"),
                (n + after, f":{n}"), (n + first + after, f"{first}:{first + n}"),
                (2 * n, "::2"), (n + 1, ":-1"),
            ]  # fmt: skip
            axis, part = choices[form]
            shape.append(axis)
            parts.append(part)
        while parts and parts[-1] == ":" and rng.random() < 0.5:
            parts.pop()
        if len(parts) < len(shape) and all(p != "None" for p in parts) and rng.random() < 0.3:
            parts.append("...")
        if not shape or not parts or np.prod(shape) > LARGEST:
            return self.literal(t.shape)
        whole = self.expr(Tensor(tuple(shape)), scope, size)
        return f"{whole}[{', '.join(parts)}]"

    # --- what has any type

    def block(self, t: Any, scope: Scope, size: int) -> str:
        """Statements in braces."""
        statements: list[str] = []
        for _ in range(self.rng.randint(0, 3)):
            text, scope = self.statement(scope, size // 3)
            statements.append(text)
        last = self.expr(t, scope, size // 2)
        if self.rng.random() < 0.15 and size > 4:
            last = self.let_else(t, scope, size // 2)
        return "{ " + " ".join([*statements, last]) + " }"

    def statement(self, scope: Scope, size: int) -> tuple[str, Scope]:
        """A statement, and the scope behind it."""
        rng = self.rng
        form = rng.randint(0, 4)
        if form == 0:
            condition = self.expr(BOOL, scope, size)
            return f'assert({condition} || True, "holds");', scope
        if form == 1:
            x, y = self.expr(self.type_(1), scope, size), self.expr(INT, scope, size // 2)
            return f'trace("{rng.choice(["x {}, y {}", "{}{}", "both"])}", {x}, {y});', scope
        if form == 2:
            a, b, c = self.names(3)
            t, u, v = self.type_(0), self.type_(0), self.type_(0)
            e = self.expr(Product((t, Product((u, v)))), scope, size)
            return f"let ({a}, ({b}, {c})) = {e};", scope.inside((a, t), (b, u), (c, v))
        t = self.type_(1) if form == 3 else Many(self.type_(0))
        name = self.local()
        said = f": {t}" if rng.random() < 0.5 or isinstance(t, Many) else ""
        e = self.expr(t, scope, size) if said else f"({self.expr(t, scope, size)} : {t})"
        return f"let {name}{said} = {e};", scope.inside((name, t))

    def let_else(self, t: Any, scope: Scope, size: int) -> str:
        """`let P = e else { d }; …`."""
        item = self.type_(0)
        data = self.expr(Many(item), scope, size // 3)
        a, b = self.names(2)
        inner = scope.inside((a, item), (b, Many(item)))
        other = self.block(t, scope, size // 3)
        return f"let [| {a}, ..{b} |] = {data} else {other}; {self.expr(t, inner, size // 3)}"

    def braces(self, t: Any, scope: Scope, size: int) -> str:
        return self.block(t, scope, size)

    def bound(self, t: Any, scope: Scope, size: int) -> str:
        name, u = self.local(), self.type_(1)
        value = self.expr(u, scope, size // 2)
        return f"{{ let {name}: {u} = {value}; {self.expr(t, scope.inside((name, u)), size // 2)} }}"

    def field(self, t: Any, scope: Scope, size: int) -> str:
        """A field of a tuple, by a point or a subscript."""
        fields = [self.type_(0) for _ in range(self.rng.randint(0, 2))]
        i = self.rng.randint(0, len(fields))
        fields.insert(i, t)
        e = self.expr(Product(tuple(fields)), scope, size)
        return f"{e}.{i}" if self.rng.random() < 0.5 else f"{e}[{i}]"

    def conditional(self, t: Any, scope: Scope, size: int) -> str:
        c, n = self.expr(BOOL, scope, size // 3), size // 3
        return f"(if ({c}) {self.block(t, scope, n)} else {self.block(t, scope, n)})"

    def traced(self, t: Any, scope: Scope, size: int) -> str:
        return f'trace("{self.rng.choice(["at {}", "here", "{}"])}", {self.expr(t, scope, size)})'

    def applied(self, t: Any, scope: Scope, size: int) -> str:
        """A function whose parameter is a pattern, called."""
        u, v = self.type_(0), self.type_(1)
        a, b = self.names(2)
        body = self.block(t, scope.inside((a, u), (b, v)), size // 2)
        given = self.expr(Product((u, v)), scope, size // 2)
        return f"(fn (({a}, {b}): {Product((u, v))}) -> {t} {body})({given})"
