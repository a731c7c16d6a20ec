"""The operators for the derivatives of pooling over windows."""

from relay.op.base import operator, sample
from relay.op.nn.pool_rules import AverageGradient, MaxGradient, MaxTangent
from relay.op.nn.window import Windows1D, Windows2D, Windows3D


@operator("nn.max_pool1d_grad")
class MaxPool1DGrad(MaxGradient, Windows1D):
    """The cotangent of the data of `nn.max_pool1d`, from that of its result and the data `(n, c, w)`.

    Each element of `out_grad` goes to the greatest element of its window, among equals the first.

    relay> nn.max_pool1d_grad([[[5.0]]], [[[1.0, 3.0]]], pool_size=2)
    [[[0.0, 5.0]]]
    """

    samples = (
        sample("2x3x3 float32", "2x3x8 float32", pool_size=3, strides=2),
        sample("2x7x3 float32", "2x8x3 float32", pool_size=2, layout="NWC"),
    )


@operator("nn.max_pool2d_grad")
class MaxPool2DGrad(MaxGradient, Windows2D):
    """The cotangent of the data of `nn.max_pool2d`, from that of its result and the data `(n, c, h, w)`.

    Each element of `out_grad` goes to the greatest element of its window, among equals the first.

    relay> nn.max_pool2d_grad([[[[5.0]]]], [[[[1.0, 3.0]]]], pool_size=(1, 2))
    [[[[0.0, 5.0]]]]
    """

    samples = (
        sample("2x3x4x4 float32", "2x3x8x7 float32", pool_size=3, strides=2, padding=1),
        sample(
            "1x4x4x2 float32", "1x7x7x2 float32", pool_size=(2, 2), strides=2, ceil_mode=True, layout="NHWC"
        ),
        sample("1x2x4x4 float16", "1x2x6x6 float16", pool_size=2, dilation=2),
    )


@operator("nn.max_pool3d_grad")
class MaxPool3DGrad(MaxGradient, Windows3D):
    """The cotangent of the data of `nn.max_pool3d`, from that of its result and the data `(n, c, d, h, w)`.

    Each element of `out_grad` goes to the greatest element of its window, among equals the first.

    relay> nn.max_pool3d_grad([[[[[5.0]]]]], [[[[[1.0, 3.0]]]]], pool_size=(1, 1, 2))
    [[[[[0.0, 5.0]]]]]
    """

    samples = (sample("1x2x2x2x3 float32", "1x2x4x5x6 float32", pool_size=2, strides=2),)


@operator("nn.max_pool1d_tangent")
class MaxPool1DTangent(MaxTangent, Windows1D):
    """The tangent of the result of `nn.max_pool1d`, from that of its data and the data `(n, c, w)`.

    For each window what `tangent` has where the data has its greatest element, among equals the first.

    relay> nn.max_pool1d_tangent([[[5.0, 7.0]]], [[[1.0, 3.0]]], pool_size=2)
    [[[7.0]]]
    """

    samples = (
        sample("2x3x8 float32", "2x3x8 float32", pool_size=3, strides=2),
        sample("2x8x3 float32", "2x8x3 float32", pool_size=2, layout="NWC"),
    )


@operator("nn.max_pool2d_tangent")
class MaxPool2DTangent(MaxTangent, Windows2D):
    """The tangent of the result of `nn.max_pool2d`, from that of its data and the data `(n, c, h, w)`.

    For each window what `tangent` has where the data has its greatest element, among equals the first.

    relay> nn.max_pool2d_tangent([[[[5.0, 7.0]]]], [[[[1.0, 3.0]]]], pool_size=(1, 2))
    [[[[7.0]]]]
    """

    samples = (
        sample("2x3x8x7 float32", "2x3x8x7 float32", pool_size=3, strides=2, padding=1),
        sample(
            "1x7x7x2 float32", "1x7x7x2 float32", pool_size=(2, 2), strides=2, ceil_mode=True, layout="NHWC"
        ),
        sample("1x2x6x6 float16", "1x2x6x6 float16", pool_size=2, dilation=2),
    )


@operator("nn.max_pool3d_tangent")
class MaxPool3DTangent(MaxTangent, Windows3D):
    """The tangent of the result of `nn.max_pool3d`, from that of its data and the data `(n, c, d, h, w)`.

    For each window what `tangent` has where the data has its greatest element, among equals the first.

    relay> nn.max_pool3d_tangent([[[[[5.0, 7.0]]]]], [[[[[1.0, 3.0]]]]], pool_size=(1, 1, 2))
    [[[[[7.0]]]]]
    """

    samples = (sample("1x2x4x5x6 float32", "1x2x4x5x6 float32", pool_size=2, strides=2),)


@operator("nn.avg_pool1d_grad")
class AvgPool1DGrad(AverageGradient, Windows1D):
    """The cotangent of the data of `nn.avg_pool1d`, from that of its result; data is `(n, c, w)`.

    Each element of `out_grad` is shared out among the elements of its window.

    relay> nn.avg_pool1d_grad([[[6.0]]], [[[1.0, 3.0]]], pool_size=2)
    [[[3.0, 3.0]]]
    """

    count_include_pad: bool = False
    samples = (sample("2x3x4 float32", "2x3x8 float32", pool_size=3, strides=2, padding=1),)


@operator("nn.avg_pool2d_grad")
class AvgPool2DGrad(AverageGradient, Windows2D):
    """The cotangent of the data of `nn.avg_pool2d`, from that of its result; data is `(n, c, h, w)`.

    Each element of `out_grad` is shared out among the elements of its window.

    relay> nn.avg_pool2d_grad([[[[6.0]]]], [[[[1.0, 3.0]]]], pool_size=(1, 2))
    [[[[3.0, 3.0]]]]
    """

    count_include_pad: bool = False
    samples = (
        sample("2x3x4x4 float32", "2x3x8x7 float32", pool_size=3, strides=2, padding=1),
        sample("1x2x4x4 float32", "1x2x6x6 float32", pool_size=3, strides=2, padding=1, ceil_mode=True),
        sample("1x2x4x3 float32", "1x2x3x4 float32", pool_size=2, padding=(1, 0), count_include_pad=True),
        sample("1x2x3x3 float16", "1x2x4x4 float16", pool_size=2),
    )


@operator("nn.avg_pool3d_grad")
class AvgPool3DGrad(AverageGradient, Windows3D):
    """The cotangent of the data of `nn.avg_pool3d`, from that of its result; data is `(n, c, d, h, w)`.

    Each element of `out_grad` is shared out among the elements of its window.

    relay> nn.avg_pool3d_grad([[[[[6.0]]]]], [[[[[1.0, 3.0]]]]], pool_size=(1, 1, 2))
    [[[[[3.0, 3.0]]]]]
    """

    count_include_pad: bool = False
    samples = (sample("1x2x2x2x3 float32", "1x2x4x5x6 float32", pool_size=2, strides=2),)
