"""`x[where]` and `x.at[where]` on traced values mean what they mean in NumPy."""
# ruff: noqa: F821 - annotations in quotes are Relay types

from typing import Any

import numpy as np
import pytest

import relay

X = np.arange(24, dtype="float32").reshape(2, 3, 4)
I = np.array([[1, 0], [-1, 1]])  # noqa: E741
J = np.array([2, -1])
MASK = X % 5 < 2

s = np.s_
KNOWN = [
    s[0], s[-1], s[1, 2], s[1, 2, 3], s[:, 1], s[..., 1], s[1, ..., -2], s[:], s[...], s[()],
    s[:, 1:3], s[:, :-1, 1:], s[::-1], s[:, ::-2, 1::2], s[:, 3:1], s[:, 2:0:-1], s[:, -100:100], s[:, 5:],
    s[:, 100::-1], s[None], s[:, None, 1], s[1, None, ..., None, 1:2], s[..., None, 0], s[0:0],
    s[I], s[:, J], s[:, J, 0], s[0, :, J], s[J - 1, :, J], s[:, J[:1], I], s[:, J, :, None],
    s[J[0] - 1, J], s[[1, 0]],
    s[None, :, J], s[J[:0]], s[I, None, J], s[..., J], s[np.int64(1)], s[:, np.array(1)], s[0, J, 1:],
    s[MASK], s[MASK[:, 0, 0]], s[:, MASK[0, :, 0]], s[:, MASK[0]], s[MASK[:, :, 0], 1:], s[[True, False]],
    s[1, MASK[0, :, 0], J[:1]],
]  # fmt: skip
"""Indices that are known while tracing."""


def both(f: Any, *args: Any) -> None:
    """Demand that a function gives on traced values what it gives on arrays, interpreted and compiled."""
    expected = f(*args)
    for run in (relay.function(f), relay.compile(f)):
        found = np.asarray(run(*args))
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


@pytest.mark.parametrize("where", KNOWN, ids=str)
def test_known_index(where: Any) -> None:
    assert np.array_equal(relay.function(lambda x: x[where])(X), X[where])


def test_known_indices_compiled() -> None:
    @relay.compile
    def parts(x: Any):
        return [x[where] for where in KNOWN]

    for where, found in zip(KNOWN, parts(X), strict=True):
        np.testing.assert_array_equal(found, X[where], err_msg=str(where))


@pytest.mark.parametrize("f", [
    lambda x, i, j, m: x[i], lambda x, i, j, m: x[:, j], lambda x, i, j, m: x[i, :, j],
    lambda x, i, j, m: x[0, j, 1:],
    lambda x, i, j, m: x[j[0]], lambda x, i, j, m: x[:, None, j[0], j], lambda x, i, j, m: x[1, 1:, j, None],
    lambda x, i, j, m: x[m], lambda x, i, j, m: x[m[:, :, 0]], lambda x, i, j, m: x[:, m[0]],
    lambda x, i, j, m: x[x > 3], lambda x, i, j, m: x[1, m[0, :, 0]],
    lambda x, i, j, m: x[m[:, 0, 0], 1, j[:1]],
])  # fmt: skip
def test_traced_index(f: Any) -> None:
    both(f, X, I, J - 1, MASK)


@pytest.mark.parametrize("where", [s[1:, ::-1, 2], s[:, J], s[MASK], s[I, :, 1]], ids=str)
def test_gradient_of_a_part(where: Any) -> None:
    _, found = relay.value_and_grad(lambda x: (x[where] * x[where]).sum(), 0)(X)
    expected = np.zeros_like(X)
    np.add.at(expected, where, 2 * X[where])
    np.testing.assert_array_equal(found, expected)


SETS = [
    s[0], s[:, 1:3], s[..., ::2], s[1, 2, 3], s[...], s[::-1], s[J - 1], s[:, J - 1, 1:], s[MASK], s[0:0],
    s[:, None, 1], s[0, MASK[0]],
]  # fmt: skip


