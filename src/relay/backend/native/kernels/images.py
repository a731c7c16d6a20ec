"""Convolutions of a number of images that is open: one image after the other, by the kernel for one.

Which kernel is quickest, and how high its blocks are, depends on the number of places.  That of one image is
known where its height and width are.
"""

from collections.abc import Callable, Sequence
from typing import Any

from relay.backend.native.kernels.blocks import PRODUCT_NANOSECONDS
from relay.backend.native.kernels.ranges import ranges
from relay.backend.native.kernels.stored import with_own_rooms
from relay.backend.native.kernels.sums import OpenSums, Put, Weight, Windowed
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.nodes import Index
from relay.backend.native.loops.parallelize import is_short
from relay.backend.native.loops.views import View
from relay.backend.native.memory.representation import SIZES, scalar
from relay.op.native import WindowProduct

FEWEST_PLACES = 16
"""Places of an image for which alone it is worth reading the filters."""
KernelFor = Callable[[View, Sequence[Index]], Windowed]
"""The kernel for data, and for a result of some sizes."""


def by_images(
    b: Builder, c: WindowProduct, views: Sequence[Any], sizes: Sequence[Index], kernel_for: KernelFor
) -> Windowed:
    """A convolution as a whole; or image by image, if it is open how many there are, and each has enough
    places.  `sizes` are those of the result.
    """
    data, weight = views
    places = b.count(sizes[1:-1])
    is_prepared = isinstance(weight, Weight) or c.groups == 1
    if isinstance(sizes[0], int) or not isinstance(places, int) or places < FEWEST_PLACES or not is_prepared:
        return kernel_for(data, sizes)
    return Images(data, sizes, b.count([places, *weight.sizes]), kernel_for)


class Image(OpenSums):
    """One of the images of a tensor, or of sums that may have no memory."""

    def __init__(self, whole: View, i: Index) -> None:
        """`i` is which."""
        b = whole.b
        super().__init__(b, whole.dtype, [1, *whole.sizes[1:]])
        assert whole.data is not None
        size = b.times(b.count(self.sizes), SIZES[scalar(self.dtype)])
        self.data = b.address(whole.data, b.times(i, size))


class Images(Windowed):
    """A call that is a convolution of a number of images that is open."""

    def __init__(self, x: View, sizes: Sequence[Index], products: Index, kernel_for: KernelFor) -> None:
        """`sizes` are those of the result, `products` is how many there are for an image."""
        self.x = x
        self.products = products
        self.kernel = kernel_for(Image(x, 0), [1, *sizes[1:]])
        super().__init__(x.b, sizes, self.kernel.dtype, self.kernel.sums)

    def keep_in_blocks(self) -> bool:
        return self.kernel.keep_in_blocks()

    def write(self, out: View, put: Put | None) -> None:
        """Image by image: threads share these if they are too small to be shared each."""
        b = self.b
        self.kernel.prepare()

        def one(i: Index) -> None:
            self.kernel.x, sums = Image(self.x, i), Image(out, i)

            def follow(index: Sequence[Index]) -> None:
                assert put is not None
                if isinstance(out, OpenSums):
                    out.place = sums.place
                put((i, *index[1:]))

            self.kernel.run(sums, follow if put else None, self.lanes, self.merges_rows)

        def several(begin: Index, end: Index) -> None:
            b.loop(b.minus(end, begin), (), lambda i, _: with_own_rooms(b, lambda: one(b.plus(begin, i))))

        if is_short(self.products, PRODUCT_NANOSECONDS) and self.kernel.stays_on_thread():
            ranges(b, self.sizes[0], several, PRODUCT_NANOSECONDS, self.products)
        else:
            several(0, self.sizes[0])
