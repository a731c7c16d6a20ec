"""Programs and what they need, for the tests of compiled programs."""

from pathlib import Path
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


def assert_damage_is_found(path: Path) -> None:
    """Demand that parts of a compiled file are refused, and files of which a byte is another one."""
    data = path.read_bytes()
    for n in (0, 5, 20, 60, 200, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:n])
        assert codes(lambda: relay.load_module(path)) == ("bad-artefact",)
    for at in range(0, len(data), max(1, len(data) // 97)):
        changed = bytearray(data)
        changed[at] ^= 0x20
        path.write_bytes(changed)
        try:
            relay.load_module(path)
        except relay.RelayError as error:
            assert error.codes == ("bad-artefact",)  # noqa: PT017
