"""Gradients of `nn` operators against those of PyTorch in float64, where it is installed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from op.straight_line import Line, key_of, leaves
from relay.ir.expr import Var
from relay.op.arrays import array_type
from relay.op.derivative import const_like, times, total
from relay.op.numeric import apply
from relay.op.registry import instance

torch = pytest.importorskip("torch")
from torch.nn import functional  # noqa: E402

pytestmark = pytest.mark.torch
rng = np.random.default_rng(7)
Torch = Callable[..., Any]


def normal(*shape: int) -> np.ndarray:
    return rng.normal(size=shape)


def same_gradients(name: str, torch_function: Torch, *xs: np.ndarray, **attrs: Any) -> None:
    """Compare the value, its gradients, and the gradients of the sum of their squares."""
    params = [Var(f"x{i}", array_type(x), span=None) for i, x in enumerate(xs)]
    varying = [i for i, x in enumerate(xs) if x.dtype.kind == "f"]
    tensors = [torch.tensor(x, requires_grad=i in varying) for i, x in enumerate(xs)]
    inputs = [tensors[i] for i in varying]
    want = torch_function(*tensors)
    seed = np.asarray(normal(*want.shape))[()]
    wanted = torch.autograd.grad(want, inputs, torch.tensor(seed), create_graph=True, allow_unused=True)

    line, g = Line(), Var("g", array_type(seed), span=None)
    y = leaves(line.apply(instance(name, attrs), tuple(params)))[0]
    atoms = [params[i] for i in varying]
    found = line.reverse({key_of(y): g}, atoms)
    squares = line.add(total([apply("sum", times(a, a)) for a in found if a is not None]))
    second = line.reverse({key_of(squares): line.add(const_like(1, squares))}, atoms)
    of = sum((b * b).sum() for b in wanted if b is not None)
    expected = (
        torch.autograd.grad(of, inputs, allow_unused=True) if of.requires_grad else [None] * len(inputs)
    )

    values = line.run([g, *params], [seed, *xs], (y, found, second))
    close(values[0], want)
    for a, b, x in zip((*values[1], *values[2]), (*wanted, *expected), (*inputs, *inputs), strict=True):
        close(np.zeros(x.shape) if a is None else a, torch.zeros_like(x) if b is None else b)


def close(found: Any, want: Any) -> None:
    """Check that two values have one shape and are equal to 1e-9."""
    assert np.shape(found) == tuple(want.shape)
    np.testing.assert_allclose(found, want.detach().numpy(), rtol=1e-9, atol=1e-9)


SETTINGS = [(1, 0, 1, 1), (2, 1, 1, 2), (1, 2, 2, 4), (3, 1, 1, 1), (2, 0, 2, 4), (3, 2, 2, 2)]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), SETTINGS)
def test_convolutions(n: int, stride: int, padding: int, dilation: int, groups: int) -> None:
    def convolution(x: Any, w: Any) -> Any:
        return getattr(functional, f"conv{n}d")(x, w, None, stride, padding, dilation, groups)

    x, w = normal(2, 4, *[9, 8, 7][:n]), normal(8, 4 // groups, *[3, 2, 3][:n])
    attrs = {"strides": stride, "padding": padding, "dilation": dilation, "groups": groups}
    same_gradients(f"nn.conv{n}d", convolution, x, w, **attrs)
    letters = "DHW"[3 - n :]
    last, back = (0, n + 1, *range(1, n + 1)), (n + 1, n, *range(n))
    same_gradients(
        f"nn.conv{n}d",
        lambda x, w: convolution(x.permute(last), w.permute(back)),
        np.moveaxis(x, 1, -1),
        np.moveaxis(w, (0, 1), (-1, -2)),
        data_layout=f"N{letters}C",
        kernel_layout=f"{letters}IO",
        out_layout=f"NC{letters}",
        **attrs,
    )


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), SETTINGS)
@pytest.mark.parametrize("extra", [0, 1])
def test_transposed_convolutions(
    n: int, stride: int, padding: int, dilation: int, groups: int, extra: int
) -> None:
    extra = min(extra, max(stride, dilation) - 1)
    x, w = normal(2, 8, *[4, 3, 2][:n]), normal(8, 4 // groups, *[3, 2, 3][:n])

    def convolution(x: Any, w: Any) -> Any:
        f = getattr(functional, f"conv_transpose{n}d")
        return f(x, w, None, stride, padding, extra, groups, dilation)

    same_gradients(
        f"nn.conv{n}d_transpose", convolution, x, w,
        strides=stride, padding=padding, dilation=dilation, groups=groups, output_padding=extra,
    )  # fmt: skip


@pytest.mark.parametrize("layout", ["OIHW", "HWOI", "IOHW", "HIWO"])
def test_a_depthwise_weight_with_an_axis_of_multiples(layout: str) -> None:
    x, w = normal(2, 3, 6, 7), normal(3, 2, 3, 2)
    axes = ["OIHW".index(letter) for letter in layout]
    same_gradients(
        "nn.conv2d",
        lambda x, w: functional.conv2d(
            x, w.permute(*np.argsort(axes)).reshape(6, 1, 3, 2), None, 2, 1, 1, 3
        ),
        x, w.transpose(axes), groups=3, strides=2, padding=1, kernel_layout=layout,
    )  # fmt: skip


def test_asymmetric_padding_and_results_in_another_layout() -> None:
    x, w = normal(2, 3, 6, 7), normal(4, 3, 3, 2)
    same_gradients(
        "nn.conv2d",
        lambda x, w: functional.conv2d(functional.pad(x, (0, 1, 1, 2)), w, None, (3, 2)).permute(0, 2, 3, 1),
        x, w, padding=(1, 0, 2, 1), strides=(3, 2), out_layout="NHWC",
    )  # fmt: skip
    same_gradients(
        "nn.conv2d_transpose",
        lambda x, w: functional.conv_transpose2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), None, 2),
        normal(2, 3, 4, 5), normal(3, 2, 4, 5),
        strides=2, data_layout="NHWC", out_layout="NCHW", kernel_layout="HWOI",
    )  # fmt: skip


def test_output_padding_of_more_than_a_stride() -> None:
    same_gradients(
        "nn.conv2d_transpose",
        lambda x, w: functional.pad(functional.conv_transpose2d(x, w, None, 2), (0, 3, 0, 5)),
        normal(2, 3, 4, 5), normal(3, 4, 3, 2), strides=2, output_padding=(5, 3),
    )  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(("window", "stride", "padding"), [(2, 2, 0), (3, 2, 1), (2, 3, 1), (1, 2, 0)])
def test_pools(n: int, window: int, stride: int, padding: int, ceil_mode: bool) -> None:
    ties = rng.integers(0, 3, (2, 3, *[8, 7, 6][:n])).astype("float64")
    greatest, mean = getattr(functional, f"max_pool{n}d"), getattr(functional, f"avg_pool{n}d")
    attrs = {"pool_size": window, "strides": stride, "padding": padding, "ceil_mode": ceil_mode}

    def means(x: Any, include: bool) -> Any:
        return mean(x, window, stride, padding, ceil_mode, include)

    for x in (normal(2, 3, *[8, 7, 6][:n]), ties):
        same_gradients(
            f"nn.max_pool{n}d", lambda x: greatest(x, window, stride, padding, 1, ceil_mode), x, **attrs
        )
    same_gradients(f"nn.avg_pool{n}d", lambda x: means(x, False), ties, **attrs)
    same_gradients(f"nn.avg_pool{n}d", lambda x: means(x, True), ties, count_include_pad=True, **attrs)


def test_dilated_pools_in_another_layout() -> None:
    same_gradients(
        "nn.max_pool2d",
        lambda x: functional.max_pool2d(x.permute(0, 3, 1, 2), (2, 3), (1, 2), (1, 0), (3, 2)),
        normal(2, 7, 8, 3),
        pool_size=(2, 3), strides=(1, 2), padding=(1, 0), dilation=(3, 2), layout="NHWC", out_layout="NCHW",
    )  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 3, 5, 9])
def test_adaptive_pools(n: int, size: int) -> None:
    for x in (normal(2, 3, *[8, 7, 6][:n]), rng.integers(0, 3, (2, 3, *[8, 7, 6][:n])).astype("float64")):
        for kind in ("avg", "max"):
            pool = getattr(functional, f"adaptive_{kind}_pool{n}d")
            same_gradients(
                f"nn.adaptive_{kind}_pool{n}d", lambda x, pool=pool: pool(x, size), x, output_size=size
            )


@pytest.mark.parametrize("n", [1, 2, 3])
def test_global_pools(n: int) -> None:
    axes, x = tuple(range(2, n + 2)), normal(2, 3, *[8, 7, 6][:n])
    same_gradients(f"nn.global_avg_pool{n}d", lambda x: x.mean(axes, keepdim=True), x)
    same_gradients(f"nn.global_max_pool{n}d", lambda x: x.amax(axes, keepdim=True), x)


def test_matrix_products() -> None:
    a, b = normal(2, 3, 4), normal(5, 4)
    for x in (a, a[0], a[0, 0], normal(2, 1, 3, 4)):
        same_gradients("nn.dense", functional.linear, x, b)
        same_gradients("nn.matmul", torch.matmul, x, b.T.copy())
    stack = normal(2, 4, 5)
    for x in (a, a[:1], a[0], a[0, 0], normal(3, 1, 3, 4)):
        same_gradients("nn.matmul", torch.matmul, x, stack)
    same_gradients(
        "nn.matmul", lambda a, b: a.mT @ b.mT, normal(2, 4, 3), b, transpose_a=True, transpose_b=True
    )
    same_gradients("nn.matmul", lambda a, b: a.mT @ b, normal(2, 4, 3), b.T.copy(), transpose_a=True)


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("stacks", [(2, 2), (1, 2), (2, 1)])
def test_stacks_of_products(transpose_a: bool, transpose_b: bool, stacks: tuple[int, int]) -> None:
    a = normal(stacks[0], *((4, 3) if transpose_a else (3, 4)))
    b = normal(stacks[1], *((5, 4) if transpose_b else (4, 5)))

    def product(a: Any, b: Any) -> Any:
        return (a.mT if transpose_a else a) @ (b.mT if transpose_b else b)

    flags = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    same_gradients("nn.batch_matmul", product, a, b, **flags)
    same_gradients("nn.matmul", product, a, b, **flags)
    same_gradients("nn.matmul", product, a, b[0], **flags)


def test_normalisations() -> None:
    x, gamma, beta = normal(2, 6, 4, 5), normal(6), normal(6)
    mean, variance = normal(6), np.abs(normal(6)) + 0.5
    same_gradients(
        "nn.batch_norm",
        lambda x, g, b, m, v: (
            (x - m[:, None, None]) / (v[:, None, None] + 1e-5).sqrt() * g[:, None, None] + b[:, None, None]
        ),
        x, gamma, beta, mean, variance,
    )  # fmt: skip
    same_gradients(
        "nn.instance_norm", lambda x, g, b: functional.instance_norm(x, weight=g, bias=b), x, gamma, beta
    )
    same_gradients(
        "nn.group_norm", lambda x, g, b: functional.group_norm(x, 2, g, b), x, gamma, beta, num_groups=2
    )
    same_gradients(
        "nn.layer_norm", lambda x, w, b: functional.layer_norm(x, (5,), w, b), x, normal(5), normal(5)
    )
    same_gradients(
        "nn.lrn", lambda x: functional.local_response_norm(x, 3, 0.3, 0.75, 1.0), x,
        size=3, alpha=0.3, beta=0.75, bias=1.0,
    )  # fmt: skip
    same_gradients("nn.l2_normalize", lambda x: functional.normalize(x, dim=1), x, axis=1, eps=1e-24)


def test_activations() -> None:
    x = normal(4, 6)
    same_gradients("nn.relu", functional.relu, x)
    same_gradients("nn.leaky_relu", lambda x: functional.leaky_relu(x, 0.3), x, alpha=0.3)
    same_gradients("nn.prelu", functional.prelu, x, normal(6))
    same_gradients("nn.softmax", lambda x: functional.softmax(x, -1), x)
    same_gradients("nn.fast_softmax", lambda x: functional.softmax(x, -1), x)
    same_gradients("nn.log_softmax", lambda x: functional.log_softmax(x, 0), x, axis=0)
    same_gradients("nn.bias_add", lambda x, b: x + b, x, normal(6))
    same_gradients("nn.dropout", lambda x: x * 1, x)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses(reduction: str) -> None:
    x, targets, weights = normal(4, 6, 2), rng.integers(0, 6, (4, 2)), np.abs(normal(6))
    targets[1] = -100

    def loss(x: Any, targets: Any, weights: Any) -> Any:
        counted, at = targets >= 0, targets.clamp(min=0)
        weight = torch.where(counted, weights[at], 0.0)
        found = -weight * x.gather(1, at[:, None]).squeeze(1)
        return found if reduction == "none" else found.sum() / (weight.sum() if reduction == "mean" else 1)

    same_gradients("nn.nll_loss", loss, x, targets, weights, reduction=reduction)


def test_cross_entropies() -> None:
    x, chances = normal(4, 6), np.abs(normal(4, 6))
    same_gradients("nn.cross_entropy_with_logits", lambda x, p: -(x * p).sum() / 4, x, chances)
    same_gradients("nn.cross_entropy", lambda x, p: -(x.log() * p).sum() / 4, np.abs(x), chances)


def test_upsampling() -> None:
    x, y = normal(1, 2, 4, 5), normal(1, 2, 3, 4, 5)
    same_gradients(
        "nn.upsampling",
        lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True), x,
        scale_h=2, scale_w=2, method="bilinear", align_corners=True,
    )  # fmt: skip
    same_gradients(
        "nn.upsampling", lambda x: functional.interpolate(x, scale_factor=3), x, scale_h=3, scale_w=3
    )
    same_gradients(
        "nn.upsampling3d",
        lambda x: functional.interpolate(x, scale_factor=2, mode="trilinear", align_corners=False), y,
        scale_d=2, scale_h=2, scale_w=2, method="trilinear",
    )  # fmt: skip


def test_dilation() -> None:
    def spread(x: Any) -> Any:
        out = torch.full((5, 10), 7.0, dtype=torch.float64)
        out[::2, ::3] = x
        return out

    same_gradients("nn.dilate", spread, normal(3, 4), strides=(2, 3), dilation_value=7.0)
