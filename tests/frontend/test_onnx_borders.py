"""`Pad` and `RoiAlign` at the ends of their ranges: what ONNX Runtime gives."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the onnx extra")
pytest.importorskip("onnxruntime", reason="needs ONNX Runtime")

from frontend.contributed import array, by_relay, check, one_node

pytestmark = pytest.mark.onnx
LINE = [[-1, 4], [4, -1], [-2, -1], [-3, 2], [2, -2], [0, -6]]
LONG = [[8, 1], [13, 0], [-3, 5], [2, -4]]
"""Borders that are wider than what they repeat, which only some modes take."""
PLANE = [[-1, 1, 1, -1], [1, -1, -1, 2]]


@pytest.mark.parametrize(
    ("mode", "widths"),
    [
        *[(mode, w) for mode in ("wrap", "edge", "reflect", "constant") for w in (*LINE[:-1], *PLANE)],
        *[(mode, w) for mode in ("wrap", "edge", "constant") for w in LONG],
        ("constant", LINE[-1]),
    ],
)
def test_parts_are_cut_off_before_a_border_is_made(mode: str, widths: list[int]) -> None:
    x = np.arange(6 if len(widths) == 2 else 12, dtype="float32").reshape((-1, 4)[: len(widths) // 2])
    operands = [x, array(widths, "int64")]
    check("Pad", operands, {"mode": mode}, domain="", opset=19, constants=(1,), executors=("debug",))


def test_a_wrapped_border_along_named_axes() -> None:
    operands = [
        np.arange(12, dtype="float32").reshape(1, 3, 4),
        array([2, -1], "int64"),
        None,
        array([2], "int64"),
    ]
    check("Pad", operands, {"mode": "wrap"}, domain="", opset=19, constants=(1, 3))


BOXES = [[2, 2, 2, 2], [1, 3, 4, 3], [3, 1, 3, 5], [4, 4, 2, 2], [1, 1, 3, 3]]
"""Without an area, flat in one direction or the other, turned round, and a usual one."""


@pytest.mark.parametrize("kind", ["half_pixel", "output_half_pixel"])
@pytest.mark.parametrize("ratio", [0, 2])
@pytest.mark.parametrize("mode", ["avg", "max"])
def test_regions_without_an_area(mode: str, ratio: int, kind: str) -> None:
    x = np.arange(36, dtype="float32").reshape(1, 1, 6, 6)
    operands = [x, array(BOXES), np.zeros(5, "int64")]
    attributes: dict[str, Any] = {
        "mode": mode, "sampling_ratio": ratio, "output_height": 2, "output_width": 2,
        "coordinate_transformation_mode": kind,
    }  # fmt: skip
    check("RoiAlign", operands, attributes, domain="", opset=16, atol=1e-4)
    (y,) = by_relay(*one_node("RoiAlign", operands, attributes, domain="", opset=16))
    assert y[:4].any() == (ratio > 0 or kind != "half_pixel")
