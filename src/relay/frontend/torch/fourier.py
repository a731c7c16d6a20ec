"""Fourier transforms."""

from collections.abc import Sequence
from typing import Any

from relay.frontend.torch.complex_value import Complex, converts_complex
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.support import axis_of
from relay.frontend.value import Value, call, fields

NORMS = ("backward", "ortho", "forward")
"""By what PyTorch calls a normalisation: none, by the root of the length, by the length."""


def transformed(x: Complex, dims: Sequence[int], norm: int, is_inverse: bool) -> Complex:
    """The transform along some axes."""
    name = NORMS[2 - norm if is_inverse else norm]
    for d in dims:
        axis = axis_of(d, x.real.rank)
        found = call("dft", x.real, x.imaginary, axis=axis, norm=name, inverse=is_inverse)
        x = Complex(*fields(found))
    return x


@converts("aten._fft_r2c")
def from_real(node: Node, x: Value, dims: list[int], norm: int, onesided: bool) -> Complex:
    """The transform of real numbers, half of it along the last axis that is named."""
    if not onesided:
        return transformed(Complex(x, call("zeros_like", x)), dims, norm, False)
    *others, last = dims
    half = call("rdft", x, axis=axis_of(last, x.rank), norm=NORMS[norm])
    return transformed(Complex(*fields(half)), others, norm, False)


@converts("aten._fft_c2c")
def complex_transform(node: Node, x: Complex, dims: list[int], norm: int, forward: bool) -> Complex:
    """The transform of complex numbers."""
    return transformed(x, dims, norm, not forward)


@converts("aten._fft_c2r")
def to_real(node: Node, x: Complex, dims: list[int], norm: int, length: Any) -> Value:
    """The real numbers with a transform, of which half is given along the last axis that is named."""
    if not isinstance(length, int):
        return node.fail("the length of its result must be known when the program is imported")
    *others, last = dims
    x = transformed(x, others, norm, True)
    axis = axis_of(last, x.real.rank)
    return call("irdft", x.real, x.imaginary, axis=axis, norm=NORMS[2 - norm], length=length)


converts_complex("aten._fft_c2c")(complex_transform)
converts_complex("aten._fft_c2r")(to_real)
