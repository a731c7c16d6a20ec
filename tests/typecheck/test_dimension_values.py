"""Dimensions as values and in attributes: the same as with numbers in their place, in every evaluator."""

import re
from typing import Any

import numpy as np
import pytest

import relay
from relay.diagnostic import RelayError
from relay.typecheck.check import check
from typecheck.dimension_programs import N, X, codes

CALLS = (
    "zeros(shape=(n, 4), dtype=float32)",
    "ones((2 * n - 1,), int32)",
    "full(2.5, shape=(n, n + 1))",
    "full(2.5, shape=(n,), dtype=int64)",
    "arange(stop=n, dtype=float32)",
    "arange(start=1, stop=2 * n, step=2, dtype=int64)",
    "arange(start=0.5, stop=n)",
    "arange(0, n, 1, dtype=int64)",
    "broadcast_to(%x[0], shape=(n, 4))",
    "collapse_sum_to(%x, shape=(n, 1))",
    "reshape(%x, newshape=(n * 2, 2))",
    "reshape(%x, (2, -1, n))",
    "reshape(%x, (-4, n, -1, 0))",
    "reshape(%x, (-4, -1, n, -2))",
    "reshape(%x, (0, n - 1, 2))",
    "tile(%x, reps=(n, 1))",
    "tile(%x, reps=n)",
    "repeat(%x, repeats=n, axis=-1)",
    "repeat(%x, n)",
    "split(%x, (1, n - 1), axis=1)",
    "one_hot([0, 2], 1.0, 0.0, depth=n)",
    "topk(%x, k=n).0",
    "strided_slice(%x, begin=(1,), end=(n,))",
    "strided_slice(%x, begin=(n - 2, 1), end=(n, 3), axes=(0, 1))",
    "strided_slice(%x, begin=(0,), end=(n,), strides=(2,), axes=(1,))",
    'strided_slice(%x, begin=(0, 0), end=(-1, n - 1), slice_mode="size")',
    'strided_slice(%x, begin=(1, 1), end=(9, n + 9), slice_mode="clip")',
    "nn.pad(%x, pad_width=((0, n), (n - 1, 0)))",
    "nn.pad(%x, 1.5, pad_width=((n, 0), (0, 0)))",
    "sparse_to_dense([[0, 1]], [2.0], 0.5, output_shape=(n, 4))",
    "image.resize2d(reshape(%x, (1, 1, n, 4)), size=(2 * n, n))",
    "nn.dense(%x, ones((n, 4), float32), units=n)",
    "nn.matmul(%x, ones((4, n), float32), units=n)",
    "random.threefry_generate(random.threefry_key(seed=5), out_shape=(n, 2))",
    "random.uniform(random.threefry_key(seed=5), sum(%x), 2.0, out_shape=(n, n + 1))",
    "random.uniform(random.threefry_key(seed=5), 1f16, 2f16, out_shape=n, out_dtype=float16)",
    "random.normal(random.threefry_key(seed=5), sum(%x), max(%x), out_shape=(2 * n,))",
    "random.normal(random.threefry_key(seed=5), 0f64, 1f64, out_shape=(n, 2), out_dtype=float64)",
    "random.multinomial(random.threefry_key(seed=5), [0.1, 0.2, 0.7], num_samples=2 * n)",
    "random.multinomial(random.threefry_key(seed=5), abs(%x), num_samples=n)",
    'nn.pad(%x, pad_width=((0, n - 1), (n - 2, 0)), pad_mode="reflect")',
    'nn.pad(%x, pad_width=((n, 0), (n, 2)), pad_mode="edge")',
    "nn.mirror_pad(%x, pad_width=((n, n), (0, n - 1)))",
    'nn.mirror_pad(%x, pad_width=((0, 0), (n - 1, n)), mode="REFLECT")',
    "sliding_window(%x, axis=0, window_shape=(n - 1, n), strides=(1, 1))",
    "sliding_window(%x, axis=1, window_shape=(n - 1,), strides=(2,))",
    "contrib_reverse_reshape(%x, newshape=(-1, n - 1))",
    "contrib_reverse_reshape(%x, newshape=(n - 1, 0, -1))",
    "contrib_reverse_reshape(reshape(%x, (n, 2, 2)), newshape=(-4, -1, n, -3))",
    "nn.adaptive_avg_pool1d(reshape(%x, (1, n, 4)), output_size=n)",
    "nn.adaptive_max_pool2d(reshape(tile(%x, (2, 2)), (1, 2, 6, 4)), output_size=(n + 1, n))",
    'nn.adaptive_avg_pool2d(reshape(%x, (1, 4, n, 1)), output_size=n, layout="NHWC", out_layout="NCHW")',
    'nn.adaptive_max_pool3d(reshape(%x, (1, n, 2, 1, 2)), output_size=n, layout="NDHWC")',
    "nn.max_pool2d(reshape(%x, (1, 1, n, 4)), pool_size=(n, n - 1), strides=(1, 2), padding=1)",
    "nn.max_pool2d(reshape(reverse(abs(%x), axis=1), (1, 1, n, 4)), pool_size=(n - 1, n))",
    "nn.max_pool1d(reshape(%x, (1, n, 4)), pool_size=n, strides=2, padding=(1, 0), ceil_mode=True)",
    "nn.avg_pool1d(reshape(%x, (1, n, 4)), pool_size=n, strides=2, padding=1, count_include_pad=True)",
    'nn.avg_pool2d(reshape(%x, (1, n, 4, 1)), pool_size=n, padding=1, layout="NHWC", dilation=(1, 2))',
    "nn.avg_pool2d(cast(reshape(%x * 30.0, (1, 1, n, 4)), int32), pool_size=(n - 1, n))",
    "image.affine_grid(reshape(%x, (2, 2, n)), target_shape=(n, 1))",
    "image.affine_grid(reshape(%x, (2, 2, n)), target_shape=(n - 2, n + 1))",
    "image.crop_and_resize(reshape(%x, (1, 1, n, 4)), [[0.1, 0.2, 0.8, 0.9]], [0], crop_size=(n, n - 2))",
    "vision.roi_align(reshape(%x, (1, 1, n, 4)), [[0.0, 0.0, 0.0, 2.0, 3.0]], pooled_size=(n, n - 1))",
    "vision.roi_pool(reshape(%x, (1, 1, n, 4)), [[0.0, 0.0, 0.0, 2.0, 3.0]], pooled_size=n - 1)",
    "histc(%x, bins=n, min=-1.0, max=1.0)",
    "fft.rfft(%x, n=n)",
    "fft.rfft(%x, n=n * 2)",
    "fft.fft(reshape(%x, (n, 2, 2)), n=n - 1, axis=0)",
    "fft.irfft(reshape(%x, (n, 2, 2)), n=n, axis=0)",
    "fft.irfftn(reshape(%x, (n, 2, 2)), s=(n + 1, n))",
    "fft.rfft2(%x, s=(n, n + 2))",
    "irdft(%x, %x, length=2 * n)",
    "irdft(%x[:, :2], %x[:, 2:], length=n)",
    "%x[n - 1]",
    "%x[:, :n]",
    "%x[:n, n - 2:n]",
    "%x[1:n:2, ::-1]",
    "%x[:n, [0, 2]]",
    "%x[n:n]",
    "%x with { [:n, n:]: 1.0 }",
    "%x / cast(n, dtype=float32)",
    "cast(n * 2 - 1, float32)",
    "(n, floor_divide(n, 2))",
)


