"""Programs and what they need, for the tests of compiled programs."""

from typing import Any

import numpy as np
import pytest

import relay

ADD = "def @main(%x: Tensor[(3,), float32], %w: Tensor[(3,), float32]) { %x + %w }"
ONES = np.ones(3, "float32")
SHAPES = """
import "std/list"
type Shape[A] { Circle(A), Box(A, List[A]) }
def @main(%n: Tensor[(n,), float32], %s: Shape[float32]) -> (Shape[float32], fn(int32) -> int32) {
  match (%s) {
    Circle(%r) => (Box(%r, Cons(sum(%n), Nil)), fn (%i: int32) { %i + 1 }),
    Box(%a, %l) => (Circle(%a + @sum(%l)), fn (%i: int32) { 10 / %i }),
  }
}
def @other(%x: int32) { %x * 2 }
"""


def codes(call: Any) -> tuple[str, ...]:
    with pytest.raises(relay.RelayError) as error:
        call()
    assert "hint: " in str(error.value)
    return error.value.codes
