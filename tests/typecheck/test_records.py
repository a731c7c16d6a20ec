"""Fields of records by name: which record is meant, and what programs with records compute."""

import re

import numpy as np
import pytest

import relay
from relay.diagnostic import RelayError
from relay.interpreter.show import show
from relay.text.parser import parse_module

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
LAYER = "type Layer[o: Dim, i: Dim] { Layer { w: Tensor[(o, i), float32], b: Tensor[(o,), float32] } }\n"
NORM = "type Norm { Norm { b: float32, scale: float32 } }\n"
MLP = (
    LAYER
    + """
type Mlp[h: Dim] { Mlp { first: Layer[h, 2], last: Layer[1, h] } }
def @apply(%l, %x) { %l.w @ %x + %l.b }
def @mlp(%net: Mlp[3], %x: Tensor[(2,), float32]) -> float32 {
  @apply(%net.last, tanh(@apply(%net.first, %x)))[0]
}
"""
)


def values(text, *args):
    """What the interpreter and machine code give, which add up in an order of their own."""
    mod = parse_module(text)
    found = [relay.create_executor("debug", mod=mod).evaluate()(*args), relay.build(mod)(*args)]
    forms, numbers = zip(
        *[(NUMBER.sub("_", text), NUMBER.findall(text)) for text in map(show, found)], strict=True
    )
    assert forms[0] == forms[1]
    np.testing.assert_allclose(*[np.array(several, float) for several in numbers], rtol=1e-6)
    return found[1]


def codes(text):
    with pytest.raises(RelayError) as caught:
        relay.transform.InferType()(parse_module(text))
    return [*caught.value.codes]


def types(text, name="main"):
    mod = relay.transform.InferType()(parse_module(text))
    return str(mod[name].checked_type)


def test_the_type_says_which_record_is_meant():
    text = LAYER + NORM + "def @main(%l: Layer[n, 3], %m: Norm) { (%l.b, %m.b, (%l, 1).0.b) }"
    assert types(text).endswith("(Tensor[(n,), float32], float32, Tensor[(n,), float32])")


def test_a_type_that_is_known_later_says_it_too():
    text = (
        LAYER
        + NORM
        + "def @main(%m: Norm) { let %f = fn (%x, %y: Norm) { (%x.b, if (True) { %x } else { %y }) }; %f }"
    )
    assert "Norm" in types(text)
    text = 'import "std/list"\n' + LAYER + NORM + "def @main(%l: List[Norm]) { @map(fn (%x) { %x.b }, %l) }"
    assert types(text).endswith("-> List[float32]")


def test_the_only_record_with_the_field_is_meant():
    assert types(LAYER + NORM + "def @main(%x) { %x.w }").startswith("fn<n: Dim, m: Dim>(Layer[n, m])")
    assert types(LAYER + NORM + "def @main(%x) { %x with { scale: 2.0 } }") == "fn(Norm) -> Norm"
    assert types(LAYER + "type Box { Box { l: Layer[2, 3] } }\ndef @main(%x) { %x.l.w }") == (
        "fn(Box) -> Tensor[(2, 3), float32]"
    )


def test_errors_of_fields():
    assert codes(LAYER + NORM + "def @main(%x) { %x.b }") == ["ambiguous-field"]
    assert codes(LAYER + NORM + "def @main(%x: Norm) { %x.w }") == ["unknown-field"]
    assert codes(LAYER + "def @main(%x: int32) { %x.w }") == ["expected-record"]
    assert codes(LAYER + "def @main<a>(%x: a) { %x.w }") == ["expected-record"]
    assert codes(LAYER + "def @main(%x: Layer[1, 2]) { %x with { w: 1.0 } }")[0] in (
        "shape-mismatch",
        "rank-mismatch",
    )


def test_fields_are_evaluated_as_they_are_written():
    text = """
    type P { P { x: int32, y: int32, z: int32 } }
    def @next(%r: ref(int32)) { ref_write(%r, ref_read(%r) + 1); ref_read(%r) }
    def @main() {
      let %r = ref(0);
      let %p = P { z: @next(%r), x: @next(%r), y: @next(%r) };
      let %q = %p with { y: @next(%r), x: @next(%r) };
      (%p, %q, P { x: @next(%r), y: @next(%r), z: @next(%r) })
    }
    """
    assert show(values(text)) == "(P { x: 2, y: 3, z: 1 }, P { x: 5, y: 4, z: 1 }, P { x: 6, y: 7, z: 8 })"


def test_records_nest_in_other_data():
    text = (
        'import "std/list"\n'
        + LAYER
        + """
        def @main(%x: Tensor[(2,), float32]) {
          let %ls = [| Layer { w: [[1, 2]], b: [3] }, Layer { w: [[4, 5]], b: [6] } |];
          let %bigger = @map(fn (%l) { %l with { w: %l.w * 2.0 } }, %ls);
          @foldl(fn (%acc, %l) { %acc + (%l.w @ %x + %l.b)[0] }, 0.0, %bigger)
        }
        """
    )
    assert values(text, np.array([1, 10], "float32")) == 2 * (21 + 54) + 9


