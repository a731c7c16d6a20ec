"""Reductions and scans of booleans and narrow integers: values of NumPy on all executors and dialects."""

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

import relay
from relay import RelayError
from relay.op.family import Reduction
from relay.op.kind import Wide
from relay.op.reduce import Accumulating, Along
from relay.op.registry import instance, registry
from relay.op.running_extremes import RunningExtreme

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
REFUSED = "refused"
COUNTED = {"bool": "int64", "int8": "int8", "uint16": "uint16", "int64": "int64"}
SAME = {"bool": "bool", "int8": "int8", "uint16": "uint16", "int64": "int64"}
PLACE = {"bool": "int32", "int8": "int32", "uint16": "int32", "int64": "int32"}
NUMBERS = {**SAME, "bool": REFUSED}
FLOATS = dict.fromkeys(SAME, REFUSED)
TRUTHS = {**FLOATS, "bool": "bool"}
POOLS = [f"nn.{kind}_pool{rank}d" for kind in ("avg", "adaptive_avg", "global_avg") for rank in (1, 2, 3)]
DTYPES: dict[str, dict[str, str]] = {
    **dict.fromkeys(("sum", "prod", "cumsum", "cumprod"), COUNTED),
    **dict.fromkeys(("max", "min"), SAME),
    **dict.fromkeys(("argmax", "argmin"), PLACE),
    **dict.fromkeys(("any", "all"), TRUTHS),
    **dict.fromkeys(
        ("mean", "variance", "std", "mean_variance", "mean_std", "logsumexp", "linear_scan"), FLOATS
    ),
    **dict.fromkeys(("cummax", "cummin"), SAME),
    **dict.fromkeys(POOLS, NUMBERS),
}
"""The dtype of the result of each reduction by that of the operand.

PyTorch 2: `avg_pool2d` of int64 truncates, `mean` of int64 is refused.
"""
REQUIRED = {name: {"pool_size": 1} for name in POOLS if name.startswith("nn.avg")}


def reductions() -> list[str]:
    """Every operator that adds up or combines elements along axes."""
    families = (Along, Accumulating, Reduction, RunningExtreme)
    return sorted(n for n, c in registry.items() if issubclass(c, families) or c.wide is Wide.SUM)


def test_every_reduction_has_decided_about_booleans_and_integers() -> None:
    assert sorted(DTYPES) == reductions()


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_of_results(name: str) -> None:
    rank = int(name[-2]) + 2 if name in POOLS else 2
    op = instance(name, REQUIRED.get(name, {}))

    def of(dtype: str) -> relay.IRModule:
        x = relay.var("x", shape=(2,) * rank, dtype=dtype)
        body = op(*[x] * len(op.operands[: len(op.operands) - op.optional]))
        return relay.infer(relay.IRModule.from_expr(relay.Function([x], body)))

    for dtype, expected in DTYPES[name].items():
        if expected == REFUSED:
            with pytest.raises(RelayError) as caught:
                of(dtype)
            assert caught.value.codes == ("dtype-not-supported",)
            hint = caught.value.diagnostics[0].hint
            assert "cast" in hint
            named = [d for d in ("bool", "int8", "int64", "float32") if re.search(rf"\b{d}\b", hint)]
            assert [of(d) for d in named], "the hint names dtypes that work"
            continue
        found = of(dtype)["main"].ret_type
        first = found.fields[0] if isinstance(found, relay.TupleType) else found
        assert first.dtype == expected, dtype


def values(text: str, *args: Any) -> list[Any]:
    """The value of a program on each executor, which agree in dtype."""
    mod = relay.parse(text)
    runs = [
        relay.create_executor("debug", mod=mod).evaluate(),
        relay.build(mod, threads=1),
        relay.build(mod, threads=2),
    ]
    results = [run(*args) for run in runs]
    assert len({v.dtype for v in results if np.ndim(v)}) <= 1
    found = [np.asarray(v) for v in results]
    for f in found[1:]:
        np.testing.assert_array_equal(f, found[0])
    return found