GROUP = 16
"""How many calls one program has."""


def with_number(text: str) -> str:
    """A program with a number for the dimension, and arithmetic on it carried out."""
    return re.sub(r"(\d+ [*+-] )*\bn\b(?!=)( [*+-] \w+)*", lambda m: str(eval(m[0], {"n": N})), text)


def program(calls: tuple[str, ...], *, symbolic: bool) -> relay.IRModule:
    """`@main(%x)` with the calls as a tuple; without `symbolic` a number stands for the dimension."""
    text = f"def @main(%x: Tensor[(n, 4), float32]) {{ ({', '.join(calls)},) }}"
    return relay.parse(text if symbolic else with_number(text))


def leaves(value: Any) -> list[Any]:
    return (
        [leaf for v in value for leaf in leaves(v)]
        if isinstance(value, tuple | list)
        else [np.asarray(value)]
    )


def evaluated(mod: relay.IRModule, kind: str, *inputs: Any) -> list[Any]:
    return leaves(relay.create_executor(kind, mod=mod).evaluate()(*inputs))


IN_MACHINE_CODE = 32
"""Calls that are compiled in each run of the tests; the others are by `make check-long`."""
RUNS = [
    pytest.param(kind, first, marks=[pytest.mark.long] * (kind == "native" and first >= IN_MACHINE_CODE))
    for kind in ("interpreter", "native")
    for first in range(0, len(CALLS), GROUP)
]


