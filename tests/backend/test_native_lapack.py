"""Factorisations in machine code: by LAPACK's routines where SciPy has their addresses, else by NumPy."""

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host import lapack, native_program
from relay.diagnostic import RelayError

PROGRAM = """
def @main(%a: Tensor[(n, n), float64], %b: Tensor[(n,), float64]) {
  let (%w, %v) = linalg.eigh(%a);
  let (%u, %s, _) = linalg.svd(%a);
  let (%q, %r) = linalg.qr(%a);
  let %l = linalg.cholesky(%a @ transpose(%a));
  (
    linalg.solve(%a, %b), linalg.det(%a), linalg.slogdet(%a), %w, %s, %q @ %r, %l @ transpose(%l),
    linalg.triangular_solve(%r, %b), linalg.inv(%a), linalg.lstsq(%a, %b)
  )
}
"""
NUMPY = ("cholesky", "solve", "det", "slogdet", "qr", "svd", "eigh")
rng = np.random.default_rng(1)
A, B = rng.normal(size=(5, 5)), rng.normal(size=5)
needs_scipy = pytest.mark.skipif(not lapack.routine_addresses(["dpotrf"])[0], reason="SciPy is not installed")


def leaves(value: Any) -> list[Any]:
    return [y for x in value for y in leaves(x)] if isinstance(value, tuple) else [value]


def check(found: Any) -> None:
    expected = leaves(relay.run(relay.parse(PROGRAM), "main", [A, B]))
    for x, y in zip(leaves(found), expected, strict=True):
        np.testing.assert_allclose(x, y, 1e-9, 1e-10)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program, compiled."""
    path = tmp_path_factory.mktemp("compiled") / "factors.rlo"
    relay.build(relay.parse(PROGRAM)).export_library(str(path))
    return str(path)


@pytest.fixture
def without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_program, "routine_addresses", lambda names: [0] * len(names))


def refuse(*_: Any, **__: Any) -> Any:
    raise AssertionError("NumPy is called")


@needs_scipy
def test_routines_are_called_without_python(saved: str, monkeypatch: pytest.MonkeyPatch) -> None:
    built = relay.load_module(saved)
    with monkeypatch.context() as patched:
        for name in NUMPY:
            patched.setattr(np.linalg, name, refuse)
        found = built(A, B)
    check(found)


def test_without_scipy_numpy_computes_the_same(saved: str, without_scipy: None) -> None:
    check(relay.load_module(saved)(A, B))


SINGULAR = "def @main(%a: Tensor[(2, 2), float64]) { linalg.inv(%a) }"


@pytest.mark.parametrize("has_scipy", [True, False])
def test_the_error_is_the_same(has_scipy: bool, request: pytest.FixtureRequest) -> None:
    if not has_scipy:
        request.getfixturevalue("without_scipy")
    mod = relay.parse(SINGULAR)
    built = relay.build(mod)
    said = []
    for evaluate in (lambda: built(np.ones((2, 2))), lambda: relay.run(mod, "main", [np.ones((2, 2))])):
        with pytest.raises(RelayError) as caught:
            evaluate()
        (found,) = caught.value.diagnostics
        said.append((found.code, found.message, found.hint, str(found.span)))
    assert said[0] == said[1]
    np.testing.assert_allclose(built(2 * np.eye(2)), np.eye(2) / 2)


@pytest.mark.parametrize("hides", [False, True])
def test_a_saved_program_runs_in_another_process(saved: str, hides: bool, tmp_path: Path) -> None:
    np.savez(tmp_path / "given.npz", a=A, b=B)
    code = f"""
import sys
if {hides}:
    sys.modules["scipy"] = None
import numpy as np, relay
given = np.load({str(tmp_path / "given.npz")!r})
found = relay.load_module({saved!r})(given["a"], given["b"])
print(("scipy.linalg.cython_lapack" in sys.modules), repr(float(found[1])))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    has_scipy, value = ran.stdout.split()
    assert not (hides and has_scipy == "True")
    assert float(value) == pytest.approx(np.linalg.det(A))


@needs_scipy
def test_numbers_and_arrays_go_in_and_out_without_conversion() -> None:
    built = relay.build(relay.parse("def @main(%a: Tensor[(5, 5), float64]) { linalg.det(%a) }"))
    assert type(built["main"]).__name__ == "builtin_function_or_method"
    assert built(A) == pytest.approx(np.linalg.det(A))


def test_calls_from_several_threads(saved: str) -> None:
    built = relay.load_module(saved)
    found: list[Any] = []

    def call() -> None:
        found.extend(built(A, B) for _ in range(20))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    check(found[0])
    assert all(np.array_equal(x[0], found[0][0]) for x in found)


def test_a_matrix_of_many_blocks_deep_in_a_recursion() -> None:
    mod = relay.parse("""
def @down(%n: int32, %a: Tensor[(150, 150), float64]) -> float64 {
  if (%n == 0) { sum(linalg.svd(%a).1) + sum(linalg.qr(%a).1 * 0.0f64) } else { @down(%n - 1, %a) + 1.0f64 }
}
def @main(%a: Tensor[(150, 150), float64]) { @down(1000, %a) }""")
    a = rng.normal(size=(150, 150))
    expected = np.linalg.svd(a, compute_uv=False).sum() + 1000
    assert relay.build(mod)(a) == pytest.approx(expected)


def test_numpy_says_nan_where_it_does_not_converge(monkeypatch: pytest.MonkeyPatch) -> None:
    from relay.op.linalg.matrices import converged

    def fragile(x: Any) -> Any:
        if np.any(x == 7):
            raise np.linalg.LinAlgError
        return np.linalg.eigh(x)

    x = np.stack([np.eye(2), 7 * np.eye(2), 3 * np.eye(2)])
    values, vectors = converged(np, fragile, x[None])
    np.testing.assert_array_equal(values[0], [[1, 1], [np.nan, np.nan], [3, 3]])
    assert vectors.shape == (1, 3, 2, 2)
