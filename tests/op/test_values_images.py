"""Operators on images and regions, against PyTorch and formulas written as loops."""

from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
import pytest

import relay
from op.concrete import run

RNG = np.random.default_rng(5)


def interpolated(x: Any, size: Any, mode: str, align: bool | None) -> Any:
    """PyTorch's `interpolate`."""
    torch = pytest.importorskip("torch")
    return torch.nn.functional.interpolate(torch.tensor(x), size=size, mode=mode, align_corners=align).numpy()


@pytest.mark.parametrize("size", [(7, 9), (3, 2), (5, 6)])
@pytest.mark.parametrize(("method", "mode"), [("linear", "bilinear"), ("cubic", "bicubic")])
@pytest.mark.parametrize("align", [False, True])
def test_resize2d_is_that_of_pytorch(size: Any, method: str, mode: str, align: bool) -> None:
    x = RNG.normal(size=(2, 3, 5, 6))
    found = run("image.resize2d", x, size=size, method=method, cubic_alpha=-0.75,
                coordinate_transformation_mode="align_corners" if align else "half_pixel")  # fmt: skip
    np.testing.assert_allclose(found, interpolated(x, size, mode, align), rtol=1e-9, atol=1e-12)
    here = run("dyn.image.resize2d", x, np.array(size), np.zeros(4), method=method, cubic_alpha=-0.75,
               coordinate_transformation_mode="align_corners" if align else "half_pixel")  # fmt: skip
    np.testing.assert_allclose(here, found, rtol=1e-12)


def test_resize_of_lines_volumes_and_by_the_nearest_element() -> None:
    x = RNG.normal(size=(2, 3, 7))
    np.testing.assert_allclose(
        run("image.resize1d", x, size=11), interpolated(x, 11, "linear", False), rtol=1e-9
    )
    v = RNG.normal(size=(1, 2, 3, 4, 5))
    found = run("image.resize3d", v, size=(5, 3, 8))
    np.testing.assert_allclose(found, interpolated(v, (5, 3, 8), "trilinear", False), rtol=1e-9)
    found = run("image.resize3d", v, size=(5, 3, 8), method="nearest_neighbor",
                coordinate_transformation_mode="asymmetric")  # fmt: skip
    np.testing.assert_array_equal(found, interpolated(v, (5, 3, 8), "nearest", None))


def test_the_nearest_element_of_aligned_corners_rounds_halves_up() -> None:
    """Element i of 25 lies at i / 6 of 5, and rounds to floor(i / 6 + 1 / 2)."""
    found = run("image.resize1d", np.arange(5.0)[None, None], size=25, method="nearest_neighbor",
                coordinate_transformation_mode="align_corners")  # fmt: skip
    np.testing.assert_array_equal(found, [[np.repeat(np.arange(5.0), [3, 6, 6, 6, 4])]])


@pytest.mark.parametrize(
    ("coordinates", "rounding", "size", "out"),
    [
        ("align_corners", "floor", 25, 7),
        ("align_corners", "ceil", 49, 13),
        ("half_pixel", "floor", 21, 49),
        ("half_pixel", "ceil", 25, 7),
        ("asymmetric", "floor", 21, 49),
        ("asymmetric", "round", 21, 46),
    ],
)
def test_the_nearest_element_is_found_by_exact_places(
    coordinates: str, rounding: str, size: int, out: int
) -> None:
    """Places that are whole numbers or halves are so exactly, whatever the quotient of the sizes."""
    places = [
        {
            "align_corners": Fraction(i * (size - 1), out - 1),
            "half_pixel": Fraction(2 * i + 1, 2) * Fraction(size, out) - Fraction(1, 2),
            "asymmetric": Fraction(i * size, out),
        }[coordinates]
        for i in range(out)
    ]
    whole = {"floor": floor, "ceil": ceil, "round": lambda p: floor(p + Fraction(1, 2))}[rounding]
    wanted = [min(max(whole(p), 0), size - 1) for p in places]
    attrs = {
        "method": "nearest_neighbor",
        "coordinate_transformation_mode": coordinates,
        "rounding_method": rounding,
    }
    line = np.arange(float(size))
    assert run("image.resize1d", line[None, None], size=out, **attrs).ravel().tolist() == wanted
    found = run("dyn.image.resize2d", line[None, None, None], np.array([1, out]), np.zeros(4), **attrs)
    assert found.ravel().tolist() == wanted


