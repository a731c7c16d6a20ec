"""Loops without products against PyTorch eager and NumPy, each on one thread, in one run.

python benchmarks/loops.py [WORD ...]    # only the cases whose name has one of the words

A ratio is the median, over rounds in which all take turns, of a peer's time by ours: above 1 is faster.  The
chain is also given as a share of the bandwidth of copying an array of its size.
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import relay
from relay.backend.native.host.native_program import NativeProgram

ROUNDS, SECONDS = 31, 0.004
"""How often each takes its turn, and how long a turn is at least."""
F = torch.nn.functional


@dataclass(frozen=True)
class Case:
    """A program, its operands, and what the peers call."""

    text: str
    shapes: Sequence[tuple[int, ...]]
    torch: Callable[..., Any]
    numpy: Callable[..., Any] | None = None


def erf_gelu(x: Any) -> Any:
    """The program of the Gaussian error linear unit."""
    return f"({x} * 0.5f * (1f + erf({x} * 0.70710678f)))"


def numpy_softmax(x: Any) -> Any:
    """As one writes it by hand."""
    e = np.exp(x - x.max(-1, keepdims=True))
    e /= e.sum(-1, keepdims=True)
    return e


def numpy_norm(x: Any, g: Any, b: Any) -> Any:
    """As one writes it by hand."""
    d = x - x.mean(-1, keepdims=True)
    d *= 1 / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5)
    return d * g + b


CHAIN, SQUARE = ((4096, 1024), (1024,), (1024,)), (1024, 1024)
CASES = {
    "chain 4096x1024": Case(
        f"nn.softmax(nn.layer_norm({erf_gelu('%a')}, %b, %c))",
        CHAIN,
        lambda a, b, c: torch.softmax(F.layer_norm(F.gelu(a), (1024,), b, c), -1),
    ),
    "softmax": Case("nn.softmax(%a)", [SQUARE], lambda a: torch.softmax(a, -1), numpy_softmax),
    "softmax axis 0": Case("nn.softmax(%a, axis=0)", [SQUARE], lambda a: torch.softmax(a, 0)),
    "softmax 100000x10": Case("nn.softmax(%a)", [(100_000, 10)], lambda a: torch.softmax(a, -1)),
    "log_softmax": Case("nn.log_softmax(%a)", [SQUARE], lambda a: torch.log_softmax(a, -1)),
    "layer_norm": Case(
        "nn.layer_norm(%a, %b, %c)",
        [SQUARE, (1024,), (1024,)],
        lambda a, b, c: F.layer_norm(a, (1024,), b, c),
        numpy_norm,
    ),
    "layer_norm 1300x768": Case(
        "nn.layer_norm(%a, %b, %c)",
        [(1300, 768), (768,), (768,)],
        lambda a, b, c: F.layer_norm(a, (768,), b, c),
    ),
    "instance_norm": Case(
        "nn.instance_norm(%a, %b, %c)",
        [(8, 32, 64, 64), (32,), (32,)],
        lambda a, b, c: F.instance_norm(a, weight=b, bias=c),
    ),
    "variance axis 1": Case("variance(%a, axis=1)", [SQUARE], lambda a: a.var(1, False)),
    "variance axis 0": Case("variance(%a, axis=0)", [SQUARE], lambda a: a.var(0, False)),
    "sum": Case("sum(%a)", [SQUARE], lambda a: a.sum(), lambda a: a.sum()),
    "sum axis 0": Case("sum(%a, axis=0)", [SQUARE], lambda a: a.sum(0), lambda a: a.sum(0)),
    "sum axis 1": Case("sum(%a, axis=1)", [SQUARE], lambda a: a.sum(1), lambda a: a.sum(1)),
    "mean axis 1 of 3": Case("mean(%a, axis=1)", [(16, 64, 1024)], lambda a: a.mean(1), lambda a: a.mean(1)),
    "sum axes 0, 2, 3": Case("sum(%a, axis=[0, 2, 3])", [(8, 32, 64, 64)], lambda a: a.sum((0, 2, 3))),
    "max axis 1": Case("max(%a, axis=1)", [SQUARE], lambda a: a.amax(1), lambda a: a.max(1)),
    "argmax axis 1": Case("argmax(%a, axis=1)", [SQUARE], lambda a: a.argmax(1)),
    "transpose": Case("transpose(%a)", [SQUARE], lambda a: a.T.contiguous(), lambda a: a.T.copy()),
    "NCHW to NHWC": Case(
        "transpose(%a, axes=[0, 2, 3, 1])",
        [(8, 64, 48, 48)],
        lambda a: a.permute(0, 2, 3, 1).contiguous(),
    ),
    "heads": Case(
        "transpose(%a, axes=[0, 2, 1, 3])",
        [(8, 128, 16, 64)],
        lambda a: a.permute(0, 2, 1, 3).contiguous(),
    ),
    "concatenate": Case(
        "concatenate((%a, %b), axis=1)", [(1024, 512), (1024, 512)], lambda a, b: torch.cat((a, b), 1)
    ),
    "concatenate axis 0": Case(
        "concatenate((%a, %b), axis=0)", [(512, 1024), (512, 1024)], lambda a, b: torch.cat((a, b), 0)
    ),
    "add": Case("%a + %b", [SQUARE, SQUARE], lambda a, b: a + b, lambda a, b: a + b),
    "add a row": Case("%a + %b", [SQUARE, (1024,)], lambda a, b: a + b, lambda a, b: a + b),
    "add a column": Case("%a + %b", [SQUARE, (1024, 1)], lambda a, b: a + b, lambda a, b: a + b),
    "add channels": Case("%a + %b", [(8, 32, 64, 64), (32, 1, 1)], lambda a, b: a + b),
    "multiply, add, relu": Case(
        "nn.relu(%a * %b + 1f)", [SQUARE, SQUARE], lambda a, b: torch.relu(a * b + 1)
    ),
    "exp": Case("exp(%a)", [SQUARE], torch.exp, np.exp),
    "tanh": Case("tanh(%a)", [SQUARE], torch.tanh, np.tanh),
    "sigmoid": Case("sigmoid(%a)", [SQUARE], torch.sigmoid),
    "erf": Case("erf(%a)", [SQUARE], torch.erf),
    "log": Case("log(abs(%a))", [SQUARE], lambda a: torch.log(torch.abs(a))),
    "sin": Case("sin(%a)", [SQUARE], torch.sin, np.sin),
    "power": Case("power(abs(%a), %b)", [SQUARE, SQUARE], lambda a, b: torch.pow(torch.abs(a), b)),
    "cast to float64": Case('cast(%a, dtype="float64")', [SQUARE], lambda a: a.double()),
    "cast to int32": Case('cast(%a, dtype="int32")', [SQUARE], lambda a: a.int()),
    "cast to float16": Case('cast(%a, dtype="float16")', [SQUARE], lambda a: a.half()),
    "strided_slice": Case(
        "strided_slice(%a, begin=[0, 0], end=[1024, 512])", [SQUARE], lambda a: a[:, :512].contiguous()
    ),
    "strided_slice by 2": Case(
        "strided_slice(%a, begin=[0, 0], end=[1024, 1024], strides=[1, 2])",
        [SQUARE],
        lambda a: a[:, ::2].contiguous(),
    ),
    "max_pool2d": Case(
        "nn.max_pool2d(%a, pool_size=[2, 2], strides=[2, 2])",
        [(8, 32, 64, 64)],
        lambda a: F.max_pool2d(a, 2),
    ),
    "avg_pool2d 3x3": Case(
        "nn.avg_pool2d(%a, pool_size=[3, 3], strides=[1, 1], padding=[1, 1], count_include_pad=True)",
        [(8, 32, 64, 64)],
        lambda a: F.avg_pool2d(a, 3, 1, 1),
    ),
}


def program(case: Case) -> NativeProgram:
    """The program of a case, compiled."""
    shapes = [s if len(s) > 1 else f"({s[0]},)" for s in case.shapes]
    params = [f"%{n}: Tensor[{s}, float32]" for n, s in zip("abc", shapes, strict=False)]
    return NativeProgram(relay.infer(relay.parse(f"def @main({', '.join(params)}) {{ {case.text} }}")))


def turn(run: Callable[[], Any], times: int) -> float:
    """Seconds of a call, over some of them."""
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def measured(runs: Sequence[Callable[[], Any]]) -> list[list[float]]:
    """Seconds of each in rounds in which they take turns."""
    times = [max(1, round(SECONDS / (min(turn(run, 1) for _ in range(3)) + 1e-9))) for run in runs]
    return [[turn(run, n) for run, n in zip(runs, times, strict=True)] for _ in range(ROUNDS)]


def report(name: str, case: Case) -> None:
    """One line: our time, and the ratios."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s).astype("float32") for s in case.shapes]
    tensors = [torch.from_numpy(x) for x in arrays]
    ours = program(case).function("main")
    with torch.inference_mode():
        difference = np.abs(np.asarray(ours(*arrays)) - np.asarray(case.torch(*tensors))).max()
        to = np.empty_like(arrays[0])
        runs = [lambda: ours(*arrays), lambda: case.torch(*tensors), lambda: np.copyto(to, arrays[0])]
        if case.numpy is not None:
            runs.append(lambda: case.numpy(*arrays))
        rounds = measured(runs)
    best = float(np.median([row[0] for row in rounds]))
    ratios = [float(np.median([row[k] / row[0] for row in rounds])) for k in range(1, len(runs))]
    numpy_ratio = f"{ratios[2]:8.2f}" if len(ratios) > 2 else "        "
    print(
        f"{name:22} {best * 1e3:8.3f} ms   torch {ratios[0]:6.2f}   numpy {numpy_ratio}"
        f"   copy {ratios[1]:6.2f}   differs {difference:.1e}",
        flush=True,
    )


def main() -> None:
    """Report on the cases that the words on the command line choose."""
    torch.set_num_threads(1)
    os.environ["RELAY_NUM_THREADS"] = "1"
    words = sys.argv[1:]
    for name, case in CASES.items():
        if not words or any(word in name for word in words):
            report(name, case)


if __name__ == "__main__":
    main()
