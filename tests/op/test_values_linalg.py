"""`linalg` operators against NumPy's, on the interpreter and as machine code; their errors and limits."""

from typing import Any

import numpy as np
import pytest

import relay
from op.concrete import infer
from relay.diagnostic import RelayError
from relay.ir.expr import Call, Function, Op, Var
from relay.ir.module import IRModule
from relay.ir.type import Kind, TensorType, TupleType, TypeVar
from relay.op.arrays import array_type

TOLERANCE = {"float32": 2e-5, "float64": 1e-11}
STACKS = [(), (2, 0), (2, 3)]
rng = np.random.default_rng(3)


def normal(*shape: int, dtype: str = "float64") -> np.ndarray:
    return rng.normal(size=shape).astype(dtype)


def positive(*shape: int, dtype: str = "float64") -> np.ndarray:
    """Positive definite matrices."""
    x = rng.normal(size=shape)
    return (x @ np.swapaxes(x, -1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def module_of(name: str, operands: tuple[np.ndarray, ...], attrs: dict[str, Any]) -> IRModule:
    params = tuple(Var(f"x{i}", array_type(x)) for i, x in enumerate(operands))
    return IRModule.from_expr(Function(params, Call(Op.get(name), params, attrs)))


def both(name: str, *operands: np.ndarray, **attrs: Any) -> Any:
    """What the interpreter says, after machine code has said the same."""
    mod = module_of(name, operands, attrs)
    found, compiled = relay.run(mod, "main", list(operands)), relay.build(mod)(*operands)
    tolerance = TOLERANCE.get(str(operands[0].dtype), 2e-2)
    parts = zip(found, compiled, strict=True) if isinstance(found, tuple) else [(found, compiled)]
    for a, b in parts:
        assert np.ndim(a) == 0 or array_type(a) is array_type(b)
        np.testing.assert_allclose(*(np.asarray(x, "float64") for x in (a, b)), tolerance, tolerance)
    return found


def close(found: Any, expected: Any, dtype: str) -> None:
    np.testing.assert_allclose(found, expected, TOLERANCE[dtype], TOLERANCE[dtype])


@pytest.mark.parametrize(
    ("stack", "n", "dtype"),
    [
        ((), 1, "float32"),
        ((), 4, "float64"),
        ((2, 0), 4, "float64"),
        ((2, 3), 4, "float32"),
        ((3,), 0, "float32"),
    ],
)
def test_square_matrices_as_in_numpy(stack: tuple[int, ...], n: int, dtype: str) -> None:
    a, x = positive(*stack, n, n, dtype=dtype), normal(*stack, n, n, dtype=dtype)
    close(both("linalg.cholesky", a), np.linalg.cholesky(a), dtype)
    close(both("linalg.cholesky", a, upper=True), np.linalg.cholesky(a, upper=True), dtype)
    x = x + 2 * np.eye(n, dtype=dtype)
    close(both("linalg.inv", a), np.linalg.inv(a), dtype)
    close(both("linalg.det", x), np.linalg.det(x), dtype)
    for found, expected in zip(both("linalg.slogdet", x), np.linalg.slogdet(x), strict=True):
        close(found, expected, dtype)
    values, vectors = both("linalg.eigh", a)
    close(values, np.linalg.eigvalsh(a), dtype)
    close(a @ vectors / n, vectors * values[..., None, :] / n, dtype)


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize(
    ("m", "n", "dtype"),
    [(4, 4, "float32"), (5, 2, "float64"), (2, 5, "float64"), (1, 3, "float32"), (0, 2, "float64")],
)
def test_factors_of_matrices_of_any_shape(stack: tuple[int, ...], m: int, n: int, dtype: str) -> None:
    a = normal(*stack, m, n, dtype=dtype)
    k = min(m, n)
    q, r = both("linalg.qr", a)
    close(q @ r, a, dtype)
    close(np.swapaxes(q, -1, -2) @ q, np.broadcast_to(np.eye(k), (*stack, k, k)), dtype)
    assert not np.any(np.tril(r, -1))
    close(r, np.linalg.qr(a).R, dtype)
    u, s, vh = both("linalg.svd", a)
    close(s, np.linalg.svd(a, compute_uv=False), dtype)
    close(u * s[..., None, :] @ vh, a, dtype)
    close(vh @ np.swapaxes(vh, -1, -2), np.broadcast_to(np.eye(k), (*stack, k, k)), dtype)


@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3,)), ((2, 3, 3), (3, 2)), ((3, 3), (2, 3, 4)),
     ((2, 1, 3, 3), (5, 3, 2)), ((0, 3, 3), (3, 2)), ((1, 1), (1,)), ((3, 3), (3, 0)), ((0, 0), (0, 2))],
)  # fmt: skip
def test_systems_as_in_numpy(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    dtype = "float32" if len(b) == 1 else "float64"
    x, y = normal(*a, dtype=dtype) + 3 * np.eye(a[-1], dtype=dtype), normal(*b, dtype=dtype)
    close(both("linalg.solve", x, y), np.linalg.solve(x, y), dtype)
    found = both("linalg.triangular_solve", x, y, lower=True)
    close(found, np.linalg.solve(np.tril(x), y), dtype)
    found = both("linalg.triangular_solve", x, y, transpose_a=True, unit_diagonal=True)
    ones = np.triu(x)
    ones[..., range(a[-1]), range(a[-1])] = 1
    close(found, np.linalg.solve(np.swapaxes(ones, -1, -2), y), dtype)


@pytest.mark.parametrize(("m", "n"), [(5, 3), (3, 5), (3, 3), (1, 1), (4, 0)])
def test_least_squares_as_in_numpy(m: int, n: int) -> None:
    a, b = normal(m, n), normal(m, 2)
    close(both("linalg.lstsq", a, b), np.linalg.lstsq(a, b)[0], "float64")
    close(both("linalg.lstsq", a, b[:, 0]), np.linalg.lstsq(a, b[:, 0])[0], "float64")
    stacked = both("linalg.lstsq", np.stack([a, 2 * a]), np.stack([b, b]))
    close(stacked, np.stack([np.linalg.lstsq(x, b)[0] for x in (a, 2 * a)]), "float64")


def test_least_squares_of_a_deficient_rank_are_the_shortest() -> None:
    a = normal(5, 2) @ normal(2, 4)
    b = normal(5, 3)
    close(both("linalg.lstsq", a, b), np.linalg.lstsq(a, b)[0], "float64")
    near = a + 1e-6 * normal(5, 4)
    found = both("linalg.lstsq", near, b, rcond=1e-4)
    close(found, np.linalg.lstsq(near, b, rcond=1e-4)[0], "float64")


def test_ill_conditioned_systems_are_as_accurate_as_numpy() -> None:
    n = 10
    hilbert = 1 / (np.arange(n)[:, None] + np.arange(n) + 1)
    b = hilbert @ np.ones(n)
    found = both_loosely("linalg.solve", hilbert, b)
    assert np.max(np.abs(hilbert @ found - b)) < 1e-14
    assert np.max(np.abs(both_loosely("linalg.lstsq", hilbert, b) - 1)) < 1e-2
    factor = both_loosely("linalg.cholesky", hilbert)
    close(factor @ factor.T, hilbert, "float64")


def both_loosely(name: str, *operands: np.ndarray) -> Any:
    """What machine code says, after the interpreter has said it within what the condition allows."""
    mod = module_of(name, operands, {})
    compiled = relay.build(mod)(*operands)
    np.testing.assert_allclose(compiled, relay.run(mod, "main", list(operands)), 1e-2, 1e-2)
    return compiled


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_are_computed_in_float32(dtype: str) -> None:
    mod = relay.parse(f"""
def @main(%a: Tensor[(3, 3), float32], %b: Tensor[(3,), float32]) {{
  let %x = cast(%a, dtype="{dtype}");
  let %y = cast(%b, dtype="{dtype}");
  (linalg.solve(%x, %y), linalg.det(%x), linalg.svd(%x).1, linalg.lstsq(%x, %y))
}}""")
    a, b = positive(3, 3, dtype="float32"), normal(3, dtype="float32")
    for found in (relay.run(mod, "main", [a, b]), relay.build(mod)(a, b)):
        expected = (np.linalg.solve(a, b), np.linalg.det(a), np.linalg.svd(a).S, np.linalg.solve(a, b))
        for x, y in zip(found, expected, strict=True):
            assert str(np.asarray(x).dtype) == dtype
            np.testing.assert_allclose(np.asarray(x, "float32"), y, 0.1, 0.05)


FAULTS = [
    ("linalg.solve([[1.0, 2.0], [2.0, 4.0]], [1.0, 2.0])", "singular-matrix"),
    ("linalg.inv([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]])", "singular-matrix"),
    ("linalg.triangular_solve([[1.0, 2.0], [0.0, 0.0]], [1.0, 2.0])", "singular-matrix"),
    ("linalg.cholesky([[1.0, 2.0], [2.0, 1.0]])", "not-positive-definite"),
    ("linalg.cholesky([[0.0]])", "not-positive-definite"),
]


@pytest.mark.parametrize(("text", "code"), FAULTS)
def test_what_has_no_result_is_an_error_with_its_place(text: str, code: str) -> None:
    mod = relay.parse(f"def @main() {{ {text} }}")
    for evaluate in (lambda: relay.run(mod, "main", []), lambda: relay.build(mod)()):
        with pytest.raises(RelayError) as caught:
            evaluate()
        (found,) = caught.value.diagnostics
        assert found.code == code
        assert found.span is not None
        assert found.span.column == 15


def test_unit_diagonals_and_the_other_half_are_not_read() -> None:
    a, b = np.asarray([[0.0, np.nan], [2.0, 0.0]]), np.asarray([1.0, 5.0])
    found = both("linalg.triangular_solve", a, b, lower=True, unit_diagonal=True)
    assert found.tolist() == [1.0, 3.0]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["cholesky", "inv", "det", "slogdet", "qr", "svd", "eigh"])