@pytest.mark.parametrize(("kind", "first"), RUNS)
def test_a_dimension_is_what_the_number_is(kind: str, first: int) -> None:
    calls = CALLS[first : first + GROUP]
    found = evaluated(program(calls, symbolic=True), kind, X)
    wanted = evaluated(program(calls, symbolic=False), "interpreter", X)
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("kind", "first"), RUNS)
def test_derivatives_are_those_with_the_number(kind: str, first: int) -> None:
    calls = tuple([c for c in CALLS[first : first + GROUP] if "%x" in c])
    source = f"def @f(%x: Tensor[(n, 4), float32]) {{ ({', '.join(calls)},) }}"
    source += "\ndef @main(%x: Tensor[(n, 4), float32]) { grad(@f)(%x) }"
    found = evaluated(relay.parse(source), kind, X)
    wanted = evaluated(relay.parse(with_number(source)), "interpreter", X)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


# --- where they have a value --------------------------------------------------------------------------------


def value(text: str, *inputs: Any, kind: str = "interpreter") -> Any:
    return relay.create_executor(kind, mod=relay.parse(text)).evaluate()(*inputs)


def zeros(*shape: int) -> Any:
    return np.zeros(shape, "float32")


@pytest.mark.parametrize(
    ("params", "inputs", "wanted"),
    [
        ("%x: Tensor[(2 * n + 1,), float32]", [zeros(7)], 3),
        ("%x: Tensor[(4 - n,), float32]", [zeros(1)], 3),
        ("%t: (int32, (Tensor[(5, n), float32],))", [(np.int32(1), (zeros(5, 3),))], 3),
        ("%x: Tensor[(n + m, m), float32]", [zeros(5, 2)], 3),
        ("%x: Tensor[(k * m + 3 * n,), float32], %y: Tensor[(k, m), float32]", [zeros(15), zeros(2, 3)], 3),
        ("%x: Tensor[(n,), float32], %y: Tensor[(?,), float32]", [zeros(3), zeros(1)], 3),
    ],
)
@pytest.mark.parametrize("kind", ["interpreter", "native"])
def test_a_value_is_read_off_a_parameter(params: str, inputs: list[Any], wanted: int, kind: str) -> None:
    assert int(value(f"def @main({params}) {{ n }}", *inputs, kind=kind)) == wanted


@pytest.mark.parametrize("kind", ["interpreter", "native"])
def test_a_value_is_read_off_what_a_reference_holds(kind: str) -> None:
    text = """
    def @f<n: Dim, d: Dim>(%r: ref((int32, Tensor[(n, d), float32]))) { (n, zeros((d, n), float32)) }
    def @main(%x: Tensor[(n, 2), float32]) { @f(ref((1, %x))) }
    """
    size, made = value(text, zeros(3, 2), kind=kind)
    assert (int(size), made.shape) == (3, (2, 3))


DATA_TYPES = """
type Layer[o: Dim, i: Dim] { Layer { w: Tensor[(o, i), float32], b: Tensor[(o,), float32] } }
type Net[h: Dim, d: Dim] { Net { size: int32, layers: (Layer[h, d], Layer[1, 2 * h]) } }
type Box[A] { Box(A, A) }
type Chain[n: Dim] { Chain(Option[Chain[n]], Box[Tensor[(n + 1,), float32]]) }
type Option[A] { Some(A), None_ }
type Kept[k: Dim, m: Dim] { Floats { x: Tensor[(m, k, ?), float32] }, Bytes(int32, Tensor[(k, m), int8]) }
"""


