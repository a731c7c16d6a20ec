"""Images: sampling at places, regions, boxes."""

import numpy as np

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.support import cast
from relay.frontend.value import Value, call, constant
from relay.op.nn.layout import SPATIAL


@converts("GridSample")
def grid_sample(node: Node, x: Value, grid: Value) -> Value:
    """Data `(n, c, ...)` at places between -1 and 1, whose coordinates are given last axis first."""
    said: str = node.text("mode", "linear")
    method = {"linear": "bilinear", "cubic": "bicubic"}.get(said, said)
    wide = x if x.is_float else cast(x, "float32")
    last = grid.rank - 1
    found = call(
        "image.grid_sample",
        wide,
        call("transpose", cast(grid, wide.dtype), axes=(0, last, *range(1, last))),
        method=method,
        layout="NC" + SPATIAL[x.rank - 2],
        padding_mode=node.text("padding_mode", "zeros"),
        align_corners=bool(node.int("align_corners", 0)),
    )
    return cast(found, x.dtype)


@converts("RoiAlign")
def roi_align(node: Node, x: Value, rois: Value, batch: Value) -> Value:
    """Regions of images on a grid, each cell the mean (or the maximum) of values between pixels."""
    half = node.version >= 16 and node.text("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    image = call("expand_dims", cast(batch, x.dtype), axis=1)
    return call(
        "vision.roi_align",
        x,
        call("concatenate", (image, cast(rois, x.dtype)), axis=1),
        pooled_size=(node.int("output_height", 1), node.int("output_width", 1)),
        spatial_scale=node.float("spatial_scale", 1.0),
        sample_ratio=node.int("sampling_ratio", 0),
        mode="max_part" if node.text("mode", "avg") == "max" else "avg",
        aligned=half,
    )


@converts("MaxRoiPool")
def max_roi_pool(node: Node, x: Value, rois: Value) -> Value:
    """The greatest element in each cell of a grid laid over each region."""
    size, scale = tuple(node.ints("pooled_shape")), node.float("spatial_scale", 1.0)
    return call("vision.roi_pool", x, rois, pooled_size=size, spatial_scale=scale)


@converts("NonMaxSuppression")
def non_max_suppression(
    node: Node, boxes: Value, scores: Value, most: Value | None = None, overlap: Value | None = None,
    least: Value | None = None,
) -> Value:  # fmt: skip
    """The best boxes of each class, without those that overlap a better one: rows of image, class and box."""
    if node.int("center_point_box", 0):
        x, y, width, height = (call("take", boxes, constant(k, "int64"), axis=2) for k in range(4))
        right, up = width * 0.5, height * 0.5
        boxes = call("stack", (y - up, x - right, y + up, x + right), axis=2)
    limit = constant(0, "int64") if most is None else _scalar(most)
    edge = constant(0.0, scores.dtype) if overlap is None else _scalar(overlap)
    low = constant(-np.inf, scores.dtype) if least is None else _scalar(least)
    limit = call("maximum", limit, 0)
    found = call("vision.all_class_non_max_suppression", boxes, scores, limit, edge, low)
    begin, step = constant([0], "int64"), constant([1], "int64")
    return call("dyn.strided_slice", found[0], begin, found[1], step)


def _scalar(x: Value) -> Value:
    """A tensor of one number as a scalar."""
    return call("reshape", x, newshape=()) if x.rank else x
