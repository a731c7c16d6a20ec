"""Random programs in which tensors end where a result could be written in their place, or seem to:
`python -m generators.reuse --seed 3`, in `tests/`, prints one.
"""

import argparse
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

DTYPES = ("float32", "float32", "float64", "int32", "int8", "bfloat16", "float16")


@dataclass(frozen=True)
class Reusing:
    """A program with a loop around random statements, arguments for it, and parameters that it may take."""

    text: str
    args: tuple[Any, ...]
    donated: tuple[str, ...]


def reusing(seed: int, statements: int = 8) -> Reusing:
    """A program whose `@main` takes a count of rounds and tensors of one shape and its reverse."""
    rng = Random(seed)
    dtype, is_open = rng.choice(DTYPES), rng.random() < 0.3
    n, m = rng.choice([(4, 5), (3, 3), (1, 7), (16, 33), (64, 64)])
    w = Statements(rng, dtype, n, m, is_open)
    lines = [w.statement() for _ in range(statements)]
    next_values = [w.pick() for _ in range(3)]
    count = rng.randint(1, 4)
    kept = rng.choice(["%y", "%x", "%x * " + w.number(), "reverse(%x, 0)"])
    t = f"Tensor[({'n, m' if is_open else f'{n}, {m}'}), {dtype}]"
    sizes = "<n: Dim, m: Dim>" if is_open else ""
    params = f"%x: {t}, %y: {t}, %z: {t}"
    result = rng.choice(["(%x, %y, %z)", f"({kept}, %z)", "(%x + %y, (%z, %x))", "%y * %z", "(%y, %y)"])
    text = f"""
    def @main{sizes}(%k: int32, {params}) {{ @go(%k, %x, %y, %z) }}
    def @go{sizes}(%k: int32, {params}) {{
      if (%k == 0) {{ {result} }} else {{
        {" ".join(lines)}
        @go(%k - 1, {", ".join(next_values)})
      }}
    }}
    """
    draw = np.random.default_rng(seed)
    given = [tensor(draw, (n, m), dtype) for _ in range(3)]
    donated = tuple([name for name in "xyz" if rng.random() < 0.5])
    return Reusing(text, (np.int32(count), *given), donated)