@pytest.mark.parametrize(
    ("params", "argument", "wanted"),
    [
        ("%l: Layer[n, d]", "Layer { w: ones((3, 2), float32), b: ones((3,), float32) }", [3, 2]),
        (
            "%l: (int32, Net[n, d])",
            "(1, Net { size: 1, layers: (Layer { w: ones((3, 2), float32), b: ones((3,), float32) }, "
            "Layer { w: ones((1, 6), float32), b: ones((1,), float32) }) })",
            [3, 2],
        ),
        (
            "%l: Box[Layer[n, d]]",
            "{ let %l = Layer { w: ones((3, 2), float32), b: ones((3,), float32) }; Box(%l, %l) }",
            [3, 2],
        ),
        (
            "%c: (Chain[n], Box[Chain[d]])",
            "(Chain(None_, Box(ones((4,), float32), ones((4,), float32))), "
            "{ let %c = Chain(None_, Box(ones((3,), float32), ones((3,), float32))); Box(%c, %c) })",
            [3, 2],
        ),
        ("%k: Kept[n, d]", "Floats { x: ones((2, 3, 4), float32) }", [3, 2]),
        ("%k: Box[Kept[n, d]]", "{ let %k = Bytes(1, ones((3, 2), int8)); Box(%k, %k) }", [3, 2]),
    ],
)
@pytest.mark.parametrize("kind", ["interpreter", "native"])
def test_a_value_is_read_off_a_data_type_whose_constructors_have_it(
    params: str, argument: str, wanted: list[int], kind: str
) -> None:
    text = f"{DATA_TYPES} def @f<n: Dim, d: Dim>({params}) {{ (n, d, zeros((n, d), float32)) }}"
    text += f" def @main() {{ @f({argument}) }}"
    n, d, made = value(text, kind=kind)
    assert [int(n), int(d)] == wanted
    assert np.shape(made) == tuple(wanted)
    mod = relay.infer(relay.parse(text))
    check(mod)
    assert relay.structural_equal(mod, relay.parse(str(mod)))


@pytest.mark.parametrize(
    "constructors", ["Row(Tensor[(n,), int8])", "Row(Tensor[(n,), int8]), Other(Tensor[(n,), int16])"]
)
def test_a_tensor_is_preferred_to_a_data_type(constructors: str) -> None:
    text = f"type Row[n: Dim] {{ {constructors} }}"
    text += "def @main(%r: Row[n], %t: (Tensor[(2, n), int8],)) { n }"
    assert "match" not in str(relay.infer(relay.parse(text)))


def test_a_size_that_is_solved_is_preferred_to_several_constructors() -> None:
    text = "type Row[n: Dim] { Row(Tensor[(n,), int8]), Other(Tensor[(n,), int16]) }"
    text += "def @main(%r: Row[n], %t: Tensor[(2 * n + 1,), int8]) { n }"
    assert "match" not in str(relay.infer(relay.parse(text)))


@pytest.mark.parametrize("kind", ["interpreter", "native"])
def test_closures_capture_what_a_dimension_of_the_function_around_needs(kind: str) -> None:
    text = """
    def @apply(%f: fn(float32) -> Tensor[(?,), float32]) { %f(2.0) }
    def @main(%x: Tensor[(n,), float32]) {
      let %f = fn<m: Dim>(%y: Tensor[(m,), float32]) { full(cast(n * m, float32), shape=(n + m,)) };
      (@apply(fn(%v: float32) -> Tensor[(?,), float32] { full(%v, shape=(n,)) }), %f(%x), %f(%x[:1]))
    }
    """
    found = value(text, zeros(3), kind=kind)
    assert [np.asarray(v).tolist() for v in found] == [[2.0] * 3, [9.0] * 6, [3.0] * 4]


@pytest.mark.parametrize(
    "text",
    [
        "def @main<n: Dim>() { n }",
        "def @main<n: Dim>(%x: Tensor[(n * n,), float32]) { n }",
        "type Row[n: Dim] { Row(Tensor[(n,), int8]), No } def @main<n: Dim>(%r: Row[n]) { ones((n,), int8) }",
        "type Row[n: Dim] { Row(Tensor[(n,), int8]), Twice(Tensor[(2 * n,), int8]) }"
        "def @main<n: Dim>(%r: Row[n]) { n }",
        "type Row[n: Dim] { Row(fn(Tensor[(n,), int8]) -> int8) } def @main<n: Dim>(%r: Row[n]) { n }",
        "type Row[n: Dim] { Row(int8, Row[n]) } def @main<n: Dim>(%r: Row[n]) { n }",
        "type Row[A] { Row(int8, Row[(A, A)]) }"
        "def @main<n: Dim>(%r: Row[fn(Tensor[(n,), int8]) -> int8]) { n }",
        "def @main<n: Dim>() { fn(%x: Tensor[(n,), float32]) { n } }",
    ],
)
def test_a_dimension_that_nothing_determines_has_no_value(text: str) -> None:
    assert codes(text) == ["dimension-without-value"]


