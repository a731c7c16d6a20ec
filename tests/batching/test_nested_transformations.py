"""Derivatives of control flow under `vmap`, and `vmap` of these.

The programs are written once, over the library they are given: Relay, JAX, or Python on numbers that carry
two derivatives.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import relay
from relay import numpy as rnp

X = np.array([0.1, 0.7, 1.3, 0.2])
PAIRS = np.array([[0.1, 0.9], [0.8, 0.6], [1.1, 0.3]])
STEPS = np.array([0.4, -1.2, 0.9])


@dataclass(frozen=True)
class Jet:
    """A number with its first and second derivative."""

    v: float
    d: float = 0.0
    dd: float = 0.0

    def __add__(self, other: Any) -> "Jet":
        o = as_jet(other)
        return Jet(self.v + o.v, self.d + o.d, self.dd + o.dd)

    def __mul__(self, other: Any) -> "Jet":
        o = as_jet(other)
        return Jet(
            self.v * o.v, self.d * o.v + self.v * o.d, self.dd * o.v + 2 * self.d * o.d + self.v * o.dd
        )

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other: float) -> bool:
        return self.v < other

    def __gt__(self, other: float) -> bool:
        return self.v > other

    def sin(self) -> "Jet":
        s, c = np.sin(self.v), np.cos(self.v)
        return Jet(s, c * self.d, c * self.dd - s * self.d**2)


def as_jet(x: Any) -> Jet:
    return x if isinstance(x, Jet) else Jet(x)


class Plain:
    """Python."""

    def sin(self, x: Any) -> Any:
        return as_jet(x).sin()

    def cond(self, c: Any, yes: Any, no: Any) -> Any:
        return yes() if c else no()

    def while_loop(self, test: Any, step: Any, state: Any) -> Any:
        while test(state):
            state = step(state)
        return state

    def fori(self, begin: int, end: int, step: Any, state: Any) -> Any:
        for i in range(begin, end):
            state = step(i, state)
        return state

    def scan(self, step: Any, state: Any, xs: Any) -> Any:
        ys = []
        for x in xs:
            state, y = step(state, x)
            ys.append(y)
        return state, ys


class Ours:
    """Relay."""

    np = rnp
    sin, cond, while_loop, fori, scan, vmap, hessian = (
        staticmethod(f)
        for f in (
            relay.sin,
            relay.cond,
            relay.while_loop,
            relay.fori,
            relay.scan,
            relay.vmap,
            relay.hessian,
        )
    )

    def grad(self, f: Any) -> Any:
        return lambda x: relay.value_and_grad(f, 0)(x)[1]

    def jvp(self, f: Any, x: Any, dx: Any) -> Any:
        return relay.jvp(f)((x,), (dx,))[1]

    def vjp(self, f: Any, x: Any, g: Any) -> Any:
        return relay.vjp(f)(x)[1](g)[0]


def branching(u: Any, x: Any) -> Any:
    return u.cond(x > 0.5, lambda: u.sin(x) * x, lambda: x * x * x)


def going_round(u: Any, x: Any) -> Any:
    return u.while_loop(lambda s: s < 9.0, lambda s: s * s + x * s + 1.0, x)


def counting(u: Any, x: Any) -> Any:
    return u.fori(0, 4, lambda _, s: u.sin(s) * x + s, x)


def scanning(u: Any, x: Any) -> Any:
    return u.scan(lambda s, y: (u.sin(s * y) + x * x, s), x, STEPS)[0]


def branching_in_a_loop(u: Any, x: Any) -> Any:
    def step(s: Any, y: Any) -> Any:
        longer = u.cond(s > 0.6, lambda: counting(u, s * x), lambda: u.sin(s + y))
        return longer, s

    return u.scan(step, x, STEPS)[0]


def looping_in_a_branch(u: Any, x: Any) -> Any:
    return u.cond(x > 0.5, lambda: counting(u, x * x), lambda: x * scanning(u, x))


def transformed(u: Any, f: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return a function of the kinds of derivatives of the rows of `f`; `chosen` are the numbers of some."""

    def g(x: Any) -> Any:
        return f(u, x)

    def h(v: Any) -> Any:
        return f(u, v[0] * v[1])

    kinds = (
        lambda x, pairs: u.vmap(u.vmap(g))(pairs),
        lambda x, pairs: u.vmap(u.grad(g))(x),
        lambda x, pairs: u.vmap(u.vmap(u.grad(g)))(pairs),
        lambda x, pairs: u.vmap(u.grad(u.grad(g)))(x),
        lambda x, pairs: u.vmap(lambda a: u.jvp(g, a, a))(x),
        lambda x, pairs: u.vmap(lambda a: u.vjp(g, a, a))(x),
        lambda x, pairs: u.vmap(lambda a: u.jvp(u.grad(g), a, a))(x),
        lambda x, pairs: u.grad(lambda a: u.np.sum(u.vmap(u.grad(g))(a)))(x),
        lambda x, pairs: u.grad(lambda a: u.np.sum(u.vmap(u.vmap(g))(a)))(pairs),
        lambda x, pairs: u.vmap(u.hessian(h))(pairs),
    )
    return lambda x, pairs, chosen=range(10): tuple([kinds[i](x, pairs) for i in chosen])


