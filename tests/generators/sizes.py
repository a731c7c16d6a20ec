"""Random definitions that are polymorphic in sizes: aliases, records with dimensions, and dimensions as
values, in attributes and in bounds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from random import Random

Shape = tuple[str, ...]
"""Sizes as they are written, over `n` and `d`."""

COMMON: tuple[Shape, ...] = (
    (), ("n",), ("d",), ("n", "d"), ("d", "n"), ("2 * n",), ("n * d",), ("n + 1", "d"), ("n", "2", "d"),
    ("d", "d"),
)  # fmt: skip
"""Shapes of results and of what is in between."""

ALIASES = """type Vec[n: Dim] = Tensor[(n,), float32]
type Params[o: Dim, i: Dim] = (Tensor[(o, i), float32], Vec[o])
type Dense[o: Dim, i: Dim] { Dense { w: Tensor[(o, i), float32], b: Vec[o] } }
type Pair[o: Dim, i: Dim] { Pair { first: Dense[o, i], last: Dense[i, o], step: int32 } }
"""

PARAMETERS: dict[str, tuple[str, dict[str, Shape]]] = {
    "matrix": ("{x}: Tensor[(n, d), float32]", {"{x}": ("n", "d")}),
    "alias": ("{x}: Tensor[(n, d), float32], {y}: Vec[d]", {"{x}": ("n", "d"), "{y}": ("d",)}),
    "tuple": ("{x}: Params[n, d]", {"{x}.0": ("n", "d"), "{x}[1]": ("n",)}),
    "pattern": ("({x}, {y}): Params[n, d]", {"{x}": ("n", "d"), "{y}": ("n",)}),
    "record": (
        "{x}: Dense[n, d], {y}: Tensor[(n, d), float32]",
        {"{y}": ("n", "d"), "{x}.w": ("n", "d"), "{x}.b": ("n",)},
    ),
    "field": (
        "{x}: Pair[d, n], {y}: Params[d, n]",
        {"{y}.0": ("d", "n"), "{x}.first.w": ("d", "n"), "{x}.last.b": ("n",), "{x}.last.w": ("n", "d")},
    ),
    "affine": (
        "{x}: Vec[2 * n + 1], {y}: Vec[d]",
        {"{x}": ("2 * n + 1",), "{y}": ("d",), "strided_slice({x}, (0,), (n,))": ("min(n, 2 * n + 1)",)},
    ),
}
"""Forms of parameters, and what is read from them with its shape."""


@dataclass(frozen=True)
class Definition:
    """A definition, its form of parameters, and the shape of its result."""

    name: str
    form: str
    result: Shape
    text: str

    def sizes_for(self, shape: tuple[int, ...]) -> tuple[int, int] | None:
        """Values of `n` and `d`, at most 3, for which the result has a shape."""
        for n, d in product((1, 2, 3), repeat=2):
            if tuple([evaluated(s, n, d) for s in self.result]) == shape:
                return n, d
        return None


def evaluated(size: str, n: int, d: int) -> int:
    """The value of a size."""
    return int(eval(size, {"n": n, "d": d, "min": min}))


def tensor_type(shape: Shape) -> str:
    """The type of float32 tensors of a shape."""
    return f"Tensor[{sizes(shape)}, float32]"


def sizes(shape: Shape) -> str:
    """A shape in text."""
    return f"({', '.join(shape)}{',' * (len(shape) == 1)})"


def definition(rng: Random, name: str) -> Definition:
    """A definition with the parameters `n` and `d`."""
    return Polymorphic(rng).definition(name)


class Polymorphic:
    """Writes the body of one definition; `at_hand` has what may be mentioned."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.at_hand: list[tuple[str, Shape]] = []
        self.bound = 0

    def definition(self, name: str) -> Definition:
        """A definition with some form of parameters."""
        form = self.rng.choice(list(PARAMETERS))
        params, reads = PARAMETERS[form]
        x, y = self.rng.choice([("%x", "%y"), ("%n", "%d"), ("%w", "%b")])
        self.at_hand = [(e.format(x=x, y=y), shape) for e, shape in reads.items()]
        result = self.rng.choice(COMMON)
        said = f" -> {tensor_type(result)}" if self.rng.random() < 0.7 else ""
        body = self.body(result, self.rng.randint(3, 12))
        return Definition(name, form, result, f"def @{name}({params.format(x=x, y=y)}){said} {body}\n")

    def body(self, shape: Shape, size: int) -> str:
        """Statements and a result, in braces."""
        known = len(self.at_hand)
        statements = [self.statement(size // 3) for _ in range(self.rng.randint(0, 2))]
        text = "{ " + " ".join([*statements, f"({self.expr(shape, size)} : {tensor_type(shape)})"]) + " }"
        del self.at_hand[known:]
        return text

    def statement(self, size: int) -> str:
        shape = self.rng.choice(COMMON)
        value = self.expr(shape, size)
        name = f"%v{self.bound}"
        self.bound += 1
        self.at_hand.append((name, shape))
        return f"let {name}: {tensor_type(shape)} = {value};"

    def size(self) -> str:
        """A dimension as a scalar of float32."""
        return f"cast({self.rng.choice(['n', 'd', 'n + d', 'n * 2 - 1', '(d - n)'])}, float32)"

    def expr(self, shape: Shape, size: int) -> str:
        """A tensor of float32 of a shape."""
        known = [e for e, s in self.at_hand if s == shape]
        if known and (size <= 0 or self.rng.random() < 0.4):
            return self.rng.choice(known)
        if size <= 0:
            return self.leaf(shape)
        forms: list[Callable[[Shape, int], str]] = [
            self.elementwise, self.elementwise, self.reduced, self.stretched, self.chosen, self.inner
        ]  # fmt: skip
        if len(shape) == 2:
            forms += [self.product, self.product, self.transposed, self.reshaped, self.record]
        if len(shape) == 1:
            forms += [self.part]
        if shape and "+" not in shape[0]:
            forms.append(self.changed)
        if shape[:1] in (("n + 1",), ("2 * n",)):
            forms.append(self.joined)
        return self.rng.choice(forms)(shape, size - 1)

    def leaf(self, shape: Shape) -> str:
        if not shape:
            return self.rng.choice([self.size(), f"{self.rng.uniform(-1, 1):.2f}f"])
        written = sizes(shape)
        choices = [
            f"zeros({written}, float32)", f"ones(shape={written}, dtype=float32)",
            f"full({self.size()}, {written})",
            f"broadcast_to({self.size()}, {written})",
        ]  # fmt: skip
        if len(shape) == 1:
            choices.append(f"arange(stop={shape[0]}, dtype=float32)")
        return self.rng.choice(choices)

    def elementwise(self, shape: Shape, size: int) -> str:
        rng = self.rng
        a = self.expr(shape, size // 2)
        if rng.random() < 0.3:
            return f"{rng.choice(['tanh', 'nn.relu', 'sigmoid'])}({a})"
        other = self.rng.choice([shape, shape[1:], ()])
        b = self.expr(other, size // 2)
        name = rng.choice(["mul", "sub", "+", "*", "div"])
        if name == "div":
            return f"div({a}, {self.size()} + 7.5f)"
        return f"({a} {name} {b})" if name in "+*" else f"{name}({a}, {b})"

    def reduced(self, shape: Shape, size: int) -> str:
        """A sum or another over an axis, which is given by its position."""
        axis = self.rng.randint(0, len(shape))
        whole = (*shape[:axis], self.rng.choice(["n", "d", "2"]), *shape[axis:])
        return f"{self.rng.choice(['sum', 'max', 'mean'])}({self.expr(whole, size)}, {axis})"

    def stretched(self, shape: Shape, size: int) -> str:
        return f"broadcast_to({self.expr(shape[self.rng.randint(0, 1) :], size)}, {sizes(shape)})"

    def chosen(self, shape: Shape, size: int) -> str:
        test = self.rng.choice(["n > 2", "n == d", "n * d < 4 || d == 2"])
        return f"(if ({test}) {self.body(shape, size // 2)} else {self.body(shape, size // 2)})"

    def inner(self, shape: Shape, size: int) -> str:
        """A function that uses the sizes of what is around it, or binds its own."""
        name, given = f"%u{self.bound}", self.rng.choice(COMMON)
        self.bound += 1
        value = self.expr(given, size // 2)
        known = len(self.at_hand)
        self.at_hand.append((name, given))
        body = self.body(shape, size // 2)
        del self.at_hand[known:]
        return f"(fn ({name}: {tensor_type(given)}) {body})({value})"

    def product(self, shape: Shape, size: int) -> str:
        k = self.rng.choice(["n", "d", "3"])
        stack = self.rng.choice([(), (), ("1",)])
        a, b = self.expr((shape[0], k), size // 2), self.expr((*stack, k, shape[1]), size // 2)
        return f"({a} @ {b}){'[0]' * len(stack)}"

    def transposed(self, shape: Shape, size: int) -> str:
        return f"transpose({self.expr(shape[::-1], size)}, (1, 0))"

    def reshaped(self, shape: Shape, size: int) -> str:
        if all(s.isdigit() for s in shape):
            return self.leaf(shape)
        written = " * ".join([f"({s})" for s in shape])
        middle = f"reshape({self.expr(shape, size)}, ({written},))"
        return f"reshape({middle}, {sizes(shape)})"

    def record(self, shape: Shape, size: int) -> str:
        """A field of a record, perhaps of a changed one."""
        w, b = self.expr(shape, size // 2), self.expr(shape[:1], size // 3)
        made = f"Dense {{ b: {b}, w: {w} }}"
        if self.rng.random() < 0.5:
            return f"{made}.w"
        return f"({made} with {{ w: {self.expr(shape, size // 3)} }}).w"

    def part(self, shape: Shape, size: int) -> str:
        """A row, or a part with bounds that are computed, whose size is checked."""
        if self.rng.random() < 0.5:
            return f"{self.expr(('n', *shape), size)}[{self.rng.choice(['0', '-1', 'n - 1'])}]"
        whole = self.expr(("n + 1", *shape), size)
        return f"(sum({whole}[{self.rng.choice(['1:', ':n', ':-1', '1:n + 1'])}], 0) : {tensor_type(shape)})"

    def changed(self, shape: Shape, size: int) -> str:
        """A copy with a part replaced."""
        x, v = self.expr(shape, size // 2), self.expr(shape[1:], size // 3)
        part = self.rng.choice(["0", "-1", "1:", "1 - 1:1", "::2", f"{shape[0]} - 1"])
        return f"({x} with {{ [{part}]: {v} }})"

    def joined(self, shape: Shape, size: int) -> str:
        first, second = ("n", "1") if shape[0] == "n + 1" else ("n", "n")
        a, b = self.expr((first, *shape[1:]), size // 2), self.expr((second, *shape[1:]), size // 2)
        return f"concatenate(({a}, {b}), 0)"