@pytest.mark.parametrize("where", SETS, ids=str)
def test_part_of_a_copy_is_set(where: Any) -> None:
    expected = X.copy()
    expected[where] = 7
    assert np.array_equal(relay.function(lambda x: x.at[where].set(7))(X), expected)
    part = np.arange(X[where].size, dtype="float32").reshape(X[where].shape)
    expected[where] = part
    if where is not SETS[6] and where is not SETS[7]:
        assert np.array_equal(relay.function(lambda x, v: x.at[where].set(v))(X, part), expected)


@pytest.mark.parametrize("where", SETS, ids=str)
def test_part_of_a_copy_is_added_to(where: Any) -> None:
    expected = X.copy()
    np.add.at(expected, where, np.float32(2))
    assert np.array_equal(relay.function(lambda x: x.at[where].add(2))(X), expected)


def test_copies_with_other_parts_compiled() -> None:
    @relay.compile
    def copies(x: Any):
        return [(x.at[where].set(7), x.at[where].add(2.0)) for where in SETS]

    for where, (put, added) in zip(SETS, copies(X), strict=True):
        expected = X.copy()
        expected[where] = 7
        np.testing.assert_array_equal(put, expected, err_msg=str(where))
        expected = X.copy()
        np.add.at(expected, where, np.float32(2))
        np.testing.assert_array_equal(added, expected, err_msg=str(where))


def test_part_at_a_traced_index() -> None:
    @relay.function
    def f(x: Any, i: Any, m: Any):
        return (
            x.at[i].add(1),
            x.at[:, i[0]].set(x[:, 0]),
            x.at[m].set(-1),
            x.at[m].add(x[m]),
            x.at[x > 3].set(0),
        )

    i = np.array([0, 1, 0])
    expected = X.copy()
    np.add.at(expected, i, 1)
    found = f(X, i, MASK)
    np.testing.assert_array_equal(found[0], expected)
    expected = X.copy()
    expected[:, 0] = X[:, 0]
    np.testing.assert_array_equal(found[1], expected)
    np.testing.assert_array_equal(found[2], np.where(MASK, -1, X))
    np.testing.assert_array_equal(found[3], np.where(MASK, 2 * X, X))
    np.testing.assert_array_equal(found[4], np.where(X > 3, 0, X))


@pytest.mark.parametrize("where", [s[1:, 0], s[J - 1], s[MASK]], ids=str)
@pytest.mark.parametrize("how", ["set", "add"])
def test_gradient_of_a_changed_copy(where: Any, how: str) -> None:
    weights = X + 1

    def f(x: Any, v: Any) -> Any:
        return (getattr(x.at[where], how)(v) * weights).sum()

    _, (by_x, by_v) = relay.grad(f)(X, np.float32(3))
    expected = weights.copy()
    if how == "set":
        expected[where] = 0
    np.testing.assert_array_equal(by_x, expected)
    assert by_v == weights[where].sum()