@pytest.mark.parametrize(
    "sizes", ["((n + 1) * 2, 2)", "((2 * (n + 1)), 2)", "[(n + 1) * 2, 2]", "((n + 1) * 4)"]
)
def test_a_size_without_a_name_may_begin_with_parentheses(sizes: str) -> None:
    unnamed, named = [
        relay.parse(f"def @main(%x: Tensor[(n + 1, 4), float32]) {{ reshape(%x, {name}{sizes}) }}")
        for name in ("", "newshape=")
    ]
    relay.assert_structural_equal(unnamed, named)
    assert value(unnamed.astext(), zeros(3, 4), kind="interpreter").size == 12


def test_an_open_operand_has_to_be_annotated_where_an_attribute_holds_a_dimension() -> None:
    text = "def @main(%x: Tensor[(n,), float32], %y) { reshape(%y, newshape=(n, 2)) }"
    assert codes(text) == ["ambiguous-type"]


def test_sizes_that_do_not_fit_fail_when_the_program_runs() -> None:
    text = "def @main(%x: Tensor[(n,), float32], %y: Tensor[(m,), float32]) { reshape(%y, newshape=(n, 2)) }"
    for kind in ("interpreter", "native"):
        assert np.shape(value(text, zeros(3), zeros(6), kind=kind)) == (3, 2)
        with pytest.raises(RelayError, match="reshape-size"):
            value(text, zeros(3), zeros(7), kind=kind)


# --- types --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("zeros(shape=(n, 4), dtype=float32)", "Tensor[(n, 4), float32]"),
        ("reshape(%x, newshape=(n * 2, 2))", "Tensor[(2 * n, 2), float32]"),
        ("reshape(%x, newshape=(-1, n))", "Tensor[(4, n), float32]"),
        ("arange(stop=2 * n, dtype=int32)", "Tensor[(2 * n,), int32]"),
        ("arange(start=1, stop=n, dtype=int32)", "Tensor[(max(0, n - 1),), int32]"),
        ("strided_slice(tile(%x, reps=(3, 1)), begin=(n,), end=(2 * n,))", "Tensor[(n, 4), float32]"),
        ("split(%x, (n / 2,)).1", "Tensor[(n - (n / 2), 4), float32]"),
        ("tile(%x, reps=n)", "Tensor[(n, 4 * n), float32]"),
        ("random.normal(random.threefry_key(seed=1), 0f, 1f, out_shape=(n, 2)).1", "Tensor[(n, 2), float32]"),
        (
            "nn.adaptive_avg_pool1d(reshape(%x, (1, 2, -1)), output_size=2 * n)",
            "Tensor[(1, 2, 2 * n), float32]",
        ),
        ("sliding_window(%x, axis=1, window_shape=(n,), strides=(1,))", "Tensor[(n, 5 - n, n), float32]"),
        ("nn.mirror_pad(%x, pad_width=((0, n), (1, 1)))", "Tensor[(2 * n, 6), float32]"),
        ("%x[:n]", "Tensor[(n, 4), float32]"),
        ("tile(%x, reps=(2, 1))[n:, :n]", "Tensor[(n, min(4, n)), float32]"),
        ("%x[1:n:2, 0]", "Tensor[((max(0, n - 1) + 1) / 2,), float32]"),
        ("%x[:n, [1, 2]]", "Tensor[(n, 2), float32]"),
        ("%x[n - 1:, [n - 1]]", "Tensor[(?, 1), float32]"),
        ("%x[n::-1]", "Tensor[(?, 4), float32]"),
    ],
)
def test_a_dimension_keeps_its_identity_in_the_type_of_the_result(call: str, result: str) -> None:
    mod = relay.infer(relay.parse(f"def @main(%x: Tensor[(n, 4), float32]) {{ {call} }}"))
    assert f"-> {result} {{" in str(mod)
