"""Images of other sizes."""

from collections.abc import Callable
from typing import Any

from relay.frontend.resampling import resampled
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.value import Value, call
from relay.op.image.places import Way

WAYS = {
    "upsample_nearest": Way(mode="nearest", coordinates="asymmetric", rounding="floor"),
    "_upsample_nearest_exact": Way(mode="nearest", coordinates="half_pixel", rounding="round_prefer_ceil"),
    "upsample_linear": Way(mode="linear", coordinates="half_pixel"),
    "upsample_bilinear": Way(mode="linear", coordinates="half_pixel"),
    "upsample_trilinear": Way(mode="linear", coordinates="half_pixel"),
    "upsample_bicubic": Way(mode="cubic", coordinates="half_pixel"),
    "_upsample_bilinear2d_aa": Way(
        mode="linear", coordinates="half_pixel", antialias=True, exclude_outside=True
    ),
    "_upsample_bicubic2d_aa": Way(
        mode="cubic", coordinates="half_pixel", antialias=True, exclude_outside=True, cubic=-0.5
    ),
}
ALIGNED = "align_corners"


def _resize(way: Way, takes_corners: bool) -> Callable[..., Value]:
    def convert(node: Node, x: Value, sizes: Any, *rest: Any) -> Value:
        """Data resampled along all axes but the first two."""
        corners = bool(rest[0]) if takes_corners else False
        given: list[Any] = list(rest[1:] if takes_corners else rest)
        factors: list[Any] | None = None
        if len(given) == 1 and isinstance(given[0], list):
            factors = given[0]  # pyright: ignore[reportUnknownVariableType]
        elif given and all(isinstance(g, float | int) for g in given):
            factors = given
        out = [int(n) for n in node.result().shape[2:]]
        own = [x.size(a) for a in range(2, x.rank)]
        scales = [o / n for o, n in zip(out, own, strict=True)]
        scales = scales if factors is None else [float(v) for v in factors]
        if whole_multiples(way, scales, out, own):
            for axis, factor in zip(range(2, x.rank), scales, strict=True):
                x = call("repeat", x, repeats=int(factor), axis=axis) if factor != 1 else x
            return x
        chosen = way
        if corners:
            chosen = Way(mode=way.mode, coordinates=ALIGNED, cubic=way.cubic)
            scales = [o / n for o, n in zip(out, own, strict=True)]
        return resampled(x, list(range(2, x.rank)), out, scales, chosen)

    return convert


def whole_multiples(way: Way, scales: list[float], out: list[int], own: list[int]) -> bool:
    """Whether each element is only repeated."""
    exact = all(s == int(s) and n * int(s) == o for s, n, o in zip(scales, own, out, strict=True))
    return way.mode == "nearest" and exact


for _name, _way in WAYS.items():
    _corners = _way.mode != "nearest"
    _ranks = [""] if "2d" in _name else ["1d", "2d", "3d"]
    for _rank in _ranks:
        converts(f"aten.{_name}{_rank}")(_resize(_way, _corners))
