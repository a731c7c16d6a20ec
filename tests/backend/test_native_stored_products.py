"""Products by weights that are kept in fewer bits than they have, beside float64."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.kernels.decoding import Decoding
from relay.backend.native.kernels.row_products import RowProduct
from relay.backend.native.llvm.machine import MACHINES
from relay.op.blocks.formats import FORMATS
from relay.op.blocks.quantize import quantize_blocks
from relay.op.registry import instance

DECODED = [name for name, form in FORMATS.items() if not form.levels]
HALVES = {"q2_k": (80, 82), "q3_k": (108,), "q6_k": (208,)}


def kept(name: str, n: int, k: int) -> tuple[Any, Any, str]:
    """A matrix as it is kept, its numbers as float64, and the expression for these."""
    rng = np.random.default_rng(n + k)
    if name not in FORMATS:
        w = (rng.standard_normal((n, k)) * (40 if name == "int8" else 1)).astype(name)
        return w, w.astype("float64"), "%w" if name == "float32" else "cast(%w, dtype=float32)"
    form = FORMATS[name]
    w = rng.integers(0, 256, (n, k // form.size, form.bytes)).astype("uint8")
    for at in HALVES.get(name, (0, 2)):
        w[..., at + 1] &= 0xBB
    w = w.reshape(n, -1)
    found = instance("dequantize_blocks", {"format": name}).evaluate(w)
    return w, found.astype("float64"), f'dequantize_blocks(%w, format="{name}")'


def check(text: str, given: list[Any], want: Any, size: Any, threads: int | None = None) -> None:
    """Compare a program with values in float64, in terms of the size of what is summed."""
    params = ", ".join(
        [f"%{name}: Tensor[{x.shape}, {x.dtype}]" for name, x in zip("xwr", given, strict=False)]
    )
    found = relay.build(relay.parse(f"def @main({params}) {{ {text} }}"), threads=threads)(*given)
    assert found.shape == want.shape
    assert np.abs(found - want).max(initial=0) <= 1e-6 * size


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16", "int8", *DECODED])
def test_products_are_near_those_in_float64(name: str) -> None:
    size = FORMATS[name].size if name in FORMATS else 1
    for rows, n, blocks in ((1, 24, 2), (3, 1, 1), (2, 13, 3), (9, 19, 2)):
        k = blocks * max(size, 37)
        k = k // size * size
        x = np.random.default_rng(rows).standard_normal((rows, k)).astype("float32")
        w, numbers, text = kept(name, n, k)
        check(f"nn.dense(%x, {text})", [x, w], x @ numbers.T, (np.abs(x) @ np.abs(numbers.T)).max())


@pytest.mark.parametrize("rows", [1, 4, 6])
def test_what_follows_is_computed_with_the_product(rows: int) -> None:
    x = np.random.default_rng(0).standard_normal((rows, 64)).astype("float32")
    r = np.random.default_rng(1).standard_normal((rows, 3000)).astype("float32")
    w, numbers, text = kept("q4_0", 3000, 64)
    want = np.maximum(x @ numbers.T, 0) * r
    size = (np.abs(x) @ np.abs(numbers.T)).max() * np.abs(r).max()
    for threads in (1, 3):
        check(f"nn.relu(nn.dense(%x, {text})) * %r", [x, w, r], want, size, threads)


def test_other_spellings_of_the_product() -> None:
    w, numbers, text = kept("q8_0", 10, 64)
    x = np.random.default_rng(0).standard_normal((2, 64)).astype("float32")
    size = (np.abs(x) @ np.abs(numbers.T)).max()
    check(f"nn.matmul(%x, {text}, transpose_b=True)", [x, w], x @ numbers.T, size)
    check(f"nn.dense(%x, {text})", [x[0], w], x[0] @ numbers.T, size)
    square = kept("q8_0", 64, 32)
    check(f"nn.matmul(%x, {text})", [x, square[0]], x @ square[1], size * 4)
    short, whole = x.astype("bfloat16"), w[:, :64].astype("int8")
    want = short.astype("float64") @ whole.T.astype("float64")
    check("nn.dense(cast(%x, dtype=float32), cast(%w, dtype=float32))", [short, whole], want, 128 * size)


def test_zero_rows_and_scales_of_zero() -> None:
    w = quantize_blocks(np.zeros((5, 64), "float32"), "q4_0")
    x = np.ones((1, 64), "float32")
    check("nn.dense(%x, dequantize_blocks(%w))", [x, w], np.zeros((1, 5)), 1.0)
    check("nn.dense(%x, dequantize_blocks(%w))", [x[:0], w], np.zeros((0, 5)), 1.0)


def test_sizes_may_be_open() -> None:
    w, numbers, _ = kept("q4_1", 11, 96)
    mod = relay.parse("""
    def @main(%x: Tensor[(m, k), float32], %w: Tensor[(n, b), uint8]) -> Tensor[(m, n), float32] {
      nn.dense(%x, dequantize_blocks(%w, format="q4_1"))
    }
    """)
    built = relay.build(mod)
    for rows in (1, 5, 0, 4):
        x = np.random.default_rng(rows).standard_normal((rows, 96)).astype("float32")
        assert np.allclose(built(x, w), x @ numbers.T, rtol=1e-4, atol=1e-4)


TIED = """
def @main(%ids: Tensor[(2,), int32], %w: Tensor[(40, {}), {}]) {{
  let %t = {};
  nn.dense(tanh(take(%t, %ids, axis=0)), %t)
}}
"""


@pytest.mark.parametrize("name", ["q4_0", "q6_k", "bfloat16"])
def test_a_table_that_is_looked_up_and_multiplied_with_is_not_written_out(name: str) -> None:
    w, numbers, text = kept(name, 40, 256)
    mod = relay.parse(TIED.format(w.shape[1], w.dtype, text))
    ids = np.asarray([3, 39], "int32")
    found = relay.build(mod)(ids, w)
    assert np.allclose(found, np.tanh(numbers[ids]) @ numbers.T, rtol=1e-4, atol=1e-2)
    fused = relay.transform.fuse_ops(relay.infer(mod))
    groups = fused["main"].astext()
    assert groups.count("take(") == groups.count("nn.dense(") == 1
    assert groups.count("dequantize_blocks(") + groups.count("cast(") == 2


def test_constants_in_blocks_stay_as_they_are() -> None:
    w, numbers, text = kept("q8_0", 16, 64)
    params = f"%x: Tensor[(1, 64), float32], %w: Tensor[{w.shape}, uint8]"
    mod = relay.parse(f"def @main({params}) {{ nn.dense(%x, {text}) }}")
    built = relay.build(mod, params={"w": w})
    x = np.random.default_rng(0).standard_normal((1, 64)).astype("float32")
    assert np.allclose(built(x), x @ numbers.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ["bfloat16", "q4_0", "q4_k"])
def test_kernels_are_built_for_each_machine(machine: str, name: str) -> None:
    how = RowProduct(MACHINES[machine], name)
    assert how.function().params
    assert how.rows == MACHINES[machine].lanes("float")
    if name in FORMATS:
        assert Decoding(name).function().params
