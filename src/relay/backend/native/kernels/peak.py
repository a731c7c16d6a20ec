"""What a core can do at most: a tile on operands that stay in the first level of the cache."""

import ctypes
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

from relay.backend.native.kernels.inner_steps import inner_step
from relay.backend.native.kernels.tile import Tile
from relay.backend.native.llvm.jit import binding, machine
from relay.backend.native.llvm.machine import host
from relay.backend.native.loops.emitter import kernel_code
from relay.backend.native.loops.functions import NOWHERE

DEPTH, REPEATS = 64, 4096
SAMPLES = 9


class Peak:
    """The quickest tile of float32, again and again on the same numbers."""

    def __init__(self) -> None:
        """Compile it."""
        llvm = binding()
        width = 3 if host().is_wide else 2
        step = inner_step("float32", host())
        self.tile = Tile(host(), step, step.tallest(host(), width), width)
        pitch = self.tile.columns
        text = f"""
        define void @repeat(ptr %a, ptr %b, ptr %c) {{
        entry:
          br label %again
        again:
          %i = phi i64 [0, %entry], [%more, %again]
          call tailcc void @{self.tile.name}(ptr null, ptr %a, ptr %b, i64 {pitch}, i64 {DEPTH}, ptr %c,
            i64 {pitch}, i1 false, ptr %b)
          %more = add i64 %i, 1
          %go = icmp ult i64 %more, {REPEATS}
          br i1 %go, label %again, label %done
        done:
          ret void
        }}"""
        module = llvm.parse_assembly(kernel_code(None, NOWHERE, self.tile).text() + text)
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine(), use_lmm=True)
        self.engine.add_module(module)
        self.engine.finalize_object()
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)
        self.code = kind(self.engine.get_function_address("repeat"))
        self.buffers = [aligned(1 << 16) for _ in range(3)]
        self.operations = 2 * self.tile.rows * self.tile.columns * DEPTH * REPEATS

    def __call__(self) -> None:
        """Compute."""
        self.code(*[x.ctypes.data for x in self.buffers])


def aligned(n: int) -> Any:
    """Numbers from the beginning of a cache line on."""
    whole = np.ones(n + 16, "float32")
    start = -whole.ctypes.data % 64 // 4
    return whole[start : start + n]


@cache
def peak_of_products() -> float:
    """Operations of float32 in a second that a core reaches."""
    peak = Peak()
    best = 0.0
    for _ in range(SAMPLES):
        start = perf_counter()
        peak()
        best = max(best, peak.operations / (perf_counter() - start))
    return best
