"""References, tuples in them, and records that are updated in place: what is needed later stays."""

import numpy as np
import pytest

import relay
from backend.reuse import assert_same

PAIR = "(Tensor[(64, 64), float32], Tensor[(64, 64), float32])"


def test_what_is_read_later_is_copied() -> None:
    text = """
    def @main(%c: Tensor[(64, 64), float32], %r: ref(Tensor[(64, 64), float32])) {
      let %a = sort(%c);
      let %b = %a with { [0]: 7f };
      let %old = ref_read(%r);
      let %new = %old with { [1]: 8f };
      ref_write(%r, %new);
      let %s = ref(%a + 1f);
      let %t = ref_read(%s);
      ref_write(%s, %t with { [2]: 9f });
      (%a, %b, %old, ref_read(%s), %t, %a with { [%c > 0f]: 3f })
    }
    """
    mod = relay.parse(text)
    c = np.random.default_rng(0).normal(size=(64, 64)).astype("float32")
    held = [relay.RefValue(c.copy()), relay.RefValue(c.copy())]
    expected = relay.create_executor("debug", mod=mod).evaluate("main")(c, held[0])
    assert_same(relay.build(mod)(c, held[1]), expected, "shared")
    assert_same(held[1].value, held[0].value, "the reference")


@pytest.mark.parametrize("k", [3, -1, 70])
def test_tuples_in_references_are_what_they_are_for_the_interpreter(k: int) -> None:
    """Also where a call fails between a field's update and the write."""
    text = """
    def @main(%x: T, %k: int32, %r: ref((T, T))) {
      let (%a, %b) = ref_read(%r);
      let %a1 = %a with { [0]: 7f };
      let %b1 = %b with { [%k]: 8f };
      ref_write(%r, (%a1, %b1));
      let %s = ref((sort(%x), sort(%x), 1));
      let (%e, %f, %n) = ref_read(%s);
      let %e1 = %e * 2f;
      let %f1 = %f with { [%k]: 3f };
      ref_write(%s, (%f1, %e1, %n + 1));
      let (%g, %h, %m) = ref_read(%s);
      let %g1 = cumsum(%g, 0);
      let %h1 = sort(%h + %g);
      ref_write(%s, (%g1, %h1, %m + 1));
      let %t = ref((sort(%x), sort(%x)));
      let %v = ref_read(%t);
      let %v1 = %v.0 with { [%k]: 1f };
      ref_write(%t, (%v1, %x));
      (ref_read(%s), ref_read(%t), %h, %a)
    }
    """
    mod = relay.parse(text.replace(": T,", ": Tensor[(64, 64), float32],").replace("(T, T)", PAIR))
    x = np.random.default_rng(0).normal(size=(64, 64)).astype("float32")
    held = [relay.RefValue((x.copy(), x * 2)) for _ in range(2)]
    calls = relay.create_executor("debug", mod=mod).evaluate("main"), relay.build(mod)
    if k == 70:
        for call, r in zip(calls, held, strict=True):
            with pytest.raises(relay.RelayError, match="index-out-of-range"):
                call(x, np.int32(k), r)
    else:
        expected, found = [call(x, np.int32(k), r) for call, r in zip(calls, held, strict=True)]
        assert_same(found, expected, "results")
    assert_same(held[1].value, held[0].value, "the reference")


def test_records_that_are_needed_later_stay() -> None:
    text = """
    type S { S { a: Tensor[(40, 40), float32], b: Tensor[(40, 40), float32], n: int32 } }
    def @go(%s: S, %k: int32) -> (S, Tensor[(40, 40), float32]) {
      if (%k == 0) { (%s, %s.a) } else {
        let %t = %s with { a: %s.a with { [%k]: %s.b[0] }, n: %s.n + %k };
        if (mod(%k, 2) == 0) {
          let (%u, %v) = @go(%t with { b: %t.b with { [0]: %s.a[1] } }, %k - 1);
          (%u, %v + %s.b)
        } else { @go(S { a: %t.b, b: %t.a, n: %s.n }, %k - 1) }
      }
    }
    def @main(%x: Tensor[(40, 40), float32]) {
      let (%s, %y) = @go(S { a: sort(%x), b: %x * 2f, n: 1 }, 7);
      (%s.a, %s.b, %s.n, %y)
    }
    """
    mod = relay.parse(text)
    x = np.random.default_rng(0).normal(size=(40, 40)).astype("float32")
    assert_same(relay.build(mod)(x), mod.evaluate("main", x), "records")
