"""Convolutions by kernels, against the interpreter; at any number of threads the same to the last bit."""

from math import gcd
from typing import Any, cast

import numpy as np
import pytest

import relay
from relay.backend.native.host.compiler import Compiler
from relay.backend.native.host.native_program import NativeProgram
from relay.backend.native.kernels import block_shape
from relay.backend.native.kernels.grouped import MAX_MERGED_SHARE, Grouped
from relay.backend.native.llvm.machine import AVX2, NEON, Machine, host
from relay.backend.native.memory.representation import scalar
from relay.ir.dtype import to_numpy

TOLERANCE = {"float32": 3e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 1.6e-2}
LAYOUTS = {1: ("NWC", "WIO"), 2: ("NHWC", "HWIO"), 3: ("NDHWC", "DHWIO")}
Case = tuple[int, str, str, dict[str, Any]]
"""Spatial axes, the shapes of data and weight, attributes."""
CASES: dict[str, Case] = {
    "one channel": (2, "1x5x5x1", "3x3x1x1", {"padding": 1}),
    "odd channels": (2, "2x9x7x5", "3x3x5x33", {"padding": (1, 1), "strides": (2, 1)}),
    "a tap a channel": (2, "2x6x6x19", "1x1x19x50", {}),
    "a tap, apart": (2, "1x9x9x16", "1x1x16x32", {"strides": 2}),
    "a tap, few places": (2, "1x7x7x250", "1x1x250x100", {}),
    "a tap, many places": (2, "2x17x18x40", "1x1x40x24", {}),
    "a tap, one place over": (2, "1x29x1x20", "1x1x20x33", {}),
    "a tap, padded": (2, "1x6x5x20", "1x1x20x24", {"padding": (0, 0, 1, 1)}),
    "the first layer": (2, "1x23x23x3", "7x7x3x24", {"padding": 3, "strides": 2}),
    "overlapping windows": (2, "2x19x14x2", "5x3x2x20", {"padding": (1, 2, 3, 0), "strides": (3, 1)}),
    "overlapping windows on padding": (2, "1x3x4x1", "3x3x1x40", {"padding": 5}),
    "overlapping windows that do not see all": (2, "1x20x21x3", "2x2x3x16", {"strides": 2}),
    "overlapping windows beside the data": (2, "1x1x1x1", "3x3x1x8", {"padding": (1, 5, 1, 0), "strides": 8}),
    "many windows": (2, "1x40x31x8", "3x3x8x16", {"padding": 1}),
    "deep": (2, "1x7x7x130", "3x3x130x96", {"padding": 1}),
    "dilated": (2, "1x11x11x9", "3x2x9x8", {"dilation": (2, 3), "padding": (2, 0, 1, 3)}),
    "grouped": (2, "2x8x8x32", "3x3x16x48", {"groups": 2, "padding": 1}),
    "grouped and dilated": (2, "1x9x9x48", "3x3x16x24", {"groups": 3, "dilation": 2, "strides": 2}),
    "more padding than kernel": (2, "1x3x3x16", "3x3x16x32", {"padding": 5, "strides": 2}),
    "no images": (2, "0x3x3x4", "3x3x4x8", {"padding": 1}),
    "no channels": (2, "1x4x4x0", "3x3x0x8", {"padding": 1}),
    "one axis": (1, "2x20x6", "5x6x17", {"padding": 2, "strides": 2}),
    "one axis, dilated": (1, "1x20x16", "3x16x17", {"dilation": 4}),
    "three axes": (3, "1x5x6x7x4", "3x3x3x4x20", {"padding": 1, "strides": (1, 2, 1)}),
    "three axes, grouped": (3, "1x4x4x4x16", "2x2x2x8x16", {"groups": 2}),
}
SMALL_GROUPS: dict[str, Case] = {
    "two channels": (2, "1x9x9x16", "3x3x2x16", {"groups": 8, "padding": 1}),
    "four channels": (2, "2x13x7x32", "3x3x4x32", {"groups": 8, "padding": 1}),
    "eight channels": (2, "1x28x28x64", "3x3x8x64", {"groups": 8, "padding": 1}),
    "more filters than channels": (2, "1x7x7x32", "3x3x4x128", {"groups": 8, "padding": 1}),
    "fewer filters than channels": (2, "1x6x5x64", "3x3x16x32", {"groups": 4, "padding": 1}),
    "panels": (2, "1x7x7x96", "3x3x32x96", {"groups": 3, "padding": 1}),
    "12 channels": (2, "1x8x9x48", "3x3x12x48", {"groups": 4, "padding": 1}),
    "strides": (2, "2x15x14x32", "3x3x8x32", {"groups": 4, "padding": 1, "strides": 2}),
    "uneven": (2, "1x14x9x32", "2x5x8x32", {"groups": 4, "padding": (0, 3, 2, 1), "strides": (3, 1)}),
    "dilated": (2, "1x11x13x32", "3x3x8x32", {"groups": 4, "padding": (2, 3), "dilation": (2, 3)}),
    "dilated far": (2, "1x5x4x32", "3x3x8x32", {"groups": 4, "padding": 6, "dilation": 6}),
    "dilated down, strides": (
        2,
        "1x9x9x32",
        "3x2x8x32",
        {"groups": 4, "dilation": (2, 1), "strides": (2, 2)},
    ),
    "more padding than kernel": (2, "1x3x3x32", "3x3x8x32", {"groups": 4, "padding": 5, "strides": 2}),
    "several blocks": (2, "1x70x60x32", "3x3x8x32", {"groups": 4, "padding": 1}),
    "one axis": (1, "2x37x32", "5x8x32", {"groups": 4, "padding": 2}),
    "no images": (2, "0x4x4x32", "3x3x8x32", {"groups": 4, "padding": 1}),
}
TRANSPOSED: dict[str, Case] = {
    "plain": (2, "1x5x5x6", "3x3x6x10", {}),
    "strides": (2, "2x5x4x9", "4x4x9x8", {"strides": 2, "padding": 1}),
    "more at the end": (2, "1x4x4x16", "3x3x16x8", {"strides": (2, 3), "output_padding": 1, "dilation": 2}),
    "grouped": (2, "1x5x5x16", "3x3x16x8", {"groups": 2, "strides": 2}),
    "fewer taps than strides": (2, "1x5x4x8", "2x2x8x16", {"strides": (3, 2), "output_padding": 1}),
    "far apart": (2, "1x4x5x8", "5x5x8x9", {"strides": 4, "padding": 2}),
    "one axis": (1, "1x9x8", "4x8x12", {"strides": 2}),
    "three axes": (3, "1x3x3x3x8", "2x2x2x8x9", {"strides": 2}),
}
FEWER_PRODUCTS: dict[str, tuple[int, Case]] = {
    "tiles of two": (2, (2, "1x6x6x40", "3x3x40x32", {"padding": 1})),
    "tiles of four": (4, (2, "2x13x9x32", "3x3x32x48", {"padding": 1})),
    "no padding": (4, (2, "1x22x17x24", "3x3x24x33", {})),
    "more padding than kernel": (4, (2, "1x9x9x32", "3x3x32x32", {"padding": (0, 4, 5, 2)})),
    "odd channels": (4, (2, "1x29x30x37", "3x3x37x65", {"padding": 1})),
    "deep": (2, (2, "1x5x5x300", "3x3x300x50", {"padding": 1})),
    "turned": (4, (2, "1x13x12x32", "3x3x32x33", {"padding": (0, 1, 2, 1)})),
    "few places": (2, (2, "3x4x4x64", "3x3x64x64", {})),
    "dilated": (4, (2, "2x21x19x32", "3x3x32x48", {"padding": 2, "dilation": 2})),
    "dilated, no padding": (4, (2, "1x23x26x32", "3x3x32x33", {"dilation": (2, 3)})),
    "dilated, little padding": (4, (2, "1x25x27x32", "3x3x32x32", {"padding": (1, 4, 5, 2), "dilation": 3})),
    "dilated far": (2, (2, "4x8x8x64", "3x3x64x64", {"padding": 4, "dilation": 4})),
}
rng = np.random.default_rng(0)