@pytest.mark.parametrize("method", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [False, True])
def test_grid_sample_is_that_of_pytorch(method: str, padding: str, align: bool) -> None:
    torch = pytest.importorskip("torch")
    x, grid = RNG.normal(size=(2, 3, 5, 6)), RNG.uniform(-1.7, 1.7, (2, 2, 4, 3))
    wanted = torch.nn.functional.grid_sample(
        torch.tensor(x), torch.tensor(grid.transpose(0, 2, 3, 1)), method, padding, align
    )
    found = run("image.grid_sample", x, grid, method=method, padding_mode=padding, align_corners=align)
    np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("executor", ["debug", "native"])
@pytest.mark.parametrize("method", ["nearest", "bilinear", "bicubic"])
def test_grid_sample_far_away_and_where_there_is_no_number(method: str, executor: str) -> None:
    """Zeros beyond the data, or the last element, however far; `U * max(0, 1 - |x - m|)` of NaN is NaN."""
    xs = np.array([-np.inf, -1e30, 3e9, np.inf, np.nan], "float32")
    data, grid = np.array([[[[3.0, 1.0, 5.0]]]], "float32"), np.stack([xs, np.zeros_like(xs)])[None, :, None]
    for padding, beyond in (("zeros", [0, 0, 0, 0]), ("border", [3, 3, 5, 5])):
        a, g = relay.var("a", shape=data.shape), relay.var("g", shape=grid.shape)
        f = relay.Function([a, g], relay.image.grid_sample(a, g, method=method, padding_mode=padding))
        found = relay.create_executor(executor).evaluate(f)(data, grid).ravel()
        assert found[:4].tolist() == beyond
        assert method == "nearest" or np.isnan(found[4])


@pytest.mark.parametrize(("coordinate", "place"), [(-0.75, 0), (-0.25, 2), (0.25, 2), (0.75, 4)])
def test_grid_sample_rounds_halves_to_even(coordinate: float, place: int) -> None:
    """As PyTorch does: five elements lie at -1, -1/2, ..., 1."""
    grid = np.array([coordinate, 0.0]).reshape(1, 2, 1, 1)
    found = run("image.grid_sample", np.arange(5.0).reshape(1, 1, 1, 5), grid, method="nearest")
    assert found.item() == place


def test_volumes_and_affine_grids_are_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    x, grid = RNG.normal(size=(1, 2, 3, 4, 5)), RNG.uniform(-1.2, 1.2, (1, 3, 2, 2, 3))
    wanted = torch.nn.functional.grid_sample(
        torch.tensor(x), torch.tensor(grid.transpose(0, 2, 3, 4, 1)), "bilinear", "border", True
    )
    found = run("image.grid_sample", x, grid, layout="NCDHW", padding_mode="border")
    np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-7)
    theta = RNG.normal(size=(2, 2, 3))
    wanted = torch.nn.functional.affine_grid(torch.tensor(theta), [2, 1, 4, 5], align_corners=True)
    found = run("image.affine_grid", theta, target_shape=(4, 5))
    np.testing.assert_allclose(found, wanted.numpy().transpose(0, 3, 1, 2), rtol=1e-9, atol=1e-12)


def bilinear(image: Any, y: float, x: float) -> Any:
    """The value of `(c, h, w)` between pixels, with edges drawn out by a pixel, as regions are aligned."""
    _, h, w = image.shape
    if not (-1 <= y <= h and -1 <= x <= w):
        return np.zeros(image.shape[0])
    y, x = max(y, 0.0), max(x, 0.0)
    y0, x0 = min(int(y), h - 1), min(int(x), w - 1)
    y1, x1 = min(y0 + 1, h - 1), min(x0 + 1, w - 1)
    fy, fx = (0.0 if y0 >= h - 1 else y - y0), (0.0 if x0 >= w - 1 else x - x0)
    return (image[:, y0, x0] * (1 - fy) * (1 - fx) + image[:, y0, x1] * (1 - fy) * fx
            + image[:, y1, x0] * fy * (1 - fx) + image[:, y1, x1] * fy * fx)  # fmt: skip


def roi_align(
    x: Any, rois: Any, size: tuple[int, int], scale: float, ratio: int, aligned: bool, mode: str
) -> Any:
    """As torchvision describes it, sample by sample."""
    out = np.zeros((len(rois), x.shape[1], *size))
    for r, (b, x0, y0, x1, y1) in enumerate(rois):
        shift = 0.5 if aligned else 0.0
        left, top, right, bottom = (v * scale - shift for v in (x0, y0, x1, y1))
        width, height = right - left, bottom - top
        if not aligned:
            width, height = max(width, 1.0), max(height, 1.0)
        ch, cw = height / size[0], width / size[1]
        ny, nx = (ratio, ratio) if ratio > 0 else (max(ceil(ch), 0), max(ceil(cw), 0))
        for i in range(size[0]):
            for j in range(size[1]):
                values = [
                    bilinear(
                        x[int(b)], top + i * ch + (p + 0.5) * ch / ny, left + j * cw + (q + 0.5) * cw / nx
                    )
                    for p in range(ny)
                    for q in range(nx)
                ]
                if values:  # torchvision divides by 1 where there are none
                    out[r, :, i, j] = np.mean(values, 0) if mode == "avg" else np.max(values, 0)
    return out


