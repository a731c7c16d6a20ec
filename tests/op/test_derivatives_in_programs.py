"""`vjp` and `jvp` of the language on every operator: what its rules give, inferred and run."""

from typing import Any

import numpy as np
import pytest

import relay
from op.derivative_cases import Case, cases, derivatives_of, floating, rebuilt
from op.straight_line import atom_type, leaves
from relay.ir.expr import Call, Expr, Function, Op, Tuple, TupleGetItem, Var
from relay.op.kind import Derivative
from relay.op.registry import registry

DIFFERENTIABLE = sorted(n for n, cls in registry.items() if cls.derivative is not Derivative.ZERO)


@pytest.mark.parametrize(
    "symbolic", [pytest.param(False, marks=pytest.mark.long), True], ids=["fixed", "symbolic"]
)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_programs_give_what_the_rules_give(name: str, symbolic: bool) -> None:
    for case in cases(name):
        d = derivatives_of(case)
        program = module(case, symbolic=symbolic)
        given = [*case.operands, *rebuilt(case.operands, filled(case.directions, case.moved(0)))]
        weights = filled(case.weights, case())
        weight = tuple(weights) if isinstance(d.result, tuple) else weights[0]
        for entry, results, arguments in (
            ("vjp", d.cotangents(), [*case.operands, weight]), ("jvp", d.tangents(), given)
        ):  # fmt: skip
            found = leaves(relay.run(program, entry, arguments))
            for f, r in zip(found, d.run(tuple(results)), strict=True):
                if floating(f):
                    np.testing.assert_allclose(f, np.zeros_like(f) if r is None else r, rtol=1e-9, atol=1e-9)


def filled(parts: list[Any], like: list[Any]) -> list[Any]:
    """Zeros for the leaves that have no direction."""
    return [np.zeros_like(x) if p is None else p for p, x in zip(parts, like, strict=True)]


def module(case: Case, *, symbolic: bool) -> relay.IRModule:
    """`@vjp(xs, g)` is the operator's cotangents, and `@jvp(xs, dxs)` its tangent."""
    mod = relay.IRModule()
    xs, g = parameters(case, symbolic)
    mod["vjp"] = function((*xs, g), Call(TupleGetItem(Call(relay.vjp(call(case, xs)), xs), 1), (g,)))
    xs, _ = parameters(case, symbolic)
    dxs = tuple([Var("d", x.type_annotation) for x in xs])
    pushed = Call(relay.jvp(call(case, xs)), (Tuple(xs), Tuple(dxs)))
    mod["jvp"] = function((*xs, *dxs), TupleGetItem(pushed, 1))
    return mod


def call(case: Case, like: tuple[Var, ...]) -> Function:
    """The operator as a function of parameters of the same types."""
    xs = tuple([Var("a", x.type_annotation) for x in like])
    return Function(xs, Call(Op.get(case.op.name), xs, case.op))


def parameters(case: Case, symbolic: bool) -> tuple[tuple[Var, ...], Var]:
    """Parameters for the operands, and for a cotangent of the result; their sizes may be type parameters."""
    d = derivatives_of(case, symbolic=symbolic)
    return tuple([Var("x", atom_type(p)) for p in d.params]), Var("g", atom_type(d.result))


def function(params: tuple[Var, ...], body: Expr) -> Function:
    """A function of all type parameters that its parameters' types mention."""
    names = {v: None for p in params for v in relay.analysis.free_type_vars(p.type_annotation)}
    return Function(params, body, None, tuple(names))
