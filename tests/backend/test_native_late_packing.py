"""Products with weights that are arguments: threads share panels, and pack each when rows go over it."""

import numpy as np
import pytest

import relay
from relay.backend.native.host.native_program import NativeProgram
from relay.backend.native.kernels.block_shape import MOST_ROWS_OF_PANEL
from relay.ir.dtype import to_numpy

SIZES = [
    (49, 440, 440), (49, 2048, 100), (197, 384, 33), (40, 1024, 64), (784, 30, 104), (33, 600, 7),
    (64, 1, 20),
]  # fmt: skip
"""Rows, what is summed, columns; rows of 1024 and 2048 numbers, all in one set of the cache, are packed."""
PRODUCTS = {
    "dense": ("(rows, k)", "(columns, k)", "nn.dense(%x, %w)"),
    "matmul": ("(rows, k)", "(k, columns)", "nn.matmul(%x, %w)"),
    "filters first": ("(1, rows, 1, k)", "(columns, k, 1, 1)", "conv2d, OIHW"),
    "filters last": ("(1, rows, 1, k)", "(1, 1, k, columns)", "conv2d, HWIO"),
    "filters between": ("(1, rows, 1, k)", "(1, columns, k, 1)", "conv2d, HOIW"),
    "transposed": ("(1, rows, 1, k)", "(k, columns, 1, 1)", "conv2d_transpose, IOHW"),
    "transposed, filters first": ("(1, rows, 1, k)", "(columns, k, 1, 1)", "conv2d_transpose, OIHW"),
}
rng = np.random.default_rng(0)


def shape(text: str, sizes: tuple[int, int, int]) -> tuple[int, ...]:
    """A shape as numbers."""
    names = dict(zip(("rows", "k", "columns"), sizes, strict=True))
    return tuple([names[n] if n in names else int(n) for n in text.strip("()").split(", ")])


@pytest.mark.parametrize("sizes", [*SIZES, (MOST_ROWS_OF_PANEL + 1, 20, 40)])
@pytest.mark.parametrize("name", list(PRODUCTS))
@pytest.mark.parametrize("dtype", ["float32", pytest.param("bfloat16", marks=pytest.mark.long)])
def test_weights_that_are_arguments(name: str, sizes: tuple[int, int, int], dtype: str) -> None:
    rows, k, columns = sizes
    data, weight, call = PRODUCTS[name]
    if call.startswith("conv2d"):
        operator, _, kernel = call.partition(", ")
        call = f'nn.{operator}(%x, %w, data_layout="NHWC", kernel_layout="{kernel}")'
    shapes = shape(data, sizes), shape(weight, sizes)
    text = f"""def @main(%x: Tensor[{shapes[0]}, {dtype}], %w: Tensor[{shapes[1]}, {dtype}],
        %b: Tensor[({columns},), {dtype}]) {{ nn.relu({call} + %b) }}"""
    x, w, b = (rng.integers(-3, 4, s).astype(to_numpy(dtype)) for s in (*shapes, (columns,)))
    matrix = w.astype("float64").reshape(columns, k).T if is_transposed(weight) else w.astype("float64")
    sums = x.astype("float64").reshape(rows, k) @ matrix.reshape(k, columns)
    wanted = np.maximum(sums + b.astype("float64"), 0)
    for threads in (1, 2):
        found = NativeProgram(relay.parse(text), threads=threads)(x, w, b)
        nearest = wanted.astype(found.dtype).reshape(found.shape)
        if dtype == "float32":
            assert found.tobytes() == nearest.tobytes()  # sums of small integers are exact
        np.testing.assert_allclose(found.astype("float64"), nearest.astype("float64"), rtol=0.01)


def is_transposed(weight: str) -> bool:
    """Whether the columns of the product are rows of a weight."""
    return weight.index("columns") < weight.index("k)" if "k)" in weight else "k,")
