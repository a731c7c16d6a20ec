"""Scales go into weights: of every convolution, layout and grouping, and only where nobody else looks."""

import numpy as np
import pytest

from relay.interpreter.machine import Interpreter
from relay.ir.build import const, var
from relay.ir.expr import Call, Constant, Function, Op
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.op.nn.conv import Conv2D
from relay.pipelines import optimize
from relay.text.api import parse
from relay.transform.passes.scale_backward import backward_fold_scale_axis
from relay.transform.passes.scale_forward import fold_scale_axis, forward_fold_scale_axis
from relay.transform.passes.to_anf import to_anf
from relay.typecheck.infer import infer
from relay.typecheck.query import Types
from transform.cases import verified

LAYERS = {
    "dense": ("(2, 4)", "(6, 4)", "nn.dense({x}, %w)", "(4,)", "(6,)"),
    "dense of rank 3": ("(2, 3, 4)", "(6, 4)", "nn.dense({x}, %w)", "(4,)", "(6,)"),
    "matmul": ("(2, 4)", "(4, 6)", "nn.matmul({x}, %w)", "(4,)", "(1, 6)"),
    "conv1d": ("(2, 4, 8)", "(6, 4, 3)", "nn.conv1d({x}, %w)", "(4, 1)", "(6, 1)"),
    "conv1d NWC": (
        "(2, 8, 4)",
        "(3, 4, 6)",
        'nn.conv1d({x}, %w, data_layout="NWC", kernel_layout="WIO")',
        "(4,)",
        "(6,)",
    ),
    "conv2d": (
        "(2, 4, 5, 5)",
        "(6, 4, 3, 3)",
        "nn.conv2d({x}, %w, padding=(1, 1))",
        "(4, 1, 1)",
        "(1, 6, 1, 1)",
    ),
    "conv2d NHWC": (
        "(2, 5, 5, 4)",
        "(3, 3, 4, 6)",
        'nn.conv2d({x}, %w, data_layout="NHWC", kernel_layout="HWIO")',
        "(4,)",
        "(1, 1, 6)",
    ),
    "conv2d to another layout": (
        "(2, 5, 5, 4)",
        "(6, 4, 3, 3)",
        'nn.conv2d({x}, %w, data_layout="NHWC", out_layout="NCHW")',
        "(4,)",
        "(6, 1, 1)",
    ),
    "conv2d of groups": (
        "(2, 4, 5, 5)",
        "(6, 2, 3, 3)",
        "nn.conv2d({x}, %w, groups=2)",
        "(4, 1, 1)",
        "(6, 1, 1)",
    ),
    "conv2d NHWC of groups": (
        "(2, 5, 5, 4)",
        "(3, 3, 2, 6)",
        'nn.conv2d({x}, %w, groups=2, data_layout="NHWC", kernel_layout="HWIO")',
        "(4,)",
        "(6,)",
    ),
    "depthwise": ("(2, 4, 5, 5)", "(8, 1, 3, 3)", "nn.conv2d({x}, %w, groups=4)", "(4, 1, 1)", "(8, 1, 1)"),
    "depthwise, several filters": (
        "(2, 4, 5, 5)",
        "(4, 2, 3, 3)",
        "nn.conv2d({x}, %w, groups=4)",
        "(4, 1, 1)",
        "(8, 1, 1)",
    ),
    "depthwise HWIO, several filters": (
        "(2, 5, 5, 4)",
        "(3, 3, 2, 4)",
        'nn.conv2d({x}, %w, groups=4, data_layout="NHWC", kernel_layout="HWIO")',
        "(4,)",
        "(8,)",
    ),
    "conv3d": ("(1, 4, 4, 4, 4)", "(6, 4, 3, 3, 3)", "nn.conv3d({x}, %w)", "(4, 1, 1, 1)", "(6, 1, 1, 1)"),
    "conv3d NDHWC": (
        "(1, 4, 4, 4, 4)",
        "(3, 3, 3, 4, 6)",
        'nn.conv3d({x}, %w, data_layout="NDHWC", kernel_layout="DHWIO")',
        "(4,)",
        "(6,)",
    ),
}


def program(x: str, weight: str, body: str, s: str) -> IRModule:
    tensors = f"%x: Tensor[{x}, float32], %w: Tensor[{weight}, float32], %s: Tensor[{s}, float32]"
    return infer(parse(f"def @main({tensors}) {{ {body} }}"))


def products(mod: IRModule) -> int:
    """How many products there are of anything but weights and biases."""
    types, main = Types(mod), mod["main"]
    data, weight = (p.type_annotation for p in main.params[:2])
    names = [e for e in post_order(main) if type(e) is Call and e.op == Op.get("multiply")]
    return sum(
        types(e) != weight and len(types(e).shape) == len(data.shape) and types(e).shape[0] == data.shape[0]
        for e in names
    )


def arguments(mod: IRModule) -> list:
    rng = np.random.default_rng(1)
    return [rng.normal(size=p.type_annotation.shape).astype(np.float32) for p in mod["main"].params]


