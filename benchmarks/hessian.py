"""Hessians of functions of a vector, by `vmap` and written out: seconds to compile, microseconds a call.

Written out, there is a derivative for each element of the gradient.  Usage: `python benchmarks/hessian.py
[--size 64] [--calls 50]`.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import relay


def functions(n: int) -> dict[str, Callable[[Any], Any]]:
    """A network of two layers, and a loop of ten rounds; of random weights, which no cache knows."""
    w = np.random.default_rng(time.time_ns()).normal(size=(n, n)).astype("float32") / n

    def network(x: Any) -> Any:
        return (relay.tanh(w @ relay.tanh(w @ x)) * x).sum()

    def loop(x: Any) -> Any:
        return relay.fori(0, 10, lambda i, y: relay.tanh(w @ y), x).sum()

    return {"network": network, "loop": loop}


def written_out(f: Callable[[Any], Any], n: int) -> Callable[[Any], Any]:
    """The Hessian as a stack of derivatives of the gradient, one for each unit vector."""

    def slope(x: Any) -> Any:
        return relay.value_and_grad(f, 0)(x)[1]

    def rows(x: Any) -> Any:
        back = relay.vjp(slope)(x)[1]
        return relay.stack([back(unit)[0] for unit in np.eye(n, dtype="float32")], axis=0)

    return rows


def measure(f: Any, x: Any, calls: int) -> tuple[float, float, Any]:
    """Seconds to compile, the least microseconds of a call, and the value."""
    begin = time.perf_counter()
    compiled: Any = relay.compile(f)
    made: Any = compiled.specialised(x)
    ready = time.perf_counter()
    times: list[float] = []
    for _ in range(calls):
        before = time.perf_counter()
        made(x)
        times.append(time.perf_counter() - before)
    return ready - begin, 1e6 * min(times), made(x)


def main() -> None:
    """Print a line for each function and way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--calls", type=int, default=50)
    chosen = parser.parse_args()
    n = chosen.size
    x = np.linspace(0, 1, n, dtype="float32")
    relay.build(relay.parse("def @main(%x: float32) { %x + 1.0 }"))
    for name, f in functions(n).items():
        values: list[Any] = []
        for way, hessian in (("vmap", relay.hessian(f)), ("written out", written_out(f, n))):
            seconds, microseconds, value = measure(hessian, x, chosen.calls)
            values.append(value)
            print(f"{name:8} {way:12} {seconds:6.2f} s to compile, {microseconds:7.1f} us a call")
        np.testing.assert_allclose(*values, rtol=1e-3, atol=1e-5)


if __name__ == "__main__":
    main()
