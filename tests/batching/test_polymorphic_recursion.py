"""Functions that call themselves at ever larger types, under `vmap`: their type parameters stand for what is
batched.
"""

import numpy as np
import pytest

import relay

FOUR = np.arange(4, dtype="float32")
LIBRARY = """
type Nested[A] { Flat(A), Deep(Nested[(A, A)]), }

def @sum[A](%n: Nested[A], %f: fn(A) -> float32) -> float32 {
  match (%n) {
    Flat(%a) => %f(%a),
    Deep(%m) => @sum(%m, fn (%p: (A, A)) { let (%a, %b) = %p; %f(%a) + %f(%b) })
  }
}

def @doubled[A](%n: int32, %x: A, %f: fn(A) -> float32) -> float32 {
  if (%n <= 0) { %f(%x) } else { @doubled(%n - 1, (%x, %x), fn (%p: (A, A)) { %f(%p.0) + %f(%p.1) }) }
}

def @first[A](%n: int32, %x: A) -> A {
  if (%n <= 0) { %x } else { let %y = @first(%n - 1, (%x, %x)); %y.0 }
}
"""


@pytest.mark.parametrize(
    "header", ["main(%x: Tensor[(4,), float32]", "main<b: Dim>(%x: Tensor[(b,), float32]"]
)
def test_the_rows_share_the_structure(header):
    text = f"""
    def @{header}) {{
      vmap(fn (%x) {{
        @sum(Deep(Deep(Flat(((%x, 1.0), (2.0, %x * %x))))), fn (%y: float32) {{ %y * %x }})
      }})(%x)
    }}
    """
    mod = relay.parse(LIBRARY + text)
    for found in (relay.run(mod, "main", [FOUR]), relay.build(mod)(FOUR)):
        np.testing.assert_allclose(found, FOUR**2 + FOUR + 2 * FOUR + FOUR**3)


def test_the_rows_take_the_same_steps():
    text = """
    def @main(%x: Tensor[(4,), float32], %n: int32) {
      vmap(fn (%x) { @doubled(%n, (%x, 2), fn (%p: (float32, int32)) { %p.0 }) })(%x)
    }
    """
    found = relay.run(relay.parse(LIBRARY + text), "main", [FOUR, np.int32(3)])
    np.testing.assert_allclose(found, 8 * FOUR)


def test_results_have_the_types_that_are_asked_for():
    text = """
    def @main(%x: Tensor[(4,), float32]) { vmap(fn (%x) { @first(3, (%x, 2)) })(%x) }
    """
    x, two = relay.run(relay.parse(LIBRARY + text), "main", [FOUR])
    np.testing.assert_array_equal(x, FOUR)
    np.testing.assert_array_equal(two, np.full(4, 2))


def test_rows_may_take_different_steps():
    text = """
    def @main(%x: Tensor[(4,), float32], %n: Tensor[(4,), int32]) {
      vmap(fn (%x, %n) { @doubled(%n, %x, fn (%y) { %y }) })(%x, %n)
    }
    """
    found = relay.run(relay.parse(LIBRARY + text), "main", [FOUR, np.arange(4, dtype="int32")])
    np.testing.assert_allclose(found, FOUR * [1, 2, 4, 8])