def assert_folded(mod: IRModule, change) -> IRModule:
    given = arguments(mod)
    assert products(mod)
    before = Interpreter(mod).evaluate("main", *given)
    for form in (mod, to_anf(mod)):
        out = verified(change(form))
        assert out is not form
        np.testing.assert_allclose(Interpreter(out).evaluate("main", *given), before, rtol=1e-4, atol=1e-5)
        assert change(out) is out
    return verified(change(mod))


@pytest.mark.parametrize("name", LAYERS)
def test_scale_of_the_result(name: str):
    x, weight, body, _, s = LAYERS[name]
    layer = body.format(x="%x")
    out = assert_folded(program(x, weight, f"{layer} * %s", s), backward_fold_scale_axis)
    assert products(out) == 0
    assert products(assert_folded(program(x, weight, f"%s * {layer}", "()"), backward_fold_scale_axis)) == 0


@pytest.mark.parametrize("name", LAYERS)
def test_scale_of_the_data(name: str):
    x, weight, body, s, _ = LAYERS[name]
    out = assert_folded(program(x, weight, body.format(x="(%x * %s)"), s), forward_fold_scale_axis)
    assert products(out) == 0
    assert products(assert_folded(program(x, weight, body.format(x="(%s * %x)"), "()"), fold_scale_axis)) == 0


CONV = "nn.conv2d(%x, %w, padding=(1, 1))"
X, W = "(2, 4, 6, 6)", "(4, 4, 3, 3)"
POSITIVE = "expand_dims([1.0, 2.0, 0.5, 3.0], axis=1, num_newaxis=2)"


@pytest.mark.parametrize(
    "body",
    [
        f"nn.bias_add({CONV}, [1.0, 2.0, 3.0, 4.0]) * %s",
        f"({CONV} + %s) * %s",
        f"(%s - {CONV}) * %s",
        f"({CONV} + nn.conv2d(%x, %w + 1.0, padding=(1, 1))) * %s",
        f"nn.relu({CONV} + %s) * {POSITIVE}",
        f"nn.max_pool2d(nn.leaky_relu({CONV}), pool_size=(2, 2)) * {POSITIVE}",
        f"nn.avg_pool2d(-{CONV}, pool_size=(2, 2)) * %s",
        f"let %c = {CONV}; let %y = %c * %s; nn.relu(%y)",
        f"{CONV} * %s + %s",
        f"({CONV} * %s) * 2.0",
    ],
)
def test_scales_go_back_through(body: str):
    assert products(assert_folded(program(X, W, body, "(4, 1, 1)"), backward_fold_scale_axis)) == 0


@pytest.mark.parametrize(
    "data",
    [
        f"nn.relu(%x * {POSITIVE})",
        "nn.pad(%x * %s, pad_width=((0, 0), (0, 0), (1, 1), (0, 2)))",
        "nn.avg_pool2d(-(%x * %s), pool_size=(2, 2))",
        f"nn.max_pool2d(%x * {POSITIVE}, pool_size=(2, 2))",
    ],
)
def test_scales_go_on_through(data: str):
    mod = program(X, W, f"nn.conv2d({data}, %w, padding=(1, 1))", "(4, 1, 1)")
    assert products(assert_folded(mod, forward_fold_scale_axis)) == 0


@pytest.mark.parametrize(
    "body",
    [
        f"nn.relu({CONV}) * %s",
        f"let %c = {CONV}; %c * %s + %c",
        f"tanh({CONV}) * %s",
        f"{CONV} * %x",
        f"({CONV} + %x) * %s",
        f"let %c = {CONV}; (fn () {{ %c * %s }})()",
        "nn.conv2d(nn.relu(%x * %s), %w)",
        "let %y = %x * %s; nn.conv2d(%y, %w, padding=(1, 1)) + %y",
        "nn.conv2d(tanh(%x * %s), %w)",
    ],
)
def test_scales_that_others_see_stay(body: str):
    mod = program(X, W, body, "(4, 1, 1)")
    assert fold_scale_axis(mod) is mod


def test_a_deep_network_takes_all_of_them():
    body = "".join(f"let %y{i + 1} = nn.dense(%y{i}, %w) * %s; " for i in range(300))
    mod = program("(2, 3)", "(3, 3)", f"let %y0 = %x; {body} %y300", "(3,)")
    assert products(verified(fold_scale_axis(mod))) == 0
    long = "nn.dense(%x, %w)" + " + %s" * 3000
    assert products(verified(fold_scale_axis(program("(2, 3)", "(3, 3)", f"({long}) * %s", "(3,)")))) == 0


def test_optimize_multiplies_weights_that_are_constants_by_their_scales() -> None:
    x = var("x", shape=(1, 3, 8, 8), dtype="float32")
    w, scale = np.ones((4, 3, 3, 3), "float32"), np.arange(4, dtype="float32").reshape(4, 1, 1) + 2
    y = Conv2D(padding=(1, 1))(x, const(w)) * const(scale)
    mod = optimize(infer(IRModule.from_expr(Function([x], y))), level=3)
    (call,) = [e for e in post_order(mod["main"]) if isinstance(e, Call)]
    assert isinstance(call.args[1], Constant)
    np.testing.assert_array_equal(call.args[1].data, w * scale[..., None])
