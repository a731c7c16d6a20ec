"""Convolutions by minimal filtering, of weights that are transformed before.

Source: Lavin and Gray, "Fast algorithms for convolutional neural networks", 2015.
"""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from relay.ir.dtype import to_numpy
from relay.ir.expr import Constant, Expr
from relay.ir.type import Dim, TensorType, Type
from relay.op.axes import attribute_fault
from relay.op.base import FLOATING, sample
from relay.op.composite import Composite
from relay.op.family import family
from relay.op.nn.layout import OutDType, Spatial, ntuple, pads, permutation, positions
from relay.op.nn.toom_cook import MOST_POINTS, matrices
from relay.op.numeric import apply, dims
from relay.op.registry import instance, operator
from relay.op.relation import Typing


def known(t: Typing, sizes: Sequence[Dim], what: str) -> list[int]:
    """Sizes as numbers (`shape-constraint` where they are open)."""
    found = [t.static(t.settled(d)) for d in sizes]
    if None in found:
        hint = "`nn.conv2d` and `nn.conv3d` take open sizes, and choose kernels themselves"
        t.fail("shape-constraint", f"{what} has to have known sizes", hint=hint)
    return [n for n in found if n is not None]


def matrix(values: NDArray[Any], dtype: Any) -> Constant:
    """A constant of a dtype, which may still be a variable."""
    held = values if isinstance(dtype, Type) else values.astype(to_numpy(dtype))
    return Constant(held, TensorType(held.shape, dtype))


def multiplied_along(x: Expr, axis: int, rank: int, by: NDArray[Any], dtype: Any) -> Expr:
    """`x` of a rank with one axis multiplied by a matrix."""
    before, after = "abcdefgh"[:axis], "ijklmnop"[: rank - axis - 1]
    equation = f"{before}z{after},yz->{before}y{after}"
    return apply("einsum", (x, matrix(by, dtype)), equation=equation)


def check_tile_size(t: Typing, tile_size: int, window: Sequence[int]) -> None:
    """`attribute-value` for a number of places that is not possible."""
    if tile_size < 1 or tile_size + max(window, default=1) > MOST_POINTS:
        most = MOST_POINTS - max(window, default=1)
        attribute_fault(t, "tile_size", tile_size, f"it is from 1 to {most} for these windows")


@family
class WeightTransform(Composite):
    """Weights of convolutions as they are multiplied by minimal filtering: `G w G^T`."""

    dtypes = FLOATING
    tile_size: int
    spatial = 2

    def turned(self, window: Sequence[int]) -> list[bool]:
        """Which axes of a window are transformed."""
        return [len(window) == 2 or k > 0 or window[0] == window[1] for k in range(len(window))]

    def infer(self, t: Typing, weight: Type) -> Type:
        out, channels, *window = t.shape(weight, self.spatial + 2, "the weight")
        sizes = known(t, window, "the weight")
        check_tile_size(t, self.tile_size, sizes)
        changed = [k + self.tile_size - 1 if f else k for k, f in zip(sizes, self.turned(sizes), strict=True)]
        return TensorType((*self.ordered(changed, sizes), out, channels), t.dtype(weight))

    def ordered(self, changed: Sequence[Dim], window: Sequence[int]) -> list[Dim]:
        """The axes of a window in the order of the result: those that stay are last."""
        is_turned = self.turned(window)
        return [d for d, _ in sorted(zip(changed, is_turned, strict=True), key=lambda pair: not pair[1])]

    def decompose(self, types: Any, weight: Expr) -> Expr:
        window = [whole(d) for d in dims(types[0])[2:]]
        rank = len(window) + 2
        for k, f in enumerate(self.turned(window)):
            if f:
                _, by, _ = matrices(self.tile_size, window[k])
                weight = multiplied_along(weight, k + 2, rank, by, types[0].dtype)
        order = self.ordered(list(range(2, rank)), window)
        return apply("transpose", weight, axes=(*order, 0, 1))


@operator("nn.contrib_conv2d_winograd_weight_transform")
class WinogradWeight2D(WeightTransform):
    """The weight `(o, c, h, w)` of a convolution for `nn.contrib_conv2d_winograd_without_weight_transform`.

    The result is `(tile_size + h - 1, tile_size + w - 1, o, c)`.

    relay> sum(nn.contrib_conv2d_winograd_weight_transform([[[[1.0, 2.0]]]], tile_size=2), axis=(0, 2, 3))
    [2.0, 6.0, 4.0]
    """

    samples = (sample("2x3x3x3 float32", tile_size=2), sample("1x2x1x3 float64", tile_size=4))


