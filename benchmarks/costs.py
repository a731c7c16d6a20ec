"""What a call costs, and what compiling takes: nanoseconds beside NumPy, PyTorch and JAX; seconds, cold and
from the cache.

    python benchmarks/costs.py [--json performance.json] [--only calls|compile] [--programs TEXT]

A compilation runs in a process of its own with a cache folder that is empty, and again with what it left
there.  Weights are made before the clock starts.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from peer_models import MODELS, model
from peers import JSON

ROUNDS, CALLS = 31, 5_000
COMPILED = {
    "MLP, batch 1": 0.3, "ResNet-18": 2.0, "ResNet-50": 4.0, "BERT-base, 128 tokens": 5.0,
    "5,000 tiny operations": 2.5, "50,000 tiny operations": 25.0,
}  # fmt: skip
"""The most seconds that each may take, cold."""
BARS = {"x + 1 of a float64": 150, "16 float32 added to 16": 500}
"""The most nanoseconds that each may take."""


def calls() -> dict[str, Any]:
    """Nanoseconds of a call of each library; all take turns."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    import relay

    torch, jax = import_module("torch"), import_module("jax")
    torch.set_num_threads(1)
    scalar = relay.build(relay.parse("def @main(%x: float64) { %x + 1f64 }"))["main"]
    added = relay.build(
        relay.parse("def @main(%x: Tensor[(16,), float32], %y: Tensor[(16,), float32]) { %x + %y }")
    )["main"]
    x, y = np.ones(16, "float32"), np.ones(16, "float32")
    a, b = torch.ones(16), torch.ones(16)
    c, d = jax.numpy.ones(16), jax.numpy.ones(16)
    jitted = jax.jit(lambda p, q: p + q)
    one, first, second = np.float64(1), torch.tensor(1.0, dtype=torch.float64), jax.numpy.float32(1)
    ways: dict[str, dict[str, Callable[[], Any]]] = {
        "x + 1 of a float64": {
            "Relay": lambda: scalar(1.0), "NumPy": lambda: np.add(one, 1.0), "PyTorch": lambda: first + 1.0,
            "JAX": lambda: jitted(second, second),
        },
        "16 float32 added to 16": {
            "Relay": lambda: added(x, y), "NumPy": lambda: x + y, "PyTorch": lambda: a + b,
            "JAX": lambda: jitted(c, d),
        },
    }  # fmt: skip
    return {name: {"bar": BARS[name], **taking_turns(each)} for name, each in ways.items()}


def taking_turns(ways: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Median nanoseconds of a call of each, without those of an empty call."""
    ways = ways | {"": lambda: None}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, call in ways.items():
            start = time.perf_counter_ns()
            for _ in range(CALLS):
                call()
            times[name].append((time.perf_counter_ns() - start) / CALLS)
    empty = median(times.pop(""))
    return {name: median(t) - empty for name, t in times.items()}


def tiny(count: int) -> str:
    """A program of so many operations on 8 numbers."""
    lines = [f"let %x{i + 1} = tanh(%x{i}) * %x{max(i - 1, 0)};" for i in range(count // 2)]
    return f"def @main(%x0: Tensor[(8,), float32]) {{ {' '.join(lines)} %x{count // 2} }}"


def build_once(name: str) -> float:
    """Seconds that building a program takes in this process."""
    import relay

    if name in MODELS:
        mod, params = model(name).mod, model(name).params
    else:
        mod, params = relay.parse(tiny(int(name.split()[0].replace(",", "")))), {}
    start = time.perf_counter()
    relay.build(mod, params=params)
    return time.perf_counter() - start


def compile_times(wanted: str) -> dict[str, Any]:
    """Seconds of building each program whose name has a text in it, cold and from the cache."""
    found: dict[str, Any] = {}
    for name, bar in COMPILED.items():
        if wanted.lower() not in name.lower():
            continue
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, "--build", name]
            seconds = [
                float(subprocess.run(command, env=os.environ | {"RELAY_CACHE": folder}, text=True,
                                     capture_output=True, check=True).stdout)
                for _ in range(2)
            ]  # fmt: skip
        found[name] = {"bar": bar, "cold": seconds[0], "warm": seconds[1]}
        print(f"{name}: {seconds[0]:.2f} s cold, {seconds[1]:.2f} s from the cache", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, default=JSON)
    parser.add_argument("--only", choices=("calls", "compile"))
    parser.add_argument(
        "--programs", default="", metavar="TEXT", help="build those that have it in their name"
    )
    parser.add_argument("--build", metavar="NAME", help="print the seconds of one build")
    args = parser.parse_args()
    if args.build:
        print(build_once(args.build))
        return
    data = json.loads(args.json.read_text()) if args.json.exists() else {"models": []}
    if args.only != "compile":
        data["calls"] = calls()
        for name, each in data["calls"].items():
            print(name, {k: round(v) for k, v in each.items()})
    if args.only != "calls":
        data["compile"] = data.get("compile", {}) | compile_times(args.programs)
    args.json.write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main()
