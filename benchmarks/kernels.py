"""Products and convolutions by themselves, beside oneDNN and PyTorch: GFLOP/s, ratios, shares of the peak.

    python benchmarks/kernels.py [--threads 1] [--rounds 30] [--json performance.json] [NAME ...]

All take turns on the same number of threads; on one, it is the time of that thread that is measured, so that
others on the machine disturb little.  A ratio is a peer's time by Relay's: the median over the rounds, and
its 95% bootstrap interval.  Operations are those of all taps, also where Winograd's way needs fewer.  The
peak is what tiles reach on operands that stay in the first cache, once for each thread.
"""

import argparse
import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from peers import JSON, busy, interval

PAUSE = 0.025
"""Seconds of calls before those that count, on several threads: those of OpenMP spin for some 15 ms before
they sleep."""
SHORT = 0.003
"""Seconds of calls that count, about."""
CPUS = sorted(os.sched_getaffinity(0))
ONEDNN = "oneDNN"
Array = Any
rng = np.random.default_rng(0)


@dataclass(frozen=True)
class Ways:
    """Calls that compute the same, their floating-point operations, and the bar of oneDNN's time by ours."""

    calls: dict[str, Callable[[], Any]]
    operations: int
    bar: float | None


def numbers(*shape: int, scale: float = 1.0) -> Array:
    """Random float32 numbers."""
    return (rng.standard_normal(shape) * scale).astype("float32")


def compiled(params: list[Any], body: Any) -> Callable[..., Array]:
    """A function as machine code."""
    import relay

    return relay.build(relay.IRModule.from_expr(relay.Function(params, body)))["main"]


@dataclass(frozen=True)
class Product:
    """A product of two matrices, or a dense layer with weights that stay the same."""

    rows: int
    depth: int
    columns: int
    is_constant: bool = False
    bar: float | None = None

    def ways(self) -> Ways:
        """Relay, oneDNN, PyTorch."""
        import torch
        from peer_onednn import OneDNN

        import relay

        x, w = numbers(self.rows, self.depth), numbers(self.depth, self.columns)
        data = relay.var("x", shape=x.shape, dtype="float32")
        if self.is_constant:
            ours = partial(compiled([data], relay.nn.dense(data, relay.const(w.T))), x)
        else:
            weight = relay.var("w", shape=w.shape, dtype="float32")
            ours = partial(compiled([data, weight], relay.nn.matmul(data, weight)), x, w)
        a, b, primitive = torch.from_numpy(x), torch.from_numpy(w), OneDNN().product(x, w, self.is_constant)
        primitive()
        agree(ours(), primitive.result(), (a @ b).numpy())
        calls = {"Relay": ours, ONEDNN: primitive, "PyTorch": lambda: a @ b}
        return Ways(calls, 2 * self.rows * self.depth * self.columns, self.bar)


@dataclass(frozen=True)
class Convolution:
    """Of an image, with a bias and an activation; `side` and `taps` are those of a square."""

    side: int
    channels: int
    filters: int
    taps: int = 3
    stride: int = 1
    groups: int = 1
    bar: float | None = None

    def ways(self) -> Ways:
        """Relay, oneDNN, PyTorch with channels first and last."""
        import torch
        from peer_onednn import OneDNN

        depth = self.channels // self.groups
        x = numbers(1, self.channels, self.side, self.side)
        w = numbers(self.filters, depth, self.taps, self.taps, scale=(depth * self.taps**2) ** -0.5)
        bias = numbers(self.filters)
        ours = self.ours(x, w, bias)
        grouped = w.reshape(self.groups, -1, *w.shape[1:]) if self.groups > 1 else w
        primitive = OneDNN().convolution(x, grouped, bias, self.stride, self.taps // 2)
        layer = torch.nn.Conv2d(
            self.channels, self.filters, self.taps, self.stride, self.taps // 2, 1, self.groups
        )
        layer.weight.data, layer.bias.data = torch.from_numpy(w), torch.from_numpy(bias)
        first = torch.from_numpy(x)
        last = first.contiguous(memory_format=torch.channels_last)
        other = torch.nn.Conv2d(*layer_arguments(layer))
        other.load_state_dict(layer.state_dict())
        other = other.to(memory_format=torch.channels_last)
        primitive()
        wanted = torch.relu(layer(first)).numpy()
        agree(ours().transpose(0, 3, 1, 2), primitive.result(), wanted)
        calls = {
            "Relay": ours, ONEDNN: primitive, "PyTorch": lambda: torch.relu_(layer(first)),
            "PyTorch, channels last": lambda: torch.relu_(other(last)),
        }  # fmt: skip
        side = wanted.shape[-1]
        return Ways(calls, 2 * side**2 * self.filters * depth * self.taps**2, self.bar)

    def ours(self, x: Array, w: Array, bias: Array) -> Callable[[], Array]:
        """Relay's, whose channels are last."""
        import relay

        image = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
        filters = w.transpose(2, 3, 1, 0) if self.groups == 1 else w.transpose(2, 3, 0, 1)
        data = relay.var("x", shape=image.shape, dtype="float32")
        y = relay.nn.conv2d(
            data,
            relay.const(np.ascontiguousarray(filters)),
            strides=self.stride,
            padding=self.taps // 2,
            groups=self.groups,
            data_layout="NHWC",
            kernel_layout="HWIO" if self.groups == 1 else "HWOI",
        )
        return partial(compiled([data], relay.nn.relu(y + relay.const(bias))), image)


def layer_arguments(layer: Any) -> tuple[Any, ...]:
    """What makes another layer like it."""
    sizes = layer.kernel_size, layer.stride, layer.padding
    return layer.in_channels, layer.out_channels, *sizes, 1, layer.groups


def agree(*results: Array) -> None:
    """All are the first, as far as float32 says."""
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=0, atol=5e-6 * np.abs(results[0]).max())