SHAPES: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
    ("(3, 4)", (3, 4), {}),
    ("(3, 4)", (3, 4), {"axis": 1}),
    ("(2, 3, 4)", (2, 3, 4), {"axis": (0, 2), "keepdims": True}),
    ("(2, 3, 4)", (2, 3, 4), {"axis": 1, "exclude": True}),
    ("(n, 4)", (5, 4), {"axis": 0}),
    ("(n, m)", (300, 3), {"axis": 0}),
    ("(0, 3)", (0, 3), {"axis": 0}),
    ("(n, 3)", (0, 3), {"axis": 1}),
]


def along(shape: tuple[int, ...], attrs: dict[str, Any]) -> dict[str, Any]:
    """NumPy's options for the attributes of a reduction."""
    axis = attrs.get("axis")
    if attrs.get("exclude"):
        axis = tuple(i for i in range(len(shape)) if i != axis)
    return {"axis": axis, "keepdims": attrs.get("keepdims", False)}


def attributes(attrs: dict[str, Any]) -> str:
    return "".join([f", {k}={v}" for k, v in attrs.items()])


def elements(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    rng = np.random.default_rng(7)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def test_booleans_are_in_order() -> None:
    x = np.random.default_rng(3).random((3, 70)) > 0.97
    x[1] = False
    for name in ("argmax", "argmin", "sort", "argsort"):
        stable = {"kind": "stable"} if "sort" in name else {}
        expected = getattr(np, name)(x, axis=1, **stable)
        found = values(f"def @main(%x: Tensor[(n, 70), bool]) {{ {name}(%x, axis=1) }}", x)
        np.testing.assert_array_equal(found[0], expected)
        traced = relay.function(lambda x, name=name: getattr(relay, name)(x, axis=1))(x)
        np.testing.assert_array_equal(traced, expected)
        np.testing.assert_array_equal(np.asarray(getattr(relay.numpy, name)(x, axis=1)), expected)
    places = values('def @main(%x: Tensor[(3, 70), bool]) { topk(%x, k=4, ret_type="indices") }', x)
    np.testing.assert_array_equal(places[0], np.argsort(~x, axis=1, kind="stable")[:, :4])
    for name, extreme in (("cummax", np.maximum), ("cummin", np.minimum)):
        running = values(f"def @main(%x: Tensor[(n, 70), bool]) {{ {name}(%x, axis=1).0 }}", x)
        np.testing.assert_array_equal(running[0], extreme.accumulate(x, axis=1))
    wanted = np.unique(x.ravel(), return_index=True, return_inverse=True, return_counts=True)
    for part, value in zip((0, 1, 2, 4), wanted, strict=True):
        text = f"def @main(%x: Tensor[(n,), bool]) {{ unique(%x, return_counts=True).{part} }}"
        np.testing.assert_array_equal(values(text, x.ravel())[0], value)


@pytest.mark.parametrize("name", ["sum", "prod"])
@pytest.mark.parametrize(("written", "shape", "attrs"), SHAPES)
def test_sums_of_booleans_count_and_integers_keep_their_dtype(
    name: str, written: str, shape: tuple[int, ...], attrs: dict[str, Any]
) -> None:
    for dtype in ("bool", "int8", "uint16", "uint64") if "n" in written else ("bool", *INTEGERS):
        x = elements(shape, dtype)
        text = f"def @main(%x: Tensor[{written}, {dtype}]) {{ {name}(%x{attributes(attrs)}) }}"
        wanted = "int64" if dtype == "bool" else dtype
        expected = np.asarray(getattr(np, name)(x, dtype=wanted, **along(shape, attrs)))
        found = values(text, x)[0]
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize(("written", "shape"), [("(3, 4)", (3, 4)), ("(n, 3)", (5, 3)), ("(n, 3)", (0, 3))])
def test_scans_of_booleans_count_and_integers_keep_their_dtype(
    name: str, written: str, shape: tuple[int, ...]
) -> None:
    for dtype, axis in product(("bool", "int8", "uint8", "int32", "uint64"), (None, 0, 1)):
        x = elements(shape, dtype)
        text = f"def @main(%x: Tensor[{written}, {dtype}]) {{ {name}(%x, axis={axis}) }}"
        expected = getattr(np, name)(x, axis=axis, dtype="int64" if dtype == "bool" else dtype)
        found = values(text, x)[0]
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", ["int8", "float32", "uint64"])
def test_scans_of_booleans_in_a_dtype(name: str, dtype: str) -> None:
    x = elements((7,), "bool")
    found = values(f"def @main(%x: Tensor[(7,), bool]) {{ {name}(%x, axis=0, dtype={dtype}) }}", x)[0]
    np.testing.assert_array_equal(found, getattr(np, name)(x, dtype=dtype), strict=True)


def test_reductions_of_booleans_agree_with_each_other() -> None:
    x = elements((5, 6), "bool")
    body = """(
      sum(%x, axis=1) > 0i64, any(%x, axis=1), max(%x, axis=1),
      prod(%x, axis=1) == 1i64, all(%x, axis=1), min(%x, axis=1),
      sum(%x, axis=1), cumsum(%x, axis=1)[:, -1], sum(cast(%x, int64), axis=1),
      prod(%x, axis=1), cumprod(%x, axis=1)[:, -1], prod(cast(%x, int64), axis=1),
    )"""
    mod = relay.parse(f"def @main(%x: Tensor[(5, 6), bool]) {{ {body} }}")
    expected = [x.any(1)] * 3 + [x.all(1)] * 3 + [x.sum(1)] * 3 + [x.astype("int64").prod(1)] * 3
    for kind in ("debug", "native"):
        for found, value in zip(relay.create_executor(kind, mod=mod).evaluate()(x), expected, strict=True):
            np.testing.assert_array_equal(found, value, strict=True)


@pytest.mark.parametrize("sign", ["+", "-", "*"])
def test_arithmetic_on_booleans_is_refused_with_the_operator_that_is_meant(sign: str) -> None:
    meant = {"+": "logical_or", "-": "logical_xor", "*": "logical_and"}[sign]
    with pytest.raises(RelayError) as caught:
        relay.infer(relay.parse(f"[True, False] {sign} [True, True]"))
    assert caught.value.codes == ("dtype-not-supported",)
    assert f"`{meant}(a, b)`" in caught.value.diagnostics[0].hint


@pytest.mark.parametrize("case", ["boolean_sum", "literal"])
def test_sum_of_a_comparison(case: str) -> None:
    text = "sum([1, 2, 3, 4] == [1, 2, 0, 4])"
    text = text if case == "boolean_sum" else "sum([True, True, False, True])"
    assert [int(v) for v in values(text)] == [3, 3, 3]


@pytest.mark.parametrize("operand", ["[1, 2]", "[1i8, 2i8]", "cast([1.5, 2.5], uint8)"])
def test_means_of_integers_are_refused(operand: str) -> None:
    with pytest.raises(RelayError) as caught:
        relay.infer(relay.parse(f"mean({operand})"))
    assert caught.value.codes == ("dtype-not-supported",)
    assert caught.value.diagnostics[0].hint == "cast first: `mean(cast(x, float32))`"


def test_literals_that_something_makes_floats_have_a_mean() -> None:
    assert values("mean([1, 2]) + 0.25")[0] == 1.75
    assert values("mean(cast([1, 2], float64))")[0] == 1.5


def test_a_function_of_any_dtype_takes_the_mean_of_floats() -> None:
    mod = relay.infer(relay.parse("def @f(%x) { mean(%x) } def @main() { @f([1.0, 2.0]) }"))
    assert "Floating" in str(mod["f"])
    for body, argument in product(("%x", "%x * 2"), ("[1i32, 2i32]", "[True]")):
        with pytest.raises(RelayError) as caught:
            relay.infer(relay.parse(f"def @f(%x) {{ mean({body}) }} def @main() {{ @f({argument}) }}"))
        assert set(caught.value.codes) <= {"constraint-not-met", "dtype-not-supported"}


def truncated_mean(x: np.ndarray, axis: Any) -> Any:
    """The mean of integers in Python's, rounded towards 0."""
    total = np.asarray(x.astype(object).sum(axis=axis))
    count = x.size // max(total.size, 1)
    return np.vectorize(
        lambda v: int(v / count) if abs(v) < 2**50 else (abs(v) // count) * (1 if v > 0 else -1)
    )(total)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32"])
def test_means_of_tvm_are_exact(dtype: str) -> None:
    for shape, axis in (((2,), 0), ((256, 2), 0), ((4, 3), None), ((513,), None)):
        x = elements(shape, dtype)
        text = f"def @main(%x: Tensor[{shape}, {dtype}]) {{ mean(%x, axis={axis}, keep_dtype=True) }}"
        found = values(text, x)[0]
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, truncated_mean(x, axis))


HEADER = '#[version = "0.0.5"]\n'


def old(body: str, types: str) -> relay.IRModule:
    return relay.parse(f"{HEADER}def @main(%x: {types}) {{\n  {body}\n}}\n")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("sum(%x, axis=[1])", lambda x: x.any(1)),
        ("prod(%x, axis=[1])", lambda x: x.all(1)),
        ("cumsum(%x, axis=1)", lambda x: x.cumsum(1) > 0),
        ("cumprod(%x, axis=1)", lambda x: x.cumprod(1) > 0),
        ('cumsum(%x, axis=1, dtype="int32")', lambda x: x.cumsum(1, dtype="int32")),
        ('sum(cast(%x, dtype="int64"))', lambda x: np.asarray(x.sum())),
    ],
)
def test_old_texts_keep_the_dtype_of_booleans(body: str, expected: Any) -> None:
    x = elements((4, 5), "bool")
    mod = old(body, "Tensor[(4, 5), bool]")
    again = relay.parse(relay.astext(mod, dialect="tvm"))
    from_json = relay.load_json(relay.save_json(mod))
    printed = relay.parse(str(mod))
    for made in (mod, again, from_json, printed):
        for kind in ("debug", "native"):
            found = relay.create_executor(kind, mod=made).evaluate()(x)
            np.testing.assert_array_equal(np.asarray(found), expected(x), strict=True)
    inferred = relay.infer(mod)
    assert "keep_dtype" not in str(inferred)
    assert relay.ir.structural_equal(
        relay.infer(relay.parse(relay.astext(inferred, dialect="tvm"))), inferred
    )


