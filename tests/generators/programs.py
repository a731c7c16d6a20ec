"""Random programs to test with: `python -m generators.programs --seed 3`, in `tests/`, prints one.

`random_module(seed)` is well-formed and uses every form of the language; `random_program(seed)` is well-
typed too, fully annotated, ends, and comes with arguments for its `@main`.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from generators.forms import random_expr, random_module
from generators.typed import BOOL, INT, Typed
from relay.ir.expr import Expr, Function, Var, replace
from relay.ir.functor import ExprMutator
from relay.ir.module import IRModule
from relay.ir.type import FuncType, TensorType, TupleType, Type, TypeCall

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = [
    "Program",
    "erase_annotations",
    "modules",
    "programs",
    "random_expr",
    "random_module",
    "random_program",
]


@dataclass(frozen=True)
class Program:
    """A well-typed module whose `@main` takes `args` and gives a `result`."""

    seed: int
    mod: IRModule
    args: tuple[Any, ...]
    result: Type


def random_program(seed: int, size: int = 30) -> Program:
    """A well-typed, annotated module of about `size` nodes a definition, and arguments for `@main`."""
    rng = Random(seed)
    mod = Typed(rng, size).module()
    main: Function = mod["main"]
    args = tuple([random_argument(p.type_annotation, mod, rng) for p in main.params])
    assert main.ret_type is not None
    return Program(seed, mod, args, main.ret_type)


def random_argument(t: Type | None, mod: IRModule, rng: Random) -> Any:
    """A run-time value of a type without functions and references."""
    from relay.interpreter.value import ConstructorValue

    match t:
        case TensorType():
            if t is INT:
                return np.int32(rng.randint(-3, 9))
            if t is BOOL:
                return np.bool_(rng.random() < 0.5)
            return (
                np.random.default_rng(rng.randint(0, 999))
                .normal(size=t.concrete_shape)
                .astype(np.float32)[()]
            )
        case TupleType():
            return tuple([random_argument(f, mod, rng) for f in t.fields])
        case TypeCall():
            data = mod.type_definitions[t.func]  # pyright: ignore[reportArgumentType]
            empty, full = data.constructors
            value = ConstructorValue(empty, ())
            for _ in range(rng.randint(0, 3)):
                rest = [value] * (len(full.inputs) - 1)
                value = ConstructorValue(full, (random_argument(t.args[0], mod, rng), *rest))
            return value
        case _:
            raise AssertionError(f"no argument of type {t} can be given from outside")


def erase_annotations(mod: IRModule) -> IRModule:
    """`mod` without the types that inference finds again: of variables, results, instantiations, type
    parameters.

    A parameter that is a tuple or a reference keeps its type, because a projection alone does not say how
    many fields there are.
    """
    erased = mod.copy()
    for var, definition in mod.items():
        erased[var] = _Erase().visit(definition)
    return erased


class _Erase(ExprMutator):
    def visit_var(self, var: Var) -> Expr:
        keep = isinstance(var.type_annotation, TupleType)
        return var if keep else Var(var.name_hint, None, span=var.span)

    def visit_function(self, fn: Function) -> Expr:
        new = super().visit_function(fn)
        if any(isinstance(p.type_annotation, TupleType) for p in fn.params):
            return new
        return replace(new, ret_type=None, type_params=(), constraints=())

    def visit_call(self, call: Any) -> Expr:
        return replace(super().visit_call(call), type_args=())


def signature(fn: Function) -> FuncType:
    """The type that a fully annotated function says it has."""
    params = [p.type_annotation for p in fn.params]
    assert fn.ret_type is not None
    return FuncType([t for t in params if t is not None], fn.ret_type, fn.type_params, fn.constraints)


def modules(size: int = 30) -> "SearchStrategy[IRModule]":
    """A hypothesis strategy for `random_module`; it shrinks towards smaller sizes and seeds."""
    return _strategy_of(random_module, size)


def programs(size: int = 30) -> "SearchStrategy[Program]":
    """A hypothesis strategy for `random_program`; it shrinks towards smaller sizes and seeds."""
    return _strategy_of(random_program, size)


def _strategy_of(make: Callable[[int, int], Any], size: int) -> "SearchStrategy[Any]":
    from hypothesis import strategies as st

    return st.builds(make, st.integers(0, 2**32), st.integers(1, size))


def main() -> None:
    """Print a program: `--seed`, `--size`, and `--forms` for one that is well-formed only."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int, default=30)
    parser.add_argument("--forms", action="store_true")
    options = parser.parse_args()
    if options.forms:
        print(random_module(options.seed, options.size).astext(show_meta_data=True))
        return
    program = random_program(options.seed, options.size)
    print(program.mod)
    for p, value in zip(program.mod["main"].params, program.args, strict=True):
        print(f"// %{p.name_hint} = {value!r}")


if __name__ == "__main__":
    main()