WINOGRAD = Convolution(56, 64, 64, bar=1.5)
CASES: dict[str, Product | Convolution] = {
    "matmul 1024x1024x1024": Product(1024, 1024, 1024, bar=0.95),
    "matmul 256x256x256": Product(256, 256, 256),
    "dense 128x768x3072": Product(128, 768, 3072, is_constant=True, bar=0.95),
    "dense 8x768x768": Product(8, 768, 768, is_constant=True),
    "dense 1x768x3072": Product(1, 768, 3072, is_constant=True),
    "3x3 64@56": WINOGRAD,
    "3x3 128@28": replace(WINOGRAD, side=28, channels=128, filters=128),
    "3x3 256@14": replace(WINOGRAD, side=14, channels=256, filters=256),
    "3x3 512@7": replace(WINOGRAD, side=7, channels=512, filters=512),
    "1x1 256-512@28": Convolution(28, 256, 512, taps=1, bar=0.95),
    "1x1 64-256@56": Convolution(56, 64, 256, taps=1),
    "1x1 64-128@56/2": Convolution(56, 64, 128, taps=1, stride=2),
    "3x3 64-128@56/2": Convolution(56, 64, 128, stride=2),
    "7x7 3-64@224/2": Convolution(224, 3, 64, taps=7, stride=2),
    "depthwise 96@112": Convolution(112, 96, 96, groups=96, bar=0.95),
    "depthwise 96@112/2": Convolution(112, 96, 96, stride=2, groups=96),
}


def seconds(call: Callable[[], Any], times: int, clock: Callable[[], float], pause: float) -> float:
    """What a call takes, of so many."""
    end = time.perf_counter() + pause
    while time.perf_counter() < end:
        call()
    start = clock()
    for _ in range(times):
        call()
    return (clock() - start) / times


def give_processors(call: Callable[[], Any], threads: int) -> None:
    """Give each of the threads that a call takes a processor of its own: beside other processes, two of them
    may stay on one.
    """
    before, main = busy(), threading.get_native_id()
    seconds(call, 1, time.perf_counter, PAUSE)
    spent = {task: ran - before.get(task, 0) for task, ran in busy().items() if task != main}
    hardest = sorted(spent, key=lambda task: -spent[task])[: threads - 1]
    for task, cpu in zip([main, *hardest], CPUS, strict=False):
        os.sched_setaffinity(task, {cpu})


def measured(name: str, threads: int, rounds: int) -> dict[str, Any]:
    """The entry of a case."""
    from relay.backend.native.kernels.peak import Peak

    peak, ways = Peak(), CASES[name].ways()
    calls = ways.calls | {"peak": peak}
    clock = time.thread_time if threads == 1 else time.perf_counter
    pause = 0.0 if threads == 1 else PAUSE
    for call in ways.calls.values() if threads > 1 else ():
        give_processors(call, threads)
    times = {
        s: max(1, round(SHORT / min(seconds(f, 1, clock, 0) for _ in range(3)))) for s, f in calls.items()
    }
    each = [{s: seconds(f, times[s], clock, pause) for s, f in calls.items()} for _ in range(rounds)]
    speeds = {s: ways.operations / float(np.median([r[s] for r in each])) / 1e9 for s in ways.calls}
    top = threads * peak.operations / float(np.median([r["peak"] for r in each])) / 1e9
    ratios = {s: interval([r[s] / r["Relay"] for r in each]) for s in ways.calls if s != "Relay"}
    return {
        "name": name, "threads": threads, "speeds": speeds, "peak": top, "ratios": ratios,
        "bar": ways.bar, "date": date.today().isoformat(),
    }  # fmt: skip


def show(entry: dict[str, Any]) -> None:
    """A line about a case."""
    speeds = ", ".join([f"{system} {v:.1f}" for system, v in entry["speeds"].items()])
    r = entry["ratios"][ONEDNN]
    print(f"{entry['name']}: {speeds} GFLOP/s, peak {entry['peak']:.0f};", end=" ")
    print(f"oneDNN / Relay {r['ratio']:.2f} ({r['low']:.2f}-{r['high']:.2f})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="the cases that have it in their name")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=Path, default=JSON)
    given = parser.parse_args()
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "RELAY_NUM_THREADS"), str(given.threads))
    import_module("torch").set_num_threads(given.threads)
    import_module("torch").set_grad_enabled(False)
    found: list[dict[str, Any]] = []
    for name in CASES:
        if not given.names or any(wanted in name for wanted in given.names):
            found.append(measured(name, given.threads, given.rounds))
            show(found[-1])
    data = json.loads(given.json.read_text()) if given.json.exists() else {}
    done = {(e["name"], e["threads"]) for e in found}
    data["kernels"] = [e for e in data.get("kernels", []) if (e["name"], e["threads"]) not in done] + found
    given.json.write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main()