def numbers(shape: str, dtype: str) -> Any:
    """Random numbers of a dtype."""
    return rng.standard_normal([int(n) for n in shape.split("x")]).astype(to_numpy(dtype))


def layer(
    case: Case,
    dtype: str = "float32",
    op: str = "conv",
    is_constant: bool = True,
    is_open: bool = False,
) -> tuple[Any, list[Any]]:
    """A convolution as a program, and arguments."""
    rank, data, weight, attrs = case
    x, w = numbers(data, dtype), numbers(weight, dtype)
    layout, kernel = LAYOUTS[rank]
    sizes = [relay.Any() for _ in x.shape[:-1]] if is_open else x.shape[:-1]
    first = relay.var("x", shape=[*sizes, x.shape[-1]], dtype=dtype)
    second = relay.const(w, dtype) if is_constant else relay.var("w", shape=w.shape, dtype=dtype)
    call = getattr(relay.nn, op.replace("conv", f"conv{rank}d"))
    y = call(first, second, data_layout=layout, kernel_layout=kernel, **attrs)
    return program(y, [first, second]), [x] if is_constant else [x, w]


def program(y: Any, operands: list[Any]) -> Any:
    """A function of those operands that are not constants."""
    return relay.IRModule.from_expr(relay.Function([e for e in operands if isinstance(e, relay.Var)], y))