def test_a_matrix_that_is_not_finite_gives_nan_and_spares_the_others(name: str, bad: float) -> None:
    a = positive(2, 3, 3)
    whole = both(f"linalg.{name}", a)
    a[1, 1, 1] = bad
    found = both(f"linalg.{name}", a)
    for x, y in zip(found, whole, strict=True) if isinstance(found, tuple) else [(found, whole)]:
        assert np.all(np.isnan(x[1]))
        close(x[0], y[0], "float64")


def test_a_system_whose_matrix_is_not_finite_gives_nan() -> None:
    a, b = positive(2, 2, 2), normal(2, 1)
    a[0, 1, 0] = np.nan
    for name in ("solve", "lstsq", "triangular_solve"):
        found = both(f"linalg.{name}", a, b, **({"lower": True} if name == "triangular_solve" else {}))
        assert np.all(np.isnan(found[0]))
        assert np.all(np.isfinite(found[1]))


def test_only_the_symmetric_part_counts() -> None:
    a = positive(3, 3)
    b = a + np.triu(normal(3, 3), 1)
    half = (b + b.T) / 2
    close(both("linalg.cholesky", b), np.linalg.cholesky(half), "float64")
    close(both("linalg.eigh", b)[0], np.linalg.eigvalsh(half), "float64")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("linalg.cholesky([1.0])", "rank-mismatch"),
        ("linalg.det([[1.0, 2.0]])", "shape-mismatch"),
        ("linalg.solve([[1.0]], 1.0)", "rank-mismatch"),
        ("linalg.solve([[1.0]], [1.0, 2.0])", "contraction-mismatch"),
        ("linalg.lstsq([[1.0, 2.0]], [1.0, 2.0])", "contraction-mismatch"),
        ('linalg.svd(cast([[1.0, 2.0]], dtype="int32"))', "dtype-not-supported"),
    ],
)
def test_operands_that_do_not_fit_are_refused(text: str, code: str) -> None:
    with pytest.raises(RelayError) as caught:
        relay.infer(relay.parse(f"def @main() {{ {text} }}"))
    assert [d.code for d in caught.value.diagnostics] == [code]


