"""The extensions `linalg` and `fft`: NumPy's values on random stacks of matrices, at once and in a trace."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relay

xp = relay.numpy
R = np.random.default_rng(5)


def matrices(*shape: int, kind: str = "any") -> np.ndarray:
    x = R.normal(size=shape)
    if kind == "definite":
        return x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])
    return x + np.swapaxes(x, -1, -2) if kind == "symmetric" else x


SQUARE = [matrices(3, 3), matrices(2, 4, 4), matrices(1, 1), matrices(0, 2, 2)]
ANY = [*SQUARE, matrices(4, 2), matrices(2, 2, 5), matrices(3, 1)]
VALUES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "cholesky": (np.linalg.cholesky, [matrices(3, 3, kind="definite"), matrices(2, 2, 2, kind="definite")]),
    "det": (np.linalg.det, SQUARE),
    "slogdet": (np.linalg.slogdet, SQUARE),
    "inv": (np.linalg.inv, SQUARE),
    "eigvalsh": (np.linalg.eigvalsh, [matrices(3, 3, kind="symmetric"), matrices(2, 4, 4, kind="symmetric")]),
    "svdvals": (np.linalg.svdvals, ANY),
    "pinv": (np.linalg.pinv, ANY),
    "matrix_rank": (np.linalg.matrix_rank, [*ANY, np.ones((3, 3)), np.zeros((2, 3))]),
    "diagonal": (np.linalg.diagonal, ANY),
    "trace": (np.linalg.trace, ANY),
    "matrix_norm": (np.linalg.matrix_norm, ANY),
    "vector_norm": (np.linalg.vector_norm, ANY),
    "matrix_transpose": (np.linalg.matrix_transpose, ANY),
}
WITH_OPTIONS = [
    ("cholesky", {"upper": True}), ("diagonal", {"offset": 1}), ("diagonal", {"offset": -2}),
    ("trace", {"offset": 1}),
    ("matrix_norm", {"ord": "nuc", "keepdims": True}), ("vector_norm", {"axis": -1, "ord": 1}),
    *[("matrix_norm", {"ord": o}) for o in (1, -1, 2, -2, np.inf, -np.inf)],
    *[("vector_norm", {"axis": (-2, -1), "keepdims": True, "ord": o}) for o in (0, 3, 0.5, -1, np.inf)],
    ("matrix_rank", {"rtol": 0.5}), ("pinv", {"rtol": 0.5}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), [*[(name, {}) for name in VALUES], *WITH_OPTIONS])
def test_values_are_numpys(name: str, options: dict[str, Any]) -> None:
    expected, given = VALUES[name]
    f = getattr(xp.linalg, name)
    for x in given:
        if 0 in x.shape and name not in ("det", "inv", "trace", "diagonal", "matrix_transpose"):
            continue
        agree(f(xp.asarray(x), **options), expected(x, **options))
        traced = relay.function(lambda x: tuple_of(f(x, **options)))(xp.asarray(x))
        agree(traced, expected(x, **options))


@pytest.mark.parametrize("size", [1e20, 1e-30])
def test_norms_at_the_ends_of_float32(size: float) -> None:
    x = np.array([3, 4], "float32") * np.float32(size)
    for found in (xp.linalg.vector_norm(x), xp.linalg.matrix_norm(x[None])):
        np.testing.assert_allclose(found, np.linalg.vector_norm(x.astype("float64")), rtol=1e-7)
    (slope,) = relay.grad(xp.linalg.vector_norm)(x)[1]
    np.testing.assert_allclose(slope, [0.6, 0.8], rtol=1e-7)


def tuple_of(x: Any) -> Any:
    return tuple(x) if isinstance(x, tuple) else x


def agree(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        for f, e in zip(found, expected, strict=True):
            agree(f, e)
        return
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 5), (2, 4, 3), (3, 2, 4)])
@pytest.mark.parametrize("is_full", [False, True])
def test_factors_are_orthonormal_and_give_the_matrix(shape: tuple[int, ...], is_full: bool) -> None:
    x = matrices(*shape)
    u, s, vh = map(np.asarray, xp.linalg.svd(xp.asarray(x), full_matrices=is_full))
    wanted = np.linalg.svd(x, full_matrices=is_full)
    assert (u.shape, s.shape, vh.shape) == tuple(w.shape for w in wanted)
    k = s.shape[-1]
    np.testing.assert_allclose(u[..., :k] * s[..., None, :] @ vh[..., :k, :], x, atol=1e-12)
    mode = "complete" if is_full else "reduced"
    q, r = map(np.asarray, xp.linalg.qr(xp.asarray(x), mode=mode))
    assert (q.shape, r.shape) == tuple(w.shape for w in np.linalg.qr(x, mode=mode))
    np.testing.assert_allclose(q @ r, x, atol=1e-12)
    np.testing.assert_array_equal(r, np.triu(r))
    for basis in (u, q, np.swapaxes(vh, -1, -2)):
        unit = np.swapaxes(basis, -1, -2) @ basis
        np.testing.assert_allclose(unit, np.broadcast_to(np.eye(unit.shape[-1]), unit.shape), atol=1e-12)


def test_eigenvectors() -> None:
    x = matrices(2, 4, 4, kind="symmetric")
    found = xp.linalg.eigh(xp.asarray(x))
    w, v = np.asarray(found.eigenvalues), np.asarray(found.eigenvectors)
    np.testing.assert_allclose(x @ v, v * w[:, None, :], atol=1e-12)


@pytest.mark.parametrize(
    ("a", "b"), [((3, 3), (3,)), ((2, 3, 3), (3, 2)), ((3, 3), (2, 3, 1)), ((2, 3, 3), (3,))]
)
def test_systems(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = matrices(*a), matrices(*b)
    agree(xp.linalg.solve(xp.asarray(x), xp.asarray(y)), np.linalg.solve(x, y))


def test_products() -> None:
    x, y = matrices(4, 3), matrices(4, 3)
    agree(xp.linalg.cross(xp.asarray(x), xp.asarray(y)), np.linalg.cross(x, y))
    agree(
        xp.linalg.cross(xp.asarray(x[:3].T), xp.asarray(y[:3].T), axis=0), np.cross(x[:3].T, y[:3].T, axis=0)
    )
    agree(xp.linalg.outer(xp.asarray(x[0]), xp.asarray(y[1])), np.outer(x[0], y[1]))
    square = matrices(2, 3, 3)
    for n in (-2, -1, 0, 1, 2, 5):
        agree(xp.linalg.matrix_power(xp.asarray(square), n), np.linalg.matrix_power(square, n))
    agree(xp.linalg.trace(xp.asarray([[1, 2], [3, 4]], dtype=xp.int8)), np.int32(5))


@pytest.mark.parametrize("make", [
    lambda: xp.linalg.qr(xp.ones((2, 2)), mode="raw"), lambda: xp.linalg.matrix_norm(xp.ones((2, 2)), ord=3),
    lambda: xp.linalg.cross(xp.ones(2), xp.ones(2)), lambda: xp.linalg.outer(xp.ones((2, 2)), xp.ones(2)),
    lambda: xp.linalg.diagonal(xp.ones(2)),
])  # fmt: skip
def test_what_has_no_result(make: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match="not"):
        make()


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies(n: int) -> None:
    for name in ("fftfreq", "rfftfreq"):
        found = getattr(xp.fft, name)(n, d=0.25, dtype=xp.float64)
        np.testing.assert_allclose(np.asarray(found), getattr(np.fft, name)(n, d=0.25))
    x = np.arange(3 * n).reshape(3, n)
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 1, (0, 1)):
            agree(getattr(xp.fft, name)(xp.asarray(x), axes=axes), getattr(np.fft, name)(x, axes=axes))