def test_old_texts_have_means_of_integers() -> None:
    x = np.full(300, 101, "int8")
    mod = old("mean(%x)", "Tensor[(300), int8]")
    for made in (mod, relay.infer(mod), relay.parse(relay.astext(relay.infer(mod), dialect="tvm"))):
        for kind in ("debug", "native"):
            assert relay.create_executor(kind, mod=made).evaluate()(x) == np.int8(101)


def test_sums_that_count_are_not_old_text_before_inference() -> None:
    for operand in ("%x == %x", "%y", "[True, False]"):
        text = f"def @main(%x: Tensor[(3,), int32], %y: Tensor[(3,), bool]) {{ sum({operand}) }}"
        with pytest.raises(RelayError) as caught:
            relay.astext(relay.parse(text), dialect="tvm")
        assert caught.value.codes == ("dialect-cannot-express",)
        written = relay.astext(relay.infer(relay.parse(text)), dialect="tvm")
        assert "cast(" in written
        assert relay.infer(relay.parse(written))["main"].ret_type.dtype == "int64"


def test_json_without_the_attribute_is_of_tvm() -> None:
    text = "def @main(%x: Tensor[(3,), bool]) { sum(%x) }"
    saved = relay.save_json(relay.parse(text))
    assert relay.infer(relay.load_json(saved))["main"].ret_type.dtype == "int64"
    of_tvm = saved.replace('"keep_dtype": "0"', '"unknown": ""').replace('"keep_dtype":"0"', '"unknown":""')
    assert of_tvm != saved
    assert relay.infer(relay.load_json(of_tvm))["main"].ret_type.dtype == "bool"


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS])
def test_traced_methods_follow_the_array_api(dtype: str) -> None:
    x = elements((4, 3), dtype)
    wide = "uint64" if dtype.startswith("uint") else "int64"

    def f(x: Any) -> Any:
        return x.sum(), x.sum(axis=0, keepdims=True), x.prod(axis=1), x.mean(axis=0), x.std(), x.var(axis=1)

    floating = "float64" if dtype in ("int64", "uint64") else "float32"
    expected = [
        *(x.sum(dtype=wide), x.sum(axis=0, keepdims=True, dtype=wide), x.prod(axis=1, dtype=wide)),
        *(x.mean(axis=0, dtype="float64"), x.std(dtype="float64"), x.var(axis=1, dtype="float64")),
    ]
    for k, (found, value) in enumerate(zip(relay.function(f)(x), expected, strict=True)):
        assert np.asarray(found).dtype == (wide if k < 3 else floating)
        if k < 3:
            np.testing.assert_array_equal(found, value)
        else:
            np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-5 * np.abs(x.astype(float)).max())


