"""Short floats natively: each dtype through products, convolutions and what is between, as interpreted."""

import numpy as np
import pytest

import relay
from relay.backend.native.host.compiler import Compiler
from relay.ir.dtype import to_numpy
from relay.pipelines import optimize_for_native

UNITS = {
    "float16": 2**-10, "bfloat16": 2**-7, "float8_e4m3fn": 2**-3, "float8_e4m3fnuz": 2**-3,
    "float8_e5m2": 2**-2, "float8_e5m2fnuz": 2**-2, "float4_e2m1fn": 2**-1,
}  # fmt: skip
"""A step of the last digit, relative to the number."""
PROGRAM = """
def @main(%a: Tensor[(9, 40), DTYPE], %w: Tensor[(33, 40), DTYPE], %x: Tensor[(1, 16, 9, 9), DTYPE],
          %k: Tensor[(8, 16, 3, 3), DTYPE], %d: Tensor[(16, 1, 3, 3), DTYPE],
          %q: Tensor[(2, 3, 9, 16), DTYPE], %g: Tensor[(40,), DTYPE]) {
  (nn.dense(%a, %w), nn.dense(%a, %w, out_dtype=float32), nn.batch_matmul(%q[0], %q[1]),
   nn.conv2d(%x, %k, padding=(1, 1)), nn.conv2d(%x, %k, padding=(1, 1), out_dtype=float32),
   nn.conv2d(%x, %d, padding=(1, 1), groups=16), nn.attention(%q, %q, %q), nn.softmax(%a),
   nn.layer_norm(%a, %g, %g), sum(%a, axis=1), max(%a, axis=0), exp(%a), cast(%a, dtype=float32))
}
"""


@pytest.mark.parametrize("dtype", list(UNITS))
def test_values_are_those_of_the_interpreter(dtype: str) -> None:
    mod = relay.infer(relay.parse(PROGRAM.replace("DTYPE", dtype)))
    random = np.random.default_rng(0)
    types = [p.type_annotation.concrete_shape for p in mod["main"].params]
    args = [random.normal(size=s).astype("float32").astype(to_numpy(dtype)) for s in types]
    bound = relay.build(mod, params={"w": args[1], "k": args[3]})
    for found in (relay.build(mod)(*args), bound(args[0], args[2], *args[4:])):
        for i, (one, other) in enumerate(zip(found, mod.evaluate("main", *args), strict=True)):
            assert one.dtype == other.dtype
            x, y = one.astype("float64"), other.astype("float64")
            unit = UNITS[dtype] if one.dtype == to_numpy(dtype) else 1e-5
            np.testing.assert_allclose(x, y, rtol=1.01 * unit, atol=max(1e-5, unit / 100), err_msg=str(i))


@pytest.mark.parametrize("dtype", list(UNITS))
def test_products_and_convolutions_have_kernels(dtype: str) -> None:
    """Sums element by element took 250 times as long."""
    mod = relay.infer(relay.parse(PROGRAM.replace("DTYPE", dtype)))
    kernels = Compiler(optimize_for_native(mod, ["main"]), ["main"]).program.kernels
    assert any(name.startswith("relay.tile.float32") for name in kernels)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_weights_stay_short_in_memory(dtype: str) -> None:
    head = f"def @main(%x: Tensor[(2, 96), {dtype}], %w: Tensor[(64, 96), {dtype}])"
    mod = relay.parse(f"{head} {{ nn.dense(%x, %w, out_dtype=float32) }}")
    w = np.random.default_rng(0).normal(size=(64, 96)).astype("float32").astype(to_numpy(dtype))
    made = relay.build(mod, params={"w": w}, cache=False)
    assert sum(c.nbytes for c in made.artefact.constants) < 2 * w.size + 512


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e5m2"])
@pytest.mark.parametrize("is_bound", [False, True])
def test_windows_of_short_floats_are_transformed(dtype: str, is_bound: bool) -> None:
    layouts = 'data_layout="NHWC", kernel_layout="HWIO", padding=(1, 1), out_dtype=float32'
    head = f"def @main(%x: Tensor[(1, 15, 13, 48), {dtype}], %k: Tensor[(3, 3, 48, 32), {dtype}])"
    mod = relay.parse(f"{head} {{ nn.conv2d(%x, %k, {layouts}) }}")
    random = np.random.default_rng(0)
    x, k = [
        random.normal(size=s).astype("float32").astype(to_numpy(dtype))
        for s in ((1, 15, 13, 48), (3, 3, 48, 32))
    ]
    built = relay.build(mod, params={"k": k} if is_bound else {})
    found = built(x) if is_bound else built(x, k)
    want = mod.evaluate("main", x.astype(x.dtype), k)
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=2e-5 * abs(want).max())
