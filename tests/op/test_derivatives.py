"""Derivative rules of every operator: against differences, against each other, and differentiated again."""

from typing import Any

import numpy as np
import pytest

from op.derivative_cases import Derivatives, as_sampled, cases, derivatives_of, difference, dot, seeded_floats
from op.straight_line import atom_type, key_of, leaves
from relay.op.arrays import array_type
from relay.op.derivative import const_like, times, total
from relay.op.family import Elementwise
from relay.op.kind import Derivative
from relay.op.numeric import apply
from relay.op.registry import operator, registry

DIFFERENTIABLE = sorted(n for n, cls in registry.items() if cls.derivative is not Derivative.ZERO)
CONSTANT = sorted({n for n, cls in registry.items() if cls.derivative is Derivative.ZERO} - {"stop_gradient"})


@pytest.mark.parametrize("kind", list(Derivative))
def test_an_operator_without_the_rules_that_it_names_is_refused(kind: Derivative) -> None:
    for i, rule in enumerate(kind.methods):
        given = dict.fromkeys(kind.methods[:i], Elementwise.reference)
        bare = type("Bare", (Elementwise,), {"derivative": kind, "ufunc": "exp", **given})
        with pytest.raises(TypeError, match=f"`{rule}`"):
            operator("test.bare")(bare)
    assert "test.bare" not in registry


def close(found: Any, expected: Any, tolerance: float = 1e-6) -> bool:
    """Whether the error, relative to the greatest expected magnitude plus 1, is within the tolerance."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape or not found.size:
        return found.shape == expected.shape
    return bool(np.max(np.abs(found - expected)) <= tolerance * (np.max(np.abs(expected)) + 1))


def check_types(d: Derivatives, cotangents: list[Any], tangents: list[Any]) -> None:
    """A cotangent has the type of its operand, a tangent that of its result."""
    for atoms, of in ((cotangents, leaves(tuple(d.params))), (tangents, leaves(d.result))):
        for a, x in zip(atoms, of, strict=True):
            assert a is None or atom_type(a) is atom_type(x), f"{atom_type(a)!r} for {atom_type(x)!r}"


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_both_modes_agree_with_differences_and_with_each_other(name: str) -> None:
    for case in cases(name):
        d = derivatives_of(case)
        cotangents, tangents = d.cotangents(), d.tangents()
        check_types(d, cotangents, tangents)
        gs, ts = d.run(tuple(cotangents)), d.run(tuple(tangents))
        for value, x in [*zip(gs, case.moved(0), strict=True), *zip(ts, case(), strict=True)]:
            assert value is None or array_type(value) is array_type(x), case
        expected = difference(case)
        for t, e in zip(ts, expected, strict=True):
            assert e is None or close(np.zeros_like(e) if t is None else t, e), f"jvp of {case}: {t} for {e}"
        forward, backward = dot(case.weights, expected), dot(gs, case.directions)
        assert close(backward, forward), f"vjp of {case}: {backward} for {forward}"
        exact = dot(case.weights, ts)
        assert close(backward, exact, 1e-9), f"transposition of {case}: {backward} and {exact}"


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_the_vjp_differentiates_again(name: str) -> None:
    for case in cases(name):
        d = derivatives_of(case)
        cotangents = d.cotangents()
        directions = seeded_floats(tuple(d.params), d.directions)
        product = sum_of_products(
            d, [(g, s) for g, s in zip(cotangents, d.directions, strict=True) if g is not None]
        )
        if product is None:
            continue
        one = d.line.add(const_like(1, product))
        wanted = [*leaves(tuple(d.params)), *[w for w in d.weights if w is not None]]
        again = d.run(d.line.reverse({key_of(product): one}, wanted))
        count = len(d.directions)
        along_operands = difference(lambda step, d=d, product=product: [d.run(product, step)])[0]
        found = dot(list(again[:count]), case.directions)
        assert close(found, along_operands), f"vjp of vjp of {case}: {found} for {along_operands}"
        weights = [w for w in case.weights if w is not None]
        found, exact = dot(list(again[count:]), weights), d.run(product)
        assert close(found, exact, 1e-9), f"vjp of vjp of {case}: {found} for {exact}, in the cotangent"
        pushed = d.run(d.line.forward(directions, product))
        assert close(0.0 if pushed is None else pushed, along_operands), f"jvp of vjp of {case}"


def sum_of_products(d: Derivatives, pairs: list[tuple[Any, Any]]) -> Any:
    """The atom of the sum of all elements of products; None of none."""
    return d.line.add(total([apply("sum", times(a, b)) for a, b in pairs]))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_rules_hold_for_sizes_known_at_run_time(name: str) -> None:
    for case in cases(name):
        fixed, symbolic = derivatives_of(case), derivatives_of(case, symbolic=True)
        for results in (Derivatives.cotangents, Derivatives.tangents):
            for a, b in zip(
                fixed.run(tuple(results(fixed))), symbolic.run(tuple(results(symbolic))), strict=True
            ):
                assert (a is None) == (b is None)
                assert a is None or close(b, a, 1e-12), case


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_rules_keep_dtypes(name: str) -> None:
    for case in as_sampled(name):
        d = derivatives_of(case)
        cotangents, tangents = d.cotangents(), d.tangents()
        check_types(d, cotangents, tangents)
        for values, xs in ((d.run(tuple(cotangents)), case.moved(0)), (d.run(tuple(tangents)), case())):
            for value, x in zip(values, xs, strict=True):
                assert value is None or array_type(value) is array_type(x), case


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_every_rule_is_tested_somewhere(name: str) -> None:
    assert list(cases(name))


@pytest.mark.parametrize("name", CONSTANT)
def test_what_has_no_derivative_does_not_vary(name: str) -> None:
    for case in cases(name):
        assert all(e is None or close(e, np.zeros_like(e)) for e in difference(case)), case
