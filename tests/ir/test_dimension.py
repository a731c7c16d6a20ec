"""Arithmetic on dimensions, against plain integers."""

import random

from relay.ir import dim
from relay.ir.subst import substitute_type
from relay.ir.type import ANY, DimCall, Kind, TypeVar

N, M, K = (TypeVar(name, Kind.Dim) for name in "nmk")
OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b,
    "min": min,
    "max": max,
}


def random_term(rng, depth):
    """A tree of operations, as nested tuples."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice([N, M, K, rng.randint(0, 6)])
    op = rng.choice(list(OPERATIONS))
    left = random_term(rng, depth - 1)
    right = rng.randint(1, 5) if op == "/" else random_term(rng, depth - 1)
    return (op, left, right)


def symbolic(term):
    return dim.arithmetic(term[0], symbolic(term[1]), symbolic(term[2])) if isinstance(term, tuple) else term


def computed(term, values):
    if isinstance(term, tuple):
        return OPERATIONS[term[0]](computed(term[1], values), computed(term[2], values))
    return values.get(term, term)


def test_normal_forms_have_the_value_of_what_was_written():
    rng = random.Random(1)
    for _ in range(1500):
        term = random_term(rng, 4)
        d = symbolic(term)
        for _ in range(6):
            values = {v: rng.randint(0, 9) for v in (N, M, K)}
            assert substitute_type(d, values) == computed(term, values), (term, values)


def test_equal_polynomials_are_one_object():
    assert N + M is M + N
    assert (N + 1) * (N - 1) is N * N - 1
    assert 2 * N - N is N
    assert N - N == 0
    assert (4 * N + 2) // 2 is 2 * N + 1
    assert (N + M) * K is K * M + N * K


def test_division_cancels_what_it_can():
    assert (6 * N) // 4 is (3 * N) // 2
    assert (N // 2) // 3 is N // 6
    assert (N * M) // M is N
    assert isinstance((N + 1) // 2, DimCall)


def test_unknown_absorbs_except_for_zero():
    assert N + ANY is ANY
    assert ANY * 0 == 0
    assert ANY * 2 is ANY
    assert dim.minimum(ANY, 3) is ANY
    assert ANY - ANY is ANY


def test_extremes_are_decided_where_the_difference_is_known():
    assert dim.maximum(N + 2, N) is N + 2
    assert dim.minimum(N + 2, N) is N
    assert dim.maximum(dim.maximum(N, M), N) is dim.maximum(M, N)
    assert dim.minimum(dim.minimum(N, 2), 0) is dim.minimum(N, 0)
    assert dim.maximum(dim.maximum(N, M), dim.maximum(N + 1, M - 1)) is dim.maximum(N + 1, M)


def test_broadcast_agrees_with_numbers():
    for a in range(5):
        for b in range(5):
            expected = b if a == 1 else a if b in (1, a) else None
            assert dim.broadcast(a, b) == expected
    assert dim.broadcast(N, 1) is N
    assert dim.broadcast(N, 3) == 3
    assert dim.broadcast(N, N) is N
    assert dim.broadcast(N, M) is dim.broadcast(M, N)
    assert dim.broadcast(dim.broadcast(N + 2, M), N + 3) is None


def test_broadcast_with_the_smaller_of_a_size_and_a_number():
    for n in range(6):
        for k in range(1, 6):
            assert dim.broadcast(min(k, n), n) in (n, None)
    assert dim.broadcast(dim.minimum(N, 3), N) is N
    assert dim.broadcast(dim.broadcast(M, dim.minimum(N, 3)), N) is dim.broadcast(M, N)
    assert dim.broadcast(dim.minimum(N, 0), N) is not N
    assert dim.broadcast(dim.minimum(N, M), N) is not N


def test_what_can_never_be_equal_is_never_equal_for_numbers():
    rng = random.Random(2)
    for _ in range(600):
        a, b = symbolic(random_term(rng, 3)), symbolic(random_term(rng, 3))
        if dim.is_never(a, b):
            for _ in range(10):
                values = {v: rng.randint(0, 9) for v in (N, M, K)}
                assert substitute_type(a, values) != substitute_type(b, values)
    assert dim.is_never(N + 1, N)
    assert dim.is_never(2 * N, 2 * M + 1)
    assert not dim.is_never(N, M)


def test_lower_bounds_hold():
    rng = random.Random(3)
    for _ in range(400):
        d = symbolic(random_term(rng, 3))
        values = {v: rng.randint(0, 9) for v in (N, M, K)}
        value = substitute_type(d, values)
        assert not isinstance(d, DimCall) or value >= dim.least(d) or value < 0
