"""Functions of PyTorch on complex numbers, and others of signals, with inputs."""

from math import inf, nan

import torch
from torch import fft
from torch._higher_order_ops.scan import scan

from frontend.torch_operands import f, i, p


def z(*shape: int) -> torch.Tensor:
    """Complex numbers."""
    return torch.complex(f(*shape), f(*shape))


FOURIER = [
    ("fft and ifft", lambda x: (fft.fft(x), fft.ifft(x, n=6, dim=0, norm="ortho")), z(4, 5)),
    ("fft of real numbers", lambda x: (fft.fft(x), fft.fft2(x, norm="forward"), fft.fftn(x)), f(3, 4)),
    ("rfft", lambda x: (fft.rfft(x, n=7), fft.rfft2(x), fft.rfftn(x, dim=(1, 0), norm="ortho")), f(4, 6)),
    ("irfft", lambda x: (fft.irfft(x), fft.irfft(x, n=5), fft.irfft2(x, s=(4, 7)), fft.irfftn(x)), z(4, 5)),
    ("hfft", lambda x: (fft.hfft(x), fft.ihfft(x.real)), z(5)),
    ("fftshift", lambda x: fft.ifftshift(fft.fftshift(fft.fft(x)) * 2), f(5)),
    ("convolution", lambda x, y: fft.irfft(fft.rfft(x, n=12) * fft.rfft(y, n=12), n=12), f(2, 7), f(6)),
    ("power", lambda x: (fft.rfft(x).abs() ** 2).sum(-1), f(3, 8)),
    (
        "stft",
        lambda x: torch.stft(x, 6, 2, window=torch.hann_window(6), return_complex=True),
        f(2, 20),
    ),
]
COMPLEX = [
    ("parts", lambda x: (x.real + 1, x.imag, torch.view_as_real(x), x.conj() * 1), z(3, 4)),
    (
        "of parts",
        lambda x, y: (torch.complex(x, y), torch.polar(x, y), torch.view_as_complex(x)),
        f(3, 2),
        f(3, 2),
    ),
    ("size and angle", lambda x, y: (x.abs(), x.angle(), y.angle()), z(3, 4), f(5)),
    ("sums", lambda x, y, r: (x + y, x - y, x + r, r - x, x + 2, torch.add(x, y, alpha=3)), z(3), z(3), f(3)),
    ("products", lambda x, y, r: (x * y, x * r, r * x, x * 2, x * 2j, r * 1j, -x), z(3), z(3), f(3)),
    ("quotients", lambda x, y, r: (x / y, x / r, r / x, x / 2, 1 / x), z(3), z(3), p(3)),
    ("great quotients", lambda x: x / (x * 2), torch.tensor([1e30 + 1e30j, 1e-30 - 2e-30j])),
    ("functions", lambda x: (x.exp(), x.log(), x**3, x.square(), x.reciprocal()), z(4)),
    (
        "matrices",
        lambda x, y, r: (x @ y, x @ (r + 0j), x[0] @ y, torch.bmm(x[None], y[None])),
        z(3, 4),
        z(4, 2),
        f(4, 5),
    ),
    (
        "places",
        lambda x: (
            x.T,
            x.reshape(-1),
            x[1:, 0],
            x.sum(0),
            x.mean(),
            x.flip(0),
            x.expand(2, 3, 4),
            *x.split(2),
        ),
        z(3, 4),
    ),
    (
        "joined",
        lambda x, y: (torch.cat([x, y]), torch.stack([x, x]), torch.where(y > 0, x, 0.0), torch.cat([x, x])),
        z(2, 3),
        f(2, 3),
    ),
    ("constants", lambda x: x * torch.tensor([1 + 2j, 3 - 1j]), f(2)),
]
FREQUENCIES = [
    ("cummax", lambda x: (*x.cummax(0), *x.cummax(1)), i(4, 5)),
    ("cummin", lambda x: (*x.cummin(0), *x.cummin(-1)), f(4, 5)),
    (
        "cummax with NaN",
        lambda x: (*x.cummax(0), *x.cummin(0)),
        torch.tensor([1.0, nan, 3.0, -inf, nan, 2.0]),
    ),
    ("mode", lambda x: (x.mode(0)[0], x.mode(1, keepdim=True)[0]), i(6, 7, below=3)),
    ("histc", lambda x: (x.histc(5, -1, 1), x.histc(4)), f(40)),
    ("histogram", lambda x: torch.histogram(x, 5, range=(-1.0, 1.5)), f(40)),
]


def step(state, row):
    total, count = state
    return [total + row[0], count * 0.5], [total * row[0], row[1].sum()]


SCAN = [
    ("scan", lambda x: scan(lambda c, y: (c + y, c * y), torch.zeros(4), x), f(3, 4)),
    (
        "scan of several, from the end",
        lambda x, y: scan(step, [torch.zeros(4), torch.ones(2)], [x, y], reverse=True),
        f(5, 4),
        f(5, 2),
    ),
    (
        "long scan",
        lambda x, w: scan(lambda c, y: (torch.tanh(c @ w + y), c.sum()), x[0], x),
        f(20, 3),
        f(3, 3),
    ),
]
