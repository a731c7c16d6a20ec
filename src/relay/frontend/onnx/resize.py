"""Resizing by factors and to sizes."""

import numpy as np

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.resampling import Way, resampled
from relay.frontend.support import axes_in
from relay.frontend.value import Value


@converts("Resize")
def resize_by_scales(node: Node, x: Value, scales: Value) -> Value:
    """Data resized by factors."""
    way = Way(mode=node.text("mode", "nearest"), coordinates="asymmetric", rounding="floor")
    factors = [float(f) for f in scales.known("the scales").reshape(-1)]
    sizes = [int(np.floor(n * f)) for n, f in zip(x.sizes(), factors, strict=True)]
    return resampled(x, list(range(x.rank)), sizes, factors, way)


@converts("Resize", since=11)
def resize(
    node: Node, x: Value, roi: Value | None = None, scales: Value | None = None, sizes: Value | None = None
) -> Value:
    """Data resized by factors or to sizes."""
    axes = axes_in(node.ints("axes", list(range(x.rank))), x.rank)
    own = [x.size(a) for a in axes]
    if sizes is not None:
        wanted = sizes.numbers("the sizes")
        factors = [w / n for w, n in zip(wanted, own, strict=True)]
        policy = node.text("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            factor = min(factors) if policy == "not_larger" else max(factors)
            factors = [factor] * len(factors)
            wanted = [int(np.floor(factor * n + 0.5)) for n in own]
    elif scales is not None:
        factors = [float(f) for f in scales.known("the scales").reshape(-1)]
        wanted = [int(np.floor(n * f)) for n, f in zip(own, factors, strict=True)]
    else:
        return node.fail("neither scales nor sizes are given")
    way = Way(
        mode=node.text("mode", "nearest"),
        coordinates=node.text("coordinate_transformation_mode", "half_pixel"),
        rounding=node.text("nearest_mode", "round_prefer_floor"), cubic=node.float("cubic_coeff_a", -0.75),
        exclude_outside=bool(node.int("exclude_outside", 0)), antialias=bool(node.int("antialias", 0)),
        outside=node.float("extrapolation_value", 0.0),
    )  # fmt: skip
    region = None
    if way.coordinates == "tf_crop_and_resize" and roi is not None:
        region = [float(v) for v in roi.known("the region").reshape(-1)]
    return resampled(x, axes, wanted, factors, way, region)
