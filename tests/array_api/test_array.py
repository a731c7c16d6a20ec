"""Arrays of `relay.numpy`: making them, dtypes, operators, indices, and what Python asks of them."""

import copy
import operator
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis.extra.array_api import make_strategies_namespace

import relay
from relay.diagnostic import RelayError

xp = relay.numpy
X = xp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def equal(found: Any, expected: Any, dtype: Any = None) -> None:
    assert isinstance(found, xp.Array)
    np.testing.assert_array_equal(np.asarray(found), expected)
    assert found.shape == np.shape(expected)
    assert dtype is None or found.dtype == dtype


@pytest.mark.parametrize(("value", "dtype"), [
    (True, "bool"), (3, "int32"), (2**40, "int64"), (2**63, "uint64"), (1.5, "float32"), ([], "float32"),
    ([1, 2.5], "float32"), ([[True], [False]], "bool"), ([1, 2**40], "int64"), (np.float64(1), "float64"),
    (np.arange(3, dtype="int8"), "int8"), ([np.float64(1), np.float64(2)], "float64"),
])  # fmt: skip
def test_numbers_become_relays_dtypes(value: Any, dtype: str) -> None:
    equal(xp.asarray(value), np.asarray(value), xp.asarray([], dtype=dtype).dtype)


def test_asarray_of_arrays_and_of_other_libraries() -> None:
    equal(xp.asarray([X[0], X[1]]), np.asarray(X))
    equal(xp.asarray([1, 2], dtype=xp.bfloat16), [1, 2], xp.bfloat16)
    shared = np.arange(3.0)
    assert np.shares_memory(np.asarray(xp.asarray(shared)), shared)
    assert not np.shares_memory(np.asarray(xp.asarray(shared, copy=True)), shared)
    equal(xp.from_dlpack(shared), shared)
    equal(np.from_dlpack(xp.asarray(shared)) + xp.asarray(1.0), shared + 1)
    equal(xp.asarray(memoryview(b"abc")), [97, 98, 99], xp.uint8)
    equal(xp.asarray(np.arange(3, dtype=">i4")), [0, 1, 2], xp.int32)


