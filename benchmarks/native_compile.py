"""How long programs take to become machine code, each in a process of its own.

`cold` is `relay.build` with an empty cache, imports that it needs included, and `warm` the same in a second
process that finds the program there.  The pieces, one after the other: `lean` are the passes that programs go
through, `lowered` those of the native backend, `emitted` LLVM IR as text, `llvm` its passes and the code they
end in, on all cores, `weights` packs the constants (beside that, in `cold`), `loaded` brings all into memory.
Usage: `python benchmarks/native_compile.py [--check] [NAME ...]`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any

BARS = {
    "MLP": 0.3, "ResNet-18": 2.0, "ResNet-50": 4.0, "BERT-base": 5.0, "5,000 tiny": 2.5, "50,000 tiny": 25.0,
    "chain of 5,000": 2.5,
}  # fmt: skip
"""Seconds that `relay.build` may take with an empty cache."""
PIECES = ("lean", "lowered", "emitted", "llvm", "weights", "loaded")


def workload(name: str, **options: Any) -> tuple[Any, Mapping[str, Any]]:
    """A network of `relay.testing`, with weights."""
    from importlib import import_module

    return import_module(f"relay.testing.{name}").get_workload(**options)


def program(shape: str, calls: int) -> tuple[Any, Mapping[str, Any]]:
    """One of the programs that passes are measured on."""
    import compile as compiling

    from relay.ir.module import IRModule

    return IRModule.from_expr(compiling.SHAPES[shape](calls)), {}


SMALL = "a sum"
PROGRAMS: dict[str, Callable[[], tuple[Any, Mapping[str, Any]]]] = {
    SMALL: lambda: program("let chain", 1),
    "MLP": lambda: workload("mlp", batch_size=1),
    "ResNet-18": lambda: workload("resnet", num_layers=18),
    "ResNet-50": lambda: workload("resnet", num_layers=50),
    "BERT-base": lambda: workload("transformer"),
    "5,000 tiny": lambda: program("residual MLP", 5000),
    "50,000 tiny": lambda: program("residual MLP", 50_000),
    "chain of 5,000": lambda: program("let chain", 5000),
}


class Laps:
    """Seconds on the wall and of the processor, piece by piece."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[float, float]] = {}
        self.start = self.now()

    def now(self) -> tuple[float, float]:
        return time.perf_counter(), time.process_time()

    def end(self, name: str) -> None:
        now = self.now()
        self.found[name] = (now[0] - self.start[0], now[1] - self.start[1])
        self.start = self.now()


def pieces(name: str) -> dict[str, tuple[float, float]]:
    """The pieces of one compilation, one after the other."""
    from relay.backend.native import compilation, jit, lowering, optimised, pipeline, pool
    from relay.backend.native.beside import side_by_side
    from relay.backend.native.tensors import TENSOR, image
    from relay.driver import with_params

    mod, params = PROGRAMS[name]()
    laps = Laps()
    mod = pipeline.lean(with_params(mod, params) if params else mod, ("main",))
    laps.end("lean")
    lowering.lowered(mod)
    laps.end("lowered")
    made = compilation.Compilation(mod)
    parts = made.modules()
    laps.end("emitted")
    wall, cpu = laps.found["emitted"]
    laps.found["emitted"] = wall - laps.found["lowered"][0], cpu - laps.found["lowered"][1]
    codes = side_by_side(lambda work: work(), optimised.compilers(parts))
    laps.end("llvm")
    number = made.program.layouts.number(TENSOR)
    images = [image(e.value, number) for e in made.program.constants]
    assert len(images) == len(made.program.constants)
    laps.end("weights")
    pool.pool()
    jit.Compiled(codes)
    laps.end("loaded")
    return laps.found


def built(name: str) -> dict[str, tuple[float, float]]:
    """`relay.build`, as users call it."""
    import relay

    mod, params = PROGRAMS[name]()
    laps = Laps()
    relay.build(mod, params=params)
    laps.end("build")
    return laps.found


def elsewhere(task: str, name: str, cache: str) -> dict[str, tuple[float, float]]:
    """A measurement in a process of its own."""
    said = subprocess.run(
        [sys.executable, __file__, "--task", task, name],
        env=os.environ | {"RELAY_CACHE": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(said.stdout.splitlines()[-1])


def report(name: str) -> bool:
    """Measure a program, say what was found, and whether it is below its bar."""
    with tempfile.TemporaryDirectory() as cache:
        elsewhere("built", SMALL, cache)  # the runtime, which all programs share
        (cold, cpu), (warm, _) = (elsewhere("built", name, cache)["build"] for _ in range(2))
        parts = elsewhere("pieces", name, cache)
    rows = "".join([f"{parts[piece][0]:>8.2f}" for piece in PIECES])
    good = cold <= BARS[name]
    mark = " " if good else "!"
    print(f"{name:<16}{cold:>8.2f}{mark}{BARS[name]:>6}{cpu:>8.2f}{warm:>8.2f} |{rows}", flush=True)
    return good


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    options.add_argument("--task", choices=("built", "pieces"), help=argparse.SUPPRESS)
    options.add_argument("names", nargs="*", metavar="NAME")
    given = options.parse_args()
    if given.task:
        print(json.dumps({"built": built, "pieces": pieces}[given.task](given.names[0])))
        return 0
    heads = "".join([f"{piece:>8}" for piece in PIECES])
    print(f"{'seconds':<16}{'cold':>8}{'bar':>7}{'CPU':>8}{'warm':>8} |{heads}")
    missed = [name for name in given.names or BARS if not report(name)]
    return 1 if missed and given.check else 0


if __name__ == "__main__":
    sys.exit(main())
