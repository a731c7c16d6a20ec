"""`nn` operators against PyTorch, where it is installed."""

import numpy as np
import pytest

from op.concrete import run

torch = pytest.importorskip("torch")
from torch.nn import functional  # noqa: E402

pytestmark = pytest.mark.torch
rng = np.random.default_rng(5)


def normal(*shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype("float32")


def close(found, want) -> None:
    np.testing.assert_allclose(found, want.numpy(), rtol=1e-4, atol=1e-5)


def tensors(*arrays: np.ndarray):
    return [torch.from_numpy(a) for a in arrays]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "groups"), [(1, 0, 1, 1), (2, 1, 1, 2), (1, 2, 2, 4)]
)
def test_convolutions(n: int, stride: int, padding: int, dilation: int, groups: int) -> None:
    x, w = normal(2, 4, *[7] * n), normal(8, 4 // groups, *[3] * n)
    want = getattr(functional, f"conv{n}d")(*tensors(x, w), None, stride, padding, dilation, groups)
    close(run(f"nn.conv{n}d", x, w, strides=stride, padding=padding, dilation=dilation, groups=groups), want)
    back = normal(4, 8 // groups, *[3] * n)
    want = getattr(functional, f"conv_transpose{n}d")(
        *tensors(x, back), None, stride, padding, stride - 1, groups, dilation
    )
    close(
        run(
            f"nn.conv{n}d_transpose",
            x,
            back,
            strides=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            output_padding=stride - 1,
        ),
        want,
    )


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(("window", "stride", "padding"), [(2, 2, 0), (3, 2, 1), (2, 3, 1), (1, 2, 0)])
def test_pools(n: int, window: int, stride: int, padding: int, ceil_mode: bool) -> None:
    x = normal(2, 3, *[8, 7, 6][:n])
    attrs = {"pool_size": window, "strides": stride, "padding": padding, "ceil_mode": ceil_mode}
    want = getattr(functional, f"max_pool{n}d")(torch.from_numpy(x), window, stride, padding, 1, ceil_mode)
    close(run(f"nn.max_pool{n}d", x, **attrs), want)
    for include in (False, True):
        want = getattr(functional, f"avg_pool{n}d")(
            torch.from_numpy(x), window, stride, padding, ceil_mode, include
        )
        close(run(f"nn.avg_pool{n}d", x, count_include_pad=include, **attrs), want)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 3, 5, 9])
def test_adaptive_pools(n: int, size: int) -> None:
    x = normal(2, 3, *[8, 7, 6][:n])
    for kind in ("avg", "max"):
        want = getattr(functional, f"adaptive_{kind}_pool{n}d")(torch.from_numpy(x), size)
        close(run(f"nn.adaptive_{kind}_pool{n}d", x, output_size=size), want)


def test_normalisations() -> None:
    x, gamma, beta = normal(2, 6, 4, 5), normal(6), normal(6)
    mean, variance = normal(6), np.abs(normal(6))
    t = tensors(x, gamma, beta, mean, variance)
    close(
        run("nn.batch_norm", x, gamma, beta, mean, variance)[0],
        functional.batch_norm(t[0], t[3], t[4], t[1], t[2]),
    )
    close(run("nn.instance_norm", x, gamma, beta), functional.instance_norm(t[0], weight=t[1], bias=t[2]))
    close(run("nn.group_norm", x, gamma, beta, num_groups=2), functional.group_norm(t[0], 2, t[1], t[2]))
    w, b = normal(5), normal(5)
    close(run("nn.layer_norm", x, w, b), functional.layer_norm(t[0], (5,), *tensors(w, b)))
    close(
        run("nn.lrn", x, size=3, alpha=0.3, beta=0.75, bias=1.0),
        functional.local_response_norm(t[0], 3, 0.3, 0.75, 1.0),
    )


def test_activations_and_losses() -> None:
    x, slope = normal(4, 6), normal(6)
    t = torch.from_numpy(x)
    close(run("nn.softmax", x), functional.softmax(t, -1))
    close(run("nn.log_softmax", x, axis=0), functional.log_softmax(t, 0))
    close(run("nn.leaky_relu", x, alpha=0.3), functional.leaky_relu(t, 0.3))
    close(run("nn.prelu", x, slope), functional.prelu(t, torch.from_numpy(slope)))
    targets = np.asarray([0, 5, -100, 2])
    for reduction in ("mean", "sum", "none"):
        want = functional.nll_loss(
            t, torch.from_numpy(targets), torch.from_numpy(np.abs(slope)), reduction=reduction
        )
        close(run("nn.nll_loss", x, targets, np.abs(slope), reduction=reduction), want)


def test_bilinear_upsampling_with_aligned_corners() -> None:
    x = normal(1, 2, 4, 5)
    want = functional.interpolate(torch.from_numpy(x), scale_factor=2, mode="bilinear", align_corners=True)
    close(run("nn.upsampling", x, scale_h=2, scale_w=2, method="bilinear", align_corners=True), want)
    y = normal(1, 2, 3, 4, 5)
    want = functional.interpolate(torch.from_numpy(y), scale_factor=2, mode="trilinear", align_corners=False)
    close(run("nn.upsampling3d", y, scale_d=2, scale_h=2, scale_w=2, method="trilinear"), want)


def test_einsum_sums_over_axes_of_dots_that_the_result_drops() -> None:
    x = np.random.default_rng(0).standard_normal((2, 4, 3))
    expected = torch.einsum("...i->i", torch.tensor(x)).numpy()
    np.testing.assert_allclose(run("einsum", (x,), equation="...i->i"), expected)