N, M = (TypeVar(name, Kind.Dim) for name in "nm")


def t(*dims: Any) -> TensorType:
    return TensorType(dims, "float32")


def test_types_of_symbolic_sizes() -> None:
    from relay.ir.dim import minimum

    assert infer("linalg.cholesky", t(M, N, N)) is t(M, N, N)
    assert infer("linalg.solve", t(M, N, N), t(N)) is t(M, N)
    assert infer("linalg.solve", t(N, N), t(M, N, 3)) is t(M, N, 3)
    assert infer("linalg.lstsq", t(M, N), t(M)) is t(N)
    k = minimum(M, N)
    assert infer("linalg.svd", t(M, N)) is TupleType([t(M, k), t(k), t(k, N)])
    assert infer("linalg.qr", t(N * 2, N)) is TupleType(
        [t(N * 2, minimum(N * 2, N)), t(minimum(N * 2, N), N)]
    )
    assert infer("linalg.slogdet", t(M, N, N)) is TupleType([t(M), t(M)])


def test_symbolic_sizes_on_both_evaluators() -> None:
    mod = relay.parse("""
def @main(%a: Tensor[(m, n), float64], %b: Tensor[(m, k), float64]) {
  let (%q, %r) = linalg.qr(%a);
  let (%u, %s, %v) = linalg.svd(%a);
  (linalg.lstsq(%a, %b), %q @ %r, (%u * expand_dims(%s, axis=-2)) @ %v)
}""")
    built = relay.build(mod)
    for m, n in ((4, 3), (3, 4), (2, 2)):
        a, b = normal(m, n), normal(m, 2)
        for found in (relay.run(mod, "main", [a, b]), built(a, b)):
            for x, y in zip(found, (np.linalg.lstsq(a, b)[0], a, a), strict=True):
                close(x, y, "float64")


