"""Resizing by factors and to sizes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.resampling import resampled
from relay.frontend.support import axes_in
from relay.frontend.value import NeedsValueError, Value, sizes_of
from relay.ir.type import ANY, Dim
from relay.op.image.places import Way


@converts("Resize")
@converts("Upsample", since=9)
def resize_by_scales(node: Node, x: Value, scales: Value) -> Value:
    """Data resized by factors."""
    return by_factors(node, x, [float(f) for f in scales.known("the scales").reshape(-1)])


@converts("Upsample")
def upsample(node: Node, x: Value) -> Value:
    """Data resized by factors."""
    return by_factors(node, x, node.floats("scales"))


def by_factors(node: Node, x: Value, factors: list[float]) -> Value:
    """Each axis resized by a factor."""
    way = Way(mode=node.text("mode", "nearest"), coordinates="asymmetric", rounding="floor")
    return resampled(x, list(range(x.rank)), multiplied(x.shape, factors), factors, way)


def multiplied(sizes: Sequence[Dim], factors: Sequence[float]) -> list[int | None]:
    """Sizes times factors, where they are known."""
    pairs = zip(sizes, factors, strict=True)
    return [int(np.floor(n * f)) if isinstance(n, int) else None for n, f in pairs]


@converts("Resize", since=11)
def resize(
    node: Node, x: Value, roi: Value | None = None, scales: Value | None = None, sizes: Value | None = None
) -> Value:
    """Data resized by factors or to sizes."""
    axes = axes_in(node.ints("axes", list(range(x.rank))), x.rank)
    factors: Sequence[float | None]
    policy = node.text("keep_aspect_ratio_policy", "stretch")
    if sizes is not None and policy == "stretch":
        wanted, factors = to_sizes([x.shape[a] for a in axes], sizes)
    elif sizes is not None:
        own = [x.size(a) for a in axes]
        ratios = [w / n for w, n in zip(sizes.numbers("the sizes"), own, strict=True)]
        factor = min(ratios) if policy == "not_larger" else max(ratios)
        factors = [factor] * len(ratios)
        wanted = [int(np.floor(factor * n + 0.5)) for n in own]
    elif scales is not None:
        given = [float(f) for f in scales.known("the scales").reshape(-1)]
        wanted, factors = multiplied([x.shape[a] for a in axes], given), [*given]
    else:
        return node.fail("neither scales nor sizes are given")
    way = Way(
        mode=node.text("mode", "nearest"),
        coordinates=node.text("coordinate_transformation_mode", "half_pixel"),
        rounding=node.text("nearest_mode", "round_prefer_floor"), cubic=node.float("cubic_coeff_a", -0.75),
        exclude_outside=bool(node.int("exclude_outside", 0)), antialias=bool(node.int("antialias", 0)),
        outside=node.float("extrapolation_value", 0.0),
    )  # fmt: skip
    region: list[float] = []
    if way.coordinates == "tf_crop_and_resize" and roi is not None:
        region = [float(v) for v in roi.known("the region").reshape(-1)]
    return resampled(x, axes, wanted, factors, way, region)


def to_sizes(own: Sequence[Dim], sizes: Value) -> tuple[list[int | None], list[float | None]]:
    """Sizes that are asked for and their factors, where they are known; an axis may keep its size."""
    given = sizes_of(sizes)
    asked: list[Any] = sizes.numbers("the sizes") if given is None else list(given.reshape(-1))
    wanted: list[int | None] = []
    factors: list[float | None] = []
    for n, w in zip(own, asked, strict=True):
        if w == n and not isinstance(n, int) and n is not ANY:
            wanted.append(None)
            factors.append(1.0)
        elif isinstance(w, int):
            wanted.append(w)
            factors.append(w / n if isinstance(n, int) else None)
        else:
            raise NeedsValueError("the sizes", sizes.sources)
    return wanted, factors