def tensor(draw: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """An array of small numbers."""
    import relay

    if dtype.startswith("int"):
        return draw.integers(-3, 4, shape).astype(dtype)
    return draw.uniform(-1, 1, shape).astype(relay.const(0.0, dtype).value.dtype)


class Statements:
    """Writes statements, each of a tensor of one shape."""

    def __init__(self, rng: Random, dtype: str, n: int, m: int, is_open: bool) -> None:
        """Of `n` by `m` elements; the program does not know these if it `is_open`."""
        self.rng, self.dtype, self.n, self.m, self.is_open = rng, dtype, n, m, is_open
        self.names = ["%x", "%y", "%z"]

    def pick(self) -> str:
        """A tensor that is there, of late rather than of old."""
        return self.rng.choice(self.names[-4:] + self.names)

    def number(self) -> str:
        """A number."""
        if self.dtype.startswith("int"):
            return f"cast({self.rng.randint(-2, 2)}, {self.dtype})"
        return f"cast({self.rng.uniform(-1, 1):.3f}, {self.dtype})"

    def changed(self, x: str) -> str:
        """What a tensor in a reference becomes."""
        c, i = self.number(), self.rng.randint(0, self.n - 1)
        return self.rng.choice([f"{x} with {{ [{i}]: {c} }}", f"{x} * {c}", f"cumsum(clip({x}, -1, 1), 1)"])

    def statement(self) -> str:
        """`let %v = …;`."""
        name = f"%v{len(self.names)}"
        value = self.value()
        self.names.append(name)
        return f"let {name} = {value};"

    def value(self) -> str:
        """A tensor."""
        rng, a, b, c = self.rng, self.pick(), self.pick(), self.number()
        row, column = f"sum({b}, 1, True)", f"max({b}, 0, True)"
        i, j = rng.randint(0, self.n - 1), rng.randint(0, self.m - 1)
        step = f"mod(%k, {self.n})"
        forms = [
            f"{a} + {b}", f"{a} * {c} - {b}", f"clip({a}, -2, 2)", f"maximum({a}, {row})", f"{a} - {column}",
            f"reverse({a}, {rng.randint(0, 1)})", f"{a} + reverse({b}, {rng.randint(0, 1)})",
            f"cumsum({a}, {rng.randint(0, 1)})", f"clip(cumsum({a}, 1), -3, 3) + {b}",
            f"where({a} > {c}, {b}, {a})", f"sort({a}, {rng.randint(0, 1)})",
            f"take({a}, [{', '.join([str(rng.randint(0, self.n - 1)) for _ in range(self.n)])}], 0) + {b}",
            f"concatenate(({a}, {b}), 0)[{self.n}:]", f"reshape_like(reshape({a}, (-1,)), {b})",
            f"{a} with {{ [{i}]: {c} }}", f"{a} with {{ [:, {j}]: {c}, [{i}]: {b}[{i}] }}",
            f"{a} with {{ [{step}:{step} + 1]: {b}[{i}:{i + 1}] }}", f"{a} with {{ [{step}]: {a}[{i}] }}",
            f"{a} with {{ [{a} > {c}]: {c} }}", f"{a} with {{ [::-1]: {b} }}",
            f"{a} with {{ [..., ::-1]: {a} }}",
            f"{a} with {{ [[{i}, 0]]: {b}[:1] }}", f"{a} with {{ [%k:, {step}:]: {c} }}",
            f"clip(scatter_nd({a}, [[{i}], [{j}]], {b}[{i}, {j}:{j + 1}], mode=\"add\"), -3, 3)",
            f"ref_read(ref({a})) + {b}", f"({a}, {b}).{rng.randint(0, 1)}",
            f"{{ let %r = ref(({a}, %k, {b})); let (%p, _, %q) = ref_read(%r);"
            f" let %p1 = {self.changed('%p')}; let %q1 = {self.changed('%q')};"
            f" ref_write(%r, ({rng.choice(['%p1, %k, %q1', '%q1, 1, %p1', '%p1, %k, %p', '%p, 2, %q1'])}));"
            f" let (%p2, _, %q2) = ref_read(%r); ref_write(%r, (%p2, 3, {self.changed('%q2')}));"
            f" {rng.choice(['ref_read(%r).2', 'ref_read(%r).0 + %q2', 'ref_read(%r).2 + %p2'])} }}",
        ]  # fmt: skip
        if not self.is_open:
            places = f"[{', '.join([str(rng.randint(0, self.n - 1)) for _ in range(self.m)])}]"
            forms += [
                f"scatter_elements({a}, [{places}], {b}[:1])",
                f"strided_set({a}, {b}[:1], [{i}, 0], [{i + 1}, {self.m}], [1, 1])",
            ]
            if self.n == self.m:
                forms += [f"transpose({a}, (1, 0)) + {b}", f"{a} + transpose({a}, (1, 0))"]
        if self.dtype in ("float32", "float64"):
            forms += [
                f"nn.softmax({a}, {rng.randint(0, 1)})",
                f"tanh({a})",
                f"nn.softmax(nn.softmax({a}, 0), 1) + {b}",
            ]
            if self.n == self.m and not self.is_open:
                forms += [
                    f"clip({c} * (0.1 * ({a} @ {b})), -2, 2)",
                    f"nn.softmax({a} @ {b}) @ {a}",
                    f"clip(0.1 * nn.dense({a}, {b}) + {a}, -2, 2)",
                    f"{a} - {c} * (0.1 * (transpose({self.pick()}, (1, 0)) @ {b}))",
                    f"{{ let %g = 0.1 * (transpose({b}, (1, 0)) @ {self.pick()}); let %m = {c} * {b} + %g;"
                    f" {rng.choice([f'{a} - {c} * %m', f'({a} - {c} * %m) + clip(%g, -1, 1)'])} }}",
                ]
        return rng.choice(forms)


def main() -> None:
    """Print a program."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seed", type=int, default=0)
    made = reusing(parser.parse_args().seed)
    print(made.text, made.donated)


if __name__ == "__main__":
    main()