def wanted(f: Callable[[Any, Any], Any]) -> tuple[Any, ...]:
    """Return the values of `transformed`."""
    one = [f(Plain(), Jet(x, 1.0)) for x in X]
    slope, bend = np.array([y.d for y in one]), np.array([y.dd for y in one])
    two = [[f(Plain(), Jet(x, 1.0)) for x in pair] for pair in PAIRS]
    value, slopes = (np.array([[getattr(y, k) for y in r] for r in two]) for k in ("v", "d"))
    curved = [hessian_of_product(f, a, b) for a, b in PAIRS]
    return value, slope, slopes, bend, slope * X, slope * X, bend * X, bend, slopes, np.array(curved)


def hessian_of_product(f: Callable[[Any, Any], Any], a: float, b: float) -> Any:
    """Return the second derivatives of `f(a * b)`."""
    y = f(Plain(), Jet(a * b, 1.0))
    mixed = y.d + y.dd * a * b
    return [[y.dd * b * b, mixed], [mixed, y.dd * a * a]]


PROGRAMS = [branching, counting, scanning, branching_in_a_loop, looping_in_a_branch]


@pytest.mark.parametrize("f", [*PROGRAMS, going_round])
def test_they_are_the_derivatives_of_the_rows(f: Any) -> None:
    for got, want in zip(relay.function(transformed(Ours(), f))(X, PAIRS), wanted(f), strict=True):
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("f", "kind"), [(branching, 2), (branching, 9), (going_round, 2), (branching_in_a_loop, 2)]
)
def test_machine_code_has_the_same(f: Any, kind: int) -> None:
    all_kinds = transformed(Ours(), f)
    (got,) = relay.compile(lambda x, pairs: all_kinds(x, pairs, [kind]))(X, PAIRS)
    np.testing.assert_allclose(np.asarray(got), wanted(f)[kind], rtol=1e-9, atol=1e-12)


@pytest.mark.torch
@pytest.mark.parametrize("f", [branching, scanning, branching_in_a_loop])
def test_jax_has_the_same(f: Any) -> None:
    jax: Any = pytest.importorskip("jax")

    class Theirs:
        np = jax.numpy
        sin, cond, scan, vmap, fori, grad, hessian = map(
            staticmethod,
            (
                jax.numpy.sin,
                jax.lax.cond,
                jax.lax.scan,
                jax.vmap,
                jax.lax.fori_loop,
                jax.grad,
                jax.hessian,
            ),
        )

        def jvp(self, f: Any, x: Any, dx: Any) -> Any:
            return jax.jvp(f, (x,), (dx,))[1]

        def vjp(self, f: Any, x: Any, g: Any) -> Any:
            return jax.vjp(f, x)[1](g)[0]

    with jax.enable_x64(True):
        theirs = jax.jit(transformed(Theirs(), f))(X, PAIRS)
    for got, want in zip(theirs, wanted(f), strict=True):
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-9, atol=1e-12)
