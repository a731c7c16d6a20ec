"""Products of many rows that are rounded to integers, by weights in blocks and groups."""

import re

import numpy as np
import pytest

import relay
from backend.test_native_stored_products import TARGETS, check, kept, rounded
from backend.test_native_tiles import assembly_for, loops
from relay.backend.native.kernels.group_weights import Groups
from relay.backend.native.kernels.rounded_tiles import PanelPacking, RoundedTile
from relay.backend.native.loops.emitter import kernel_code
from relay.backend.native.loops.functions import NOWHERE
from relay.op.blocks.formats import FORMATS
from relay.op.registry import instance


def test_parts_of_the_result_go_on_while_threads_share_them() -> None:
    for rows, threads in ((11, 1), (64, 3)):
        w, numbers, text = kept("q4_0", 300, 256)
        x = np.random.default_rng(rows).standard_normal((rows, 256)).astype("float32")
        r = np.random.default_rng(1).standard_normal((rows, 300)).astype("float32")
        size = (np.abs(x) @ np.abs(numbers.T)).max() * np.abs(r).max()
        want = np.maximum(rounded(x) @ numbers.T, 0) * r
        check(f"nn.relu(nn.dense(round_groups(%x), {text})) * %r", [x, w, r], want, size, threads)


def test_the_number_of_rows_may_be_open() -> None:
    w, numbers, text = kept("q5_1", 9, 64)
    types = f"%x: Tensor[(m, 64), float32], %w: Tensor[{w.shape}, uint8]"
    built = relay.build(relay.parse(f"def @main<m: Dim>({types}) {{ nn.dense(round_groups(%x), {text}) }}"))
    for rows in (0, 1, 2, 3, 6, 7):
        x = np.random.default_rng(rows).standard_normal((rows, 64)).astype("float32")
        size = (np.abs(x) @ np.abs(numbers.T)).max(initial=1)
        assert np.abs(built(x, w) - rounded(x) @ numbers.T).max(initial=0) <= 1e-6 * size


@pytest.mark.parametrize("name", ["q8_0", "q4_0", "q5_0"])
@pytest.mark.parametrize("code", [127, 128, 255])
def test_integers_at_the_ends_of_their_range_are_exact(name: str, code: int) -> None:
    form = FORMATS[name]
    w = np.full((9, 2, form.bytes), code, "uint8")
    w[..., 0], w[..., 1] = 0, 0x3C  # a scale of 1
    w = w.reshape(9, -1)
    numbers = instance("dequantize_blocks", {"format": name}).evaluate(w).astype("float64")
    x = np.full((4, 64), 127, "float32")
    x[2:] = -127
    mod = relay.parse(
        f"def @main(%x: Tensor[(4, 64), float32], %w: Tensor[{w.shape}, uint8]) "
        f'{{ nn.dense(round_groups(%x), dequantize_blocks(%w, format="{name}")) }}'
    )
    assert (relay.build(mod)(x, w) == x @ numbers.T).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("how", ["q8_0", "q4_0", Groups(4, 128, "float32", "uint8")], ids=str)
def test_tiles_multiply_in_registers(target: str, how: str | Groups) -> None:
    triple, processor, features, machine, multiplies = TARGETS[target]
    found = []
    for kernel in (RoundedTile(machine, how, 4), PanelPacking(machine, how)):
        code = kernel_code(None, NOWHERE, kernel)
        text = assembly_for(triple, processor, features, "\n".join([*code.declarations, code.text()]))
        found.append(max(len(re.findall(multiplies, part)) for part in loops(text)))
    assert found == [4 * 8, 0]
