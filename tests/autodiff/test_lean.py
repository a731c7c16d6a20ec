"""Gradients of straight-line networks, after the default passes, are plain arithmetic and not much of it."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import relay
import relay.transform as passes
from relay.ir.expr import (
    Call,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Grad,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Var,
)
from relay.ir.module import IRModule
from relay.testing import mlp, resnet
from relay.transform.passes.lambda_lifting import compute_again


def calls(mod: IRModule) -> int:
    """Operator calls in `@main`, composite operators written out."""
    main = passes.expand_composites(mod)["main"]
    return sum(1 for e in relay.post_order(main) if isinstance(e, Call) and isinstance(e.op, Op))


def gradient_of(mod: IRModule) -> IRModule:
    """The module with the gradient of the sum of `@main` as its `@main`."""
    net = mod["main"]
    assert isinstance(net, Function)

    def params() -> tuple[Var, ...]:
        return tuple([Var(p.name_hint, p.type_annotation) for p in net.params])

    out = mod.copy()
    out["net"] = net
    inner, outer = params(), params()
    out["loss"] = Function(inner, relay.sum(Call(GlobalVar("net"), inner)))
    out["main"] = Function(outer, Call(Grad("grad", GlobalVar("loss")), outer))
    return relay.infer(out)


def is_plain(e: Expr) -> bool:
    """Whether a node has to do with no function, reference or instance of a data type."""
    return not isinstance(e, Function | GlobalVar | Constructor | RefCreate | RefRead | RefWrite)


@pytest.mark.parametrize(
    "workload", [lambda: mlp.get_workload(batch_size=4), lambda: resnet.get_workload(num_layers=18)]
)
def test_at_most_three_and_a_half_times_the_calls(workload: Callable[[], Any]) -> None:
    mod = relay.infer(workload()[0])
    out = passes.optimize(gradient_of(mod))
    relay.check(out)
    main = out["main"]
    assert isinstance(main, Function)
    assert all(map(is_plain, relay.post_order(main.body)))
    assert calls(out) <= 3.5 * calls(passes.optimize(mod))


def test_the_values_are_those_of_the_gradient() -> None:
    mod, _ = mlp.get_workload(batch_size=2)
    gradient = gradient_of(relay.infer(mod))
    rng = np.random.default_rng(0)
    args = [
        rng.normal(size=p.type_annotation.concrete_shape).astype("float32") for p in gradient["main"].params
    ]
    value, parts = gradient.evaluate("main", *args)
    lean_value, lean_parts = passes.optimize(gradient).evaluate("main", *args)
    np.testing.assert_allclose(lean_value, value, rtol=1e-6)
    for lean, part in zip(lean_parts, parts, strict=True):
        np.testing.assert_allclose(lean, part, rtol=1e-5, atol=1e-6)


def test_fused_functions_are_differentiated() -> None:
    text = """
    def @f(%x: Tensor[(3,), float32]) { sum(tanh(sin(%x) * 2f)) }
    def @main(%x: Tensor[(3,), float32]) { grad(@f)(%x) }
    """
    mod = relay.infer(relay.parse(text))
    fused = passes.fuse_ops(mod)
    assert "Primitive" in str(fused["f"])
    x = np.asarray([1.0, 2.0, 3.0], "float32")
    for found, wanted in zip(fused.evaluate("main", x)[1], mod.evaluate("main", x)[1], strict=True):
        np.testing.assert_array_equal(found, wanted)


LOOP = """
def @loop(%n: int32, %x: float64) -> float64 { if (%n == 0) { %x } else { @loop(%n - 1, %x * %x * 0.9) } }
def @f(%x: float64) -> float64 { @loop(3, %x) }
def @slope(%x: float64) -> float64 { grad(@f)(%x).1.0 }
"""
PULLED = """
def @pulled(%x: float64) {
  let (%y, %back) = vjp(@f)(%x);
  let %twice = (%back(1.0).0, %back(2.0).0);
  (%twice, @slope(%x), grad(@slope)(%x).1.0)
}
"""


def test_cotangents_are_cleared_where_they_are_asked_for_again() -> None:
    """`grad` goes back once: nothing is written that nobody reads."""
    once, again = relay.parse(LOOP), relay.parse(LOOP + PULLED)
    writes = [
        sum(
            isinstance(e, RefWrite)
            for e in relay.post_order(passes.expand_grad(relay.infer(mod))["loop_vjp"])
        )
        for mod in (once, again)
    ]
    assert writes[0] < writes[1]
    # With f(x) = 0.9^7 x^8, by hand.
    x, k = 0.8, 0.9**7
    slope = 8 * k * x**7
    native = relay.build(again, entries=["pulled"])["pulled"]
    for f in (native, lambda x: again.evaluate("pulled", x)):
        (first, second), at_once, curvature = f(np.float64(x))
        np.testing.assert_allclose([first, second, at_once], [slope, 2 * slope, slope], rtol=1e-13)
        np.testing.assert_allclose(curvature, 56 * k * x**6, rtol=1e-13)


def test_the_third_derivative_of_a_recurrent_network() -> None:
    """The sum of a gradient is a derivative along ones: that by a number, here with mpmath."""
    mpmath = pytest.importorskip("mpmath")
    rows, weights = [[0.5, -1.0], [0.25, 0.75]], [[0.5, -0.25], [0.75, 0.125]]

    def network(w: Any) -> Any:
        return relay.scan(lambda h, x: (relay.tanh(w @ h + x), None), np.zeros(2), np.array(rows))[0].sum()

    def along(s: Any) -> Any:
        h = [mpmath.mpf(0), mpmath.mpf(0)]
        for x in rows:
            h = [
                mpmath.tanh((a + s) * h[0] + (b + s) * h[1] + y) for (a, b), y in zip(weights, x, strict=True)
            ]
        return sum(h)

    f: Any = network
    for _ in range(3):
        f = partial(lambda g, w: relay.value_and_grad(g, 0)(w)[1].sum(), f)
    with mpmath.workdps(40):
        want = float(mpmath.diff(along, 0, 3))
    np.testing.assert_allclose(relay.compile(f)(np.array(weights)), want, rtol=1e-12)


def records_inside_one_another(depth: int) -> IRModule:
    """Return a definition with `depth` records inside one another; the last one uses a cheap value."""
    begins = "".join([f"let %f{i} = fn() -> () {{ " for i in range(depth)])
    ends = "".join([f" }}; %f{i}()" for i in reversed(range(depth))])
    params = "%x: Tensor[(2,), float32], %r: ref(Tensor[(2,), float32])"
    body = f"let %y = 2f * %x; {begins}ref_write(%r, %y){ends}"
    return relay.infer(relay.parse(f"def @main({params}) -> () {{ {body} }}"))


def test_eight_times_the_records_take_about_eight_times_as_long() -> None:
    seconds: list[float] = []
    for mod in (records_inside_one_another(200), records_inside_one_another(1_600)):
        rounds: list[float] = []
        for _ in range(3):
            start = time.process_time()
            compute_again(mod)
            rounds.append(time.process_time() - start)
        seconds.append(min(rounds))
    assert seconds[1] < 24 * seconds[0]
