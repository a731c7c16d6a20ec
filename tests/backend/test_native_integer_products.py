"""Products of small integers by kernels, which add up in int32, against NumPy's in int64."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host.compiler import Compiler
from relay.backend.native.host.native_program import NativeProgram
from relay.backend.native.kernels import inner_steps
from relay.backend.native.kernels.inner_steps import InnerStep, inner_step
from relay.backend.native.llvm import machine

SIZES = [
    (1, 1, 1),
    (1, 784, 10),
    (3, 5, 70),
    (14, 257, 32),
    (15, 31, 33),
    (171, 40, 513),
    (200, 523, 37),
    (2, 0, 3),
    (9, 401, 96),
]
SMALL = ("int8", "uint8", "int16")
rng = np.random.default_rng(0)


def numbers(*shape: int, dtype: str) -> Any:
    """Random numbers of all of a dtype."""
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


def exact(a: Any, b: Any) -> Any:
    """The product in int64, as int32."""
    return np.matmul(a.astype("int64"), b.astype("int64")).astype("int32")


def turned(x: Any, is_turned: bool) -> Any:
    """An operand as it lies in memory."""
    return np.ascontiguousarray(x.swapaxes(-1, -2)) if is_turned else x


@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.long)], ids=["some", "every"])
@pytest.mark.parametrize("transposed", list(product((False, True), repeat=2)))
@pytest.mark.parametrize("dtypes", list(product(SMALL, repeat=2)))
def test_products_of_all_sizes(dtypes: tuple[str, str], transposed: tuple[bool, bool], step: int) -> None:
    (first, second), (a, b) = dtypes, transposed
    how = f'transpose_a={a}, transpose_b={b}, out_dtype="int32"'
    sizes = SIZES[::step] if first != "int16" else SIZES[2:4]
    text = [
        f"def @f{i}(%x: Tensor[{(k, m) if a else (m, k)}, {first}], "
        f"%y: Tensor[{(n, k) if b else (k, n)}, {second}]) {{ nn.matmul(%x, %y, {how}) }}"
        for i, (m, k, n) in enumerate(sizes)
    ]
    text.append(
        f"def @open(%x: Tensor[(m, k), {first}], %y: Tensor[(l, n), {second}]) {{ nn.matmul(%x, %y, {how}) }}"
    )
    mod = relay.parse("\n".join(text))
    program = NativeProgram(mod, [f"f{i}" for i in range(len(sizes))] + ["open"])
    for i, (m, k, n) in enumerate(sizes):
        x, y = numbers(m, k, dtype=first), numbers(k, n, dtype=second)
        for name in (f"f{i}", "open"):
            found = program.evaluate(name, turned(x, a), turned(y, b))
            np.testing.assert_array_equal(found, exact(x, y))


@pytest.mark.parametrize(
    ("dtypes", "values"),
    [
        (("int8", "int8"), (-128, -128)),
        (("int8", "uint8"), (-128, 255)),
        (("uint8", "uint8"), (255, 255)),
        (("int16", "int16"), (-32768, -32768)),
        (("int16", "int16"), (-32768, 32767)),
    ],
)
@pytest.mark.parametrize("depth", [2, 3, 40_001])
def test_extremes_wrap(dtypes: tuple[str, str], values: tuple[int, int], depth: int) -> None:
    x, y = (
        np.full(shape, v, d) for shape, v, d in zip(((3, depth), (40, depth)), values, dtypes, strict=True)
    )
    mod = relay.parse(
        f"def @main(%x: Tensor[(m, k), {dtypes[0]}], %y: Tensor[(n, k), {dtypes[1]}]) "
        '{ nn.dense(%x, %y, out_dtype="int32") }'
    )
    np.testing.assert_array_equal(NativeProgram(mod)(x, y), exact(x, y.T))


@pytest.mark.parametrize("depth", [40, 41])
@pytest.mark.parametrize("rows", [1, 9, 200])
def test_weights_are_packed_before_the_program_runs(rows: int, depth: int) -> None:
    weight, bias = numbers(70, depth, dtype="int8"), numbers(70, dtype="int16").astype("int32")
    x = relay.var("x", shape=(rows, depth), dtype="uint8")
    sums = relay.nn.dense(x, relay.const(weight), out_dtype="int32") + relay.const(bias)
    mod = relay.IRModule.from_expr(
        relay.Function([x], relay.cast(sums, "float32") * relay.const(0.5, "float32"))
    )
    value = numbers(rows, depth, dtype="uint8")
    wanted = (exact(value, weight.T) + bias).astype("float32") * np.float32(0.5)
    np.testing.assert_array_equal(NativeProgram(mod)(value), wanted)
    pieces = "".join([p.text for p in Compiler(mod).program.pieces])
    assert "@relay.tile.int32" in pieces
    assert "@relay.pack.transposed" not in pieces


@pytest.mark.parametrize("sizes", [(6, 40, 257, 33), (7, 1, 30, 5), (1, 0, 3, 4), (2, 200, 401, 300)])
@pytest.mark.parametrize("transposed", [(False, True), (True, False)])
def test_stacks_on_threads(sizes: tuple[int, int, int, int], transposed: tuple[bool, bool]) -> None:
    (stack, m, k, n), (a, b) = sizes, transposed
    text = f"""def @main(%x: Tensor[(s, {"k, m" if a else "m, k"}), uint8],
                         %y: Tensor[(s, {"n, k" if b else "k, n"}), int8]) {{
        nn.batch_matmul(%x, %y, transpose_a={a}, transpose_b={b}, out_dtype="int32") * 3
    }}"""
    x, y = numbers(stack, m, k, dtype="uint8"), numbers(stack, k, n, dtype="int8")
    for threads in (1, 2):
        f: Any = relay.build(relay.parse(text), threads=threads)
        np.testing.assert_array_equal(f(turned(x, a), turned(y, b)), exact(x, y) * 3)


def bytes_added(b: Any, total: Any, x: Any, y: Any) -> Any:
    """What `vpdpbusd` does, by plain arithmetic: four unsigned bytes times four signed ones."""
    for i in range(4):
        low = b.bits("and", b.bits("lshr", x, b.const(8 * i, "int32")), b.const(255, "int32"))
        high = b.bits("ashr", b.bits("shl", y, b.const(24 - 8 * i, "int32")), b.const(24, "int32"))
        total = b.add(total, b.multiply(low, high))
    return total


@pytest.fixture
def bytes_in_fours(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine with an instruction for bytes, made up of others, whose code no other test uses."""
    monkeypatch.setenv("RELAY_CACHE", "off")
    step = InnerStep("int32", "uint8", "int8", 4, bytes_added, instruction="bytes")
    here = machine.host()
    monkeypatch.setattr(inner_steps, "STEPS", (step, *inner_steps.STEPS))
    inner_step.cache_clear()
    token = machine._chosen.set(replace(here, instructions=("bytes", *here.instructions)))
    yield
    machine._chosen.reset(token)
    inner_step.cache_clear()


