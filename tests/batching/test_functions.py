"""Functions as values under `vmap`."""

import numpy as np
import pytest

import relay
from relay.analysis.well_formedness import faults

FOUR = np.arange(4, dtype="float32")


def both(text, *args):
    """What the interpreter and machine code give."""
    mod = relay.parse(text)
    return relay.run(mod, "main", list(args)), relay.build(mod)(*args)


@pytest.mark.parametrize("condition", ["%a > 2.0", "%c > 2.0"])
def test_functions_may_differ_from_row_to_row(condition):
    text = f"""
    def @main(%x: Tensor[(4,), float32]) {{
      let %c = 1.0;
      let %f = fn (%a: float32) {{
        let %g = if ({condition}) {{ fn (%b: float32) {{ %b * %a }} }}
                 else {{ let %s = sum([%a, %a]); fn (%b: float32) {{ %b + %s }} }};
        %g(%a) + %g(1.0)
      }};
      vmap(%f)(%x)
    }}
    """
    product = FOUR * FOUR + FOUR
    total = 3 * FOUR + 1 + 2 * FOUR
    wanted = np.where(FOUR > 2, product, total) if "%a" in condition else total
    for found in both(text, FOUR):
        np.testing.assert_allclose(found, wanted)


def test_functions_take_the_sizes_around_them_along():
    text = """
    import "std/loop"
    def @main[n: Dim, m: Dim](%x: Tensor[(m, n), float32]) {
      vmap(fn (%a) {
        @while_loop(fn (%v) { sum(%v) < 10.0 }, fn (%v) { %v * 2.0 + %a + 1.0 }, %a)
      })(%x)
    }
    """
    x = np.arange(12, dtype="float32").reshape(4, 3)

    def row(a):
        v = a
        while v.sum() < 10:
            v = v * 2 + a + 1
        return v

    for found in both(text, x):
        np.testing.assert_allclose(found, np.stack([row(a) for a in x]))
    expanded = relay.transform.ExpandGrad()(relay.infer(relay.parse(text)))
    assert not list(faults(expanded))