@operator("nn.contrib_conv3d_winograd_weight_transform")
class WinogradWeight3D(WeightTransform):
    """The weight `(o, c, d, h, w)` for `nn.contrib_conv3d_winograd_without_weight_transform`.

    The result is `(tile_size + d - 1, tile_size + h - 1, tile_size + w - 1, o, c)`; where `d` is not `h`, it
    is `(tile_size + h - 1, tile_size + w - 1, d, o, c)`.

    relay> sum(nn.contrib_conv3d_winograd_weight_transform([[[[[1.0, 2.0]]]]], tile_size=1))
    3.0
    """

    spatial = 3
    samples = (sample("2x3x3x3x3 float32", tile_size=2), sample("1x2x1x3x3 float64", tile_size=2))


@operator("nn.contrib_conv2d_winograd_nnpack_weight_transform")
class WinogradWeightNNPACK(Composite):
    """The weight `(o, c, 3, 3)` of a convolution, transformed for tiles of 6 by 6: `(o, c, 8, 8)`.

    relay> sum(nn.contrib_conv2d_winograd_nnpack_weight_transform(ones(shape=(1, 1, 3, 3), dtype="float16")))
    9.0
    """

    dtypes = FLOATING
    convolution_algorithm: int = 0
    out_dtype: OutDType = ""
    samples = (sample("2x3x3x3 float32"), sample("1x1x3x3 float64", out_dtype="float32"))

    def infer(self, t: Typing, weight: Type) -> Type:
        out, channels, *window = t.shape(weight, 4, "the weight")
        for d in window:
            t.equal(d, 3, why="the window is 3 by 3")
        return TensorType((out, channels, 8, 8), self.out_dtype or t.dtype(weight))

    def decompose(self, types: Any, weight: Expr) -> Expr:
        _, by, _ = matrices(6, 3)
        for axis in (2, 3):
            weight = multiplied_along(weight, axis, 4, by, types[0].dtype)
        return apply("cast", weight, dtype=self.out_dtype) if self.out_dtype else weight