def check(mod: Any, args: list[Any], dtype: str = "float32") -> None:
    """Machine code and interpreter agree up to rounding."""
    found, wanted = NativeProgram(mod)(*args), relay.infer(mod).evaluate("main", *args)
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    limit = TOLERANCE[dtype] * np.abs(wanted.astype("float64")).max(initial=1.0)
    np.testing.assert_allclose(found.astype("float64"), wanted.astype("float64"), rtol=0, atol=limit)


@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize("name", list(CASES))
def test_convolutions(name: str, is_constant: bool) -> None:
    check(*layer(CASES[name], is_constant=is_constant))


@pytest.mark.parametrize("channels", [5, 70, 160])
def test_weights_that_are_turned_for_products(channels: int) -> None:
    x = relay.var("x", shape=(1, 4, 5, 21), dtype="float32")
    w = relay.var("w", shape=(3, 2, channels, 21), dtype="float32")
    y = relay.nn.conv2d_transpose(x, w, data_layout="NHWC", kernel_layout="HWOI")
    check(program(y, [x, w]), [numbers("1x4x5x21", "float32"), numbers(f"3x2x{channels}x21", "float32")])


def test_a_convolution_alone_is_shared() -> None:
    x, w = (relay.var(n, shape=s, dtype="float32") for n, s in (("x", (1, 8, 8, 48)), ("w", (3, 3, 48, 48))))
    y = x
    for _ in range(3):
        y = relay.nn.conv2d(y, w, padding=1, data_layout="NHWC", kernel_layout="HWIO")
    check(program(y, [x, w]), [numbers("1x8x8x48", "float32"), numbers("3x3x48x48", "float32") / 20])


@pytest.mark.parametrize("name", list(FEWER_PRODUCTS))
def test_convolutions_with_fewer_products(name: str) -> None:
    size, case = FEWER_PRODUCTS[name]
    mod, args = layer(case)
    assert f"@relay.patches.{size}" in "".join([p.text for p in Compiler(mod).program.pieces])
    check(mod, args)


