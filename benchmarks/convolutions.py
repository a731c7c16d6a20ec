"""Convolutions as machine code and in PyTorch (oneDNN), with a bias and an activation: GFLOP/s, ratios.

All take turns on the same number of threads.  A ratio is the median over the rounds, to the quicker of
PyTorch's two layouts; beside it stands the lower end of its 95% bootstrap interval.  Operations are those of
all taps, also where fewer products do.  Usage: `python benchmarks/convolutions.py [--threads 1] [--rounds 30]
[NAME ...]`.
"""

import argparse
import os
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

import relay
from relay.backend.native.compiled import NativeProgram

SETTINGS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RELAY_NUM_THREADS")
PAUSE = 0.003
"""Seconds of calls before those that count: the threads of whoever came before have gone to sleep."""
SHORT = 0.003
"""Seconds of calls that count, about."""

parser = argparse.ArgumentParser()
parser.add_argument("names", nargs="*")
parser.add_argument("--rounds", type=int, default=30)
parser.add_argument("--threads", type=int, default=1)
given = parser.parse_args()
os.environ |= dict.fromkeys(SETTINGS, str(given.threads))

torch: Any = import_module("torch")
rng = np.random.default_rng(0)


class Shape(NamedTuple):
    """The places on a side of the data, channels, filters, taps on a side, stride."""

    side: int
    channels: int
    filters: int
    taps: int = 3
    stride: int = 1

    @property
    def padding(self) -> int:
        """Places before and after the data."""
        return self.taps // 2

    @property
    def operations(self) -> int:
        """Floating-point operations of the products."""
        return 2 * (self.side // self.stride) ** 2 * self.filters * self.channels * self.taps**2


CASES = {
    "3x3 64@56": Shape(56, 64, 64),
    "3x3 128@28": Shape(28, 128, 128),
    "3x3 256@14": Shape(14, 256, 256),
    "3x3 512@7": Shape(7, 512, 512),
    "1x1 256-512@28": Shape(28, 256, 512, taps=1),
    "1x1 64-256@56": Shape(56, 64, 256, taps=1),
    "1x1 64-128@56/2": Shape(56, 64, 128, taps=1, stride=2),
    "3x3 64-128@56/2": Shape(56, 64, 128, stride=2),
    "7x7 3-64@224/2": Shape(224, 3, 64, taps=7, stride=2),
}


def numbers(*shape: int, scale: float = 1.0) -> Any:
    """Random float32 numbers."""
    return (rng.standard_normal(shape) * scale).astype("float32")


def ways(s: Shape) -> list[Callable[[], Any]]:
    """Ours, PyTorch's with channels first, PyTorch's with channels last."""
    x = numbers(1, s.side, s.side, s.channels)
    w = numbers(s.taps, s.taps, s.channels, s.filters, scale=(s.channels * s.taps**2) ** -0.5)
    bias = numbers(s.filters)
    data = relay.var("x", shape=x.shape, dtype="float32")
    y = relay.nn.conv2d(
        data,
        relay.const(w),
        strides=s.stride,
        padding=s.padding,
        data_layout="NHWC",
        kernel_layout="HWIO",
    )
    body = relay.nn.relu(y + relay.const(bias))
    f = NativeProgram(relay.IRModule.from_expr(relay.Function([data], body))).function("main")
    a = torch.from_numpy(x).permute(0, 3, 1, 2)
    layer = torch.nn.Conv2d(s.channels, s.filters, s.taps, s.stride, s.padding)
    layer.weight.data = torch.from_numpy(w).permute(3, 2, 0, 1).contiguous()
    layer.bias.data = torch.from_numpy(bias)
    first, last = a.contiguous(), a.contiguous(memory_format=torch.channels_last)
    by_channels_last = torch.nn.Conv2d(s.channels, s.filters, s.taps, s.stride, s.padding)
    by_channels_last.load_state_dict(layer.state_dict())
    by_channels_last = by_channels_last.to(memory_format=torch.channels_last)
    return [
        lambda: f(x),
        lambda: torch.relu_(layer(first)),
        lambda: torch.relu_(by_channels_last(last)),
    ]


def seconds(f: Callable[[], Any], n: int) -> float:
    """What a call takes, of so many."""
    end = time.perf_counter() + PAUSE
    while time.perf_counter() < end:
        f()
    start = time.perf_counter()
    for _ in range(n):
        f()
    return (time.perf_counter() - start) / n


def lower_end(ratios: Sequence[float]) -> float:
    """The lower end of the median's 95% bootstrap interval."""
    drawn = rng.choice(np.asarray(ratios), (1000, len(ratios)))
    return float(np.quantile(np.median(drawn, axis=1), 0.025))


def measure(name: str) -> None:
    """Print the row of a case."""
    shape = CASES[name]
    with torch.inference_mode():
        each = ways(shape)
        wanted = each[1]().permute(0, 2, 3, 1).numpy()
        np.testing.assert_allclose(each[0](), wanted, rtol=0, atol=3e-6 * np.abs(wanted).max())
        n = max(1, round(SHORT / min(seconds(f, 1) for f in each)))
        times = np.asarray([[seconds(f, n) for f in each] for _ in range(given.rounds)])
    speeds = shape.operations / np.median(times, axis=0) / 1e9
    ratios = times[:, 1:].min(axis=1) / times[:, 0]
    row = "".join([f"{v:10.1f}" for v in speeds])
    print(f"{name:18}{row}{np.median(ratios):10.2f} ({lower_end(ratios):.2f})", flush=True)


def main() -> None:
    """Measure the cases that are named, or all."""
    torch.set_num_threads(given.threads)
    print(f"{given.threads} threads{'ours':>19}{'first':>10}{'last':>10}{'ratio':>10}")
    for name in given.names or CASES:
        measure(name)


if __name__ == "__main__":
    main()
