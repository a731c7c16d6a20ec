"""Products by weights that are kept in fewer bits than they have, beside float64."""

import re
from typing import Any

import numpy as np
import pytest

import relay
from backend.test_native_tiles import assembly_for, loops
from relay.backend.native.kernels.decoding import Decoding
from relay.backend.native.kernels.rounded_products import RoundedProduct
from relay.backend.native.kernels.row_products import RowProduct
from relay.backend.native.llvm.machine import AVX2, AVX512, AVX_VNNI, MACHINES, NEON_DOT
from relay.backend.native.loops.emitter import kernel_code
from relay.backend.native.loops.functions import NOWHERE
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
        [f"%{name}: Tensor[{x.shape}, {x.dtype}]" for name, x in zip("xwrs", given, strict=False)]
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


def rounded(x: Any) -> Any:
    """Data as `round_groups` gives it, in float64."""
    return instance("round_groups", {}).evaluate(x).astype("float64")


@pytest.mark.parametrize("name", ["q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q4_k", "q5_k", "q6_k"])
def test_data_that_is_rounded_is_multiplied_as_integers(name: str) -> None:
    for rows, n in ((1, 13), (3, 8), (6, 9)):
        x = np.random.default_rng(rows).standard_normal((rows, 512)).astype("float32")
        x[0, :32] = 0
        w, numbers, text = kept(name, n, 512)
        want, size = rounded(x) @ numbers.T, (np.abs(x) @ np.abs(numbers.T)).max()
        check(f"nn.relu(nn.dense(round_groups(%x), {text}))", [x, w], np.maximum(want, 0), size)


@pytest.mark.parametrize("name", ["q8_0", "q4_0", "q5_0"])
@pytest.mark.parametrize("code", [0, 127, 128, 255])
def test_integers_at_the_ends_of_their_range_are_exact(name: str, code: int) -> None:
    form = FORMATS[name]
    w = np.full((9, 2, form.bytes), code, "uint8")
    w[..., 0], w[..., 1] = 0, 0x3C  # a scale of 1
    w = w.reshape(9, -1)
    numbers = instance("dequantize_blocks", {"format": name}).evaluate(w).astype("float64")
    for sign in (1, -1):
        x = np.full((1, 64), sign * 127, "float32")
        mod = relay.parse(
            f"def @main(%x: Tensor[(1, 64), float32], %w: Tensor[{w.shape}, uint8]) "
            f'{{ nn.dense(round_groups(%x), dequantize_blocks(%w, format="{name}")) }}'
        )
        assert (relay.build(mod)(x, w) == x @ numbers.T).all()


def test_products_share_data_that_is_rounded() -> None:
    (w, numbers, text), (v, others, _) = kept("q4_0", 10, 64), kept("q4_0", 11, 64)
    x = np.random.default_rng(0).standard_normal((1, 64)).astype("float32")
    mod = relay.parse(f"""
    def @main(%x: Tensor[(1, 64), float32], %w: Tensor[{w.shape}, uint8], %v: Tensor[{v.shape}, uint8]) {{
      let %y = round_groups(tanh(%x));
      (nn.dense(%y, {text}), nn.dense(%y, {text.replace("%w", "%v")}))
    }}
    """)
    found = relay.build(mod)(x, w, v)
    for got, matrix in zip(found, (numbers, others), strict=True):
        want = rounded(np.tanh(x)) @ matrix.T
        assert np.allclose(got, want, rtol=1e-3, atol=1e-3 * np.abs(want).max())
    groups = relay.transform.fuse_ops(relay.transform.to_anf(relay.infer(mod)))["main"].astext()
    assert groups.count("nn.dense(round_groups(") == 2


TARGETS = {
    "avx2": ("x86_64-unknown-linux-gnu", "haswell", "", AVX2, r"vpmaddubsw"),
    "avxvnni": ("x86_64-unknown-linux-gnu", "alderlake", "", AVX_VNNI, r"vpdpbusd"),
    "avx512": ("x86_64-unknown-linux-gnu", "skylake-avx512", "", AVX512, r"vpmaddubsw"),
    "neon": ("aarch64-unknown-linux-gnu", "neoverse-n1", "+neon,+dotprod", NEON_DOT, r"sdot"),
}
"""Triple, processor, features, what the kernels are for, and the instruction that multiplies bytes."""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["q8_0", "q4_0"])
def test_sums_of_kernels_stay_in_registers(target: str, name: str) -> None:
    triple, processor, features, machine, multiplies = TARGETS[target]
    how = RoundedProduct(machine, name)
    code = kernel_code(None, NOWHERE, how)
    text = assembly_for(triple, processor, features, "\n".join([*code.declarations, code.text()]))
    inner = max(loops(text), key=lambda part: len(re.findall(multiplies, part)))
    assert len(re.findall(multiplies, inner)) == how.rows * (32 // how.how.vector)
    assert not re.search(r"\(%rsp\)|\[sp\b", inner)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ["bfloat16", "q4_0", "q4_k"])
def test_kernels_are_built_for_each_machine(machine: str, name: str) -> None:
    how = RowProduct(MACHINES[machine], name)
    assert how.function().params
    assert how.rows == MACHINES[machine].lanes("float")
    if name in FORMATS:
        assert Decoding(name).function().params
