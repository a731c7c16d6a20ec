"""Sparse tensors, transforms and further operators of networks, against NumPy and PyTorch."""

from typing import Any

import numpy as np
import pytest

import relay
from op.concrete import run

RNG = np.random.default_rng(11)


def rows_of(dense: Any, block: tuple[int, int] | None = None) -> tuple[Any, Any, Any]:
    """A matrix kept by rows of numbers or of blocks."""
    high, wide = block or (1, 1)
    blocks = dense.reshape(dense.shape[0] // high, high, dense.shape[1] // wide, wide).transpose(0, 2, 1, 3)
    held = np.abs(blocks).sum((2, 3)) > 0
    data = blocks[held] if block else blocks[held][:, 0, 0]
    return data, np.nonzero(held)[1].astype("int32"), np.append(0, np.cumsum(held.sum(1))).astype("int32")


@pytest.mark.parametrize("block", [None, (2, 3)])
def test_products_by_sparse_matrices(block: Any) -> None:
    w = np.kron(RNG.integers(0, 2, (4, 3)), np.ones((2, 3))) * RNG.normal(size=(8, 9))
    x = RNG.normal(size=(5, 9))
    matrix = rows_of(w, block)
    np.testing.assert_allclose(run("nn.sparse_dense", x, *matrix), x @ w.T, rtol=1e-12)
    np.testing.assert_allclose(run("nn.sparse_dense", x, *matrix, sparse_lhs=True), w @ x.T, rtol=1e-12)
    images = RNG.normal(size=(2, 3, 4, 9))
    np.testing.assert_allclose(run("nn.sparse_conv2d", images, *matrix), images @ w.T, rtol=1e-12)
    square = np.kron(RNG.integers(0, 2, (3, 3)), np.ones((2, 2))) * RNG.normal(size=(6, 6))
    form = None if block is None else (2, 2)
    for found, wanted in zip(
        run("nn.sparse_transpose", *rows_of(square, form)), rows_of(square.T, form), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


def test_a_window_over_images_by_a_sparse_weight() -> None:
    torch = pytest.importorskip("torch")
    w = RNG.normal(size=(4, 2, 3, 3)) * RNG.integers(0, 2, (4, 2, 3, 3))
    x = RNG.normal(size=(1, 2, 4, 5))
    flat = w.transpose(0, 2, 3, 1).reshape(4, 18)
    wanted = torch.nn.functional.conv2d(torch.tensor(x), torch.tensor(w), padding=1).numpy()
    found = run("nn.sparse_conv2d", x, *rows_of(flat), layout="NCHW", kernel_size=(3, 3))
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_sums_with_sparse_matrices_and_builders() -> None:
    w, x = RNG.normal(size=(4, 5)) * RNG.integers(0, 2, (4, 5)), RNG.normal(size=(4, 5))
    np.testing.assert_allclose(run("nn.sparse_add", x, *rows_of(w)), x + w)
    e = relay.var("x", shape=(4, 5), dtype="float64")
    assert len(relay.nn.sparse_dense(e, rows_of(w)).args) == 4
    assert len(relay.nn.sparse_add(e, rows_of(w)).args) == 4
    assert len(relay.nn.sparse_transpose(rows_of(w)).args) == 3
    points = relay.sparse_to_dense([[0, 1]], (2, 2), [3.0], 0.0)
    mod = relay.IRModule.from_expr(relay.Function([], points))
    assert relay.create_executor("debug", mod=mod).evaluate()().tolist() == [[0.0, 3.0], [0.0, 0.0]]


def test_coordinates_under_another_shape_and_rows_that_were_empty() -> None:
    points = np.argwhere(RNG.integers(0, 2, (4, 6)))
    values = RNG.normal(size=len(points))
    dense = np.zeros((4, 6))
    dense[tuple(points.T)] = values
    np.testing.assert_array_equal(
        run("sparse_to_dense", points, values, np.float64(0), output_shape=(4, 6)), dense
    )
    moved, shape = run("sparse_reshape", points, np.array([4, 6]), np.array([2, -1, 3]))
    assert shape.tolist() == [2, 4, 3]
    other = np.zeros((2, 4, 3))
    other[tuple(moved.T)] = values
    np.testing.assert_array_equal(other, dense.reshape(2, 4, 3))
    few = points[points[:, 0] % 2 == 0]
    rows, filled, empty = run(
        "sparse_fill_empty_rows", few, np.arange(len(few)), np.array([5, 6]), np.int64(-9)
    )
    assert empty.tolist() == [i not in few[:, 0] for i in range(5)]
    wanted = sorted([*map(tuple, few.tolist()), *[(i, 0) for i in range(5) if empty[i]]], key=lambda p: p[0])
    assert list(map(tuple, rows.tolist())) == wanted
    assert (filled == -9).sum() == empty.sum()


@pytest.mark.parametrize("n", [1, 5, 64, 97, 120, 4096, 2 * 67])
def test_fourier_transforms_are_those_of_numpy(n: int) -> None:
    x = RNG.normal(size=(3, n)) + 1j * RNG.normal(size=(3, n))
    for inverse in (False, True):
        real, imaginary = run("dft", x.real.copy(), x.imag.copy(), inverse=inverse)
        wanted = np.fft.ifft(x) if inverse else np.fft.fft(x)
        np.testing.assert_allclose(real + 1j * imaginary, wanted, atol=1e-9 * (1 if inverse else n))


@pytest.mark.parametrize("onesided", [False, True])
@pytest.mark.parametrize("normalized", [False, True])
def test_frames_transformed_are_those_of_pytorch(onesided: bool, normalized: bool) -> None:
    torch = pytest.importorskip("torch")
    x, window = RNG.normal(size=(2, 50)), RNG.uniform(size=12)
    wanted = torch.stft(torch.tensor(x), 16, 5, 12, torch.tensor(window), center=False, normalized=normalized,
                        onesided=onesided, return_complex=True)  # fmt: skip
    found = run(
        "stft", x, window, n_fft=16, hop_length=5, win_length=12, normalized=normalized, onesided=onesided
    )
    np.testing.assert_allclose(found, torch.view_as_real(wanted).numpy(), atol=1e-9)


def test_correlation_is_its_definition() -> None:
    a, b = RNG.normal(size=(2, 1, 3, 7, 8))
    found = run("nn.correlation", a, b, kernel_size=3, max_displacement=2, stride1=2, stride2=2, padding=2)
    p, q = (np.pad(v, ((0, 0), (0, 0), (2, 2), (2, 2))) for v in (a, b))
    for i in range(found.shape[2]):
        for j in range(found.shape[3]):
            for k in range(9):
                dy, dx = (k // 3 - 1) * 2, (k % 3 - 1) * 2
                y, x = i * 2 + 2, j * 2 + 2
                one = p[0, :, y : y + 3, x : x + 3]
                other = q[0, :, y + dy : y + dy + 3, x + dx : x + dx + 3]
                np.testing.assert_allclose(found[0, k, i, j], (one * other).sum() / 27, rtol=1e-9)
    assert found.shape == (1, 9, 3, 3)


def test_bits_in_words_and_products_of_few_bits() -> None:
    x = RNG.integers(0, 4, (2, 16)).astype("uint8")
    found = run("nn.bitpack", x, bits=2, pack_axis=1, bit_axis=1, pack_type="uint8")
    for k in range(2):
        np.testing.assert_array_equal(found[:, k], np.packbits((x >> k) & 1, axis=1))
    w = RNG.integers(0, 4, (3, 16)).astype("uint8")
    found = run("nn.bitserial_dense", x, w, data_bits=2, weight_bits=2, unipolar=False)
    np.testing.assert_array_equal(found, x.astype(int) @ w.T.astype(int))
    signs = 2 * (w & 1).astype(int) - 1
    np.testing.assert_array_equal(run("nn.bitserial_dense", x, w, data_bits=2), x.astype(int) @ signs.T)


def test_deformable_convolution_moves_each_tap() -> None:
    x, w = RNG.normal(size=(1, 2, 6, 7)), RNG.normal(size=(3, 2, 3, 3))
    still = np.zeros((1, 18, 4, 5))
    plain = run("nn.conv2d", x, w)
    np.testing.assert_allclose(run("nn.deformable_conv2d", x, still, w), plain, rtol=1e-9)
    down = still.copy()
    down[:, 0::2] = 1.0
    padded = np.pad(x, ((0, 0), (0, 0), (0, 1), (0, 0)))[:, :, 1:]
    np.testing.assert_allclose(
        run("nn.deformable_conv2d", x, down, w), run("nn.conv2d", padded, w), rtol=1e-9
    )
    half = still.copy()
    half[:, 1::2] = 0.5
    between = (x + np.pad(x, ((0, 0), (0, 0), (0, 0), (0, 1)))[..., 1:]) / 2
    np.testing.assert_allclose(
        run("nn.deformable_conv2d", x, half, w), run("nn.conv2d", between, w), rtol=1e-9
    )


@pytest.mark.parametrize("offset", [-1.5, -1.0, -0.75, -0.25, 0.25, 0.75, 1.0])
def test_taps_of_a_deformable_convolution_are_interpolated_across_edges(offset: float) -> None:
    """Dai and others, 2017, equations 3 and 4: elements times `max(0, 1 - |distance|)` are added up."""
    x, moves = np.array([4.0, 6.0]), np.zeros((1, 2, 1, 2))
    moves[:, 1] = offset
    places = np.arange(2)[:, None] + offset
    wanted = (x * np.maximum(0, 1 - np.abs(places - np.arange(2)))).sum(1)
    for k in (2, 3):  # along rows, and along columns
        turned = x.reshape([1, 1, 2, 1] if k == 2 else [1, 1, 1, 2])
        offsets = moves[:, ::-1].swapaxes(2, 3) if k == 2 else moves
        found = run("nn.deformable_conv2d", turned, offsets, np.ones((1, 1, 1, 1)))
        np.testing.assert_allclose(found.ravel(), wanted, rtol=1e-12)


def test_offsets_and_masks_are_in_the_order_of_torchvision() -> None:
    """The formula of `torchvision.ops.deform_conv2d`: a group's taps lie side by side, a tap's row before its
    column, and the mask has the order of the taps.
    """
    groups, kh, kw, stride, apart = 2, 2, 3, (2, 1), (1, 2)
    x, w = RNG.normal(size=(2, 4, 7, 9)), RNG.normal(size=(6, 2, kh, kw))
    offset = RNG.uniform(-1.5, 1.5, size=(2, 2 * groups * kh * kw, 3, 5))
    mask = RNG.uniform(size=(2, groups * kh * kw, 3, 5))
    attrs = {"strides": stride, "dilation": apart, "groups": 2, "deformable_groups": groups}
    found = run("nn.deformable_conv2d", x, offset, w, mask, **attrs)

    def pixel(n: int, c: int, row: float, column: float) -> float:
        total = 0.0
        for i in (int(np.floor(row)), int(np.floor(row)) + 1):
            for j in (int(np.floor(column)), int(np.floor(column)) + 1):
                if 0 <= i < 7 and 0 <= j < 9:
                    total += x[n, c, i, j] * (1 - abs(row - i)) * (1 - abs(column - j))
        return total

    wanted = np.zeros_like(found)
    for n, o, y, z in np.ndindex(*wanted.shape):
        for c, i, j in np.ndindex(2, kh, kw):
            channel = o // 3 * 2 + c
            tap = (channel // 2 * kh + i) * kw + j
            row = y * stride[0] + i * apart[0] + offset[n, 2 * tap, y, z]
            column = z * stride[1] + j * apart[1] + offset[n, 2 * tap + 1, y, z]
            wanted[n, o, y, z] += mask[n, tap, y, z] * w[o, c, i, j] * pixel(n, channel, row, column)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_packed_products_are_those_of_plain_layouts() -> None:
    x, w = RNG.normal(size=(1, 8, 5, 6)), RNG.normal(size=(16, 8, 3, 3))
    plain = run("nn.conv2d", x, w, padding=(1, 1))
    packed = x.reshape(1, 2, 4, 5, 6).transpose(0, 1, 3, 4, 2)
    weight = w.reshape(2, 8, 2, 4, 3, 3).transpose(0, 2, 4, 5, 3, 1)
    found = run("nn.contrib_conv2d_NCHWc", packed, weight, padding=(1, 1), data_layout="NCHW4c",
                kernel_layout="OIHW4i8o", out_layout="NCHW8c")  # fmt: skip
    wanted = plain.reshape(1, 2, 8, 5, 6).transpose(0, 1, 3, 4, 2)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    a, b = RNG.normal(size=(3, 8)), RNG.normal(size=(16, 8))
    blocks = b.reshape(2, 8, 2, 4).transpose(0, 2, 1, 3)
    np.testing.assert_allclose(
        run("nn.contrib_dense_pack", a, blocks, weight_layout="NC8n4c"), a @ b.T, rtol=1e-9
    )


def test_shapes_that_are_known_at_run_time() -> None:
    x = RNG.normal(size=(2, 3, 4))
    np.testing.assert_array_equal(run("dyn.tile", x, np.array([2, 1, 3])), np.tile(x, (2, 1, 3)))
    np.testing.assert_array_equal(run("dyn.expand_dims", x, np.int64(-2)), x[:, :, None])
    np.testing.assert_array_equal(run("dyn.squeeze", x[:, None], np.array([1])), x)
    width = np.array([[1, 0], [2, 1], [0, 3]])
    for mode in ("edge", "reflect"):
        found = run("dyn.nn.pad", x, width, np.float64(0), pad_mode=mode)
        np.testing.assert_array_equal(found, np.pad(x, width, mode=mode))
    np.testing.assert_array_equal(
        run("dyn.nn.pad", x, width, np.float64(7)), np.pad(x, width, constant_values=7)
    )
    assert run("dyn.one_hot", np.array([1, 0]), np.float32(5), np.float32(-1), np.int32(2)).tolist() == [
        [-1, 5],
        [5, -1],
    ]


MATRICES = """
def @main(%x: Tensor[(n, 2, 3), float32], %w: Tensor[(n, 4), float32], %at: Tensor[(n, 4), int32],
          %ends: Tensor[(n, 3), int32]) {
  vmap(fn (%x, %w, %at, %ends) { nn.sparse_dense(%x, %w, %at, %ends) })(%x, %w, %at, %ends)
}
"""


@pytest.mark.parametrize("backend", ["debug", "native"])
def test_a_sparse_matrix_for_each_row_has_its_own_places(backend: str) -> None:
    f = relay.create_executor(backend, mod=relay.parse(MATRICES)).evaluate()
    x, w = (RNG.normal(size=s).astype("float32") for s in ((3, 2, 3), (3, 4)))
    at = np.array([[0, 2, 1, 0], [1, 1, 2, 0], [2, 2, 0, 1]], "int32")
    ends = np.array([[0, 2, 4], [1, 2, 3], [2, 2, 2]], "int32")  # some elements are in no row
    rows = [run("nn.sparse_dense", *each) for each in zip(x, w, at, ends, strict=True)]
    np.testing.assert_allclose(f(x, w, at, ends), rows, rtol=1e-6)
    at[1, 1] = 3  # a column of the next row's data, if they were not told apart
    with pytest.raises(relay.RelayError, match="index-out-of-range"):
        f(x, w, at, ends)