def test_the_derivative_by_a_record_is_a_record():
    text = MLP + "def @main(%n: Mlp[3], %x: Tensor[(2,), float32]) { grad(@mlp)(%n, %x) }"
    rng = np.random.default_rng(0)
    net = {
        "first": {"w": rng.normal(size=(3, 2)), "b": rng.normal(size=3)},
        "last": {"w": rng.normal(size=(1, 3)), "b": rng.normal(size=1)},
    }
    net = {k: {n: a.astype("float32") for n, a in layer.items()} for k, layer in net.items()}
    x = np.array([0.3, -0.7], "float32")
    value, (gradient, _) = values(text, net, x)
    h = np.tanh(net["first"]["w"] @ x + net["first"]["b"])
    np.testing.assert_allclose(value, (net["last"]["w"] @ h + net["last"]["b"])[0], rtol=1e-5)
    by_h = net["last"]["w"][0] * (1 - h**2)
    np.testing.assert_allclose(gradient.last.w, [h], rtol=1e-5)
    np.testing.assert_allclose(gradient.last.b, [1], rtol=1e-5)
    np.testing.assert_allclose(gradient.first.w, np.outer(by_h, x), rtol=1e-5)
    np.testing.assert_allclose(gradient.first.b, by_h, rtol=1e-5)


@pytest.mark.parametrize("kind", ["vjp", "jvp"])
def test_derivatives_go_through_copies(kind):
    body = "let %m = %l with { b: sin(%l.b) }; sum(%m.b * %l.b)"
    call = "vjp(@f)(%l).1(1.0)" if kind == "vjp" else "jvp(@f)((%l,), (Layer { w: [[0]], b: [1] },))"
    text = LAYER + f"def @f(%l: Layer[1, 1]) -> float32 {{ {body} }} def @main(%l: Layer[1, 1]) {{ {call} }}"
    found = values(text, {"l": {"w": [[2.0]], "b": [0.5]}})
    slope = found[0].b[0] if kind == "vjp" else found[1]
    np.testing.assert_allclose(slope, np.sin(0.5) + 0.5 * np.cos(0.5), rtol=1e-5)


def test_values_from_python():
    mod = parse_module(LAYER + "def @main(%l: Layer[n, 2]) { %l }")
    value = mod.evaluate("main", {"l": {"b": [1, 2, 3], "w": np.ones((3, 2), "float32")}})
    assert value.w.shape == (3, 2)
    assert value.b.tolist() == [1, 2, 3]
    assert mod.evaluate("main", value) == value
    assert {"w", "b"} <= set(dir(value))
    with pytest.raises(AttributeError, match="its fields are w, b"):
        value.c  # noqa: B018
    with pytest.raises(RelayError, match="a record with the fields `w` and `b`"):
        mod.evaluate("main", {"l": {"b": [1]}})


UPDATES = [
    ((4,), "[1:3]", "[8, 9]"),
    ((4,), "[-1]", "5"),
    ((4,), "[::-2]", "[1, 2]"),
    ((4,), "[-9:2]", "7"),
    ((3, 4), "[1]", "[1, 2, 3, 4]"),
    ((3, 4), "[:, 1]", "[1, 2, 3]"),
    ((3, 4), "[..., -1]", "0"),
    ((3, 4), "[0, None, 1:]", "[[4, 5, 6]]"),
    ((3, 4), "[1:, ::2]", "[[1], [2]]"),
    ((2, 3, 4), "[1, ..., 1]", "[1, 2, 3]"),
    ((4,), "[[0, -1]]", "[6, 7]"),
    ((4,), "[[2, 2]]", "[6, 7]"),
    ((3, 4), "[[0, 2], 1:3]", "[[1, 2], [3, 4]]"),
    ((3, 4), "[[True, False, True]]", "[1, 2, 3, 4]"),
]


@pytest.mark.parametrize("size", ["known", "open"])
@pytest.mark.parametrize(("shape", "items", "value"), UPDATES)
def test_copies_of_tensors_are_what_numpy_assigns(shape, items, value, size):
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape) * 10
    expected = x.copy()
    exec(f"expected{items} = np.array({value}, 'float32')", {"expected": expected, "np": np})
    dims = ", ".join(map(str, shape) if size == "known" else [f"d{i}" for i in range(len(shape))])
    text = f"def @main(%x: Tensor[({dims},), float32]) {{ (%x with {{ {items}: {value} }}, %x) }}"
    found, kept = values(text, x)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(kept, x)


def test_an_index_beyond_the_axis_is_an_error():
    assert codes("def @main(%x: Tensor[(3,), float32]) { %x with { [3]: 1.0 } }") == ["index-out-of-range"]
    mod = parse_module("def @main(%x: Tensor[(n,), float32]) { %x with { [3]: 1.0 } }")
    for run in (relay.create_executor("debug", mod=mod).evaluate(), relay.build(mod)):
        assert run(np.zeros(4, "float32")).tolist() == [0, 0, 0, 1]
        with pytest.raises(RelayError, match="index 3 is out of range"):
            run(np.zeros(3, "float32"))


def test_the_derivative_of_a_copy():
    text = """
    def @f(%x: Tensor[(4,), float32], %v: Tensor[(2,), float32]) -> float32 {
      sum((%x with { [1:3]: %v, [[0, 0]]: %v[0] }) * [1, 2, 3, 4])
    }
    def @main(%x: Tensor[(4,), float32], %v: Tensor[(2,), float32]) { grad(@f)(%x, %v).1 }
    """
    by_x, by_v = values(text, np.ones(4, "float32"), np.ones(2, "float32"))
    assert by_x.tolist() == [0, 0, 0, 4]
    assert by_v.tolist() in ([3, 3], [4, 3])
