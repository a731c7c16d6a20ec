"""oneDNN itself, by the C interface of the wheel `onednn-cpu-gomp`: products and convolutions in the layouts
that the library likes best.
"""

import ctypes
import sys
from collections.abc import Sequence
from ctypes import byref, c_float, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path
from typing import Any

import numpy as np

F32, ANY, CPU, IN_ORDER = 3, 1, 1, 1
PLAIN = {1: 2, 2: 3, 4: 5, 5: 6}
"""The tag of a dense layout in the order of the axes, by their number."""
SRC, DST, WEIGHTS, BIAS = 1, 17, 33, 41
LIKED = {SRC: 129, WEIGHTS: 131, DST: 133}
"""What is asked for an operand's layout."""
INFERENCE, DIRECT, RELU = 96, 1, 0x20
ALLOCATE = c_void_p(-1)
Array = Any


class Argument(ctypes.Structure):
    """A memory, and what it is to a primitive."""

    _fields_ = [("place", c_int), ("memory", c_void_p)]


class OneDNN:
    """The library, its engine and its stream."""

    def __init__(self) -> None:
        """Raises `OSError` where the wheel is not installed."""
        self.library = ctypes.CDLL(str(Path(sys.prefix) / "lib" / "libdnnl.so"))
        self.library.dnnl_primitive_desc_query_md.restype = c_void_p
        self.library.dnnl_memory_desc_get_size.restype = c_size_t
        self.engine = self.made("engine_create", CPU, c_size_t(0))
        self.stream = self.made("stream_create", self.engine, IN_ORDER)

    def made(self, what: str, *arguments: Any) -> c_void_p:
        """What a function creates."""
        created = c_void_p()
        self.done(what, byref(created), *arguments)
        return created

    def done(self, what: str, *arguments: Any) -> None:
        """Call a function that says whether it could."""
        status = getattr(self.library, f"dnnl_{what}")(*arguments)
        if status:
            raise RuntimeError(f"oneDNN's {what} gave status {status}")

    def layout(self, shape: Sequence[int], tag: int) -> c_void_p:
        """A layout of float32 numbers."""
        dims = (c_int64 * 12)(*shape)
        return self.made("memory_desc_create_with_tag", len(shape), dims, F32, tag)

    def memory(self, layout: Any, array: Array | None = None) -> c_void_p:
        """Memory of a layout; with the numbers of an array, which is of that layout."""
        memory = self.made("memory_create", layout, self.engine, ALLOCATE)
        if array is not None:
            ctypes.memmove(self.address(memory), np.ascontiguousarray(array).ctypes.data, array.nbytes)
        return memory

    def address(self, memory: c_void_p) -> int:
        """Where the numbers of a memory are."""
        found = c_void_p()
        self.done("memory_get_data_handle", memory, byref(found))
        return found.value or 0

    def run(self, primitive: c_void_p, arguments: Any) -> None:
        """Compute, and wait for the result."""
        self.done("primitive_execute", primitive, self.stream, len(arguments), arguments)
        self.done("stream_wait", self.stream)

    def moved(self, memory: c_void_p, layout: Any, to: Any) -> c_void_p:
        """The same numbers in another layout."""
        result = self.memory(to)
        how = self.made("reorder_primitive_desc_create", layout, self.engine, to, self.engine, None)
        arguments = (Argument * 2)(Argument(SRC, memory), Argument(DST, result))
        self.run(self.made("primitive_create", how), arguments)
        return result

    def convolution(self, x: Array, w: Array, bias: Array, stride: int, padding: int) -> "Primitive":
        """Of data NCHW with filters OIHW, or GOIHW in groups; then the larger of it and 0."""
        groups, taps = (w.shape[0], w.shape[3]) if w.ndim == 5 else (1, w.shape[2])
        side = (x.shape[2] + 2 * padding - taps) // stride + 1
        shape = (x.shape[0], groups * w.shape[-4], side, side)
        layouts = [self.layout(a, ANY) for a in (x.shape, w.shape)]
        layouts += [self.layout(bias.shape, PLAIN[1]), self.layout(shape, ANY)]
        pairs = [(c_int64 * 12)(n, n) for n in (stride, 0, padding, padding)]
        how = self.made(
            "convolution_forward_primitive_desc_create",
            self.engine, INFERENCE, DIRECT, *layouts, *pairs, self.then_relu(),
        )  # fmt: skip
        return Primitive(self, how, {SRC: x, WEIGHTS: w, BIAS: bias}, shape)

    def product(self, x: Array, w: Array, is_constant: bool) -> "Primitive":
        """Of two matrices; the second lies as the library likes where it is always the same."""
        shape = (x.shape[0], w.shape[1])
        layouts = [
            self.layout(x.shape, PLAIN[2]),
            self.layout(w.shape, ANY if is_constant else PLAIN[2]),
            None,
        ]
        how = self.made(
            "matmul_primitive_desc_create", self.engine, *layouts, self.layout(shape, PLAIN[2]), None
        )
        return Primitive(self, how, {SRC: x, WEIGHTS: w}, shape)

    def then_relu(self) -> c_void_p:
        """What is done to the result before it is written."""
        after, attributes = self.made("post_ops_create"), self.made("primitive_attr_create")
        self.done("post_ops_append_eltwise", after, RELU, c_float(0), c_float(0))
        self.done("primitive_attr_set_post_ops", attributes, after)
        return attributes


class Primitive:
    """A computation whose operands lie as it likes them."""

    def __init__(self, library: OneDNN, how: c_void_p, operands: dict[int, Array], shape: Sequence[int]):
        """Of operands by their places, with a result of a shape."""
        self.library, self.shape = library, shape
        liked = {
            p: c_void_p(library.library.dnnl_primitive_desc_query_md(how, q, 0)) for p, q in LIKED.items()
        }
        memories: dict[int, c_void_p] = {}
        for place, array in operands.items():
            plain = library.layout(array.shape, PLAIN[array.ndim])
            memories[place] = library.memory(plain, array)
            if place in liked:
                memories[place] = library.moved(memories[place], plain, liked[place])
        self.layout = liked[DST]
        memories[DST] = self.to = library.memory(self.layout)
        self.primitive = library.made("primitive_create", how)
        self.arguments = (Argument * len(memories))(*[Argument(p, m) for p, m in memories.items()])

    def __call__(self) -> None:
        """Compute."""
        self.library.run(self.primitive, self.arguments)

    def result(self) -> Array:
        """What was computed, in the order of its axes."""
        plain = self.library.layout(self.shape, PLAIN[len(self.shape)])
        memory = self.library.moved(self.to, self.layout, plain)
        numbers = (c_float * int(np.prod(self.shape))).from_address(self.library.address(memory))
        return np.asarray(numbers).reshape(self.shape).copy()
