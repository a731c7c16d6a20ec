"""Weights in blocks and groups: values from outside, and what quantisers write."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.diagnostic import RelayError
from relay.op.blocks.formats import FORMATS
from relay.op.blocks.quantize import quantize_blocks, quantize_groups
from relay.op.registry import instance


def blocks_of(name: str, rows: int = 3, count: int = 2) -> np.ndarray[Any, Any]:
    """Random bytes, of which those of scales are no infinities."""
    rng = np.random.default_rng(len(name) + ord(name[1]))
    form = FORMATS[name]
    found = rng.integers(0, 256, (rows, count, form.bytes)).astype("uint8")
    for at in HALVES.get(name, (0,)):
        found[..., at + 1] &= 0xBB  # an exponent of a float16 that is not the greatest
    return found.reshape(rows, count * form.bytes)


EXPECTED = {
    "q8_0": ([1.75, 2.625, -3.125], 10.0),
    "q4_0": ([0.75, -0.375, -0.125], -9.625),
    "q4_1": ([1.625, 0.5, 1.125], 28.125),
    "q5_0": ([-0.75, 0.125, -0.875], -14.125),
    "q5_1": ([1.125, 2.0, 1.375], 55.625),
    "q2_k": ([0.0, 0.0, -0.75], 285.625),
    "q3_k": ([16.0, -12.0, 7.25], -242.25),
    "q4_k": ([-7.0, 17.5, 13.0], 4864.0),
    "q5_k": ([-7.0, 73.5, 10.75], 10682.0),
    "q6_k": ([-256.0, 184.0, 271.875], -1651.5),
    "iq4_nl": ([11.125, -4.375, -1.25], -127.75),
    "iq4_xs": ([1.5, 169.5, -137.75], 2899.375),
}
"""The first two numbers, the last and the sum, by `gguf.quants`, of a block whose byte `i` is `7 * i % 256`,
but for scales of 1/8.
"""
HALVES = {
    "q4_1": (0, 2),
    "q5_1": (0, 2),
    "q4_k": (0, 2),
    "q5_k": (0, 2),
    "q2_k": (80, 82),
    "q3_k": (108,),
    "q6_k": (208,),
}
"""Where the float16 numbers of a block are, if there is not one in front."""


@pytest.mark.parametrize("name", EXPECTED)
def test_a_block_of_each_format_has_the_values_that_ggml_gives_it(name: str) -> None:
    block = (np.arange(FORMATS[name].bytes) * 7 % 256).astype("uint8")
    for at in HALVES.get(name, (0,)):
        block[at : at + 2] = 0, 0x30
    found = instance("dequantize_blocks", {"format": name}).evaluate(block)
    assert (found[[0, 1, -1]].tolist(), float(found.sum(dtype="float64"))) == EXPECTED[name]
    assert found.shape == (FORMATS[name].size,)
    mod = relay.parse(f'def @main(%w: Tensor[(n, m), uint8]) {{ dequantize_blocks(%w, format="{name}") }}')
    assert relay.build(mod)(block[None]).tobytes() == found.tobytes()


@pytest.mark.extras
@pytest.mark.parametrize("name", FORMATS)
def test_values_are_those_of_the_package_gguf(name: str) -> None:
    gguf = pytest.importorskip("gguf")
    quants = pytest.importorskip("gguf.quants")

    w = blocks_of(name)
    want = quants.dequantize(w, gguf.GGMLQuantizationType[name.upper()])
    found = instance("dequantize_blocks", {"format": name}).evaluate(w)
    assert found.tobytes() == want.tobytes()


@pytest.mark.extras
@pytest.mark.parametrize("name", ["q8_0", "q4_0", "q4_1"])
def test_bytes_are_those_of_the_package_gguf(name: str) -> None:
    gguf = pytest.importorskip("gguf")
    quants = pytest.importorskip("gguf.quants")

    x = np.random.default_rng(4).standard_normal((5, 96)).astype("float32")
    x[0] = 0
    x[1] = np.round(x[1] * 8) / 16
    want = quants.quantize(x, gguf.GGMLQuantizationType[name.upper()])
    assert quantize_blocks(x, name).tobytes() == want.tobytes()


def test_bytes_of_known_numbers() -> None:
    x = np.zeros((1, 32), "float32")
    x[0, :3] = -8, 7, 3
    assert quantize_blocks(x, "q4_0")[0, :5].tolist() == [0, 0x3C, 0x80, 0x8F, 0x8B]
    x[0, :3] = 127, -2.5, 0.25
    assert quantize_blocks(x, "q8_0")[0, :5].tolist() == [0, 0x3C, 127, 253, 0]
    x[0, :3] = -1, 14, 1.5
    assert quantize_blocks(x, "q4_1")[0, :7].tolist() == [0, 0x3C, 0, 0xBC, 0x10, 0x1F, 0x13]


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("symmetric", [True, False])
def test_groups_are_near_the_numbers_they_were_made_of(bits: int, symmetric: bool) -> None:
    x = np.random.default_rng(bits).standard_normal((5, 90)).astype("float32")
    x[1, 32:64] = 0
    w, scale, zero = quantize_groups(x, bits, 32, symmetric)
    assert w.shape == (5, 3, 4 * bits)
    given = [w, scale] if zero is None else [w, scale, zero]
    found = instance("dequantize_groups", {"bits": bits}).evaluate(*given)
    step = np.abs(np.repeat(scale, 32, axis=1))[:, :90]
    assert (np.abs(found[:, :90] - x) <= step * 1.001).all()
    assert (found[:, 90:] == 0).all()
    params = ", ".join([f"%x{i}: Tensor[{a.shape}, {a.dtype}]" for i, a in enumerate(given)])
    call = f"dequantize_groups({', '.join([f'%x{i}' for i in range(len(given))])}, bits={bits})"
    native = relay.build(relay.parse(f"def @main({params}) {{ {call} }}"))(*given)
    assert native.tobytes() == found.tobytes()


@pytest.mark.parametrize(
    ("array", "given"),
    [(np.zeros((2, 31)), "q4_0"), (np.zeros((2, 32)), "q4_k"), (np.full((1, 32), np.inf), "q8_0")],
)
def test_quantisers_refuse_what_has_no_blocks(array: Any, given: str) -> None:
    with pytest.raises(RelayError, match="attribute-value"):
        quantize_blocks(array, given)


GROUPS = (
    "def @main(%w: Tensor[(2, 3, {}), uint8], %s: Tensor[(2, {}), float32]) {{ dequantize_groups(%w, %s{}) }}"
)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("def @main(%w: Tensor[(2, 19), uint8]) { dequantize_blocks(%w) }", "shape-constraint"),
        ("def @main(%w: Tensor[(2, 18), int8]) { dequantize_blocks(%w) }", "dtype-not-supported"),
        ('def @main(%w: Tensor[(2, 18), uint8]) { dequantize_blocks(%w, format="q9") }', "attribute-type"),
        ('def @main(%w: Tensor[(18,), uint8]) { dequantize_blocks(%w, dtype="int8") }', "attribute-value"),
        (GROUPS.format(8, 3, ""), "shape-constraint"),
        (GROUPS.format(16, 4, ""), "shape-mismatch"),
        (GROUPS.format(16, 3, ", bits=3"), "attribute-value"),
    ],
)
def test_misuse_is_a_diagnostic(text: str, code: str) -> None:
    with pytest.raises(RelayError, match=code):
        relay.infer(relay.parse(text))
