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


WRAPPED = """
def @wrapped(%n: int32, %f: fn(float32) -> float32, %x: float32) -> float32 {
  if (%n <= 0) { %f(%x) } else { @wrapped(%n - 1, fn (%y: float32) -> float32 { %f(%y) + %x }, %x) }
}
"""


def test_a_recursion_passes_ever_larger_functions_on():
    text = """
    def @main(%x: Tensor[(4,), float32], %n: int32) {
      vmap(fn (%x, %n) { @wrapped(%n, fn (%y: float32) { %y * %x }, %x) }, in_axes=(0, None))(%x, %n)
    }
    """
    for n in range(4):
        for found in both(WRAPPED + text, FOUR, np.int32(n)):
            np.testing.assert_allclose(found, FOUR * FOUR + n * FOUR)


def test_larger_functions_may_differ_from_row_to_row():
    text = """
    def @main(%x: Tensor[(4,), float32], %n: Tensor[(4,), int32]) {
      vmap(fn (%x, %n) { @wrapped(%n, fn (%y: float32) { %y * %x }, %x) })(%x, %n)
    }
    """
    for found in both(WRAPPED + text, FOUR, np.arange(4, dtype="int32")):
        np.testing.assert_allclose(found, FOUR * FOUR + np.arange(4) * FOUR)


def test_a_function_is_called_inside_of_itself_with_other_values():
    text = """
    def @main(%x: Tensor[(4,), float32]) {
      vmap(fn (%x) {
        let %more = fn (%f: fn(float32) -> float32, %k: float32) {
          fn (%a: float32) -> float32 { let %b = %f(%a); %b * %k + %a }
        };
        %more(%more(fn (%a: float32) { %a }, %x), 10.0)(%x)
      })(%x)
    }
    """
    for found in both(text, FOUR):
        np.testing.assert_allclose(found, (FOUR * FOUR + FOUR) * 10 + FOUR)


def test_many_functions_capture_each_other():
    names = "".join(
        f"let %f{i} = fn (%a: float32) -> float32 {{ %f{i - 1}(%a) + %x }};" for i in range(1, 30)
    )
    text = f"""
    def @main(%x: Tensor[(4,), float32]) {{
      vmap(fn (%x) {{ let %f0 = fn (%a: float32) {{ %a * %x }}; {names} %f29(%x) }})(%x)
    }}
    """
    for found in both(text, FOUR):
        np.testing.assert_allclose(found, FOUR * FOUR + 29 * FOUR)


@pytest.mark.parametrize("use", ["%h(%a)", "%h(%h(%a))"])
def test_one_of_two_functions_or_lists_is_chosen_by_name(use):
    text = f"""
    import "std/list"
    def @main(%x: Tensor[(4,), float32]) {{
      vmap(fn (%a) {{
        let %f = fn (%b: float32) {{ %b * %a }};
        let %g = fn (%b: float32) {{ %b + %a }};
        let %h = if (%a > 2.0) {{ %f }} else {{ %g }};
        let %l = [| %a, 1.0 |];
        let %m = [| 5.0, %a |];
        match (if (%a > 1.0) {{ %l }} else {{ %m }}) {{ Cons(%first, _) => %first + {use}, Nil => 0.0 }}
      }})(%x)
    }}
    """

    def row(a):
        def h(b):
            return b * a if a > 2 else b + a

        return (a if a > 1 else 5) + (h(h(a)) if "h(%h" in use else h(a))

    for found in both(text, FOUR):
        np.testing.assert_allclose(found, [row(a) for a in FOUR])


def test_a_list_without_numbers_is_the_same_for_all_rows():
    text = """
    import "std/list"
    def @units(%x: float32, %l: List[()]) -> List[()] {
      if (%x > 9.0) { %l } else {
        match (%l) { Nil => @units(%x + 5.0, Nil), Cons(_, _) => @units(10.0, %l) }
      }
    }
    def @main(%x: Tensor[(4,), float32]) {
      vmap(fn (%x) { match (@units(%x * 4.0, Cons((), Nil))) { Nil => %x, Cons(_, _) => %x + 1.0 } })(%x)
    }
    """
    for found in both(text, FOUR):
        np.testing.assert_allclose(found, FOUR + 1)
