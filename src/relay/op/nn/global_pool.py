"""Global pooling: one value for each channel."""

from typing import Any

from relay.ir.dtype import INTEGERS
from relay.ir.expr import Expr
from relay.ir.type import Type
from relay.op.base import NUMERIC, sample
from relay.op.composite import Composite
from relay.op.family import family
from relay.op.kind import Precision, Wide
from relay.op.nn.layout import SPATIAL, positions
from relay.op.nn.ranks import DATA_LAYOUT, by_rank, for_ranks
from relay.op.nn.window import Channels
from relay.op.numeric import apply
from relay.op.relation import Typing


@family
class GlobalPool(Channels, Composite):
    """One value for each channel."""

    layout: str = DATA_LAYOUT
    out_layout: str = ""
    dtypes = NUMERIC

    def reduced(self, data: Expr, dtype: str, axes: tuple[int, ...]) -> Expr:
        """Return the value of each channel, with the spatial axes of size 1."""
        raise AssertionError(f"{self.name} has no reduction")

    def infer(self, t: Typing, data: Type) -> Type:
        a = self.attributes()
        batch, channels, *space = self.open(t, data, a["layout"], a["out_layout"])
        return self.close(t, data, [batch, channels, *[1 for _ in space]], a["out_layout"] or a["layout"])

    def decompose(self, types: Any, data: Expr) -> Expr:
        a = self.attributes()
        layout, out = a["layout"], a["out_layout"] or a["layout"]
        found = self.reduced(data, types[0].dtype, positions(layout, SPATIAL[self.rank]))
        return found if layout == out else apply("transpose", found, axes=positions(layout, out))


@family
class GlobalMaxPool(GlobalPool):
    """The greatest element of each channel of data `(n, c, {axes})`; the spatial axes have size 1.

    relay> nn.global_max_pool1d([[[1.0, 3.0]]])
    [[[3.0]]]
    relay> nn.global_max_pool2d([[[[1.0, 3.0]]]])
    [[[[3.0]]]]
    relay> nn.global_max_pool3d([[[[[1.0, 3.0]]]]])
    [[[[[3.0]]]]]
    """

    precision = Precision.FOLLOW
    samples = by_rank(
        (sample("2x3x4 float32"),),
        (sample("2x3x4x5 float32"), sample("2x4x5x3 float32", layout="NHWC", out_layout="NCHW")),
        (sample("2x3x2x4x5 float32"),),
    )

    def reduced(self, data: Expr, dtype: str, axes: tuple[int, ...]) -> Expr:
        return apply("max", data, axis=axes, keepdims=True)


@family
class GlobalAvgPool(GlobalPool):
    """The mean of each channel of data `(n, c, {axes})`; the spatial axes have size 1.  Integers truncate.

    relay> nn.global_avg_pool1d([[[1.0, 3.0]]])
    [[[2.0]]]
    relay> nn.global_avg_pool2d([[[[1.0, 3.0]]]])
    [[[[2.0]]]]
    relay> nn.global_avg_pool3d([[[[[1.0, 3.0]]]]])
    [[[[[2.0]]]]]
    """

    precision = Precision.STORED
    wide = Wide.SUM
    samples = by_rank(
        (sample("2x3x4 float32"),),
        (
            sample("2x3x4x5 float32"),
            sample("2x4x5x3 float32", layout="NHWC"),
            sample("1x3x16x16 int8"),
        ),
        (sample("2x3x2x4x5 float32"),),
    )

    def reduced(self, data: Expr, dtype: str, axes: tuple[int, ...]) -> Expr:
        return apply("mean", data, axis=axes, keepdims=True, keep_dtype=dtype in INTEGERS)


GlobalMaxPool1D, GlobalMaxPool2D, GlobalMaxPool3D = for_ranks("nn.global_max_pool{}d", GlobalMaxPool)
GlobalAvgPool1D, GlobalAvgPool2D, GlobalAvgPool3D = for_ranks("nn.global_avg_pool{}d", GlobalAvgPool)