ROIS = np.array([[0, 0.4, 1.1, 9.3, 6.2], [1, -3.0, 2.0, 4.5, 20.0], [1, 3.0, 3.0, 3.2, 3.4]])
FLAT = np.array([[0, 2.0, 2.0, 2.0, 2.0], [1, 1.0, 3.0, 4.0, 3.0], [0, 3.0, 1.0, 2.0, 5.0]])
"""Regions without an area."""


@pytest.mark.parametrize("ratio", [-1, 2])
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("mode", ["avg", "max"])
def test_roi_align_is_its_definition(ratio: int, aligned: bool, mode: str) -> None:
    x = RNG.normal(size=(2, 3, 8, 9))
    for rois in (ROIS, FLAT):
        found = run("vision.roi_align", x, rois, pooled_size=(2, 3), spatial_scale=0.8, sample_ratio=ratio,
                    aligned=aligned, mode=mode)  # fmt: skip
        wanted = roi_align(x, rois, (2, 3), 0.8, ratio, aligned, mode)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_roi_pool_is_its_definition() -> None:
    x = RNG.normal(size=(2, 3, 8, 9))
    out = np.zeros((3, 3, 2, 3))
    for r, (b, *box) in enumerate(ROIS):
        x0, y0, x1, y1 = (floor(v * 0.8 + 0.5) for v in box)
        ch, cw = max(y1 - y0 + 1, 1) / 2, max(x1 - x0 + 1, 1) / 3
        for i in range(2):
            for j in range(3):
                rows = slice(*(min(max(v + y0, 0), 8) for v in (floor(i * ch), ceil((i + 1) * ch))))
                columns = slice(*(min(max(v + x0, 0), 9) for v in (floor(j * cw), ceil((j + 1) * cw))))
                part = x[int(b)][:, rows, columns]
                out[r, :, i, j] = part.max((1, 2)) if part.size else 0
    np.testing.assert_array_equal(run("vision.roi_pool", x, ROIS, pooled_size=(2, 3), spatial_scale=0.8), out)


def test_crop_and_resize_and_dilation_are_their_definitions() -> None:
    x = RNG.normal(size=(2, 3, 5, 6)).astype("float32")
    boxes, which = (
        np.array([[0.1, 0.2, 0.8, 1.2], [0.9, 0.5, 0.3, 0.0]], "float32"),
        np.array([1, 0], "int32"),
    )
    found = run("image.crop_and_resize", x, boxes, which, crop_size=(3, 4), extrapolation_value=9.0)
    for r, ((y0, x0, y1, x1), b) in enumerate(zip(boxes, which, strict=True)):
        for i in range(3):
            for j in range(4):
                y, z = y0 * 4 + i * (y1 - y0) * 4 / 2, x0 * 5 + j * (x1 - x0) * 5 / 3
                inside = 0 <= y <= 4 and 0 <= z <= 5
                wanted = bilinear(x[b].astype("float64"), y, z) if inside else np.full(3, 9.0)
                np.testing.assert_allclose(found[r, :, i, j], wanted, rtol=1e-4, atol=1e-5)
    w = RNG.normal(size=(3, 2, 3)).astype("float32")
    found = run("image.dilation2d", x, w, padding=(1, 0), strides=(2, 1))
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)), constant_values=-np.inf)
    for i in range(found.shape[2]):
        for j in range(found.shape[3]):
            window = padded[:, :, 2 * i : 2 * i + 2, j : j + 3] + w
            np.testing.assert_array_equal(found[:, :, i, j], window.max((2, 3)))


def test_yolo_reorg_is_that_of_darknet() -> None:
    x = RNG.normal(size=(2, 8, 4, 6))
    flat, out = x.reshape(-1), []
    for b in range(2):
        for k in range(8):
            for j in range(4):
                for i in range(6):
                    c2, offset = k % 2, k // 2
                    w2, h2 = i * 2 + offset % 2, j * 2 + offset // 2
                    out.append(flat[w2 + 6 * 2 * (h2 + 4 * 2 * (c2 + 2 * b))])
    np.testing.assert_array_equal(run("vision.yolo_reorg", x, stride=2), np.reshape(out, (2, 32, 2, 3)))
