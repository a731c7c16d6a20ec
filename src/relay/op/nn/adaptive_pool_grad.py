"""The operators for the derivatives of adaptive pooling."""

from relay.op.base import operator, sample
from relay.op.nn.adaptive_pool import Parts1D, Parts2D, Parts3D
from relay.op.nn.pool_rules import AverageGradient, MaxGradient, MaxTangent


@operator("nn.adaptive_max_pool1d_grad")
class AdaptiveMaxPool1DGrad(MaxGradient, Parts1D):
    """The cotangent of the data of `nn.adaptive_max_pool1d`, from that of its result.

    Each element of `out_grad` goes to the greatest element of its part, among equals the first.

    relay> nn.adaptive_max_pool1d_grad([[[5.0]]], [[[1.0, 3.0]]], output_size=1)
    [[[0.0, 5.0]]]
    """

    samples = (
        sample("2x3x3 float32", "2x3x7 float32", output_size=3),
        sample("2x3x5 float32", "2x3x3 float32", output_size=5),
    )


@operator("nn.adaptive_max_pool2d_grad")
class AdaptiveMaxPool2DGrad(MaxGradient, Parts2D):
    """The cotangent of the data of `nn.adaptive_max_pool2d`, from that of its result.

    Each element of `out_grad` goes to the greatest element of its part, among equals the first.

    relay> nn.adaptive_max_pool2d_grad([[[[5.0]]]], [[[[1.0, 3.0]]]], output_size=1)
    [[[[0.0, 5.0]]]]
    """

    samples = (
        sample("1x3x3x2 float32", "1x3x7x5 float32", output_size=(3, 2)),
        sample("1x2x2x3 float32", "1x7x5x3 float32", output_size=2, layout="NHWC"),
    )


@operator("nn.adaptive_max_pool3d_grad")
class AdaptiveMaxPool3DGrad(MaxGradient, Parts3D):
    """The cotangent of the data of `nn.adaptive_max_pool3d`, from that of its result.

    Each element of `out_grad` goes to the greatest element of its part, among equals the first.

    relay> nn.adaptive_max_pool3d_grad([[[[[5.0]]]]], [[[[[1.0, 3.0]]]]], output_size=1)
    [[[[[0.0, 5.0]]]]]
    """

    samples = (sample("1x2x2x3x2 float32", "1x2x4x7x5 float32", output_size=(2, 3, 2)),)


@operator("nn.adaptive_max_pool1d_tangent")
class AdaptiveMaxPool1DTangent(MaxTangent, Parts1D):
    """The tangent of the result of `nn.adaptive_max_pool1d`, from that of its data.

    For each part what `tangent` has where the data has its greatest element, among equals the first.

    relay> nn.adaptive_max_pool1d_tangent([[[5.0, 7.0]]], [[[1.0, 3.0]]], output_size=1)
    [[[7.0]]]
    """

    samples = (
        sample("2x3x7 float32", "2x3x7 float32", output_size=3),
        sample("2x3x3 float32", "2x3x3 float32", output_size=5),
    )


@operator("nn.adaptive_max_pool2d_tangent")
class AdaptiveMaxPool2DTangent(MaxTangent, Parts2D):
    """The tangent of the result of `nn.adaptive_max_pool2d`, from that of its data.

    For each part what `tangent` has where the data has its greatest element, among equals the first.

    relay> nn.adaptive_max_pool2d_tangent([[[[5.0, 7.0]]]], [[[[1.0, 3.0]]]], output_size=1)
    [[[[7.0]]]]
    """

    samples = (
        sample("1x3x7x5 float32", "1x3x7x5 float32", output_size=(3, 2)),
        sample("1x7x5x3 float32", "1x7x5x3 float32", output_size=2, layout="NHWC"),
    )


@operator("nn.adaptive_max_pool3d_tangent")
class AdaptiveMaxPool3DTangent(MaxTangent, Parts3D):
    """The tangent of the result of `nn.adaptive_max_pool3d`, from that of its data.

    For each part what `tangent` has where the data has its greatest element, among equals the first.

    relay> nn.adaptive_max_pool3d_tangent([[[[[5.0, 7.0]]]]], [[[[[1.0, 3.0]]]]], output_size=1)
    [[[[[7.0]]]]]
    """

    samples = (sample("1x2x4x7x5 float32", "1x2x4x7x5 float32", output_size=(2, 3, 2)),)


@operator("nn.adaptive_avg_pool1d_grad")
class AdaptiveAvgPool1DGrad(AverageGradient, Parts1D):
    """The cotangent of the data of `nn.adaptive_avg_pool1d`, from that of its result.

    Each element of `out_grad` is shared out among the elements of its part.

    relay> nn.adaptive_avg_pool1d_grad([[[6.0]]], [[[1.0, 3.0]]], output_size=1)
    [[[3.0, 3.0]]]
    """

    samples = (
        sample("2x3x3 float32", "2x3x7 float32", output_size=3),
        sample("2x3x5 float32", "2x3x3 float32", output_size=5),
    )


@operator("nn.adaptive_avg_pool2d_grad")
class AdaptiveAvgPool2DGrad(AverageGradient, Parts2D):
    """The cotangent of the data of `nn.adaptive_avg_pool2d`, from that of its result.

    Each element of `out_grad` is shared out among the elements of its part.

    relay> nn.adaptive_avg_pool2d_grad([[[[6.0]]]], [[[[1.0, 3.0]]]], output_size=1)
    [[[[3.0, 3.0]]]]
    """

    samples = (
        sample("1x3x3x2 float32", "1x3x7x5 float32", output_size=(3, 2)),
        sample("1x2x2x3 float32", "1x7x5x3 float32", output_size=2, layout="NHWC"),
    )


@operator("nn.adaptive_avg_pool3d_grad")
class AdaptiveAvgPool3DGrad(AverageGradient, Parts3D):
    """The cotangent of the data of `nn.adaptive_avg_pool3d`, from that of its result.

    Each element of `out_grad` is shared out among the elements of its part.

    relay> nn.adaptive_avg_pool3d_grad([[[[[6.0]]]]], [[[[[1.0, 3.0]]]]], output_size=1)
    [[[[[3.0, 3.0]]]]]
    """

    samples = (sample("1x2x2x3x2 float32", "1x2x4x7x5 float32", output_size=(2, 3, 2)),)
