"""Products of matrices as machine code, PyTorch and NumPy: GFLOP/s, shares of the machine's peak, ratios.

All take turns on one thread, and what is measured is the time of that thread, so that others on the machine
disturb little.  The peak is what tiles reach on operands that stay in the first cache.  Usage: `python
benchmarks/kernels.py [--rounds 60] [NAME ...]`.
"""

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from statistics import median
from typing import Any, NamedTuple

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "RELAY_NUM_THREADS": "1"}

import numpy as np

import relay
from relay.backend.native.compiled import NativeProgram
from relay.backend.native.kernels.peak import Peak

torch: Any = import_module("torch")
LAYERS = [(784, 512), (512, 512), (512, 10)]
rng = np.random.default_rng(0)


class Case(NamedTuple):
    """Three ways to compute the same, and the floating-point operations of one."""

    ours: Callable[[], Any]
    torch: Callable[[], Any]
    numpy: Callable[[], Any]
    operations: int


def numbers(*shape: int) -> Any:
    """Random float32 numbers."""
    return rng.standard_normal(shape).astype("float32")


def matmul(m: int, k: int, n: int) -> Case:
    """A product of two operands."""
    text = (
        f"def @main(%x: Tensor[({m}, {k}), float32], %y: Tensor[({k}, {n}), float32]) {{ nn.matmul(%x, %y) }}"
    )
    f, x, y = NativeProgram(relay.parse(text)).function("main"), numbers(m, k), numbers(k, n)
    a, b = torch.from_numpy(x), torch.from_numpy(y)
    return Case(lambda: f(x, y), lambda: a @ b, lambda: x @ y, 2 * m * k * n)


def network(rows: int, layers: list[tuple[int, int]]) -> Case:
    """Dense layers with constant weights, with biases and activations in between."""
    first = relay.var("x", shape=(rows, layers[0][0]), dtype="float32")
    weights = [(numbers(n, k) * k**-0.5, numbers(n)) for k, n in layers]
    body: Any = first
    parts: list[Any] = []
    for i, (w, bias) in enumerate(weights):
        body = relay.nn.relu(body) if i else body
        body = relay.nn.bias_add(
            relay.nn.dense(body, relay.const(w, "float32")), relay.const(bias, "float32")
        )
        linear = torch.nn.Linear(w.shape[1], w.shape[0])
        linear.weight.data, linear.bias.data = torch.from_numpy(w), torch.from_numpy(bias)
        parts += [torch.nn.ReLU(), linear] if i else [linear]
    program = NativeProgram(relay.IRModule.from_expr(relay.Function([first], body)))
    f, x, net = program.function("main"), numbers(rows, layers[0][0]), torch.nn.Sequential(*parts)
    a = torch.from_numpy(x)

    def by_numpy() -> Any:
        y = x
        for i, (w, bias) in enumerate(weights):
            y = (np.maximum(y, 0) if i else y) @ w.T + bias
        return y

    return Case(lambda: f(x), lambda: net(a), by_numpy, sum(2 * rows * k * n for k, n in layers))


CASES: dict[str, Callable[[], Case]] = {
    "matmul 1024x1024x1024": lambda: matmul(1024, 1024, 1024),
    "matmul 256x256x256": lambda: matmul(256, 256, 256),
    "dense 128x768x3072": lambda: network(128, [(768, 3072)]),
    "dense 8x768x768": lambda: network(8, [(768, 768)]),
    "dense 1x768x3072": lambda: network(1, [(768, 3072)]),
    "mlp batch 1": lambda: network(1, LAYERS),
    "mlp batch 64": lambda: network(64, LAYERS),
}


def repeated(f: Callable[[], Any], n: int) -> None:
    """Call a function so many times."""
    for _ in range(n):
        f()


def seconds(f: Callable[[], Any]) -> float:
    """The time of this thread that a call takes."""
    start = time.thread_time()
    f()
    return time.thread_time() - start


def main() -> None:
    """Measure the cases that are named, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=60)
    given = parser.parse_args()
    torch.set_num_threads(1)
    peak = Peak()
    print(
        f"{'':24}{'ours':>9}{'torch':>9}{'numpy':>9}{'peak':>9}{'of peak':>9}{'to torch':>9}{'to numpy':>9}"
    )
    for name in given.names or CASES:
        case = CASES[name]()
        with torch.no_grad():
            np.testing.assert_allclose(case.ours(), np.asarray(case.torch()), rtol=1e-3, atol=1e-3)
            again = max(1, round(2e7 / case.operations))
            ways = [*[partial(repeated, f, again) for f in case[:3]], peak]
            times = [[seconds(f) for f in ways] for _ in range(given.rounds)]
        ours, by_torch, by_numpy, tiles = (median(column) for column in zip(*times, strict=True))
        work = again * case.operations / 1e9
        speeds = [work / ours, work / by_torch, work / by_numpy, peak.operations / tiles / 1e9]
        ratios = [median([row[i] / row[0] for row in times]) for i in (1, 2)]
        print(f"{name:24}" + "".join([f"{v:9.1f}" for v in speeds]), end="")
        print(f"{speeds[0] / speeds[3]:9.2f}{ratios[0]:9.2f}{ratios[1]:9.2f}", flush=True)


if __name__ == "__main__":
    main()
