"""Products by weights in groups whose scales lie beside them, beside float64."""

import re
from typing import Any

import numpy as np
import pytest

import relay
from backend.test_native_stored_products import TARGETS, check, rounded
from backend.test_native_tiles import assembly_for, loops
from relay.backend.native.kernels.group_weights import GroupDecoding, Groups
from relay.backend.native.kernels.paired_products import rounded_product
from relay.backend.native.kernels.row_products import RowProduct
from relay.backend.native.llvm.machine import MACHINES
from relay.backend.native.loops.emitter import kernel_code
from relay.backend.native.loops.functions import NOWHERE
from relay.op.registry import instance

CASES = [
    Groups(4, 32, "float32"),
    Groups(4, 32, "float16", "uint8"),
    Groups(4, 128, "float32", "uint8"),
    Groups(4, 32, "float32", "uint8"),
    Groups(8, 512, "float32", "float32"),
    Groups(4, 16, "bfloat16", "float32"),
    Groups(8, 32, "float32"),
    Groups(8, 64, "float32", "uint8"),
    Groups(8, 8, "float32", "float16"),
    Groups(2, 64, "float32"),
    Groups(2, 16, "float32", "uint8"),
]
"""Bits, numbers of a group, and the dtypes of scales and zero points."""


def drawn(how: Groups, n: int, groups: int) -> tuple[list[Any], Any, str]:
    """A matrix in groups, its numbers as float64, and the expression for these."""
    rng = np.random.default_rng(n + groups)
    given = [rng.integers(0, 256, (n, groups, how.group * how.bits // 8)).astype("uint8")]
    given.append(rng.standard_normal((n, groups)).astype(how.scale))
    if how.zero == "uint8":
        given.append(rng.integers(0, 256, (n, (groups * how.bits + 7) // 8)).astype("uint8"))
    elif how.zero:
        given.append((rng.standard_normal((n, groups)) * 4 + 8).astype(how.zero))
    numbers = instance("dequantize_groups", {"bits": how.bits, "group": how.group}).evaluate(*given)
    names = ", ".join(["%w", "%r", "%s"][: len(given)])
    text = f"dequantize_groups({names}, bits={how.bits}, group={how.group})"
    return given, numbers.astype("float64"), text


def types_of(given: list[Any]) -> str:
    """Parameters for operands of a matrix."""
    return ", ".join(
        [f"%{name}: Tensor[{v.shape}, {v.dtype}]" for name, v in zip("wrs", given, strict=False)]
    )


def compare(how: Groups, data: str, rounding: Any) -> None:
    """Compare products of one row and of several with those in float64."""
    for rows, groups in ((1, 3), (1, 15), (2, 21), (9, 4)):
        given, numbers, text = drawn(how, 19, groups)
        x = np.random.default_rng(rows).standard_normal((rows, numbers.shape[1])).astype("float32")
        size = (np.abs(x) @ np.abs(numbers.T)).max()
        want = np.maximum(rounding(x) @ numbers.T, 0)
        check(f"nn.relu(nn.dense({data}, {text}))", [x, *given], want, size)


@pytest.mark.parametrize("how", CASES, ids=str)
def test_products_are_near_those_in_float64(how: Groups) -> None:
    compare(how, "%x", lambda x: x)


@pytest.mark.parametrize(
    "how", [how for how in CASES if how.group % 32 == 0 and how.scale == "float32"], ids=str
)
def test_data_that_is_rounded_is_multiplied_as_integers(how: Groups) -> None:
    compare(how, "round_groups(%x)", rounded)


def test_scales_may_be_computed_and_threads_share_rows() -> None:
    given, numbers, _ = drawn(Groups(4, 32, "float32"), 900, 64)
    x = np.random.default_rng(0).standard_normal((1, 2048)).astype("float32")
    text = "nn.dense(%x, dequantize_groups(%w, reshape(%r, newshape=(900, 64)) * 2f))"
    given[1] = given[1].reshape(-1)
    check(text, [x, *given], 2 * x @ numbers.T, 2 * (np.abs(x) @ np.abs(numbers.T)).max(), threads=3)


def test_constants_in_groups_stay_as_they_are() -> None:
    given, numbers, text = drawn(Groups(4, 32, "float32"), 16, 2)
    types = f"%x: Tensor[(1, 64), float32], {types_of(given)}"
    mod = relay.parse(f"def @main({types}) {{ nn.dense(%x, {text}) }}")
    built = relay.build(mod, params=dict(zip("wr", given, strict=True)))
    x = np.random.default_rng(0).standard_normal((1, 64)).astype("float32")
    assert np.allclose(built(x), x @ numbers.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", TARGETS)
def test_sums_of_kernels_stay_in_registers(target: str) -> None:
    triple, processor, features, machine, multiplies = TARGETS[target]
    how = rounded_product(machine, Groups(4, 32, "float32"))
    code = kernel_code(None, NOWHERE, how)
    text = assembly_for(triple, processor, features, "\n".join([*code.declarations, code.text()]))
    inner = max(loops(text), key=lambda part: len(re.findall(multiplies, part)))
    assert len(re.findall(multiplies, inner)) == how.rows * (32 // how.how.vector)
    assert not re.search(r"[xyz]mm\d+, -?\d*\(%rsp\)|\[sp\b.*\bq", inner)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("how", [CASES[0], CASES[-1]], ids=str)
def test_kernels_are_built_for_each_machine(machine: str, how: Groups) -> None:
    product = RowProduct(MACHINES[machine], how)
    assert product.function().params
    assert product.rows == min(MACHINES[machine].lanes("float"), how.size)
    assert GroupDecoding(how).function().params
