"""Convolutions by weights that are transformed before: matrices of the paper, and `nn.conv2d` beside them."""

import numpy as np
import pytest

import relay
from relay.diagnostic import RelayError
from relay.op.nn.toom_cook import matrices

TRANSFORM = relay.nn.contrib_conv2d_winograd_weight_transform
CONV2D = relay.nn.contrib_conv2d_winograd_without_weight_transform


def evaluated(body, *arrays):
    """What a function of tensors gives, from the interpreter."""
    xs = [relay.var(f"x{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(arrays)]
    mod = relay.IRModule.from_expr(relay.Function(xs, body(*xs)))
    return np.asarray(relay.infer(mod).evaluate("main", *arrays))


def normal(*shape):
    return np.random.default_rng(0).normal(size=shape)


def test_matrices_are_those_of_the_paper():
    # Lavin and Gray, 2015; the last row of B, and with it the last column of A, may have either sign.
    _, g, b = matrices(2, 3)
    assert g.tolist() == [[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]]
    assert b[:3].tolist() == [[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0]]
    a, g, b = matrices(4, 3)
    assert a.tolist() == [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]]
    rows = [[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]
    np.testing.assert_allclose(24 * g, rows)
    assert b.tolist() == [
        [4, 0, -5, 0, 1, 0], [0, -4, -4, 1, 1, 0], [0, 4, -4, -1, 1, 0], [0, -2, -1, 2, 1, 0],
        [0, 2, -1, -2, 1, 0], [0, 4, 0, -5, 0, 1],
    ]  # fmt: skip


@pytest.mark.parametrize("r", range(1, 6))
@pytest.mark.parametrize("m", range(1, 7))
def test_tiles_are_correlations(m, r):
    a, g, b = matrices(m, r)
    d, taps = normal(m + r - 1), normal(r)
    np.testing.assert_allclose(a @ ((g @ taps) * (b @ d)), np.correlate(d, taps, "valid"), atol=1e-11)


def test_a_weight_is_multiplied_from_both_sides():
    w = normal(2, 3, 3, 3)
    _, g, _ = matrices(4, 3)
    found = evaluated(lambda x: TRANSFORM(x, 4), w)
    np.testing.assert_allclose(found, np.einsum("ai,ocij,bj->aboc", g, w, g), atol=1e-12)
    found = evaluated(lambda x: relay.nn.contrib_conv2d_winograd_nnpack_weight_transform(x, 1), w)
    _, g, _ = matrices(6, 3)
    np.testing.assert_allclose(found, np.einsum("ai,ocij,bj->ocab", g, w, g), atol=1e-12)


@pytest.mark.parametrize("tile", [1, 2, 4, 6])
@pytest.mark.parametrize(("kernel", "padding"), [((3, 3), (1, 1)), ((5, 2), (0, 1)), ((3, 3), (2, 0, 1, 1))])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_convolutions_are_those_of_plain_weights(tile, kernel, padding, layout):
    sizes = {"N": 2, "C": 3, "H": 9, "W": 7}
    x, w = normal(*[sizes[k] for k in layout]), normal(4, 3, *kernel)
    attrs = {"padding": padding, "channels": 4, "kernel_size": kernel, "data_layout": layout}
    expected = evaluated(lambda x, w: relay.nn.conv2d(x, w, **attrs), x, w)
    found = evaluated(lambda x, w: CONV2D(x, TRANSFORM(w, tile), tile, **attrs), x, w)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize(("kernel", "shape"), [((3, 3, 3), (4, 4, 4)), ((2, 3, 3), (4, 4, 2))])
def test_convolutions_of_volumes(kernel, shape):
    x, w = normal(1, 2, 5, 6, 5), normal(3, 2, *kernel)
    attrs = {"padding": (1, 1, 1), "channels": 3, "kernel_size": kernel}
    turned = evaluated(lambda w: relay.nn.contrib_conv3d_winograd_weight_transform(w, 2), w)
    assert turned.shape == (*shape, 3, 2)
    found = evaluated(
        lambda x, w: relay.nn.contrib_conv3d_winograd_without_weight_transform(x, w, 2, **attrs), x, turned
    )
    expected = evaluated(lambda x, w: relay.nn.conv3d(x, w, **attrs), x, w)
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_weights_in_blocks_of_a_matrix(dtype):
    w = np.arange(3 * 3 * 2 * 5).reshape(3, 3, 2, 5).astype(dtype)
    x = np.arange(2 * 6 * 6 * 2).reshape(2, 6, 6, 2).astype(dtype)
    blocks = evaluated(lambda w: relay.nn.contrib_conv2d_gemm_weight_transform(w, 4, 8), w)
    whole = np.zeros((8, 24), dtype)
    whole[:5, :18] = w.reshape(18, 5).T
    assert blocks.shape == (2, 3, 4, 8)
    np.testing.assert_array_equal(blocks, whole.reshape(2, 4, 3, 8).swapaxes(1, 2))
    out = "int32" if dtype == "int8" else "float32"
    attrs = {
        "strides": (2, 2), "padding": (1, 1), "channels": 5, "kernel_size": (3, 3), "data_layout": "NHWC",
        "kernel_layout": "HWIO", "out_dtype": out,
    }  # fmt: skip
    expected = evaluated(lambda x, w: relay.nn.conv2d(x, w, **attrs), x, w)
    blocked = relay.nn.contrib_conv2d_gemm_without_weight_transform
    np.testing.assert_allclose(evaluated(lambda x, w: blocked(x, w, **attrs), x, blocks), expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("%x, %w, tile_size=2, strides=2", "`strides` cannot be 2"),
        ("%x, %w, tile_size=2, groups=3", "`groups` cannot be 3"),
        ("%x, %w, tile_size=7", "transformed for 4 places"),
        ("%x, %w, tile_size=0", "it is from 1 to"),
        ("%o, %w, tile_size=2", "the data has to have known sizes"),
    ],
)
def test_what_is_not_transformed_is_said(call, message):
    text = f"nn.contrib_conv2d_winograd_without_weight_transform({call})"
    head = "%x: Tensor[(1, 3, 8, 8), f32], %o: Tensor[(1, 3, n, 8), f32], %w: Tensor[(4, 4, 2, 3), f32]"
    with pytest.raises(RelayError, match=message):
        relay.infer(relay.parse(f"def @main({head}) {{ {text} }}"))