@pytest.mark.parametrize(("make", "error"), [
    (lambda: xp.asarray(1j), TypeError), (lambda: xp.asarray([1j]), TypeError),
    (lambda: xp.asarray("text"), TypeError),
    (lambda: xp.asarray(300, dtype=xp.int8), OverflowError),
    (lambda: xp.asarray([300], dtype=xp.int8), OverflowError),
    (lambda: xp.zeros(3, dtype="complex64"), TypeError), (lambda: xp.zeros(3, device="gpu"), ValueError),
    (lambda: xp.asarray([1.0], copy=False), ValueError), (lambda: X.to_device("gpu"), ValueError),
    (lambda: xp.finfo(xp.int8), TypeError), (lambda: xp.iinfo(xp.float32), TypeError),
    (lambda: xp.isdtype(xp.int8, "numbers"), ValueError), (lambda: X + "a", TypeError),
    (lambda: float(X), TypeError),
    (lambda: xp.asarray([1], dtype="uint64") + xp.asarray([1]), TypeError), (lambda: X.T.T[0].T, ValueError),
    (lambda: X.__array_namespace__(api_version="1999.01"), ValueError),
    (lambda: xp.sum(X, axis=2), IndexError),
    (lambda: xp.sum(X, axis=(0, 0)), ValueError), (lambda: xp.asarray([1]) + 2**40, OverflowError),
    (lambda: xp.squeeze(X, 0), ValueError), (lambda: xp.abs(xp.asarray(True)), TypeError),
    (lambda: xp.bitwise_and(X, X), TypeError), (lambda: operator.index(xp.asarray(1.0)), TypeError),
    (lambda: xp.arange(1, 2, 0), ValueError), (lambda: xp.nonzero(xp.asarray(1)), ValueError),
])  # fmt: skip
def test_what_no_array_is(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_operators_are_checked_as_in_programs() -> None:
    with pytest.raises(RelayError, match="cannot broadcast"):
        X + xp.ones(2)
    with pytest.raises(RelayError, match="index-out-of-range"):
        X[2]
    with pytest.raises(RelayError, match="divide-by-zero"):
        xp.asarray(1) // 0


@pytest.mark.parametrize(("a", "b", "result"), [
    ("int8", "uint8", "int16"), ("int32", "int64", "int64"), ("uint32", "int8", "int64"),
    ("bool", "int8", "int8"),
    ("float32", "float64", "float64"), ("int64", "float32", "float32"), ("float16", "bfloat16", "float32"),
    ("bfloat16", "float32", "float32"), ("bool", "float16", "float16"),
])  # fmt: skip
def test_promotion(a: str, b: str, result: str) -> None:
    x, y = xp.ones(2, dtype=a), xp.ones((1, 2), dtype=b)
    assert xp.result_type(x, y) == xp.result_type(y.dtype, a) == (x * y).dtype == result
    assert xp.can_cast(x, result)
    assert xp.can_cast(result, a) == (a == result)


@pytest.mark.parametrize(("dtype", "number", "result"), [
    ("int8", 1, "int8"), ("int8", 1.5, "float32"), ("float64", 1, "float64"), ("float16", 2.5, "float16"),
    ("bool", 1, "int32"), ("bool", True, "bool"), ("bool", 1.0, "float32"),
])  # fmt: skip
def test_numbers_take_the_dtype_of_what_they_meet(dtype: str, number: Any, result: str) -> None:
    x = xp.asarray([1], dtype=dtype)
    assert (
        xp.add(x, number) if dtype != "bool" or result != "bool" else xp.logical_or(x, number)
    ).dtype == result
    assert xp.result_type(x, number) == result


def test_every_dtype_of_the_standard_but_complex_ones() -> None:
    info = xp.__array_namespace_info__()
    assert [*info.dtypes(kind="real floating")] == ["float32", "float64"]
    assert len(info.dtypes()) == 11
    assert info.dtypes(kind="complex floating") == {}
    assert info.default_dtypes() == {"real floating": "float32", "integral": "int32", "indexing": "int64"}
    assert info.devices() == [info.default_device()] == ["cpu"]
    assert info.capabilities()["boolean indexing"]
    assert xp.finfo(xp.float64).eps == 2**-52
    assert (xp.finfo(xp.bfloat16).bits, xp.finfo(X).max) == (16, np.finfo("f4").max)
    assert (xp.iinfo(xp.uint8).min, xp.iinfo("int16").max, xp.iinfo(xp.int8).bits) == (0, 2**15 - 1, 8)
    assert xp.isdtype(xp.int8, ("bool", "integral"))
    assert not xp.isdtype(xp.bool, "numeric")


def test_hypothesis_makes_strategies() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xps = make_strategies_namespace(xp)
    assert xps.api_version == xp.__array_api_version__


def test_python_operators() -> None:
    n = xp.asarray([6, -7], dtype=xp.int64)
    equal(-n + 1, [-5, 8], xp.int64)
    equal(1 - n, [-5, 8])
    equal(n / 4, [1.5, -1.75], xp.float64)
    equal(n // 4, [1, -2])
    equal(n % 4, [2, 1])
    equal(2 ** xp.asarray([3]), [8])
    equal(abs(n) << 1, [12, 14])
    equal((n >> 1) & 3 | 8 ^ 1, np.asarray((np.array([6, -7]) >> 1) & 3 | 8 ^ 1))
    equal(~(n > 0), [False, True])
    equal((n > 0) & True, [True, False])
    equal(X @ xp.asarray([1.0, 0, 0]), [1, 4])
    equal(np.ones((2, 1)) + X, np.ones((2, 1)) + np.asarray(X))
    equal(np.float32(2) * X, 2 * np.asarray(X), xp.float32)
    equal(np.asarray(X) == X, np.ones((2, 3), bool))
    assert (X == None) is False  # noqa: E711 - no array is equal to what is none


def test_what_python_asks() -> None:
    one = xp.asarray(3)
    assert (int(one), float(one), complex(one), bool(one), [10, 20, 30, 40][one]) == (
        3,
        3.0,
        3 + 0j,
        True,
        40,
    )
    assert (len(X), X.size, X.ndim, X.shape, [r.tolist() for r in X]) == (2, 6, 2, (2, 3), X.tolist())
    assert repr(xp.asarray([1.5])) == "Array([1.5], float32)"
    assert f"{xp.asarray(1.5):.2f} {X[0]}" == "1.50 [1. 2. 3.]"
    assert (xp.add.__name__, xp.remainder.__name__, xp.bitwise_left_shift.__name__) == (
        "add", "remainder", "bitwise_left_shift")  # fmt: skip
    equal(pickle.loads(pickle.dumps(X)), np.asarray(X))
    equal(copy.deepcopy(X), np.asarray(X))
    with pytest.raises(TypeError, match="unhashable"):
        hash(X)


def test_methods_are_the_functions() -> None:
    equal(X.T, np.asarray(X).T)
    equal(X.mT, np.asarray(X).T)
    equal(X.sum(axis=0), [5, 7, 9])
    equal(X.reshape(3, 2).reshape((-1,)), X.flatten())
    equal(X.transpose(1, 0), X.transpose())
    equal(X.reshape(1, 6).squeeze(), X.ravel())
    equal(X.astype("int8"), np.asarray(X), xp.int8)
    assert X.argmax().item() == 5
    assert X.std(axis=1, keepdims=True).shape == (2, 1)
    np.testing.assert_allclose(np.asarray(X.var(correction=1)), np.asarray(X).var(ddof=1), rtol=1e-6)


@pytest.mark.parametrize("where", [
    0, -1, (1, 2), slice(None, None, -1), (..., 1), (None, 0, ..., None), ([1, 0],), (slice(1, None), [0, 2]),
    np.asarray(X) > 2, np.array([True, False]), True, np.bool_(False), (),
])  # fmt: skip
def test_indices_are_those_of_numpy(where: Any) -> None:
    equal(X[where], np.asarray(X)[where])
    changed, expected = xp.asarray(X, copy=True), np.array(X)
    before = changed + 0
    changed[where] = 7
    expected[where] = 7
    equal(changed, expected)
    equal(before, np.asarray(X))
    added = np.array(X)
    np.add.at(added, where, 2)
    equal(X.at[where].add(2), added)


def test_arrays_are_indices_and_slices_take_them() -> None:
    i = xp.asarray([1, 0])
    equal(X[i], np.asarray(X)[[1, 0]])
    equal(X[X > 2], [3, 4, 5, 6])
    equal(X[xp.asarray(1), xp.asarray(0) :], [4, 5, 6])


def test_a_change_is_seen_by_no_other_array() -> None:
    source = np.zeros(3)
    x = xp.asarray(source)
    y = x
    part = x[:2]
    x[0] = 1
    equal(y, [1, 0, 0])
    equal(part, [0, 0])
    assert source[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(x)[0] = 2


@pytest.mark.parametrize(("args", "options"), [
    ((5,), {}), ((2, 7, 3), {}), ((7, 2, -2), {}), ((0.5, 3), {}), ((1, 0), {}), ((3,), {"dtype": "float64"}),
    ((0, 1, 0.1), {"dtype": "float64"}), ((2**40, 2**40 + 3), {}), ((10, 0, -3), {"dtype": "int8"}),
    ((-2.5,), {}),
])  # fmt: skip
def test_arange(args: Any, options: Any) -> None:
    found = xp.arange(*args, **options)
    np.testing.assert_allclose(np.asarray(found), np.arange(*args), rtol=1e-7)
    assert found.dtype == options.get("dtype", xp.result_type(*args) if all(map(is_int, args)) else "float32")


def is_int(x: Any) -> bool:
    return isinstance(x, int)


@pytest.mark.parametrize(("args", "options"), [
    ((0, 1, 5), {}), ((0, 1, 5), {"endpoint": False}), ((3, -3, 7), {}), ((2, 2, 3), {}), ((0, 1, 1), {}),
    ((0, 1, 0), {}), ((0, 10, 4), {"dtype": "int32"}), ((1.5, 9, 50), {"dtype": "float64"}),
])  # fmt: skip
def test_linspace(args: Any, options: Any) -> None:
    found = xp.linspace(*args, **options)
    expected = np.linspace(*args, **{"dtype": "float32", **options})
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-15 if found.dtype == "float64" else 1e-7)
    assert found.dtype == expected.dtype


def test_other_arrays_of_sizes() -> None:
    for name in ("zeros", "ones", "empty"):
        found = getattr(xp, name)((2, 0, 3))
        assert (found.shape, found.dtype) == ((2, 0, 3), xp.float32)
    equal(xp.ones(3, dtype=bool), [True] * 3, xp.bool)
    equal(xp.full((2,), 7), [7, 7], xp.int32)
    equal(xp.full((), xp.asarray(1.5)), 1.5, xp.float32)
    equal(xp.empty_like(X, dtype=xp.int8), np.zeros((2, 3)), xp.int8)
    for args, k in (((3,), 0), ((2, 4), 1), ((4, 2), -1), ((2, 2), 5), ((0,), 0)):
        equal(xp.eye(*args, k=k), np.eye(*args, k=k), xp.float32)
    assert xp.broadcast_shapes((2, 1), (3,)) == (2, 3)
    equal(xp.astype(X, xp.uint8), np.asarray(X), xp.uint8)
    equal(xp.meshgrid(xp.arange(2))[0], [0, 1])


def test_constants() -> None:
    assert (xp.pi, xp.e, xp.inf, xp.newaxis) == (np.pi, np.e, np.inf, None)
    assert xp.nan != xp.nan
