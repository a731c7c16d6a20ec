"""Random well-typed programs as people write them: in text, with all short forms of the language.

`python -m generators.sugar --seed 3`, in `tests/`, prints one.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

INT, FLOAT, BOOL = "int32", "float32", "bool"
HEADER = """import "std/list"
import "std/option"
type Layer { Layer { w: Tensor[(2,), float32], k: int32 } }
def @average(%v: Tensor[(m,), float32]) -> float32 { sum(%v) / cast(m, float32) }
"""


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


@dataclass(frozen=True)
class Program:
    """A program in text, whose `@main` takes `args`."""

    seed: int
    text: str
    args: tuple[Any, ...]


def sugared_program(seed: int, size: int = 24) -> Program:
    """A well-typed program of about `size` nodes, and arguments for its `@main`."""
    rng = Random(seed)
    w = Writer(rng)
    types = [w.type_(1) for _ in range(rng.randint(1, 3))]
    params = [(f"%p{i}", t) for i, t in enumerate(types)]
    head = ", ".join([f"{name}: {t}" for name, t in params])
    result = w.type_(2)
    body = w.block(result, Scope(tuple(params)), size)
    text = f"{HEADER}def @main({head}) -> {result} {body}\n"
    return Program(seed, text, tuple([value_of(t, rng) for t in types]))


def value_of(t: Any, rng: Random) -> Any:
    """A value of a type of parameters, as Python gives it."""
    if t == INT:
        return np.int32(rng.randint(-3, 5))
    if t == FLOAT:
        return np.float32(round(rng.uniform(-2, 2), 2))
    if t == BOOL:
        return np.bool_(rng.random() < 0.5)
    if isinstance(t, Tensor):
        return np.random.default_rng(rng.randint(0, 999)).normal(size=t.shape).round(2).astype("float32")
    return tuple([value_of(f, rng) for f in t.fields])


LARGEST = 200
"""The most elements of what a subscript takes a part of, which would get ever larger in subscripts of it."""


class Writer:
    """Writes expressions by their types."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.anything: list[Callable[[Any, Scope, int], str]] = [
            self.field, self.conditional, self.match_int, self.match_bool, self.match_tuple, self.match_list,
            self.match_list, self.applied, self.applied, self.traced, self.braces, self.braces, self.option,
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
        return self.rng.choice([INT, INT, FLOAT, BOOL])

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
        if isinstance(t, Tensor):
            return self.tensor(t, scope, size - 1)
        if isinstance(t, Product):
            fields = [self.expr(f, scope, size // len(t.fields)) for f in t.fields]
            return f"({', '.join(fields)}{',' * (len(fields) == 1)})"
        if isinstance(t, Many):
            return self.list_(t, scope, size)
        return {INT: self.int_, FLOAT: self.float_, BOOL: self.bool_}[t](scope, size - 1)

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
        if form == 7:
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
            sizes = ", ".join(map(str, t.shape))
            return f"reshape({self.expr(other, scope, size)}, ({sizes},))"
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
        if self.rng.random() < 0.3:
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

    def clauses(self, data: str, several: Sequence[tuple[str, str]]) -> str:
        """A match, in one of its two forms."""
        if self.rng.random() < 0.3:
            body = " ".join([f"case {p} {{ {e} }}" for p, e in several])
            return f"(match({data}) {{ {body} }})"
        body = ", ".join([f"{p} => {e}" for p, e in several])
        return f"(match ({data}) {{ {body} }})"

    def guard(self, scope: Scope, size: int) -> str:
        return f" if ({self.expr(BOOL, scope, size)})" if self.rng.random() < 0.4 else ""

    def match_int(self, t: Any, scope: Scope, size: int) -> str:
        """Literals, alternatives and a name."""
        n = size // 5
        several = [
            (f"0{self.guard(scope, n)}", self.expr(t, scope, n)),
            (f"1 | -2 | {self.rng.randint(3, 6)}", self.expr(t, scope, n)),
        ]
        name = self.local()
        last = self.rng.choice(["_", name, f"_ as {name}"])
        inner = scope if last == "_" else scope.inside((name, INT))
        if last != "_":
            several.append((f"{last} if ({name} > 2)", self.expr(t, inner, n)))
        return self.clauses(self.expr(INT, scope, n), [*several, (last, self.expr(t, inner, n))])

    def match_bool(self, t: Any, scope: Scope, size: int) -> str:
        a, b = self.pair(t, scope, size // 2)
        first = self.rng.choice(["True", "(True, _)", "(True, True)"])
        if first == "True":
            return self.clauses(self.expr(BOOL, scope, size // 3), [("True", a), ("False", b)])
        data = self.expr(Product((BOOL, BOOL)), scope, size // 3)
        return self.clauses(data, [(first, a), ("(False, _)" if "_" in first else "_", b)])

    def match_tuple(self, t: Any, scope: Scope, size: int) -> str:
        """A tuple taken apart, with a name for a part."""
        u, v = self.type_(0), self.type_(0)
        a, b, c = self.names(3)
        data = self.expr(Product((INT, Product((u, v)))), scope, size // 3)
        inner = scope.inside((a, u), (b, v), (c, Product((u, v))))
        lhs = f"({{}}, ({a}, {b}) as {c})"
        first = (lhs.format("0 | 1") + self.guard(inner, size // 5), self.expr(t, inner, size // 4))
        return self.clauses(data, [first, (lhs.format("_"), self.expr(t, inner, size // 4))])

    def match_list(self, t: Any, scope: Scope, size: int) -> str:
        """List patterns, nested, with guards and alternatives."""
        item = self.type_(0)
        n, (a, b, c) = size // 5, self.names(3)
        one, more = scope.inside((a, item)), scope.inside((a, item), (b, item), (c, Many(item)))
        two = self.rng.choice([f"[| {a}, {b}, ..{c} |]", f"Cons({a}, [| {b}, ..{c} |])"])
        several = [
            (two + self.guard(more, n), self.expr(t, more, n)),
            (self.rng.choice([f"[| {a} |]", f"[| {a} |] | [| {a}, _, .._ |]"]), self.expr(t, one, n)),
            self.rest(t, item, c, scope, n),
        ]
        return self.clauses(self.expr(Many(item), scope, n), several)

    def rest(self, t: Any, item: Any, name: str, scope: Scope, size: int) -> tuple[str, str]:
        """A clause for every other list."""
        lhs = self.rng.choice(["_", f"_ as {name}", name])
        return lhs, self.expr(t, scope if lhs == "_" else scope.inside((name, Many(item))), size)

    def option(self, t: Any, scope: Scope, size: int) -> str:
        """An option that is made and taken apart."""
        name = self.local()
        made = f"Some({self.expr(t, scope, size // 3)})"
        data = f"(if ({self.expr(BOOL, scope, 2)}) {{ {made} }} else {{ None }})"
        other = self.expr(t, scope, size // 3)
        if self.rng.random() < 0.5:
            return f"{{ let Some({name}) = {data} else {{ {other} }}; {name} }}"
        return self.clauses(data, [(f"Some({name})", name), ("None", other)])


def main() -> None:
    """Print a program: `--seed`, `--size`."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int, default=24)
    options = parser.parse_args()
    program = sugared_program(options.seed, options.size)
    print(program.text)
    print(f"// {program.args}")


if __name__ == "__main__":
    main()