@pytest.mark.usefixtures("bytes_in_fours")
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False)])
def test_bytes_are_multiplied_in_fours(transposed: tuple[bool, bool]) -> None:
    a, b = transposed
    how = f'transpose_a={a}, transpose_b={b}, out_dtype="int32"'
    sizes = [(1, 784, 10), (14, 257, 32), (5, 402, 33), (171, 43, 70)]
    mod = relay.parse(
        "\n".join(
            f"def @f{i}(%x: Tensor[{(k, m) if a else (m, k)}, uint8], "
            f"%y: Tensor[{(n, k) if b else (k, n)}, int8]) {{ nn.matmul(%x, %y, {how}) }}"
            for i, (m, k, n) in enumerate(sizes)
        )
    )
    names = [f"f{i}" for i in range(len(sizes))]
    program = NativeProgram(mod, names)
    assert "@relay.tile.int32.uint8.int8" in "".join([p.text for p in Compiler(mod, names).program.pieces])
    for i, (m, k, n) in enumerate(sizes):
        x, y = numbers(m, k, dtype="uint8"), numbers(k, n, dtype="int8")
        found = program.evaluate(f"f{i}", turned(x, a), turned(y, b))
        np.testing.assert_array_equal(found, exact(x, y))


@pytest.mark.usefixtures("bytes_in_fours")
@pytest.mark.parametrize("depth", [40, 43])
def test_weights_of_bytes_are_packed_in_fours(depth: int) -> None:
    weight = numbers(70, depth, dtype="int8")
    x = relay.var("x", shape=(9, depth), dtype="uint8")
    sums = relay.nn.dense(x, relay.const(weight), out_dtype="int32")
    mod = relay.IRModule.from_expr(relay.Function([x], sums))
    value = numbers(9, depth, dtype="uint8")
    np.testing.assert_array_equal(NativeProgram(mod)(value), exact(value, weight.T))
