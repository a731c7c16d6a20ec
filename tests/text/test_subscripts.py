"""`%x[…]` and `%a @ %b`: what NumPy means by them, in text and in every evaluator, and their derivatives."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relay
from relay.diagnostic import RelayError
from relay.text.json_format import load_json, save_json
from support import cli

STRICT = '#[version = "0.0.5"]\n'


def type_text(x: Any, sizes: Any = None) -> str:
    x = np.asarray(x)
    dims = ", ".join(map(str, sizes or x.shape)) + ("," if x.ndim == 1 else "")
    return f"Tensor[({dims}), {x.dtype}]"


def written(key: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """A NumPy index as Relay text, and the tensors in it as operands `%i0`, `%i1`, …; NumPy's numbers are
    such.
    """
    texts: list[str] = []
    tensors: list[Any] = []
    for k in key:
        if k is None or isinstance(k, int):
            texts.append(str(k))
        elif k is Ellipsis:
            texts.append("...")
        elif isinstance(k, slice):
            parts: list[str] = []
            for n in (k.start, k.stop, k.step):
                if isinstance(n, np.integer):
                    parts.append(f"%i{len(tensors)}")
                    tensors.append(n)
                else:
                    parts.append("" if n is None else str(n))
            texts.append(":".join(parts if parts[2] else parts[:2]))
        else:
            texts.append(f"%i{len(tensors)}")
            tensors.append(k)
    return ", ".join(texts), tensors


def program(x: Any, key: tuple[Any, ...], sizes: Any = None) -> tuple[relay.IRModule, list[Any]]:
    """`@main(%x, %i0, …) { %x[key] }`; `sizes` are dimensions of `%x` that are not numbers."""
    text, tensors = written(key)
    params = [f"%x: {type_text(x, sizes)}", *[f"%i{k}: {type_text(t)}" for k, t in enumerate(tensors)]]
    return relay.parse(f"def @main({', '.join(params)}) {{ %x[{text}] }}"), [x, *tensors]


@st.composite
def subscripts(draw: Any) -> tuple[Any, tuple[Any, ...]]:
    """A tensor and an index of it."""
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    x = np.arange(np.prod(shape, dtype=int), dtype="float32").reshape(shape)
    together = draw(st.sampled_from([(), (2,), (3, 1), (0,)]))
    key: list[Any] = []
    axis = 0
    while axis < len(shape) and draw(st.integers(0, 5)):
        d = shape[axis]
        bound = st.none() | st.integers(-d - 2, d + 2)
        bound = bound | st.builds(np.int32, st.integers(-d - 2, d + 2))
        kind = draw(st.sampled_from(["new", "rest", "int", "slice", "slice", "tensor", "mask"]))
        if kind == "new":
            key.append(None)
        elif kind == "rest" and Ellipsis not in [k for k in key if k is Ellipsis]:
            key.append(Ellipsis)
            axis += draw(st.integers(0, len(shape) - axis))
        elif kind == "int" and d:
            key.append(draw(st.integers(-d, d - 1)))
            axis += 1
        elif kind == "slice":
            key.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, -1, -2]))))
            axis += 1
        elif kind == "tensor" and d:
            size = int(np.prod(together))
            numbers = draw(st.lists(st.integers(-d, d - 1), min_size=size, max_size=size))
            dtype = draw(st.sampled_from(["int64", "int32", "int8"]))
            key.append(np.array(numbers, dtype).reshape(together))
            axis += 1
        elif kind == "mask" and together == ():
            axes = draw(st.integers(1, len(shape) - axis))
            count = int(np.prod(shape[axis : axis + axes]))
            bits = draw(st.lists(st.booleans(), min_size=count, max_size=count))
            key.append(np.array(bits, bool).reshape(shape[axis : axis + axes]))
            axis += axes
    return x, tuple(key) or (Ellipsis,)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(subscripts())
def test_subscripts_mean_what_they_mean_in_numpy(case: tuple[Any, tuple[Any, ...]]) -> None:
    x, key = case
    try:
        want = x[key]
    except IndexError:  # NumPy has too many masks to bring together
        return
    mod, args = program(x, key)
    assert relay.ir.structural_equal(relay.parse(str(mod)), mod)
    typed = relay.transform.InferType()(mod)
    assert relay.ir.structural_equal(relay.parse(str(typed)), typed)
    found = typed["main"].ret_type
    assert len(found.shape) == want.ndim
    assert all(d == n or str(d) == "?" for d, n in zip(found.shape, want.shape, strict=True))
    np.testing.assert_array_equal(typed.evaluate("main", *args), want, strict=True)
    names = [f"n{k}" if d and k % 2 == 0 else d for k, d in enumerate(x.shape)]
    if not any(isinstance(k, np.ndarray) and k.dtype == bool for k in key):
        open_sizes, args = program(x, key, names)
        np.testing.assert_array_equal(open_sizes.evaluate("main", *args), want, strict=True)


KEYS: list[tuple[Any, ...]] = [
    (1,),
    (-1, 2),
    (slice(1, 9), Ellipsis, None),
    (slice(None), slice(None, None, -1)),
    (slice(-2, None), slice(None, -1), 1),
    (slice(9, None, -2), None, slice(1, 0)),
    (slice(np.int64(1), None), 0, slice(np.int32(9), np.int8(-4), -2)),
    (np.array([0, -1, 2]),),
    (slice(None), np.array([[1, -1]])),
    (np.array([0, 1]), slice(1, None), np.array([[1], [0]])),
    (np.array([0, 1]), np.array([1, -2])),
    (0, slice(None), np.array([1, 0])),
    (np.array([True, False, True]), 1),
    (slice(None), np.arange(20).reshape(4, 5) % 3 == 0),
]
SHAPE = (3, 4, 5)


@pytest.mark.parametrize("key", KEYS, ids=lambda key: written(key)[0])
@pytest.mark.parametrize("sizes", [None, ("n", "m", "k")], ids=["static", "symbolic"])
def test_machine_code_and_derivatives(key: tuple[Any, ...], sizes: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(SHAPE)
    text, tensors = written(key)
    masks = [isinstance(k, np.ndarray) and k.dtype == bool for k in key]
    if any(masks):
        sizes = None
    params = "".join([f", %i{k}: {type_text(t)}" for k, t in enumerate(tensors)])
    source = f"""
        def @main(%x: {type_text(x, sizes)}{params}) {{
          let %f = fn (%y: {type_text(x, sizes)}) {{ let %part = %y[{text}]; sum(%part * %part * %part) }};
          (%x[{text}], grad(%f)(%x).1.0)
        }}"""
    mod = relay.parse(source)
    want = x[key]
    slope = np.zeros_like(x)
    np.add.at(slope, key, 3 * want * want)
    for run in (mod.evaluate, *[_compiled(source, threads) for threads in (1, 2)]):
        part, gradient = run("main", x, *tensors)
        np.testing.assert_array_equal(part, want)
        np.testing.assert_allclose(gradient, slope, rtol=1e-12)


def _compiled(source: str, threads: int) -> Any:
    lib = relay.build(relay.parse(source), threads=threads)
    return lambda _, *args: lib(*args)


def test_derivatives_have_derivatives() -> None:
    text = """def @main(%x: Tensor[(n, 3), float64]) {
      let %f = fn (%y: Tensor[(n, 3), float64]) { sum(%y[:-1, ::-1] * %y[1:]) };
      grad(fn (%y: Tensor[(n, 3), float64]) { sum(grad(%f)(%y).1.0 * grad(%f)(%y).1.0) })(%x).1.0
    }"""
    x = np.random.default_rng(1).standard_normal((4, 3))
    matrix = np.zeros((12, 12))
    for i in range(3):
        for j in range(3):
            matrix[3 * i + 2 - j, 3 * (i + 1) + j] += 1
    matrix += matrix.T
    want = (2 * matrix @ matrix @ x.reshape(-1)).reshape(4, 3)
    np.testing.assert_allclose(relay.parse(text).evaluate("main", x), want)
    np.testing.assert_allclose(relay.build(relay.parse(text))(x), want)


def test_a_constant_index_of_a_tuple_is_the_field() -> None:
    mod = relay.parse("def @f(%t: (float32, fn (int32) -> int32)) { (%t[0], %t[-1](2)) }")
    assert "%t.0" in str(relay.transform.InferType()(mod))
    assert "%t.1(2" in str(relay.transform.InferType()(mod))


def test_a_function_indexes_what_it_is_given() -> None:
    mod = relay.parse("def @first(%t) { %t[0] } def @main() { (@first((1, 2.5)), @first([3, 4])) }")
    assert "where index(a, b, items=(0,))" in str(relay.transform.InferType()(mod))
    assert [int(v) for v in mod.evaluate("main")] == [1, 3]
    assert [int(v) for v in relay.build(mod)()] == [1, 3]


@pytest.mark.parametrize("index", [3, -4])
def test_an_index_out_of_range_is_an_error_at_run_time(index: int) -> None:
    text = f"def @main(%x: Tensor[(n,), float32], %i: int32) {{ %x[{index}] + %x[%i] }}"
    for run in (lambda *a: relay.parse(text).evaluate("main", *a), relay.build(relay.parse(text))):
        for size, i, code in ((3, 0, "shape-check"), (4, index * 2, "index-out-of-range")):
            with pytest.raises(RelayError) as error:
                run(np.zeros(size, "float32"), i)
            assert tuple(error.value.codes) == (code,)


@pytest.mark.parametrize(
    ("body", "code", "says"),
    [
        ("%x[3]", "index-out-of-range", "index 3 is out of range for an axis of size 3"),
        ("%x[-4]", "index-out-of-range", "index -4 is out of range for an axis of size 3"),
        ("%x[0, 1, 2]", "rank-mismatch", "3 subscripts for a tensor of rank 2"),
        ("%x[1.5]", "dtype-not-supported", "an index does not work on float32"),
        ("%x[[True, False]]", "shape-mismatch", "a mask has the sizes of its axes"),
        ("%x[True]", "rank-mismatch", "a single truth value is not a mask"),
        ("%x[..., ...]", "attribute-value", "it cannot occur twice"),
        ("%x[::0]", "attribute-value", "a stride is not 0"),
        ("%x[(0, 1)]", "expected-tensor", "have commas between"),
        ("%x[[0, 1, 2], [0, 1]]", "broadcast-mismatch", "cannot broadcast (3,) with (2,)"),
        ("(%x, %x)[2]", "projection-out-of-range", "the last is 1"),
        ("(%x, %x)[shape_of(%x)]", "attribute-value", "by a number that is written out"),
        ("@main[0]", "expected-tensor", "takes parts of tensors and tuples"),
        ("%x[]", "unexpected-token", "expected an index"),
        ("%x[1 2]", "unexpected-token", "expected `,` or `]`"),
        ("%x[1:2:1:1]", "unexpected-token", "expected `,` or `]`"),
        ("%x[::abs(1)]", "unexpected-token", "the stride of a slice is written out"),
        ("%x[1.5:]", "literal-kind", "1.5"),
        ("%x[:[1]]", "rank-mismatch", "a bound of a slice has rank 1, expected rank 0"),
        ("%x[abs(1)::0]", "attribute-value", "a stride is not 0"),
        ("%x @x", "unexpected-token", "a product of matrices is `a @ b`"),
        ("%x @ %x", "contraction-mismatch", "sums over 4 elements"),
        ("nn.matmul(%x, [1, 2], transpose_b=True)", "rank-mismatch", "vectors where nothing is transposed"),
    ],
)
def test_what_cannot_be_taken_is_an_error(body: str, code: str, says: str) -> None:
    with pytest.raises(RelayError) as error:
        relay.transform.InferType()(relay.parse(f"def @main(%x: Tensor[(3, 4), float32]) {{ {body} }}"))
    assert tuple(error.value.codes) == (code,)
    assert says in str(error.value)


@pytest.mark.parametrize("body", ["%x[0]", "%x[1:2]", "%x @ %x"])
def test_the_strict_dialect_has_no_subscripts(body: str) -> None:
    with pytest.raises(RelayError):
        relay.parse(f"{STRICT}def @main(%x: Tensor[(3, 3), float32]) {{ {body} }}")


def test_a_subscript_does_not_continue_a_graph_binding_on_a_new_line() -> None:
    mod = relay.parse("def @main(%x: Tensor[(3,), float32]) {\n  %1 = nn.relu(%x)\n  [1, 2]\n}")
    assert str(mod).endswith("{\n  [1, 2]\n}\n")


def test_subscripts_are_kept_by_json_pickles_and_the_formatter() -> None:
    body = "%x[1:, ::-1][..., %i] @ %x[(0), abs(%i):][:2]"
    text = f"def @main(%x: Tensor[(3, 3), float32], %i: int32) {{\n  {body}\n}}\n"
    mod = relay.parse(text)
    assert str(mod) == text
    for other in (load_json(save_json(mod)), pickle.loads(pickle.dumps(mod)), copy.deepcopy(mod)):
        assert relay.ir.structural_equal(mod, other)
        assert str(other) == text
    assert cli("fmt", "-", stdin=text.encode()).output == text
    with pytest.raises(RelayError, match="dialect-cannot-express"):
        relay.transform.InferType()(mod).astext(dialect="tvm")


@pytest.mark.parametrize("items", [(), ("%",), (10**30,), ((10**30, None, None),)])
def test_calls_that_brackets_cannot_say_print_as_calls(items: tuple[Any, ...]) -> None:
    x = relay.var("x", shape=(3,))
    mod = relay.IRModule.from_expr(relay.Function([x], relay.index(x, items=items)))
    assert "index(%x, items=" in str(mod)
    assert relay.ir.structural_equal(relay.parse(str(mod)), mod)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 4), (4, 5)),
        ((4,), (4,)),
        ((3, 4), (4,)),
        ((4,), (4, 5)),
        ((2, 3, 4), (4,)),
        ((4,), (2, 4, 5)),
        ((2, 3, 4), (4, 5)),
        ((3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((0, 4), (4,)),
    ],
)
def test_products_are_those_of_numpy(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(a), rng.standard_normal(b)
    for sizes in (None, [f"n{k}" for k in range(len(a))]):
        other = [sizes[-1] if sizes and k == max(0, len(b) - 2) else d for k, d in enumerate(b)]
        text = f"def @main(%x: {type_text(x, sizes)}, %y: {type_text(y, other)}) {{ %x @ %y }}"
        mod = relay.parse(text)
        assert "%x @ %y" in str(relay.transform.InferType()(mod))
        for found in (mod.evaluate("main", x, y), relay.build(mod)(x, y)):
            np.testing.assert_allclose(found, x @ y)
            assert np.shape(found) == np.shape(x @ y)


def test_products_bind_like_products() -> None:
    mod = relay.parse("def @main(%x: Tensor[(2, 2), float32]) { %x + %x @ -%x * (%x @ %x) }")
    assert "%x + %x @ -%x * (%x @ %x)" in str(mod)
    assert relay.ir.structural_equal(
        mod,
        relay.parse("def @main(%x: Tensor[(2, 2), float32]) { %x + ((%x @ (-%x)) * (nn.matmul(%x, %x))) }"),
    )
