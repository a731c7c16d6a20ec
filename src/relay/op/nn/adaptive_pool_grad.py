"""The operators for the derivatives of adaptive pooling."""

from relay.op.base import sample
from relay.op.family import family
from relay.op.nn.adaptive_pool import Parts
from relay.op.nn.pool_rules import AverageGradient, MaxGradient, MaxTangent
from relay.op.nn.ranks import by_rank, for_ranks

COTANGENT_SAMPLES = by_rank(
    (
        sample("2x3x3 float32", "2x3x7 float32", output_size=3),
        sample("2x3x5 float32", "2x3x3 float32", output_size=5),
    ),
    (
        sample("1x3x3x2 float32", "1x3x7x5 float32", output_size=(3, 2)),
        sample("1x2x2x3 float32", "1x7x5x3 float32", output_size=2, layout="NHWC"),
    ),
    (sample("1x2x2x3x2 float32", "1x2x4x7x5 float32", output_size=(2, 3, 2)),),
)


@family
class AdaptiveMaxPoolGrad(MaxGradient, Parts):
    """The cotangent of the data of `nn.adaptive_max_pool{rank}d`, from that of its result.

    Each element of `out_grad` goes to the greatest element of its part, among equals the first.

    relay> nn.adaptive_max_pool1d_grad([[[5.0]]], [[[1.0, 3.0]]], output_size=1)
    [[[0.0, 5.0]]]
    relay> nn.adaptive_max_pool2d_grad([[[[5.0]]]], [[[[1.0, 3.0]]]], output_size=1)
    [[[[0.0, 5.0]]]]
    relay> nn.adaptive_max_pool3d_grad([[[[[5.0]]]]], [[[[[1.0, 3.0]]]]], output_size=1)
    [[[[[0.0, 5.0]]]]]
    """

    samples = COTANGENT_SAMPLES


@family
class AdaptiveMaxPoolTangent(MaxTangent, Parts):
    """The tangent of the result of `nn.adaptive_max_pool{rank}d`, from that of its data.

    For each part what `tangent` has where the data has its greatest element, among equals the first.

    relay> nn.adaptive_max_pool1d_tangent([[[5.0, 7.0]]], [[[1.0, 3.0]]], output_size=1)
    [[[7.0]]]
    relay> nn.adaptive_max_pool2d_tangent([[[[5.0, 7.0]]]], [[[[1.0, 3.0]]]], output_size=1)
    [[[[7.0]]]]
    relay> nn.adaptive_max_pool3d_tangent([[[[[5.0, 7.0]]]]], [[[[[1.0, 3.0]]]]], output_size=1)
    [[[[[7.0]]]]]
    """

    samples = by_rank(
        (
            sample("2x3x7 float32", "2x3x7 float32", output_size=3),
            sample("2x3x3 float32", "2x3x3 float32", output_size=5),
        ),
        (
            sample("1x3x7x5 float32", "1x3x7x5 float32", output_size=(3, 2)),
            sample("1x7x5x3 float32", "1x7x5x3 float32", output_size=2, layout="NHWC"),
        ),
        (sample("1x2x4x7x5 float32", "1x2x4x7x5 float32", output_size=(2, 3, 2)),),
    )


@family
class AdaptiveAvgPoolGrad(AverageGradient, Parts):
    """The cotangent of the data of `nn.adaptive_avg_pool{rank}d`, from that of its result.

    Each element of `out_grad` is shared out among the elements of its part.

    relay> nn.adaptive_avg_pool1d_grad([[[6.0]]], [[[1.0, 3.0]]], output_size=1)
    [[[3.0, 3.0]]]
    relay> nn.adaptive_avg_pool2d_grad([[[[6.0]]]], [[[[1.0, 3.0]]]], output_size=1)
    [[[[3.0, 3.0]]]]
    relay> nn.adaptive_avg_pool3d_grad([[[[[6.0]]]]], [[[[[1.0, 3.0]]]]], output_size=1)
    [[[[[3.0, 3.0]]]]]
    """

    samples = COTANGENT_SAMPLES


AdaptiveMaxPool1DGrad, AdaptiveMaxPool2DGrad, AdaptiveMaxPool3DGrad = for_ranks(
    "nn.adaptive_max_pool{}d_grad", AdaptiveMaxPoolGrad
)
AdaptiveMaxPool1DTangent, AdaptiveMaxPool2DTangent, AdaptiveMaxPool3DTangent = for_ranks(
    "nn.adaptive_max_pool{}d_tangent", AdaptiveMaxPoolTangent
)
AdaptiveAvgPool1DGrad, AdaptiveAvgPool2DGrad, AdaptiveAvgPool3DGrad = for_ranks(
    "nn.adaptive_avg_pool{}d_grad", AdaptiveAvgPoolGrad
)