@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize("name", list(SMALL_GROUPS))
def test_convolutions_of_small_groups(name: str, is_constant: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[Grouped] = []
    monkeypatch.setattr(Grouped, "write", lambda s, *a, f=Grouped.write: (used.append(s), f(s, *a))[1])
    mod, args = layer(SMALL_GROUPS[name], is_constant=is_constant)
    check(mod, args)
    outputs = relay.infer(mod)["main"].ret_type.shape[-1] // SMALL_GROUPS[name][3]["groups"]
    lanes = host().lanes(scalar("float32"))
    assert bool(used) == (lanes // gcd(outputs, lanes) <= MAX_MERGED_SHARE)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_small_groups_of_other_dtypes(dtype: str) -> None:
    check(*layer(SMALL_GROUPS["eight channels"], dtype), dtype)


def test_what_follows_a_convolution_of_small_groups() -> None:
    mod, (x, w) = layer(SMALL_GROUPS["several blocks"], is_constant=False)
    function = mod["main"]
    bias = relay.const(numbers("32", "float32"))
    y = relay.nn.relu(function.body + bias) * relay.sigmoid(bias)
    whole = relay.IRModule.from_expr(relay.Function(function.params, y))
    check(whole, [x, w])
    one, two = (NativeProgram(whole, threads=n)(x, w) for n in (1, 2))
    assert one.tobytes() == two.tobytes()


def test_transposed_convolutions_with_fewer_products() -> None:
    mod, args = layer(FEWER_PRODUCTS["turned"][1], op="conv_transpose")
    assert "@relay.patches" in "".join([p.text for p in Compiler(mod).program.pieces])
    check(mod, args)


@pytest.mark.parametrize("op", ["conv", "conv_transpose"])
@pytest.mark.parametrize("data", ["24x6x6x40", "4x15x13x40"])
@pytest.mark.parametrize("padding", [1, (1, 0, 1, 2)])
def test_filters_that_are_not_known_take_fewer_products(data: str, padding: Any, op: str) -> None:
    mod, args = layer((2, data, "3x3x40x48", {"padding": padding}), op=op, is_constant=False)
    assert "@relay.filters" in "".join([p.text for p in Compiler(mod).program.pieces])
    check(mod, args)


@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize("name", list(TRANSPOSED))
def test_transposed_convolutions(name: str, is_constant: bool) -> None:
    check(*layer(TRANSPOSED[name], op="conv_transpose", is_constant=is_constant))


def test_what_follows_a_transposed_convolution() -> None:
    y = 'nn.conv2d_transpose(%x, %w, strides=2, data_layout="NHWC", kernel_layout="HWIO")'
    text = f"""def @main(%x: Tensor[(2, 6, 5, 8), float32], %w: Tensor[(3, 3, 8, 24), float32],
        %r: Tensor[(2, 13, 11, 24), float32]) {{ nn.relu({y} + %r) * 2f }}"""
    check(relay.parse(text), [numbers(s, "float32") for s in ("2x6x5x8", "3x3x8x24", "2x13x11x24")])


@pytest.mark.parametrize("name", ["odd channels", "grouped", "a tap a channel", "three axes"])
@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_dtypes(dtype: str, name: str) -> None:
    check(*layer(CASES[name], dtype), dtype)


@pytest.mark.parametrize("name", ["odd channels", "a tap a channel", "grouped", "one axis", "no images"])
def test_sizes_that_are_not_known(name: str) -> None:
    check(*layer(CASES[name], is_open=True))


@pytest.mark.parametrize("layout", ["HWIO", "OIHW", "OHWI", "IOHW"])
@pytest.mark.parametrize("is_constant", [True, False])
def test_weights_in_any_layout(layout: str, is_constant: bool) -> None:
    x, w = numbers("1x6x7x10", "float32"), numbers("3x2x10x20", "float32")
    weight = np.ascontiguousarray(w.transpose(["HWIO".index(letter) for letter in layout]))
    first = relay.var("x", shape=x.shape, dtype="float32")
    second = relay.const(weight) if is_constant else relay.var("w", shape=weight.shape, dtype="float32")
    y = relay.nn.conv2d(first, second, data_layout="NHWC", kernel_layout=layout)
    check(program(y, [first, second]), [x] if is_constant else [x, weight])


GROUPS = {
    "bias and activation": "nn.relu(nn.bias_add({y}, %b, axis=3))",
    "a residual": "nn.relu({y} * %b + %r)",
    "what follows reads it twice": "let %y = {y}; %y * sigmoid(%y)",
    "a result too": "let %y = {y}; (nn.relu(%y), %y)",
    "the mean": "mean({y}, axis=[1, 2])",
    "turned": "transpose({y} + %r, axes=[0, 3, 1, 2])",
    "two": "let %y = {y}; nn.relu(%y + %b) + nn.relu({y} * 2f)",
}


@pytest.mark.parametrize(("groups", "is_constant"), [(1, False), (1, True), (2, False)])
@pytest.mark.parametrize("name", list(GROUPS))
def test_what_follows_a_convolution(name: str, groups: int, is_constant: bool) -> None:
    y = f'nn.conv2d(%x, %w, padding=1, groups={groups}, data_layout="NHWC", kernel_layout="HWIO")'
    text = f"""def @main(%x: Tensor[(2, 13, 9, 32), float32], %w: Tensor[(3, 3, {32 // groups}, 40), float32],
        %b: Tensor[(40,), float32], %r: Tensor[(2, 13, 9, 40), float32]) {{ {GROUPS[name].format(y=y)} }}"""
    mod = relay.parse(text)
    args = [numbers(s, "float32") for s in ("2x13x9x32", f"3x3x{32 // groups}x40", "40", "2x13x9x40")]
    wanted = relay.infer(mod).evaluate("main", *args)
    if is_constant:
        mod = relay.IRModule.from_expr(relay.bind_params_by_name(mod["main"], {"w": args.pop(1)}))
        assert "@relay.patches" in "".join([p.text for p in Compiler(mod).program.pieces])
    found = NativeProgram(mod)(*args)
    for x, y in zip(fields(found), fields(wanted), strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=3e-6 * np.abs(y).max())


SHARED = ("many windows", "deep", "the first layer", "grouped", "a tap, apart", "a tap, few places")


@pytest.mark.parametrize("name", SHARED)
def test_threads_do_not_change_a_bit(name: str) -> None:
    same_at_any_number(*layer(CASES[name]))


def test_threads_do_not_change_a_bit_of_transposed_convolutions() -> None:
    same_at_any_number(*layer(TRANSPOSED["strides"], op="conv_transpose"))


@pytest.mark.parametrize("name", ["tiles of four", "odd channels", "deep"])
def test_threads_do_not_change_a_bit_of_fewer_products(name: str) -> None:
    same_at_any_number(*layer(FEWER_PRODUCTS[name][1]))


@pytest.mark.parametrize("machine", [AVX2, NEON])
@pytest.mark.parametrize("name", ["odd channels", "tiles of four", "deep"])
def test_vectors_of_other_machines(name: str, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_shape, "host", lambda: machine)
    check(*layer(CASES.get(name) or FEWER_PRODUCTS[name][1]))


def same_at_any_number(mod: Any, args: list[Any]) -> None:
    """Demand the same of any number of threads."""
    one, *others = [NativeProgram(mod, threads=n)(*args) for n in (1, 2, 3)]
    assert all(x.tobytes() == one.tobytes() for x in others)


def fields(x: Any) -> list[Any]:
    """The arrays of a result."""
    return list(cast("tuple[Any, ...]", x)) if isinstance(x, tuple) else [x]
