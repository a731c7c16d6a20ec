"""Inferred programs, printed and parsed, infer again, to the same program."""

from typing import Any

import numpy as np
import pytest

import relay

X, Y, B = "%x: Tensor[(_,), float32]", "%y: Tensor[(4,), float32]", "%b: Tensor[(_,), float32]"
PROGRAMS: dict[str, tuple[str, list[tuple[int, ...]], Any]] = {
    "broadcast": (f"({X}, {Y}) {{ %x + %y }}", [(1,), (4,)], lambda x, y: x + y),
    "two unknowns": (f"({X}, %y: Tensor[(_,), float32]) {{ %x + %y }}", [(1,), (4,)], lambda x, y: x + y),
    "a chain": (
        "(%x: Tensor[(_, _), float32], %y: Tensor[(3, 4), float32]) { (%x + %y) * %x }",
        [(3, 1), (3, 4)],
        lambda x, y: (x + y) * x,
    ),
    "a comparison": (f"({X}, {Y}) {{ %x < %y }}", [(1,), (4,)], lambda x, y: x < y),
    "where": (
        f"({X}, {Y}) {{ where(%x > 0.5, %x, %y) }}",
        [(4,), (4,)],
        lambda x, y: np.where(x > 0.5, x, y),
    ),
    "matmul and a bias": (
        f"(%x: Tensor[(_, _), float32], %y: Tensor[(_, 3), float32], {B}) {{ %x @ %y + %b }}",
        [(2, 4), (4, 3), (3,)],
        lambda x, y, b: x @ y + b,
    ),
    "stacked matmul": (
        "(%x: Tensor[(_, 2, 4), float32], %y: Tensor[(_, 4, 3), float32]) { %x @ %y }",
        [(1, 2, 4), (5, 4, 3)],
        lambda x, y: x @ y,
    ),
    "matmul of a sum": (
        f"(%x: Tensor[(2, _), float32], {Y}, %w: Tensor[(_, 3), float32]) {{ (%x + %y) @ %w }}",
        [(2, 1), (4,), (4, 3)],
        lambda x, y, w: (x + y) @ w,
    ),
    "concatenate": (
        f"({X}, {Y}) {{ concatenate((%x, %y)) * %x[0:1] }}",
        [(2,), (4,)],
        lambda x, y: np.concatenate((x, y)) * x[0:1],
    ),
    "reshape": (
        "(%x: Tensor[(_, 4), float32], %y: Tensor[(2, _), float32]) { reshape(%x, newshape=(2, -1)) + %y }",
        [(3, 4), (2, 6)],
        lambda x, y: x.reshape(2, -1) + y,
    ),
    "a function inside": (
        f"({X}, {Y}) {{ let %f = fn (%r) {{ %r + %x }}; %f(%y) + %f(1.0) }}",
        [(4,), (4,)],
        lambda x, y: (y + x) + (1 + x),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_inferred_program_infers_again(name: str) -> None:
    """Compare the texts, and the values of both programs with those of NumPy."""
    text, shapes, truth = PROGRAMS[name]
    mod = relay.infer(relay.parse(f"def @main{text}"))
    again = relay.infer(relay.parse(str(mod)))
    assert str(again) == str(mod)
    rng = np.random.default_rng(0)
    args = [rng.random(shape, np.float32) for shape in shapes]
    for m in (mod, again):
        for backend in ("debug", "native"):
            value = relay.create_executor(backend, m).evaluate()(*args)
            np.testing.assert_allclose(np.asarray(value), truth(*args), rtol=1e-5)


def test_a_call_with_sizes_that_do_not_broadcast_is_refused() -> None:
    """The relation stays a constraint of the signature."""
    text = "def @f(%x: Tensor[(_,), float32], %y: Tensor[(4,), float32]) { %x + %y }"
    with pytest.raises(relay.RelayError):
        relay.infer(relay.parse(f"{text} def @main(%y: Tensor[(4,), float32]) {{ @f([1f, 2f, 3f], %y) }}"))
