"""Depth: each kind of program, nested deeper than Python recurses, through every pass.

A thousand and some levels here, and 10,000 and 100,000 by `make check-long`.  What comes out is checked and
run where all kinds are inside one another, and at 10,000 levels everywhere.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relay
from relay.ir.expr import Call, Expr, Function, Grad, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.type import BOOL, TensorType
from relay.transform.passes.expand_grad import expand_grad
from relay.transform.rewriting.registry import find, load_all, registry
from test_deep import DEEP, KINDS, LEVELS, with_library

load_all()
PASSES = sorted(registry)
SOME, MANY = 1_100, 10_000
"""Levels that a pass which recursed would not survive."""
FLOAT = TensorType((), "float32")


def module(kind: str, depth: int) -> IRModule:
    """A program of `x` and True, annotated, whose value is `x`."""
    made = KINDS[kind](depth)
    return relay.infer(made if isinstance(made, IRModule) else with_library(made))


def derivative(level: Callable[[Expr, Var, Var], Expr], depth: int) -> IRModule:
    """The derivative of a program of that kind, which is 1."""
    y, c = Var("y", FLOAT), Var("c", BOOL)
    e: Expr = y
    for _ in range(depth):
        e = level(e, y, c)
    x, b = Var("x", FLOAT), Var("b", BOOL)
    whole = Call(Grad("grad", Function((y, c), e, FLOAT)), (x, b))
    slope = TupleGetItem(TupleGetItem(whole, 1), 0)
    return relay.infer(with_library(Function((x, b), slope, FLOAT)))


def assert_value(out: IRModule, given: Any, expected: Any) -> None:
    """What a pass makes checks and has the value, where it is called as before."""
    relay.check(out)
    if not out["main"].attrs.get("cps"):
        assert out.evaluate("main", given, True) == expected


def depths(*kinds: Any, quick: Any = ()) -> list[Any]:
    """Return kinds and depths; all but `SOME` levels of the `quick` kinds are long."""
    return [
        pytest.param(kind, depth, marks=() if depth == SOME and kind in quick else pytest.mark.long)
        for kind in kinds
        for depth in (SOME, MANY, DEEP)
    ]


@pytest.mark.parametrize(("kind", "depth"), depths(*KINDS, quick=["everything"]))
def test_deep_programs_go_through_every_pass(kind: str, depth: int) -> None:
    mod = module(kind, depth)
    for name in PASSES:
        out = find(name).run(mod)
        if depth == MANY or (depth == SOME and kind == "everything"):
            assert_value(out, np.int32(7), 7)


@pytest.mark.parametrize(("level", "depth"), depths(*LEVELS, quick=LEVELS))
def test_deep_programs_have_derivatives(level: Callable[[Expr, Var, Var], Expr], depth: int) -> None:
    assert_value(expand_grad(derivative(level, depth)), np.float32(7), 1)