def gradient(body: str, a: np.ndarray) -> np.ndarray:
    n = a.shape[-1]
    mod = relay.parse(f"""
def @f(%a: Tensor[({n}, {n}), float64]) -> float64 {{ {body} }}
def @main(%a: Tensor[({n}, {n}), float64]) {{ grad(@f)(%a).1.0 }}""")
    found = relay.run(mod, "main", [a])
    close(relay.build(mod)(a), found, "float64")
    return found


def test_the_derivative_of_vectors_of_equal_values_is_no_number() -> None:
    of_values = gradient("let (%w, %v) = linalg.eigh(%a); sum(exp(%w))", np.eye(2))
    close(of_values, np.e * np.eye(2), "float64")
    weights = "[[1f64, 2f64], [2f64, 3f64]]"
    for factors in ("let (%w, %v) = linalg.eigh(%a)", "let (%u, %w, %v) = linalg.svd(%a)"):
        assert not np.all(np.isfinite(gradient(f"{factors}; sum(%v * {weights})", np.eye(2))))


def test_the_nuclear_norm_of_a_matrix_of_zeros_has_a_finite_gradient() -> None:
    assert np.all(np.isfinite(gradient("sum(linalg.svd(%a).1)", np.zeros((2, 2)))))


def cofactors(a: np.ndarray) -> np.ndarray:
    """What the determinant changes by with each element: the determinant without its row and column."""
    minors = [[np.delete(np.delete(a, i, 0), j, 1) for j in range(len(a))] for i in range(len(a))]
    signs = (-1.0) ** np.add.outer(range(len(a)), range(len(a)))
    return signs * np.asarray([[np.linalg.det(x) for x in row] for row in minors])


MATRICES = {
    "two rows of one direction": np.asarray([[1.0, 2.0], [2.0, 4.0]]),
    "rank 2 of 3": np.arange(1.0, 10.0).reshape(3, 3),
    "no pivot": np.asarray([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]),
    "rank 1 of 3": np.diag([1.0, 0.0, 0.0]),
    "zeros": np.zeros((2, 2)),
    "one zero": np.zeros((1, 1)),
    "regular": np.asarray([[1.0, 2.0], [3.0, 4.0]]),
}


@pytest.mark.parametrize("a", MATRICES.values(), ids=MATRICES)
def test_the_gradient_of_a_determinant_is_the_cofactors(a: np.ndarray) -> None:
    close(gradient("linalg.det(%a)", a), cofactors(a), "float64")
    mod = relay.parse(f"""def @main(%a: Tensor[{a.shape}, float64], %d: Tensor[{a.shape}, float64]) {{
      (linalg.adjugate(%a), jvp(fn (%b) {{ linalg.det(%b) }})((%a,), (%d,)).1)
    }}""")
    moved = np.cos(np.arange(a.size)).reshape(a.shape)
    for adjugate, slope in (mod.evaluate("main", a, moved), relay.build(mod)(a, moved)):
        close(adjugate, cofactors(a).T, "float64")
        close(slope, np.sum(cofactors(a) * moved), "float64")


def test_the_second_derivative_of_a_determinant_is_that_of_its_terms() -> None:
    body = "sum(grad(fn (%b) { linalg.det(%b) })(%a).1.0 * %a * %a)"
    a, b, c, d = 1.0, 2.0, 3.0, 5.0
    expected = [[d * d + 2 * a * d, -c * c - 2 * b * c], [-b * b - 2 * b * c, a * a + 2 * a * d]]
    close(gradient(body, np.asarray([[a, b], [c, d]])), np.asarray(expected), "float64")
    with pytest.raises(RelayError, match="singular"):
        gradient(body, MATRICES["two rows of one direction"])
