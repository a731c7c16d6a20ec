"""Rows that differ in structure, in sizes, in functions or in references: they are computed one by one."""

import numpy as np
import pytest

import relay

X = np.array([0.5, 1.5, 2.5, 4.5, 6.5])
SHAPES = """
import "std/list"
type Shape { Circle(float64), Box(float64, float64), Group(List[Shape]) }
def @area(%s: Shape) -> float64 {
  match (%s) {
    Circle(%r) => 3.0 * %r * %r,
    Box(%a, %b) => %a * %b,
    Group(%l) => @foldl(fn (%t, %s) { %t + @area(%s) }, 0.0, %l),
  }
}
def @make(%x: float64) -> Shape {
  if (%x > 4.0) { Group([| @make(%x - 3.0), @make(%x - 4.0), Circle(%x) |]) }
  else { if (%x > 2.0) { Circle(%x) } else { Box(%x, %x) } }
}
def @f(%x: float64) -> float64 { @area(@make(%x)) }
def @slope(%x: float64) -> float64 { grad(@f)(%x).1.0 }
def @count(%x: float64) -> List[float64] { if (%x < 1.0) { Nil } else { Cons(%x, @count(%x - 1.0)) } }
def @two(%x: float64) -> List[float64] { if (%x < 1.0) { [| %x, 2.0 |] } else { Cons(%x, Cons(1.0, Nil)) } }
"""


def area(x):
    """Return the value of `@f` with its first and second derivative."""
    if x > 4:
        return np.array([3 * x * x, 6 * x, 6]) + area(x - 3) + area(x - 4)
    return np.array([3 * x * x, 6 * x, 6]) if x > 2 else np.array([x * x, 2 * x, 2])


AREAS = np.array([area(x) for x in X]).T
PRODUCTS = np.array([[area(x * y) for x in X] for y in X])


def both(text, *args):
    """Return what the interpreter and machine code give."""
    mod = relay.parse(text)
    return relay.run(mod, "main", list(args)), relay.build(mod)(*args)


def given(body, x=X, size="n"):
    return both(f"{SHAPES} def @main(%x: Tensor[({size},), float64]) {{ {body} }}", x)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("vmap(@f)(%x)", AREAS[0]),
        ("vmap(@slope)(%x)", AREAS[1]),
        ("vmap(fn (%y) { grad(@slope)(%y).1.0 })(%x)", AREAS[2]),
        ("grad(fn (%x) { sum(vmap(@f)(%x)) })(%x).1.0", AREAS[1]),
        ("grad(fn (%x) { sum(vmap(@slope)(%x)) })(%x).1.0", AREAS[2]),
        ("jvp(vmap(@f))((%x,), (%x,)).1", AREAS[1] * X),
        ("vmap(fn (%y) { vmap(fn (%z) { @f(%z * %y) })(%x) })(%x)", PRODUCTS[:, :, 0]),
        ("vmap(fn (%y) { vmap(fn (%z) { @slope(%z * %y) })(%x) })(%x)", PRODUCTS[:, :, 1]),
        ("vmap(fn (%y) { @foldl(add, 0.0, @count(%y)) })(%x)", [0, 1.5, 4, 12, 24]),
    ],
)
def test_data_may_differ_in_structure(body, wanted):
    for found in given(body):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("size", ["n", "5", "0"])
def test_results_have_one_structure(size):
    x = X[: 0 if size == "0" else 5]
    for found in given("@foldl(add, zeros_like(%x), vmap(@two)(%x))", x, size):
        np.testing.assert_allclose(found, (X + np.array([2, 1, 1, 1, 1]))[: len(x)])
    if len(x):
        with pytest.raises(relay.RelayError, match="differ in structure"):
            given("vmap(@count)(%x)", x, size)


@pytest.mark.parametrize("size", ["n", "0"])
def test_of_no_rows_nothing_is_computed(size):
    body = """
    vmap(fn (%y) { assert(sum(vmap(@slope)(%x * %y)) > 9.0, "row"); [@f(%y), @slope(%y)] })(%x)
    """
    for found in given(body, X[:0], size):
        assert found.shape == (0, 2)


def test_each_row_has_its_effects_in_turn(capfd):
    body = 'vmap(fn (%y) { trace("{}", %y); let %z = @f(%y); trace("{}", %z) })(%x)'
    for found in given(body, X[:3]):
        np.testing.assert_allclose(found, AREAS[0, :3])
    assert capfd.readouterr().err.split() == ["0.5", "0.25", "1.5", "2.25", "2.5", "18.75"] * 2


def test_a_reference_that_rows_share_is_not_written():
    text = (
        SHAPES
        + """
    def @main(%x: Tensor[(5,), float64]) {
      let %r = ref(0.0);
      vmap(fn (%y) { let %_ = ref_write(%r, @f(%y)); ref_read(%r) })(%x)
    }
    """
    )
    with pytest.raises(relay.RelayError, match="batch-reference"):
        relay.run(relay.parse(text), "main", [X])


V = np.array([[0.1, 0.2, 3.0], [0.9, 2.7, 1.5], [1.0, 2.0, 0.4]])
N = np.array([2, 0, 3])


@pytest.mark.parametrize("run", [relay.function, relay.compile], ids=["interpreted", "compiled"])
def test_sizes_may_differ(run):
    def chosen(x):
        return x[x > 1.0].sum()

    def begun(x, n):
        return (x[:n] * x[:n]).sum()

    def found(v, n):
        return (
            relay.vmap(chosen)(v),
            relay.vmap(begun)(v, n),
            relay.vmap(lambda x, n: relay.value_and_grad(begun, 0)(x, n)[1])(v, n),
        )

    values = run(found)(V, N)
    np.testing.assert_allclose(values[0], np.where(V > 1, V, 0).sum(axis=1))
    np.testing.assert_allclose(values[1], [(v[:n] ** 2).sum() for v, n in zip(V, N, strict=True)])
    np.testing.assert_allclose(values[2], np.where(np.arange(3) < N[:, None], 2 * V, 0))


def test_results_have_one_size():
    with pytest.raises(relay.RelayError, match="shape-check"):
        relay.vmap(lambda x: x[x > 1.0])(V)
    np.testing.assert_allclose(relay.vmap(lambda x: x[x > 2.0])(V[:2]), [[3.0], [2.7]])
