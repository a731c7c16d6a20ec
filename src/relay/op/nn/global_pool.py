"""Global pooling: one value for each channel."""

from typing import Any, ClassVar

from relay.ir.expr import Expr
from relay.ir.type import Type
from relay.op.base import NUMERIC, Precision, family, operator, sample
from relay.op.composite import Composite
from relay.op.nn.layout import SPATIAL, positions
from relay.op.nn.window import Channels
from relay.op.numeric import apply
from relay.op.relation import Typing


@family
class GlobalPool(Channels, Composite):
    """One value for each channel."""

    precision = Precision.FOLLOW
    reduction: ClassVar[str]

    def infer(self, t: Typing, data: Type) -> Type:
        a = self.attributes()
        batch, channels, *space = self.open(t, data, a["layout"], a["out_layout"])
        return self.close(t, data, [batch, channels, *[1 for _ in space]], a["out_layout"] or a["layout"])

    def decompose(self, types: Any, data: Expr) -> Expr:
        a = self.attributes()
        layout, out = a["layout"], a["out_layout"] or a["layout"]
        found = apply(self.reduction, data, axis=positions(layout, SPATIAL[self.rank]), keepdims=True)
        return found if layout == out else apply("transpose", found, axes=positions(layout, out))


@operator("nn.global_max_pool1d")
class GlobalMaxPool1D(GlobalPool):
    """The greatest element of each channel of data `(n, c, w)`: `(n, c, 1)`.

    relay> nn.global_max_pool1d([[[1.0, 3.0]]])
    [[[3.0]]]
    """

    layout: str = "NCW"
    out_layout: str = ""
    dtypes = NUMERIC
    rank, reduction = 1, "max"
    samples = (sample("2x3x4 float32"),)


@operator("nn.global_max_pool2d")
class GlobalMaxPool2D(GlobalPool):
    """The greatest element of each channel of data `(n, c, h, w)`: `(n, c, 1, 1)`.

    relay> nn.global_max_pool2d([[[[1.0, 3.0]]]])
    [[[[3.0]]]]
    """

    layout: str = "NCHW"
    out_layout: str = ""
    dtypes = NUMERIC
    rank, reduction = 2, "max"
    samples = (sample("2x3x4x5 float32"), sample("2x4x5x3 float32", layout="NHWC", out_layout="NCHW"))


@operator("nn.global_max_pool3d")
class GlobalMaxPool3D(GlobalPool):
    """The greatest element of each channel of data `(n, c, d, h, w)`: `(n, c, 1, 1, 1)`.

    relay> nn.global_max_pool3d([[[[[1.0, 3.0]]]]])
    [[[[[3.0]]]]]
    """

    layout: str = "NCDHW"
    out_layout: str = ""
    dtypes = NUMERIC
    rank, reduction = 3, "max"
    samples = (sample("2x3x2x4x5 float32"),)


@operator("nn.global_avg_pool1d")
class GlobalAvgPool1D(GlobalPool):
    """The mean of each channel of data `(n, c, w)`: `(n, c, 1)`.

    relay> nn.global_avg_pool1d([[[1.0, 3.0]]])
    [[[2.0]]]
    """

    layout: str = "NCW"
    out_layout: str = ""
    dtypes = NUMERIC
    rank, reduction = 1, "mean"
    samples = (sample("2x3x4 float32"),)


@operator("nn.global_avg_pool2d")
class GlobalAvgPool2D(GlobalPool):
    """The mean of each channel of data `(n, c, h, w)`: `(n, c, 1, 1)`.

    relay> nn.global_avg_pool2d([[[[1.0, 3.0]]]])
    [[[[2.0]]]]
    """

    layout: str = "NCHW"
    out_layout: str = ""
    dtypes = NUMERIC
    rank, reduction = 2, "mean"
    samples = (sample("2x3x4x5 float32"), sample("2x4x5x3 float32", layout="NHWC"))


@operator("nn.global_avg_pool3d")
class GlobalAvgPool3D(GlobalPool):
    """The mean of each channel of data `(n, c, d, h, w)`: `(n, c, 1, 1, 1)`.

    relay> nn.global_avg_pool3d([[[[[1.0, 3.0]]]]])
    [[[[[2.0]]]]]
    """

    layout: str = "NCDHW"
    out_layout: str = ""
    dtypes = NUMERIC
    rank, reduction = 3, "mean"
    samples = (sample("2x3x2x4x5 float32"),)
