"""Floats as LLVM writes them."""

import struct

import numpy as np

from relay.ir.dtype import to_numpy


def float_text(dtype: str, value: float) -> str:
    """A float as LLVM writes it: the bits of a double for float and double, their own for the short ones."""
    rounded = np.asarray(value).astype(to_numpy(dtype))
    if dtype in ("float32", "float64"):
        return f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"
    own = int(rounded.view(f"uint{8 * rounded.itemsize}"))
    return f"0xH{own:04X}" if dtype == "float16" else str(own)