def test_operators_in_traces_are_those_of_the_language() -> None:
    run = relay.function(lambda x: (relay.sum(x), x.sum()))
    narrow, wide = run(np.array([100, 100], "int8"))
    assert (narrow, wide) == (np.int8(-56), np.int64(200))
    with pytest.raises(RelayError, match="would not be exact"):
        relay.function(lambda x: relay.mean(x))(np.array([1, 2], "int8"))


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS])
def test_relay_numpy_has_the_dtypes_of_numpy(dtype: str) -> None:
    import relay.numpy as rnp

    x = elements((4, 3), dtype)
    for name, theirs in (
        ("sum", "sum"),
        ("prod", "prod"),
        ("cumulative_sum", "cumsum"),
        ("cumulative_prod", "cumprod"),
    ):
        found = np.asarray(getattr(rnp, name)(rnp.asarray(x), axis=1))
        expected = getattr(np, theirs)(
            x, axis=1
        )  # NumPy's own dtype, on machines where its integers have 64 bits
        assert found.dtype == ("uint64" if dtype.startswith("uint") else "int64")
        np.testing.assert_array_equal(found, expected)
    found = np.asarray(rnp.mean(rnp.asarray(x), axis=0))
    assert found.dtype.kind == "f"
    np.testing.assert_allclose(found, x.mean(axis=0), rtol=1e-6)


