"""Operators of `com.microsoft` that came before ONNX's, and formulas: ONNX Runtime has their results."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the onnx extra")
pytest.importorskip("onnxruntime", reason="needs ONNX Runtime")

from frontend.contributed import by_relay, check, one_node, refusal

pytestmark = pytest.mark.onnx

RNG = np.random.default_rng(0)
INT64, BOOL, INT32, UINT32 = 7, 9, 6, 12


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape).astype("float32")


def integers(*xs: int) -> Any:
    return np.array(xs, "int64")


X = normal(2, 6, 5)
IMAGE = normal(2, 3, 5, 6)
REGIONS = np.array([[0.1, 0.2, 0.8, 1.2], [0.05, 0.4, 0.3, 0.03]], "float32")
CROPS = (IMAGE, REGIONS, np.array([1, 0], "int32"), np.array([3, 4], "int32"))
PLACES = RNG.integers(0, 10, (3, 2, 5)).astype("int64")
ANGLES = normal(10, 8), normal(10, 8)
SECTIONS = {"mrope_section": [3, 3, 2], "num_heads": 2}
CASES: list[Any] = [
    ("ExpandDims", (X, np.array(-1, "int32")), {}, {"constants": (1,)}),
    ("Range", (integers(1), integers(9), integers(3)), {}, {"constants": (0, 1, 2), "results": (INT64,)}),
    ("Range", (np.float32(1), np.float32(4)), {}, {}),
    ("Pad", (X, integers(0, 1, 0, 0, 0, 2)[None], normal(1)), {}, {"constants": (1,)}),
    ("Unique", (np.array([2, 1, 1, 3, 4, 3], "float32"),), {}, {"results": (1, INT64, INT64)}),
    ("UnfoldTensor", (X,), {"dim": 1, "size": 3, "step": 2}, {}),
    ("CDist", (normal(4, 3), normal(5, 3)), {"metric": "euclidean"}, {}),
    ("CDist", (normal(4, 3), normal(5, 3)), {"metric": "sqeuclidean"}, {}),
    ("CropAndResize", CROPS, {"extrapolation_value": 2.0}, {"constants": (3,)}),
    ("CropAndResize", CROPS, {"mode": "nearest"}, {"constants": (3,)}),
    ("GridSample", (normal(1, 2, 4, 5), normal(1, 3, 3, 2)), {}, {}),
    (
        "ConvTransposeWithDynamicPads",
        (normal(1, 2, 4, 4), normal(2, 3, 3, 3), integers(1, 0, 1, 1)),
        {"strides": [2, 2]},
        {"constants": (2,)},
    ),
    ("ScaledSiLU", (X,), {"alpha": 1.3}, {}),
    ("ScaledSiLU", (X, np.float32(0.7)), {}, {}),
    ("GatedAdd", (X, X * 2, normal(2, 6, 1)), {}, {}),
    ("MRotaryEmbedding", (normal(2, 5, 32), PLACES, *ANGLES), SECTIONS, {}),
    ("MRotaryEmbedding", (normal(2, 5, 32), PLACES, *ANGLES), SECTIONS | {"interleaved": 1}, {}),
    ("MRotaryEmbedding", (normal(2, 2, 5, 16), PLACES, *ANGLES), SECTIONS | {"mrope_layout": 1}, {}),
    (
        "MRotaryEmbedding",
        (normal(2, 5, 48), PLACES, *ANGLES),
        SECTIONS | {"rotary_embedding_dim": 16, "mrope_layout": 1},
        {},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{k}-{name}" for k, (name, *_) in enumerate(CASES)])
def test_an_early_operator_gives_what_onnx_runtime_gives(case: Any) -> None:
    kind, operands, attributes, how = case
    check(kind, [np.asarray(x) for x in operands], attributes, executors=("debug",), **how)


def ours(kind: str, operands: Any, attributes: Any = None, **how: Any) -> list[Any]:
    """The results of an operator that ONNX Runtime computes on other devices alone."""
    return by_relay(*one_node(kind, operands, attributes or {}, **how))


def test_complex_numbers_and_transforms() -> None:
    a, b = normal(3, 2), normal(3, 2)
    x, y = a.view("complex64")[:, 0], b.view("complex64")[:, 0]
    for kind, expected in (("ComplexMul", x * y), ("ComplexMulConj", x * y.conj())):
        np.testing.assert_allclose(
            ours(kind, (a, b))[0].view("complex64")[:, 0], expected, rtol=1e-5, atol=1e-6
        )
    (half,) = ours("Rfft", (X[..., :4],), {"signal_ndim": 1})
    np.testing.assert_allclose(half.view("complex64")[..., 0], np.fft.rfft(X[..., :4]), rtol=1e-4, atol=1e-5)
    (back,) = ours("Irfft", (half,), {"signal_ndim": 1})
    np.testing.assert_allclose(back, 4 * X[..., :4], rtol=1e-4, atol=1e-5)


def test_integers() -> None:
    a, b = RNG.integers(0, 255, (3, 4), dtype="uint8"), RNG.integers(0, 255, (3, 4), dtype="uint8")
    zero = np.array(7, "uint8")
    (found,) = ours("MulInteger", (a, zero, b, zero), results=(INT32,))
    np.testing.assert_array_equal(found, (a.astype(int) - 7) * (b.astype(int) - 7))
    (found,) = ours("ReduceSumInteger", (a,), {"axes": [1], "keepdims": 0}, results=(UINT32,))
    np.testing.assert_array_equal(found, a.sum(1))


def test_what_training_leaves_in_graphs() -> None:
    bias = normal(5)
    (found,) = ours("BiasDropout", (X, bias, X))
    np.testing.assert_allclose(found, X + bias + X, rtol=1e-6)
    bad = X.copy()
    bad[0, 0, 0] = np.inf
    assert ours("IsAllFinite", (X, X), results=(BOOL,))[0]
    assert not ours("IsAllFinite", (X, bad), results=(BOOL,))[0]
    assert ours("IsAllFinite", (X, bad), {"isnan_only": 1}, results=(BOOL,))[0]
    table = normal(4, 3)
    np.testing.assert_array_equal(ours("TorchEmbedding", (table, integers(2, 0)))[0], table[[2, 0]])


def test_products_with_what_is_fused_into_them() -> None:
    w, bias = normal(5, 3), normal(3)
    (found,) = ours("FusedMatMulActivation", (X, w), {"activation": "Relu", "alpha": 2.0})
    np.testing.assert_allclose(found, np.maximum(2 * X @ w, 0), rtol=1e-5, atol=1e-5)
    (found,), (plain,) = ours("GemmFastGelu", (X, w, bias)), ours("FastGelu", (X @ w, bias))
    np.testing.assert_allclose(found, plain, rtol=1e-5, atol=1e-5)
    both = X[..., :4]
    gate, up = both[..., :2], both[..., 2:]
    (found,) = ours("SwiGLU", (both,), {"activation_alpha": 1.5, "activation_beta": 1.0, "limit": 1.0})
    gate = np.minimum(gate, 1)
    np.testing.assert_allclose(
        found, gate / (1 + np.exp(-1.5 * gate)) * (np.clip(up, -1, 1) + 1), rtol=1e-5, atol=1e-6
    )


def test_what_is_not_converted_is_said() -> None:
    assert "no distance `cosine`" in refusal("CDist", (normal(4, 3), normal(5, 3)), {"metric": "cosine"})
    assert "does not fit into 5" in refusal("UnfoldTensor", (X,), {"size": 9})
