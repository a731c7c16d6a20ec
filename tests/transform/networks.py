"""Random small networks, as text: layers side by side and in turn, scales, norms, branches, functions."""

import random
from collections.abc import Sequence

import numpy as np

Shape = tuple[int, ...]
SIDE = 4
"""Rows and columns of images."""


class Network:
    """`text` is a module whose `@main` takes `args`, all float64 but a condition."""

    def __init__(self, seed: int, size: int = 14) -> None:
        """`size` is about how many statements there are."""
        self.rng = random.Random(seed)
        self.values = np.random.default_rng(seed)
        self.params: list[str] = ["%b: bool"]
        self.args: list = [bool(seed % 2)]
        self.count = 0
        self.layers: dict[Shape, str] = {}
        known = [(self.weight(shape), shape) for shape in ((1, 4, SIDE, SIDE), (3, 4), (3, 4), (2, 3, 4))]
        lines = self.block(known, size)
        results = ", ".join(name for name, _ in known[-4:])
        body = "\n".join([*lines, f"({results},)"])
        self.text = f"def @main({', '.join(self.params)}) {{\n{body}\n}}"

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def weight(self, shape: Shape, *, positive: bool = False) -> str:
        """A parameter."""
        name = self.name()
        self.params.append(f"{name}: Tensor[{_shape(shape)}, float64]")
        drawn = self.values.uniform(0.5, 2, shape) if positive else self.values.standard_normal(shape)
        self.args.append(drawn)
        return name

    def layer(self, shape: Shape) -> str:
        """The weight of a dense layer, which three of four layers share with the last one of its shape."""
        if shape not in self.layers or self.rng.random() < 0.25:
            self.layers[shape] = self.weight(shape)
        return self.layers[shape]

    def block(self, known: list[tuple[str, Shape]], size: int) -> list[str]:
        """Statements; what they bind goes to `known`."""
        lines: list[str] = []
        for _ in range(size):
            value, shape = self.statement(known, size)
            name = self.name()
            lines.append(f"let {name} = {value};")
            known.append((name, shape))
        return lines

    def statement(self, known: Sequence[tuple[str, Shape]], size: int) -> tuple[str, Shape]:
        """An expression and its shape."""
        x, shape = self.rng.choice(known)
        kind = self.rng.random()
        if kind < 0.1 and size > 3:
            return self.branches(known, x, shape), shape
        if kind < 0.2 and size > 3:
            return self.function(x, shape), shape
        if kind < 0.5:
            return self.product(x, shape)
        return self.pointwise(known, x, shape), shape

    def inside(self, known: Sequence[tuple[str, Shape]], shape: Shape) -> str:
        """A block of a shape."""
        mine = list(known)
        lines = self.block(mine, 3)
        fitting = [name for name, s in mine[::-1] if s == shape]
        return " ".join([*lines, fitting[0]])

    def branches(self, known: Sequence[tuple[str, Shape]], x: str, shape: Shape) -> str:
        return f"if (%b) {{ {self.inside(known, shape)} }} else {{ {self.inside(known, shape)} }}"

    def function(self, x: str, shape: Shape) -> str:
        """A call of a function that is used twice."""
        f, a = self.name(), self.name()
        body = self.inside([(a, shape)], shape)
        t = f"Tensor[{_shape(shape)}, float64]"
        return f"{{ let {f} = fn({a}: {t}) -> {t} {{ {body} }}; {f}({f}({x})) }}"

    def product(self, x: str, shape: Shape) -> tuple[str, Shape]:
        """A convolution or a product with weights."""
        out = self.rng.choice((2, 4))
        match shape:
            case (n, c, h, w):
                groups = self.rng.choice((1, 1, 2))
                weight = self.weight((out, c // groups, 3, 3))
                return f"nn.conv2d({x}, {weight}, padding=(1, 1), groups={groups})", (n, out, h, w)
            case (b, n, c):
                return f"nn.batch_matmul({x}, {self.weight((b, out, c))})", (b, n, out)
            case _:
                n, c = shape
                return f"nn.dense({x}, {self.layer((out, c))})", (n, out)

    def pointwise(self, known: Sequence[tuple[str, Shape]], x: str, shape: Shape) -> str:
        """Something of the same shape."""
        axis = 1 if len(shape) == 4 else len(shape) - 1
        channels = shape[axis]
        spread = (channels, 1, 1) if axis == 1 and len(shape) == 4 else (channels,)
        other = self.rng.choice([name for name, s in known if s == shape])
        match self.rng.randrange(9):
            case 0 | 1:
                return f"{x} * {self.weight(spread, positive=self.rng.random() < 0.7)}"
            case 2:
                return f"nn.bias_add({x}, {self.weight((channels,))}, axis={axis})"
            case 3 | 4:
                return f"nn.relu({x})"
            case 5:
                return f"{x} + {other}"
            case 6:
                return f"nn.softmax({x}, axis={axis}) * 1.0"
            case 7:
                scale, mean = (self.weight((channels,)) for _ in range(2))
                variance = self.weight((channels,), positive=True)
                return f"nn.batch_norm({x}, {scale}, {mean}, {mean}, {variance}, axis={axis}).0"
            case _:
                return f"nn.dropout(tanh({x})).0 - (0.0 + {other})"


def _shape(shape: Shape) -> str:
    return f"({', '.join(map(str, shape))},)"
