"""Derivatives of whole programs: against closed forms and central differences in float64."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.expansion.expand import expand_grad

LIST = "type List[a] { Cons(a, List[a]), Nil }\n"


def value(text: str, *args: Any) -> Any:
    """What `@main` returns, with every derivative expanded."""
    mod = expand_grad(relay.parse(text))
    relay.check(mod)
    return relay.run(mod, "main", args)


SCALAR = [
    ("fn(%x: float64) { %x * %x * %x }", 2.0, 12.0),
    ("fn(%x: float64) { if (%x > 1.0) { %x * %x } else { 3.0 * %x } }", 2.0, 4.0),
    ("fn(%x: float64) { if (%x > 1.0) { %x * %x } else { 3.0 * %x } }", 0.5, 3.0),
    ("fn(%x: float64) { let %f = fn(%y: float64) { %y * %x }; %f(%x) + %f(2.0) }", 3.0, 8.0),
    ("fn(%x: float64) { let %r = ref(%x); ref_write(%r, ref_read(%r) * %x); ref_read(%r) }", 5.0, 10.0),
    ("fn(%x: float64) { let %t = (%x, (%x * 2.0, 1)); %t.0 * %t.1.0 }", 3.0, 12.0),
    ("fn(%x: float64) { %x }", 3.0, 1.0),
    ("fn(%x: float64) { 7.0f64 }", 3.0, 0.0),
    ("fn(%x: float64) { cast(cast(%x, int32), float64) * %x }", 3.0, 3.0),
    ("fn(%x: float64) { tanh(%x) }", 0.3, 1 - np.tanh(0.3) ** 2),
]  # fmt: skip


@pytest.mark.parametrize(("f", "x", "slope"), SCALAR)
@pytest.mark.parametrize("form", ["grad", "vjp", "jvp"])
def test_derivative_of_a_function_of_one_number(f: str, x: float, slope: float, form: str) -> None:
    uses = {
        "grad": "grad(%f)(%x).1.0",
        "vjp": "vjp(%f)(%x).1(1.0f64).0",
        "jvp": "jvp(%f)((%x,), (1.0f64,)).1",
    }
    found = value(f"def @main(%x: float64) {{ let %f = {f}; {uses[form]} }}", np.float64(x))
    np.testing.assert_allclose(found, slope, rtol=1e-12)


@pytest.mark.parametrize(
    ("uses", "slope"),
    [
        ("let %d = grad(tanh); %d(%x).1.0 + %d(2.0f64).0", 1 - np.tanh(0.5) ** 2 + np.tanh(2.0)),
        ("let %d = jvp(tanh); %d((%x,), (2.0f64,)).1", 2 - 2 * np.tanh(0.5) ** 2),
        ("@slope(sin, %x) + @slope(cos, %x)", np.cos(0.5) - np.sin(0.5)),
    ],
)
def test_derivative_of_an_operator_that_has_a_name(uses: str, slope: float) -> None:
    slope_of = "def @slope(%f: fn(float64) -> float64, %x: float64) { grad(%f)(%x).1.0 }\n"
    found = value(f"{slope_of}def @main(%x: float64) {{ {uses} }}", np.float64(0.5))
    np.testing.assert_allclose(found, slope, rtol=1e-12)


@pytest.mark.parametrize("form", ["grad(@f)(%x).1.0", "jvp(@f)((%x,), (1.0f64,)).1"])
@pytest.mark.parametrize(
    ("definitions", "x", "slope"),
    [
        (
            "def @f(%x: float64) -> float64 { @loop(%x, 0) }\n"
            "def @loop(%x: float64, %i: int32) -> float64 "
            "{ if (%i < 5) { @loop(%x * %x, %i + 1) } else { %x } }",
            1.1,
            32 * 1.1**31,
        ),
        (
            LIST + "def @sum(%l: List[float64]) -> float64 "
            "{ match (%l) { Cons(%h, %t) => %h + @sum(%t), Nil => 0.0 } }\n"
            "def @f(%x: float64) { @sum(Cons(%x, Cons(%x * %x, Nil))) }",
            3.0,
            7.0,
        ),
        (
            LIST + "def @fold<a, b>(%f: fn(b, a) -> b, %z: b, %l: List[a]) -> b "
            "{ match (%l) { Cons(%h, %t) => @fold(%f, %f(%z, %h), %t), Nil => %z } }\n"
            "def @f(%x: float64) { @fold(fn(%a, %b) { %a * %b * %x }, 1.0f64, Cons(%x, Cons(2.0, Nil))) }",
            3.0,
            2.0 * 3 * 3**2,
        ),
        (
            "type Tree { Leaf(float64), Node(Tree, Tree) }\n"
            "def @product(%t: Tree) -> float64 "
            "{ match (%t) { Leaf(%x) => %x, Node(%l, %r) => @product(%l) * @product(%r) } }\n"
            "def @f(%x: float64) { @product(Node(Leaf(%x), Node(Leaf(2.0), Leaf(%x)))) }",
            3.0,
            12.0,
        ),
        (
            "def @power(%n: int32) -> fn(float64) -> float64 "
            "{ if (%n == 0) { fn(%x: float64) -> float64 { 1.0 } } "
            "else { let %p = @power(%n - 1); fn(%x: float64) { %x * %p(%x) } } }\n"
            "def @f(%x: float64) { @power(4)(%x) }",
            2.0,
            32.0,
        ),
    ],
)
def test_derivative_of_a_definition(definitions: str, x: float, slope: float, form: str) -> None:
    found = value(f"{definitions}\ndef @main(%x: float64) {{ {form} }}", np.float64(x))
    np.testing.assert_allclose(found, slope, rtol=1e-12)


@pytest.mark.parametrize("kinds", [(a, b) for a in ("grad", "jvp") for b in ("grad", "jvp")])
def test_derivatives_nest(kinds: tuple[str, str]) -> None:
    def slope(kind: str, f: str) -> str:
        use = "grad(%f)(%x).1.0" if kind == "grad" else "jvp(%f)((%x,), (1.0f64,)).1"
        return f"fn(%x: float64) {{ let %f = {f}; {use} }}"

    f = slope(kinds[0], slope(kinds[1], "fn(%x: float64) { %x * %x * tanh(%x) }"))
    x = 0.7
    t, d = np.tanh(x), 1 - np.tanh(x) ** 2
    want = 2 * t + 4 * x * d - 2 * x * x * t * d
    np.testing.assert_allclose(
        value(f"def @main(%x: float64) {{ {f}(%x) }}", np.float64(x)), want, rtol=1e-10
    )


def test_third_derivative_of_a_polynomial() -> None:
    text = """
        def @f(%x: float64) { %x * %x * %x * %x }
        def @f1(%x: float64) { grad(@f)(%x).1.0 }
        def @f2(%x: float64) { grad(@f1)(%x).1.0 }
        def @main(%x: float64) { grad(@f2)(%x).1.0 }
    """
    np.testing.assert_allclose(value(text, np.float64(2.0)), 48.0)


SLOPE = "def @slope(%f: fn(float64) -> float64, %x: float64) -> float64 { grad(%f)(%x).1.0 }\n"


@pytest.mark.parametrize(
    ("main", "x", "want"),
    [
        ("def @main(%x: float64) { @slope(fn(%y: float64) { %y * %y * %x }, 2.0) }", 3.0, 12.0),
        (
            "def @twice(%f: fn(float64) -> float64, %x: float64) -> float64 "
            "{ @slope(fn(%y: float64) { %f(%f(%y)) }, %x) }\n"
            "def @main(%x: float64) "
            "{ @twice(fn(%y: float64) { %y * %y }, %x) + @twice(fn(%y: float64) { 3.0 * %y }, %x) }",
            2.0,
            41.0,
        ),
        (
            "def @newton(%f: fn(float64) -> float64, %x: float64, %n: int32) -> float64 "
            "{ if (%n == 0) { %x } else { @newton(%f, %x - %f(%x) / @slope(%f, %x), %n - 1) } }\n"
            "def @main(%c: float64) { @newton(fn(%y: float64) { %y * %y - %c }, 1.0, 20) }",
            2.0,
            2.0**0.5,
        ),
    ],
)
def test_functions_that_differentiate_a_parameter(main: str, x: float, want: float) -> None:
    np.testing.assert_allclose(value(SLOPE + main, np.float64(x)), want, rtol=1e-12)


CUBE = "fn(%y: float64) { %y * %y * %y }"
DERIVATIVE = "fn(%f: fn(float64) -> float64) { fn(%x: float64) { grad(%f)(%x).1.0 } }"


@pytest.mark.parametrize(
    ("before", "main", "want"),
    [
        ("", f"let %d = {DERIVATIVE}; %d({CUBE})(%x)", 27.0),
        ("", f"let %d = {DERIVATIVE}; %d(%d({CUBE}))(%x)", 18.0),
        ("", f"let %d = {DERIVATIVE}; %d(%d(%d({CUBE})))(%x)", 6.0),
        ("", f"let %d = {DERIVATIVE}; let %e = fn(%g: fn(float64) -> float64) {{ %d(%g)(%x) }}; %e({CUBE})",
         27.0),
        ("", f"let %d = fn(%f: fn(float64) -> float64) {{ grad(%f)(%x).1.0 }}; %d({CUBE}) + %d(sin)",
         27 + np.cos(3.0)),
        (f"def @d(%g: fn(float64) -> float64) {{ ({DERIVATIVE})(%g) }}", f"@d(@d({CUBE}))(%x)", 18.0),
        ("def @d(%f: fn(float64) -> float64) { fn(%x: float64) { grad(%f)(%x).1.0 } }",
         f"let %g = @d({CUBE}); @d(%g)(%x)", 18.0),
    ],
)  # fmt: skip
def test_local_functions_that_differentiate_a_parameter(before: str, main: str, want: float) -> None:
    found = value(f"{before} def @main(%x: float64) {{ {main} }}", np.float64(3.0))
    np.testing.assert_allclose(found, want, rtol=1e-12)


@pytest.mark.parametrize(
    "main",
    [
        f"let %d = {DERIVATIVE}; let %both = (%d, 1); %both.0({CUBE})(%x)",
        "let %d = fn(%f: fn(float64) -> float64, %n: int32) -> float64 "
        "{ if (%n < 1) { grad(%f)(%x).1.0 } else { %d(%f, %n - 1) } }; " + f"%d({CUBE}, 3)",
    ],
)
def test_what_nobody_knows_is_said(main: str) -> None:
    with pytest.raises(relay.RelayError, match="a function that is not statically known"):
        value(f"def @main(%x: float64) {{ {main} }}", np.float64(3.0))


def test_a_reference_from_outside_takes_part() -> None:
    text = """
        def @main(%x: float64) {
          let %r = ref(1.0f64);
          let %f = fn(%y: float64) { ref_write(%r, %y * %y * ref_read(%r)); ref_read(%r) * 3.0 };
          let %d = grad(%f)(%x).1.0;
          (%d, ref_read(%r))
        }
    """
    np.testing.assert_allclose(value(text, np.float64(5.0)), (30.0, 25.0))


def test_operators_and_constructors_may_be_values() -> None:
    text = (
        LIST
        + """
        def @fold<a, b>(%f: fn(b, a) -> b, %z: b, %l: List[a]) -> b
        { match (%l) { Cons(%h, %t) => @fold(%f, %f(%z, %h), %t), Nil => %z } }
        def @build<a>(%c: fn(a, List[a]) -> List[a], %x: a) -> List[a] { %c(%x, %c(%x, Nil)) }
        def @f(%x: float64) {
          let %times = multiply;
          @fold(%times, 1.0f64, @build(Cons, %x)) * %times(%x, 2.0)
        }
        def @main(%x: float64) { (grad(@f)(%x).1.0, jvp(@f)((%x,), (1.0,)).1) }
    """
    )
    np.testing.assert_allclose(value(text, np.float64(2.0)), (24.0, 24.0))


def test_polymorphic_functions_are_differentiated_at_their_types() -> None:
    text = """
        def @id<a>(%x: a) -> a { %x }
        def @times(%x, %y) { %x * %y }
        def @main(%x: Tensor[(3,), float64]) {
          let %square = fn(%a) { %a * %a };
          let %count = cast(%square(@id([0, 1, 2])), float64);
          grad(fn(%x: Tensor[(3,), float64]) { sum(%square(@id(%x)) * %count + @times(%x, 2.0)) })(%x).1.0
        }
    """
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(value(text, x), 2 * x * np.array([0.0, 1.0, 4.0]) + 2)


@pytest.mark.parametrize("f", ["@f", "fn<n: Dim>(%x: Tensor[(n, 2), float64]) { tanh(%x) }", "%f", "tanh"])
def test_derivative_of_a_function_of_any_size(f: str) -> None:
    text = f"""
        def @f(%x: Tensor[(n, 2), float64]) {{ tanh(%x) }}
        def @main(%x: Tensor[(n, 2), float64], %g: Tensor[(n, 2), float64]) {{
          let %f = fn<m: Dim>(%x: Tensor[(m, 2), float64]) {{ tanh(%x) }};
          (vjp({f})(%x).1(%g).0, jvp({f})((%x,), (%g,)).1)
        }}
    """
    x, g = np.linspace(-1, 1, 6).reshape(3, 2), np.ones((3, 2))
    for found in value(text, x, g):
        np.testing.assert_allclose(found, 1 - np.tanh(x) ** 2)


def test_functions_that_differentiate_a_parameter_are_called_at_symbolic_sizes() -> None:
    text = """
    def @product<n: Dim, bt: BaseType>(
      %f: fn(Tensor[(n,), bt]) -> Tensor[(), bt], %x: Tensor[(n,), bt], %v: Tensor[(n,), bt]
    ) -> Tensor[(n,), bt] {
      jvp(fn (%y: Tensor[(n,), bt]) -> Tensor[(n,), bt] { grad(%f)(%y).1.0 })((%x,), (%v,)).1
    }
    def @main(%x: Tensor[(n,), float64], %y: Tensor[(m,), float64]) {
      (@product(fn (%z) { sum(%z * %z * %z) * sum(%x) }, %x, %x),
       @product(fn (%z) { sum(%z * %z) * sum(%x) }, %y, %y))
    }
    """
    x, y = np.array([1.0, 2.0]), np.array([1.0, 2.0, 3.0])
    by_x, by_y = value(text, x, y)
    np.testing.assert_allclose(by_x, 6 * x * x * x.sum())
    np.testing.assert_allclose(by_y, 2 * y * x.sum())


@pytest.mark.parametrize("executor", ["debug", "native"])
def test_the_gradient_of_a_tuple_is_that_of_the_sum_of_its_floats(executor: str) -> None:
    """The derivative of x * x + 3 x + sum(x, x) by x; integers have none."""
    f = relay.parse_expr(
        "fn(%x: float64) { grad(fn(%x: float64) { (%x * %x, (3.0 * %x, [%x, %x]), 7) })(%x) }"
    )
    value, (gradient,) = relay.create_executor(executor).evaluate(f)(np.float64(2))
    assert (value[0], value[1][0], value[2]) == (4, 6, 7)
    assert gradient == 2 * 2 + 3 + 2
