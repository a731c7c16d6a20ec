"""The operators for the derivatives of pooling over windows."""

from relay.op.base import sample
from relay.op.family import family
from relay.op.nn.pool_rules import AverageGradient, MaxGradient, MaxTangent
from relay.op.nn.ranks import by_rank, for_ranks
from relay.op.nn.window import Sliding

ORDER = ("out_grad", "data", "pool_size", "strides", "padding", "layout", "out_layout", "ceil_mode")


@family
class MaxPoolGrad(MaxGradient, Sliding):
    """The cotangent of the data of `nn.max_pool{rank}d`, from that of its result and data `(n, c, {axes})`.

    Each element of `out_grad` goes to the greatest element of its window, among equals the first.

    relay> nn.max_pool1d_grad([[[5.0]]], [[[1.0, 3.0]]], pool_size=2)
    [[[0.0, 5.0]]]
    relay> nn.max_pool2d_grad([[[[5.0]]]], [[[[1.0, 3.0]]]], pool_size=(1, 2))
    [[[[0.0, 5.0]]]]
    relay> nn.max_pool3d_grad([[[[[5.0]]]]], [[[[[1.0, 3.0]]]]], pool_size=(1, 1, 2))
    [[[[[0.0, 5.0]]]]]
    """

    builder_order = (*ORDER, "dilation")
    samples = by_rank(
        (
            sample("2x3x3 float32", "2x3x8 float32", pool_size=3, strides=2),
            sample("2x7x3 float32", "2x8x3 float32", pool_size=2, layout="NWC"),
        ),
        (
            sample("2x3x4x4 float32", "2x3x8x7 float32", pool_size=3, strides=2, padding=1),
            sample(
                "1x4x4x2 float32",
                "1x7x7x2 float32",
                pool_size=(2, 2),
                strides=2,
                ceil_mode=True,
                layout="NHWC",
            ),
            sample("1x2x4x4 float16", "1x2x6x6 float16", pool_size=2, dilation=2),
        ),
        (sample("1x2x2x2x3 float32", "1x2x4x5x6 float32", pool_size=2, strides=2),),
    )


@family
class MaxPoolTangent(MaxTangent, Sliding):
    """The tangent of the result of `nn.max_pool{rank}d`, from that of its data `(n, c, {axes})`.

    For each window what `tangent` has where the data has its greatest element, among equals the first.

    relay> nn.max_pool1d_tangent([[[5.0, 7.0]]], [[[1.0, 3.0]]], pool_size=2)
    [[[7.0]]]
    relay> nn.max_pool2d_tangent([[[[5.0, 7.0]]]], [[[[1.0, 3.0]]]], pool_size=(1, 2))
    [[[[7.0]]]]
    relay> nn.max_pool3d_tangent([[[[[5.0, 7.0]]]]], [[[[[1.0, 3.0]]]]], pool_size=(1, 1, 2))
    [[[[[7.0]]]]]
    """

    samples = by_rank(
        (
            sample("2x3x8 float32", "2x3x8 float32", pool_size=3, strides=2),
            sample("2x8x3 float32", "2x8x3 float32", pool_size=2, layout="NWC"),
        ),
        (
            sample("2x3x8x7 float32", "2x3x8x7 float32", pool_size=3, strides=2, padding=1),
            sample(
                "1x7x7x2 float32",
                "1x7x7x2 float32",
                pool_size=(2, 2),
                strides=2,
                ceil_mode=True,
                layout="NHWC",
            ),
            sample("1x2x6x6 float16", "1x2x6x6 float16", pool_size=2, dilation=2),
        ),
        (sample("1x2x4x5x6 float32", "1x2x4x5x6 float32", pool_size=2, strides=2),),
    )


@family
class AvgPoolGrad(AverageGradient, Sliding):
    """The cotangent of the data of `nn.avg_pool{rank}d`, from that of its result; data is `(n, c, {axes})`.

    Each element of `out_grad` is shared out among the elements of its window.

    relay> nn.avg_pool1d_grad([[[6.0]]], [[[1.0, 3.0]]], pool_size=2)
    [[[3.0, 3.0]]]
    relay> nn.avg_pool2d_grad([[[[6.0]]]], [[[[1.0, 3.0]]]], pool_size=(1, 2))
    [[[[3.0, 3.0]]]]
    relay> nn.avg_pool3d_grad([[[[[6.0]]]]], [[[[[1.0, 3.0]]]]], pool_size=(1, 1, 2))
    [[[[[3.0, 3.0]]]]]
    """

    count_include_pad: bool = False
    builder_order = (*ORDER, "count_include_pad", "dilation")
    samples = by_rank(
        (sample("2x3x4 float32", "2x3x8 float32", pool_size=3, strides=2, padding=1),),
        (
            sample("2x3x4x4 float32", "2x3x8x7 float32", pool_size=3, strides=2, padding=1),
            sample("1x2x4x4 float32", "1x2x6x6 float32", pool_size=3, strides=2, padding=1, ceil_mode=True),
            sample("1x2x4x3 float32", "1x2x3x4 float32", pool_size=2, padding=(1, 0), count_include_pad=True),
            sample("1x2x3x3 float16", "1x2x4x4 float16", pool_size=2),
        ),
        (sample("1x2x2x2x3 float32", "1x2x4x5x6 float32", pool_size=2, strides=2),),
    )


MaxPool1DGrad, MaxPool2DGrad, MaxPool3DGrad = for_ranks("nn.max_pool{}d_grad", MaxPoolGrad)
MaxPool1DTangent, MaxPool2DTangent, MaxPool3DTangent = for_ranks("nn.max_pool{}d_tangent", MaxPoolTangent)
AvgPool1DGrad, AvgPool2DGrad, AvgPool3DGrad = for_ranks("nn.avg_pool{}d_grad", AvgPoolGrad)
