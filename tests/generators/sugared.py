"""Random well-typed programs as people write them: in text, with all short forms of the language.

`python -m generators.sugared --seed 3`, in `tests/`, prints one.
"""

import argparse
import re
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from generators import library, matches, tensors
from generators.sizes import ALIASES, definition
from generators.sugar import BOOL, FLOAT, INT, STRING, TEXTS, Many, Scope, Tensor, Writer

HEADER = """import "std/list"
import "std/option"
type Layer { Layer { w: Tensor[(2,), float32], k: int32 } }
def @average(%v: Tensor[(m,), float32]) -> float32 { sum(%v) / cast(m, float32) }
"""
PARTS = (
    (r"@string_|@to_string|@parse_|@pad_", 'import "std/string"\n'),
    (r"@fori|@while_loop|@scan", 'import "std/loop"\n'),
    (r"Vec|Params|Dense|Pair", ALIASES),
)
"""What stands before the programs in which something is mentioned."""
FORMS = {
    key: [form for place in (library, matches, tensors) for form in place.FORMS.get(key, ())]
    for key in (object, Tensor, Many, INT, FLOAT, BOOL, STRING)
}


@dataclass(frozen=True)
class Program:
    """A program in text, whose `@main` takes `args`."""

    seed: int
    text: str
    args: tuple[Any, ...]


def sugared_program(seed: int, size: int = 24) -> Program:
    """A well-typed program of about `size` nodes, and arguments for its `@main`."""
    rng = Random(seed)
    definitions = [definition(rng, f"sized{i}") for i in range(rng.randint(0, 2))]
    w = Writer(rng, FORMS, definitions)
    types = [w.type_(1) for _ in range(rng.randint(1, 3))]
    params = [(f"%p{i}", t) for i, t in enumerate(types)]
    head = ", ".join([f"{name}: {t}" for name, t in params])
    result = w.type_(2)
    body = w.block(result, Scope(tuple(params)), size)
    text = "".join([d.text for d in definitions]) + f"def @main({head}) -> {result} {body}\n"
    before = "".join([part for mention, part in PARTS if re.search(mention, text)])
    return Program(seed, HEADER + before + text, tuple([value_of(t, rng) for t in types]))


def value_of(t: Any, rng: Random) -> Any:
    """A value of a type of parameters, as Python gives it."""
    if t == INT:
        return np.int32(rng.randint(-3, 5))
    if t == FLOAT:
        return np.float32(round(rng.uniform(-2, 2), 2))
    if t == BOOL:
        return np.bool_(rng.random() < 0.5)
    if t == STRING:
        return rng.choice(TEXTS[:4])
    if isinstance(t, Tensor):
        return np.random.default_rng(rng.randint(0, 999)).normal(size=t.shape).round(2).astype("float32")
    return tuple([value_of(f, rng) for f in t.fields])


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
