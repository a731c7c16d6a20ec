"""Results in the memory of operands that end: values stay what they are, and no more memory is taken."""

from typing import Any

import numpy as np
import pytest

import relay
from generators.reuse import reusing
from relay.backend.native.host.compiler import Compiler
from relay.backend.native.host.context import read_leaf
from relay.backend.native.loops.nodes import NewTensor, Release, Value
from relay.backend.native.memory.layout import PEAK_BYTES_OFFSET

PROGRAMS = 12
"""Random programs that are tried by default."""
MEGABYTE = 1 << 20


def peak(built: Any) -> int:
    """The most bytes of tensors that calls have had at once."""
    return sum([read_leaf(at + PEAK_BYTES_OFFSET, "i64") for at in built.program.contexts.known])


def flat(x: Any) -> list[Any]:
    """The arrays of a value."""
    return [z for y in x for z in flat(y)] if isinstance(x, tuple) else [np.asarray(x)]


def assert_same(found: Any, expected: Any, where: str) -> None:
    for a, b in zip(flat(found), flat(expected), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), where
        tolerance = 2e-2 if a.dtype.itemsize < 4 and a.dtype.kind not in "iu" else 1e-4
        x, y = a.astype("float64"), b.astype("float64")
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance, err_msg=where)


def check(seed: int) -> None:
    """A random program gives the values of the interpreter, twice, and leaves its arguments as they are."""
    made = reusing(seed)
    mod = relay.parse(made.text)
    expected = relay.create_executor("debug", mod=mod).evaluate("main")(*made.args)
    given = [np.array(x) for x in made.args]
    built = relay.build(mod, threads=1 + seed % 2)
    for _ in range(2):
        assert_same(built(*given), expected, f"seed {seed}")
        for a, b in zip(given, made.args, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"seed {seed}")


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_programs(seed: int) -> None:
    check(seed)


@pytest.mark.long
def test_many_random_programs(seeds: range) -> None:
    for seed in seeds:
        check(seed)


def test_a_loop_of_elementwise_steps_takes_two_tensors_at_most() -> None:
    text = """
    def @main(%n: int32, %x: Tensor[(512, 512), float32]) -> Tensor[(512, 512), float32] {
      if (%n == 0) { %x } else { @main(%n - 1, cumsum(nn.softmax(tanh(%x), 1), 1)) }
    }
    """
    built = relay.build(relay.parse(text))
    x = np.random.default_rng(0).normal(size=(512, 512)).astype("float32")
    assert_same(built(5, x), relay.parse(text).evaluate("main", 5, x), "a loop")
    assert peak(built) < 1.3 * MEGABYTE


@pytest.mark.parametrize(
    ("body", "takes"),
    [
        ("tanh(%x) * %x", True),
        ("nn.softmax(%x, 1)", True),
        ("nn.softmax(%x, 0)", True),
        ("%x + sum(%x, 1, True)", True),
        ("cumsum(%x, 1)", True),
        ("%x * %x[0]", False),
        ("%x + reverse(%x, 0)", False),
        ("%x + transpose(%x, (1, 0))", False),
        ("take(%x, [3, 2, 1, 0], axis=0)", False),
    ],
)
def test_a_result_takes_the_place_of_what_is_read_before(body: str, takes: bool) -> None:
    mod = relay.parse(f"def @main(%x: Tensor[(4, 4), float32]) {{ {body} }}")
    block = Compiler(relay.infer(mod)).program.nests[-1].block
    made = [s for s in block.statements if isinstance(s, NewTensor) and s.result in block.yields]
    assert bool(made[0].places) == takes
    x = np.random.default_rng(0).normal(size=(4, 4)).astype("float32")
    again = f"def @main(%x: Tensor[(4, 4), float32]) {{ let %x = sort(%x); sort({body}) }}"
    assert_same(relay.build(relay.parse(again))(x), relay.parse(again).evaluate("main", x), body)


def test_an_operand_that_is_needed_again_stays() -> None:
    text = """
    def @main(%x: Tensor[(64, 64), float32]) {
      let %y = sort(%x);
      let %z = tanh(%y);
      let %l = (%y, sort(%z));
      (%l, sort(%y + %z), %z)
    }
    """
    mod = relay.parse(text)
    x = np.random.default_rng(0).normal(size=(64, 64)).astype("float32")
    assert_same(relay.build(mod)(x), mod.evaluate("main", x), "shared")


def test_what_a_group_has_released_is_no_place_for_its_result() -> None:
    """The sums of a product that is rounded to bfloat16 are gone when it is converted back."""
    text = """
    def @main(%x: Tensor[(16, 64), float32], %y: Tensor[(64, 32), float32]) {
      cast(nn.matmul(%x, %y, out_dtype=bfloat16), dtype=float32)
    }
    """
    for nest in Compiler(relay.infer(relay.parse(text))).program.nests:
        gone: list[Value] = []
        for s in nest.block.statements:
            if isinstance(s, NewTensor):
                assert all(p.value is not v for p in s.places for v in gone)
            if isinstance(s, Release):
                gone.append(s.value)