def test_symbolic_axes_are_sliced_and_set() -> None:
    @relay.function
    def f(x: "Tensor[(n, 3), float32]"):
        return x[0], x[-1], x[1:], x[:-1, 1], x[::-1], x.at[1:].set(0), x.at[:, 1].add(1), x[:, None]

    x = np.arange(12, dtype="float32").reshape(4, 3)
    put, added = x.copy(), x.copy()
    put[1:] = 0
    added[:, 1] += 1
    expected = x[0], x[-1], x[1:], x[:-1, 1], x[::-1], put, added, x[:, None]
    for found, wanted in zip(f(x), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert str(f.function.ret_type).startswith(
        "(Tensor[(3,), float32], Tensor[(3,), float32], Tensor[(max(0, n - 1), 3)"
    )


@pytest.mark.parametrize(
    ("where", "code", "message"),
    [
        (5, "index-out-of-range", "index 5 is out of range for an axis of size 2"),
        (s[:, -4], "index-out-of-range", "index -4 is out of range for an axis of size 3"),
        (s[0, 0, 0, 0], "rank-mismatch", "4 subscripts for a tensor of rank 3"),
        (s[..., 0, ...], "attribute-value", "it cannot occur twice"),
        (1.5, "bad-index", "a tensor cannot be indexed with 1.5"),
        ("w", "bad-index", "a tensor cannot be indexed with 'w'"),
        (True, "bad-index", "a tensor cannot be indexed with True"),
        (s[::0], "bad-index", "a slice of step 0"),
        (np.array([0.5]), "bad-index", "a tensor cannot be indexed with array([0.5])"),
    ],
)
def test_index_that_means_nothing_is_explained(where: Any, code: str, message: str) -> None:
    with pytest.raises(relay.RelayError) as error:
        relay.function(lambda x: x[where])(X)
    (d,) = error.value.diagnostics
    assert d.code == code
    assert message in d.message
    assert d.span is not None
    assert d.span.source_name.name == __file__


@pytest.mark.parametrize(
    ("f", "code", "message"),
    [
        (lambda x: x[x], "dtype-not-supported", "an index does not work on float32"),
        (lambda x: x[x[0, 0, 0] > 0], "rank-mismatch", "a single truth value is not a mask"),
        (lambda x: x[: x[0, 0, 0]], "dtype-not-supported", "a bound does not work on float32"),
    ],
)
def test_traced_index_that_means_nothing_is_explained(f: Any, code: str, message: str) -> None:
    with pytest.raises(relay.RelayError) as error:
        relay.function(f)(X)
    (d,) = error.value.diagnostics
    assert d.code == code
    assert message in d.message


def test_index_out_of_range_is_found_when_it_runs() -> None:
    for run in (relay.function(lambda x, i: x[i]), relay.compile(lambda x, i: x[i])):
        with pytest.raises(relay.RelayError) as error:
            run(X, np.array([2]))
        assert error.value.codes == ("index-out-of-range",)


@pytest.mark.parametrize("size", ["n", "?"])
@pytest.mark.parametrize(
    "where", [s[[2, 0, 2]], s[::-1], s[:, [1, 0]], s[J, 1:], s[X[0, :, 0] > 3], s[J[:1]]]
)
@pytest.mark.parametrize("how", ["set", "add"])
def test_any_index_of_axes_of_open_size_is_set(size: str, where: Any, how: str) -> None:
    def f(x: Any, v: Any) -> Any:
        return getattr(x.at[where], how)(v)

    x = X[0]
    f.__annotations__ = {"x": f"Tensor[({size}, 4), float32]", "v": "float32"}
    expected = x.copy()
    if how == "set":
        expected[where] = 7
    else:
        np.add.at(expected, where, 7)
    for run in (relay.function(f), relay.compile(f)):
        np.testing.assert_array_equal(run(x, np.float32(7)), expected)
    _, (by_x, by_v) = relay.grad(f)(x, np.float32(7))
    kept = np.ones_like(x)
    kept[where] = how == "add"
    np.testing.assert_array_equal(by_x, kept)
    assert (
        by_v == x[where].size if how == "add" else by_v == np.unique(np.arange(12).reshape(3, 4)[where]).size
    )


def test_places_of_axes_of_open_size_may_be_computed() -> None:
    @relay.function
    def f(x: "Tensor[(n, 3), float32]", i: "Tensor[(k,), int32]", v: "Tensor[(k, 3), float32]"):
        return x.at[i].add(v), x.at[i].set(v), x.at[i[0] : i[1]].set(-1), x.at[i[0] :, 1].add(x[i[0] :, 0])

    x, i, v = X[:, :, :3].reshape(-1, 3), np.array([1, 3, 1], "int32"), X.reshape(-1, 3)[:3]
    added, put, between, column = (x.copy() for _ in range(4))
    np.add.at(added, i, v)
    put[i] = v
    between[1:3] = -1
    column[1:, 1] += x[1:, 0]
    for run in (f, relay.compile(f)):
        for found, expected in zip(run(x, i, v), (added, put, between, column), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda x: x.at[0, 1, 2].set(0.0), "rank-mismatch"),
        (lambda x: x.reshape(3, 2.5), "attribute-type"),
        (lambda x: x.reshape("a"), "attribute-type"),
    ],
)
def test_parts_and_shapes_that_no_tensor_has(change: Any, code: str) -> None:
    with pytest.raises(relay.RelayError, match=code):
        relay.function(change)(np.ones((2, 3), "float32"))
