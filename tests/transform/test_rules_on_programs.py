"""Passes made of rules, on random programs and on deep ones: type, value, form and sharing stay."""

import time
from collections.abc import Callable

import numpy as np
import pytest

from generators.programs import random_program
from relay.interpreter.machine import Interpreter
from relay.ir.expr import Call, Expr, Function, GlobalVar, Let, Op, Var, constant
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.ir.walk import post_order
from relay.transform.passes.algebra import simplify_expr
from relay.transform.passes.canonical_cast import canonicalize_cast
from relay.transform.passes.canonical_ops import canonicalize_ops
from relay.transform.passes.expand_composites import expand_composites
from relay.transform.passes.fast_arithmetic import fast_math
from relay.transform.passes.lazy_gradients import lazy_gradient_init
from relay.transform.passes.parallel_batch_matmul import combine_parallel_batch_matmul
from relay.transform.passes.parallel_conv2d import combine_parallel_conv2d
from relay.transform.passes.parallel_dense import combine_parallel_dense
from relay.transform.passes.scale_backward import backward_fold_scale_axis
from relay.transform.passes.scale_forward import fold_scale_axis
from relay.transform.passes.simplify_inference import simplify_inference
from relay.transform.passes.static_shapes import dynamic_to_static
from relay.transform.passes.to_anf import to_anf
from relay.transform.rewriting.forms import ANF
from relay.typecheck.infer import infer
from transform.cases import Change, outcome, verified

PASSES: dict[str, Change] = {
    "simplify_expr": simplify_expr,
    "simplify_expr exact": lambda mod: simplify_expr(mod, exact=True),
    "simplify_inference": simplify_inference,
    "canonicalize_ops": canonicalize_ops,
    "canonicalize_cast": canonicalize_cast,
    "fast_math": fast_math,
    "fold_scale_axis": fold_scale_axis,
    "dynamic_to_static": dynamic_to_static,
    "backward_fold_scale_axis": backward_fold_scale_axis,
    "lazy_gradient_init": lazy_gradient_init,
    "expand_composites": expand_composites,
    "combine_parallel_conv2d": lambda mod: combine_parallel_conv2d(mod, min_num_branches=2),
    "combine_parallel_dense": lambda mod: combine_parallel_dense(mod, min_num_branches=2),
    "combine_parallel_dense, one": lambda mod: combine_parallel_dense(
        mod, min_num_branches=2, to_batch=False
    ),
    "combine_parallel_batch_matmul": lambda mod: combine_parallel_batch_matmul(mod, min_num_branches=2),
}
ROUNDING = ("fast_math",)
REPEATING = {"canonicalize_cast": "cast"}
"""What a pass may do more often."""
X = TensorType((2,), "float32")


def test_random_programs_keep_type_value_and_form(seeds: range) -> None:
    for seed in seeds:
        program = random_program(seed)
        mod = infer(program.mod)
        value, work = outcome(mod, program.args)
        normal = to_anf(mod)
        for name, change in PASSES.items():
            for form in (mod, normal):
                out, told = change(form), f"{name}, seed {seed}"
                assert change(out) is out, told
                if out is form:
                    continue
                new_value, new_work = outcome(verified(out), program.args)
                assert new_value == value or name in ROUNDING, told
                if name in REPEATING:
                    del new_work[REPEATING[name]]
                assert new_work.total() <= work.total(), told
                assert form is mod or all(ANF.holds(e) for e in out.functions.values()), told


def op(name: str, *args: Expr) -> Call:
    return Call(Op.get(name), args, span=None)


def nested(depth: int) -> IRModule:
    """Calls in calls, half of which simplify."""
    x = Var("x", X, span=None)
    e: Expr = x
    for _ in range(depth // 4):
        e = op("negative", op("add", op("tanh", op("multiply", e, constant(1.0))), constant(0.0)))
    return infer(IRModule({GlobalVar("main"): Function((x,), e, X)}))


def chain(depth: int) -> IRModule:
    """A chain of `let`s, half of which simplify."""
    x = Var("x", X, span=None)
    names: list[tuple[Var, Expr]] = []
    last = x
    for i in range(depth):
        value = op("multiply", last, constant(1.0)) if i % 2 else op("tanh", last)
        last = Var("y", X, span=None)
        names.append((last, value))
    body: Expr = last
    for v, value in reversed(names):
        body = Let(v, value, body, span=None)
    return infer(IRModule({GlobalVar("main"): Function((x,), body, X)}))


def seconds(change: Change, mod: IRModule) -> float:
    """The least processor time of three runs."""
    found: list[float] = []
    for _ in range(3):
        start = time.process_time()
        change(mod)
        found.append(time.process_time() - start)
    return min(found)


@pytest.mark.parametrize("make", [nested, chain])
@pytest.mark.parametrize("name", PASSES)
def test_four_times_the_program_takes_about_four_times_as_long(
    name: str, make: Callable[[int], IRModule]
) -> None:
    assert seconds(PASSES[name], make(4_000)) < 8 * seconds(PASSES[name], make(1_000)) + 0.025


@pytest.mark.parametrize("depth", [5_000, pytest.param(100_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("make", [nested, chain])
def test_deep_programs_are_ordinary(make: Callable[[int], IRModule], depth: int) -> None:
    deep = make(depth)
    for change in PASSES.values():
        change(deep)


def test_what_is_shared_stays_shared() -> None:
    x = Var("x", X, span=None)
    e: Expr = x
    for _ in range(50):
        half = op("multiply", op("tanh", e), constant(1.0))
        e = op("add", half, half)
    mod = infer(IRModule({GlobalVar("main"): Function((x,), e, X)}))
    out = verified(simplify_expr(mod))
    assert sum(type(e) is Call for e in post_order(out["main"])) == 100
    given = np.ones(2, np.float32)
    np.testing.assert_array_equal(
        Interpreter(out).evaluate("main", given), Interpreter(mod).evaluate("main", given)
    )


def test_a_constant_that_functions_share_is_seen() -> None:
    x, eight = Var("x", X, span=None), constant(8.0)
    inside = Function((), op("divide", x, eight), X)
    body = op("add", op("divide", x, eight), Call(inside, (), span=None))
    out = simplify_expr(infer(IRModule({GlobalVar("main"): Function((x,), body, X)})))
    assert "divide" not in str(verified(out))
    assert str(out).count("0.125f") == 2