def test_counts_in_vmap_and_beside_gradients() -> None:
    text = """
    def @count(%x: Tensor[(3,), float32]) { sum(%x > 0f) }
    def @main(%x: Tensor[(2, 3), float32]) {
      (vmap(@count)(%x), grad(fn (%y: Tensor[(2, 3), float32]) { sum(%y) * cast(sum(%y > 0f), float32) })(%x))
    }
    """
    x = np.array([[1, -1, 2], [-3, 4, -5]], "float32")
    for kind in ("debug", "native"):
        rows, (value, (gradient,)) = relay.create_executor(kind, mod=relay.parse(text)).evaluate()(x)
        np.testing.assert_array_equal(rows, [2, 1])
        assert rows.dtype == "int64"
        assert value == -6
        np.testing.assert_array_equal(gradient, np.full((2, 3), 3, "float32"))


def test_counts_by_xla() -> None:
    pytest.importorskip("jax")
    x = elements((4, 5), "bool")
    body = "(sum(%x, axis=1), prod(%x), cumsum(%x, axis=0), cumprod(%x, axis=1))"
    text = f"def @main(%x: Tensor[(4, 5), bool]) {{ {body} }}"
    found = relay.create_executor("xla", mod=relay.parse(text)).evaluate()(x)
    for value, expected in zip(found, (x.sum(1), np.asarray(0), x.cumsum(0), x.cumprod(1)), strict=True):
        np.testing.assert_array_equal(np.asarray(value), expected)
        assert np.asarray(value).dtype == "int64"


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_global_pools_of_integers_do_not_wrap(rank: int) -> None:
    size = {1: 300, 2: 20, 3: 7}[rank]
    x = np.full((1, 2, *(size,) * rank), 101, "int8")
    text = f"def @main(%x: Tensor[{x.shape}, int8]) {{ nn.global_avg_pool{rank}d(%x) }}"
    np.testing.assert_array_equal(values(text, x)[0], np.full((1, 2, *(1,) * rank), 101, "int8"), strict=True)