@family
class WinogradConvolution(Composite):
    """A convolution by a weight that is transformed: `A ((G w G^T) * (B x B^T)) A^T`, tile by tile.

    Steps, dilation and groups are 1, and images have known sizes.  `kernel_size` is that of the weight
    before, and so is `kernel_layout`, which says nothing more.
    """

    dtypes = FLOATING
    axes = "NCHW"
    plain = "nn.conv2d"
    tile_size: int
    strides: Spatial = 1
    padding: Spatial = 0
    dilation: Spatial = 1
    groups: int = 1
    channels: int | None = None
    kernel_size: Spatial | None = None
    data_layout: str = "NCHW"
    kernel_layout: str = "OIHW"
    out_layout: str = ""
    out_dtype: OutDType = ""

    @property
    def spatial(self) -> int:
        """How many axes windows have."""
        return len(self.axes) - 2

    def is_deep(self) -> bool:
        """Whether the first of three axes is transformed, too."""
        window = None if self.kernel_size is None else ntuple(self.kernel_size, self.spatial)
        return self.spatial == 2 or window is None or window[0] == window[1]

    def order(self) -> tuple[int, ...]:
        """Where the axes of the window are in the weight."""
        return tuple(range(self.spatial)) if self.is_deep() else (2, 0, 1)

    def places(self) -> list[int]:
        """The places of a tile along each axis."""
        return [self.tile_size if self.is_deep() or k else 1 for k in range(self.spatial)]

    def infer(self, t: Typing, data: Type, weight: Type) -> Type:
        for name in ("strides", "dilation", "groups"):
            value = getattr(self, name)
            if {*ntuple(value, self.spatial)} != {1}:
                attribute_fault(t, name, value, f"leave others than 1 to `{self.plain}`")
        shape = t.shape(weight, self.spatial + 2, "the weight")
        sizes = known(t, [shape[k] for k in self.order()], "the weight")
        window = [n - m + 1 for n, m in zip(sizes, self.places(), strict=True)]
        if min(window) < 1:
            message = f"the weight is transformed for {min(sizes)} places"
            attribute_fault(t, "tile_size", self.tile_size, message)
        check_tile_size(t, self.tile_size, window)
        x = t.shape(data, self.spatial + 2, "the data")
        where = permutation(t, self.data_layout, self.axes, self.name, "data_layout")
        known(t, [x[k] for k in where[2:]], "the data")
        plain = {k: v for k, v in self.attributes().items() if k not in ("tile_size", "kernel_layout")}
        whole = TensorType((*shape[-2:], *window), t.dtype(weight))
        return instance(self.plain, plain).infer(t, data, whole)

    def decompose(self, types: Any, data: Expr, weight: Expr) -> Expr:
        n, dtype, ms = self.spatial, types[0].dtype, self.places()
        order, where = self.order(), positions(self.data_layout, self.axes)
        taps = [whole(dims(types[1])[k]) - m + 1 for k, m in zip(order, ms, strict=True)]
        sizes = [whole(dims(types[0])[k]) for k in where[2:]]
        around = pads(self.padding, n)
        outs = [d + sum(p) - r + 1 for d, p, r in zip(sizes, around, taps, strict=True)]
        tiles = [-(-o // m) for o, m in zip(outs, ms, strict=True)]
        more = [k * m - o for k, m, o in zip(tiles, ms, outs, strict=True)]
        width = [(p, q + k) for (p, q), k in zip(around, more, strict=True)]
        x = apply("nn.pad", apply("transpose", data, axes=where), pad_width=((0, 0), (0, 0), *width))
        windows = tuple([m + r - 1 for m, r in zip(ms, taps, strict=True)])
        x = apply("sliding_window", x, axis=2, window_shape=windows, strides=tuple(ms))
        made = [matrices(m, r) for m, r in zip(ms, taps, strict=True)]
        for k in range(n):
            x = multiplied_along(x, 2 + n + k, 2 + 2 * n, made[k][2], dtype)
        w = apply("transpose", weight, axes=(*order, n, n + 1))
        across, inside = "xyz"[:n], "abd"[:n]
        x = apply("einsum", (x, w), equation=f"nc{across}{inside},{inside}oc->no{across}{inside}")
        for k in range(n):
            x = multiplied_along(x, 2 + n + k, 2 + 2 * n, made[k][0], dtype)
        x = apply("transpose", x, axes=(0, 1, *[a for k in range(n) for a in (2 + k, 2 + n + k)]))
        x = apply("reshape", x, newshape=(0, 0, *[-3] * n))
        x = apply("strided_slice", x, begin=(0,) * n, end=tuple(outs), axes=tuple(range(2, n + 2)))
        x = apply("transpose", x, axes=positions(self.axes, self.out_layout or self.data_layout))
        return apply("cast", x, dtype=self.out_dtype) if self.out_dtype else x


def whole(d: Any) -> int:
    """A size that is known."""
    assert isinstance(d, int)
    return d


@operator("nn.contrib_conv2d_winograd_without_weight_transform")
class WinogradConv2D(WinogradConvolution):
    """`nn.conv2d` by the result of `nn.contrib_conv2d_winograd_weight_transform` with the same `tile_size`.

    Steps, dilation and groups are 1, and images have known sizes.  `kernel_layout` is that of the weight
    before it was transformed, and says nothing more.

    relay> nn.contrib_conv2d_winograd_without_weight_transform([[[[2.0, 3.0]]]], [[[[5.0]]]], tile_size=1)
    [[[[10.0, 15.0]]]]
    """

    samples = (
        sample("2x3x6x5 float32", "4x4x2x3 float32", tile_size=2, padding=(1, 1)),
        sample("1x5x4x2 float64", "4x4x3x2 float64", tile_size=3, data_layout="NHWC"),
    )


@operator("nn.contrib_conv3d_winograd_without_weight_transform")
class WinogradConv3D(WinogradConvolution):
    """`nn.conv3d` by the result of `nn.contrib_conv3d_winograd_weight_transform` with the same `tile_size`.

    Steps, dilation and groups are 1, and images have known sizes.  `kernel_size` says whether depth was
    transformed: it was where that is the height of the window, or is not given.

    relay> nn.contrib_conv3d_winograd_without_weight_transform([[[[[2.0]]]]], [[[[[5.0]]]]], tile_size=1)
    [[[[[10.0]]]]]
    """

    axes = "NCDHW"
    plain = "nn.conv3d"
    data_layout: str = "NCDHW"
    kernel_layout: str = "OIDHW"
    samples = (
        sample("1x2x4x5x4 float32", "4x4x4x2x2 float32", tile_size=2, padding=(1, 1, 1)),
        sample("1x2x2x4x5 float64", "4x4x1x2x2 float64", tile_size=2, kernel_size=(1, 3, 3)),
    )
