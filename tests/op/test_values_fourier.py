"""Fourier transforms, held to those of `numpy.fft`, in the interpreter and as machine code."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import relay
import relay.numpy as rnp
from relay.diagnostic import RelayError

RNG = np.random.default_rng(0)
FEW = [1, 2, 3, 8, 15, 17, 34, 120, 256]
MORE = [4, 5, 6, 7, 9, 12, 13, 16, 32, 64, 97, 100, 101, 127, 128, 243, 360]


def run(text: str, *operands: Any, shapes: str = "") -> list[Any]:
    """The value of an expression of `%x`, `%y`, …: by the interpreter, and by machine code."""
    types = shapes.split("; ") if shapes else [str(x.shape) for x in operands]
    names = "xyz"[: len(operands)]
    params = ", ".join(
        [f"%{v}: Tensor[{t}, {x.dtype}]" for v, t, x in zip(names, types, operands, strict=True)]
    )
    mod = relay.parse(f"def @main({params}) {{ {text} }}")
    executor = relay.create_executor("debug", mod=mod)
    return [executor.evaluate()(*operands), relay.build(mod)["main"](*operands)]


def pairs(z: Any) -> Any:
    """Complex numbers as pairs."""
    return np.stack([z.real, z.imag], -1)


def signal(*shape: int) -> Any:
    """Random complex numbers."""
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


def check(found: Iterable[Any], wanted: Any, terms: int) -> None:
    """Every element is as near to its value as the sum of so many terms is, in units of the last place."""
    wanted = pairs(wanted) if np.iscomplexobj(wanted) else wanted
    scale = np.abs(wanted).max() if wanted.size else 1.0
    for x in found:
        limit = 4 * np.finfo(x.dtype).eps * (1 + np.log2(terms)) * scale
        np.testing.assert_allclose(x, wanted, rtol=0, atol=limit)


# --- all lengths ---


@pytest.mark.parametrize("n", [*FEW, *[pytest.param(n, marks=pytest.mark.long) for n in MORE]])
def test_transforms_of_each_length_are_those_of_numpy(n: int) -> None:
    z, x, half = signal(2, n), RNG.normal(size=(2, n)), signal(2, n // 2 + 1)
    text = f"(fft.fft(%x), fft.ifft(%x), fft.rfft(%y), fft.irfft(%z, n={n}))"
    both = list(zip(*run(text, pairs(z), x, pairs(half)), strict=True))
    for found, wanted in zip(
        both, [np.fft.fft(z), np.fft.ifft(z), np.fft.rfft(x), np.fft.irfft(half, n)], strict=True
    ):
        check(found, wanted, n)


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.long)])
def test_lengths_that_are_known_when_the_program_runs(dtype: str) -> None:
    mod = relay.parse(f"""
        def @both(%x: Tensor[(b, n, 2), {dtype}]) {{ (fft.fft(%x), fft.ifft(%x, axis=0, norm="ortho")) }}
        def @real(%x: Tensor[(b, n), {dtype}]) {{ fft.rfft(%x, norm="forward") }}
        def @half(%x: Tensor[(b, n, 2), {dtype}]) {{ fft.irfft(%x) }}
    """)
    built = relay.build(mod, entries=["both", "real", "half"])
    for n in (1, 2, 3, 5, 8, 16, 17, 100, 257):
        z = signal(3, n)
        x = pairs(z).astype(dtype)
        there, back = built["both"](x)
        check([there], np.fft.fft(z), n)
        check([back], np.fft.ifft(z, axis=0, norm="ortho"), 3)
        check([built["real"](x[..., 0].copy())], np.fft.rfft(z.real, norm="forward"), n)
        if n > 1:
            check([built["half"](x)], np.fft.irfft(z), n)


@pytest.mark.long
@pytest.mark.parametrize("n", [1000, 1009, 1024, 2 * 1009, 2310, 4096, 5000, 1 << 16, 65537])
def test_long_transforms_are_those_of_numpy(n: int) -> None:
    z, x = signal(n), RNG.normal(size=n)
    check(run("fft.fft(%x)", pairs(z)), np.fft.fft(z), n)
    check(run("fft.rfft(%x)", x), np.fft.rfft(x), n)
    check(run(f"fft.irfft(%x, n={n})", pairs(np.fft.rfft(x))), x, n)
    check(run("fft.fft(%x)", pairs(z), shapes="(n, 2)"), np.fft.fft(z), n)


# --- axes, sizes, norms ---

COMPLEX = ["fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "irfft", "irfft2", "irfftn"]
REAL = ["rfft", "rfft2", "rfftn"]


@pytest.mark.parametrize("shapes", ["", pytest.param("(n, m, k, 2)", marks=pytest.mark.long)])
@pytest.mark.parametrize("name", [*COMPLEX, *REAL])
def test_axes_sizes_and_norms_are_those_of_numpy(name: str, shapes: str) -> None:
    z = signal(4, 5, 6)
    given = z.real.copy() if name in REAL else z
    x = given if name in REAL else pairs(z)
    if shapes and name in REAL:
        shapes = "(n, m, k)"
    cases: list[dict[str, Any]] = [{}, {"norm": "ortho"}]
    if name.endswith("n"):
        cases += [{"axes": (1,), "norm": "forward"}, {"axes": (2, 0), "s": (3, 7)}]
    elif name.endswith("2"):
        cases += [{"axes": (2, 0), "norm": "forward"}, {"s": (3, 7)}]
    else:
        cases += [{"n": 3}, {"n": 8, "axis": 0, "norm": "forward"}]
    texts = [
        ", ".join(["%x", *[f'{k}="{v}"' if k == "norm" else f"{k}={v}" for k, v in attrs.items()]])
        for attrs in cases
    ]
    found = run(f"({', '.join([f'fft.{name}({text})' for text in texts])})", x, shapes=shapes)
    for both, attrs in zip(zip(*found, strict=True), cases, strict=True):
        check(both, getattr(np.fft, name)(given, **attrs), 100)


def test_a_size_that_is_not_known_is_cut_or_filled_up() -> None:
    z = signal(4, 6)
    both = run("(fft.fft(%x, n=3), fft.ifft(%x, n=8, axis=0))", pairs(z), shapes="(4, m, 2)")
    for found, wanted in zip(zip(*both, strict=True), [np.fft.fft(z, 3), np.fft.ifft(z, 8, 0)], strict=True):
        check(found, wanted, 8)


def test_there_and_back_is_the_identity() -> None:
    x = RNG.normal(size=(3, 5, 4))
    for name, attrs in [("rfftn", ""), ("rfft", ""), ("rfft2", "")]:
        check(run(f'fft.i{name}(fft.{name}(%x, norm="ortho"), norm="ortho"{attrs})', x), x, 60)


def test_narrow_floats_are_transformed_in_float32() -> None:
    z = signal(20)
    x = pairs(z).astype("float16")
    exact = np.fft.fft(x[:, 0].astype("float64") + 1j * x[:, 1].astype("float64"))
    found = run("fft.fft(%x)", x)
    np.testing.assert_array_equal(found[0], pairs(exact).astype("float16"))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-3, atol=4e-3)


def test_pairs_and_their_parts() -> None:
    x = RNG.normal(size=(3, 2))
    for real, imaginary in run("view_as_complex(%x)", x):
        np.testing.assert_array_equal(np.stack([real, imaginary], -1), x)
    for found in run("view_as_real(%x, %y)", x, -x):
        np.testing.assert_array_equal(found, np.stack([x, -x], -1))


def test_a_convolution_by_transforms() -> None:
    a, b = RNG.normal(size=(2, 31))
    text = """
        let (%p, %q) = view_as_complex(fft.rfft(%x, n=61));
        let (%r, %s) = view_as_complex(fft.rfft(%y, n=61));
        fft.irfft(view_as_real(%p * %r - %q * %s, %p * %s + %q * %r), n=61)
    """
    check(run(text, a, b), np.convolve(a, b), 61)


# --- derivatives ---


@pytest.mark.parametrize("name", ["fft.fft(%x, n=7)", "fft.ifft2(%x)"])
def test_a_sum_of_squares_has_the_derivative_of_parseval(name: str) -> None:
    """The squares of the terms add up to the length times those of the elements, so their derivatives do."""
    z = signal(5, 7)
    mod = relay.parse(f"""
        def @f(%x: Tensor[(5, 7, 2), float64]) {{ let %y = {name}; sum(%y * %y) }}
        def @slope(%x: Tensor[(5, 7, 2), float64]) {{ grad(@f)(%x).1.0 }}
        def @second(%x: Tensor[(5, 7, 2), float64]) {{ grad(fn (%x) {{ sum(@slope(%x) * %x) }})(%x).1.0 }}
    """)
    factor = 7 if "fft.fft(" in name else 1 / 35
    built = relay.build(mod, entries=["slope", "second"])
    np.testing.assert_allclose(built["slope"](pairs(z)), 2 * factor * pairs(z), rtol=1e-12)
    np.testing.assert_allclose(built["second"](pairs(z)), 4 * factor * pairs(z), rtol=1e-12)


def test_the_derivative_of_a_real_transform_is_that_of_its_matrix() -> None:
    for n in (5, 6):
        x, g = RNG.normal(size=n), RNG.normal(size=(n // 2 + 1, 2))
        matrix = pairs(np.fft.rfft(np.eye(n)))
        text = "grad(fn (%a) { sum(fft.rfft(%a) * %y) })(%x).1.0"
        check(run(text, x, g), np.einsum("jkc,kc->j", matrix, g), n)
        back = [np.fft.irfft(e, n) for e in np.eye(n // 2 + 1)]
        other = [np.fft.irfft(1j * e, n) for e in np.eye(n // 2 + 1)]
        matrix = np.stack([back, other], 1)
        text = f"grad(fn (%a) {{ sum(fft.irfft(%a, n={n}) * %y) }})(%x).1.0"
        check(run(text, g, x), np.einsum("kcj,j->kc", matrix, x), n)


# --- errors ---


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('fft.fft(ones((3, 3), dtype="float32"))', "shape-mismatch"),
        ('fft.fft(ones((3, 2), dtype="float32"), axis=1)', "axis-out-of-range"),
        ("fft.fft(1.0)", "rank-mismatch"),
        ('fft.fft(ones((2,), dtype="float32"))', "axis-out-of-range"),
        ('fft.fftn(ones((2,), dtype="float32"))', "rank-mismatch"),
        ('fft.rfft(ones((3,), dtype="float32"), n=0)', "attribute-value"),
        ('fft.fft2(ones((3, 3, 2), dtype="float32"), s=(1, 2, 3))', "attribute-value"),
        ('fft.fftn(ones((3, 3, 2), dtype="float32"), axes=(0, 0))', "attribute-value"),
        ('fft.fft(ones((0, 2), dtype="float32"))', "shape-constraint"),
        ('fft.irfft(ones((1, 2), dtype="float32"))', "shape-constraint"),
        ('irdft(ones((3,), dtype="float32"), ones((3,), dtype="float32"), length=7)', "shape-mismatch"),
        ("rdft(1)", "rank-mismatch"),
    ],
)
def test_what_cannot_be_transformed(text: str, code: str) -> None:
    with pytest.raises(RelayError) as found:
        relay.infer(relay.parse(f"def @main() {{ {text} }}"))
    assert [d.code for d in found.value.diagnostics] == [code]


def test_an_empty_axis_is_found_when_the_program_runs() -> None:
    mod = relay.parse("def @main(%x: Tensor[(n, 2), float32]) { fft.fft(%x) }")
    for runs in (relay.build(mod)["main"], relay.create_executor("debug", mod=mod).evaluate()):
        with pytest.raises(RelayError, match="one element or more"):
            runs(np.zeros((0, 2), "float32"))


@pytest.mark.parametrize("norm", ["backward", "forward", "ortho"])
@pytest.mark.parametrize("n", [None, 4, 9])
@pytest.mark.parametrize("axis", [-1, 0])
def test_transforms_of_numbers_that_mirror_each_other(norm: Any, n: int | None, axis: int) -> None:
    rng = np.random.default_rng(3)
    z, x = rng.normal(size=(3, 5)) + 1j * rng.normal(size=(3, 5)), rng.normal(size=(3, 7))

    def both(z: Any, x: Any) -> Any:
        return relay.fft.hfft(z, n=n, axis=axis, norm=norm), relay.fft.ihfft(x, n=n, axis=axis, norm=norm)

    for f in (relay.function(both), relay.compile(both)):
        real, half = f(pairs(z), x)
        np.testing.assert_allclose(real, np.fft.hfft(z, n, axis, norm), atol=1e-12)
        np.testing.assert_allclose(half, pairs(np.fft.ihfft(x, n, axis, norm)), atol=1e-12)
    weights = np.arange(1.0, real.size + 1).reshape(real.shape)
    slope = relay.grad(lambda z: (relay.fft.hfft(z, n=n, axis=axis, norm=norm) * weights).sum())(pairs(z))[1][
        0
    ]
    for step in (1.0, 1j):
        at = np.zeros_like(z)
        at[1, 2] = step
        wanted = (np.fft.hfft(at, n, axis, norm) * weights).sum()
        np.testing.assert_allclose(slope[1, 2, int(step == 1j)], wanted, atol=1e-9)


def test_frequencies_are_moved_and_differentiated_in_traces() -> None:
    x = np.arange(5.0)

    def moved(x: Any) -> Any:
        return (rnp.fft.fftshift(x) * rnp.fft.fftfreq(5, dtype=rnp.float64)).sum()

    value, slope = relay.value_and_grad(moved, 0)(x)
    assert np.isclose(value, (np.fft.fftshift(x) * np.fft.fftfreq(5)).sum())
    np.testing.assert_allclose(slope, np.fft.ifftshift(np.fft.fftfreq(5)))
