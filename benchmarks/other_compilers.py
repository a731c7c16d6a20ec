"""ResNet-18 with regions of other compilers and without, and what a call of a region takes.

python benchmarks/other_compilers.py [--rounds 21] [--json performance.json]

A picture of 224 by 224, float32: by Relay alone, with convolutions and the dense layer in oneDNN, and with
all but the softmax in ONNX Runtime, as the examples have it.  Calls alternate; a ratio is the time of Relay
alone divided by the other's in the same round.  What a call takes is the time of a program of many regions
that do nothing, divided by their number.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from peers import JSON, interval

import relay
from relay.backend import register_compiler

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
SIDE, REGIONS = 224, 200
KEPT: list[Any] = []
"""Machine code that is to stay."""
SPINNING_SECONDS = 0.1
"""For so long threads of a way spin after a call, at most."""
TOLERANCE = 1e-5
"""How far results may be apart, of the greatest value."""


def ways() -> tuple[dict[str, Callable[..., Any]], dict[str, int]]:
    """The programs, and how many regions each has."""
    import onednn
    import onnx_runtime

    mod = onednn.resnet(SIDE)
    mods = {"Relay": mod, "oneDNN": onednn.partitioned(mod), "ONNX Runtime": onnx_runtime.partitioned(mod)}
    counts = {name: sum("Compiler" in f.attrs for f in m.functions.values()) for name, m in mods.items()}
    return {name: relay.build(m) for name, m in mods.items()}, counts


def seconds_of(run: Callable[..., Any], *args: Any) -> float:
    """The time of a call."""
    start = time.perf_counter()
    run(*args)
    return time.perf_counter() - start


def of_networks(rounds: int) -> list[dict[str, Any]]:
    """The times of the programs, which are compared first."""
    programs, counts = ways()
    x = np.random.default_rng(0).normal(size=(1, 3, SIDE, SIDE)).astype("float32")
    expected = programs["Relay"](x)
    for name, run in programs.items():
        gap = np.abs(run(x) - expected).max() / expected.max()
        assert gap < TOLERANCE, f"{name} is {gap} away"
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, run in programs.items():
            time.sleep(SPINNING_SECONDS)
            run(x)
            times[name].append(min(seconds_of(run, x) for _ in range(3)))
    return [
        {
            "way": name, "regions": counts[name], "seconds": median(found),
            "ratio": interval([a / b for a, b in zip(times["Relay"], found, strict=True)]),
        }
        for name, found in times.items()
    ]  # fmt: skip


def empty_function() -> int:
    """The address of machine code that returns 0."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly("define i32 @empty(ptr %inputs, ptr %outputs) { ret i32 0 }")
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    KEPT.append(engine)
    return engine.get_function_address("empty")


def of_calls(rounds: int) -> dict[str, float]:
    """Seconds that a call of a region takes that does nothing: in Python, and in C."""
    codes = {"Python": lambda x: x, "C": empty_function()}
    text = 'def @region(%x: Tensor[(4,), f32], Compiler="empty") { %x } '
    text += f"def @main(%x: Tensor[(4,), f32]) {{ {'let %x = @region(%x); ' * REGIONS} %x }}"
    found: dict[str, float] = {}
    x = np.ones(4, "float32")
    for name, code in codes.items():
        register_compiler("empty", lambda function, code=code: code)
        run = relay.build(relay.parse(text))
        run(x)
        found[name] = median([seconds_of(run, x) for _ in range(rounds)]) / REGIONS
    return found


def main() -> None:
    """Measure, and put what is found into the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--json", type=Path, default=JSON)
    given = parser.parse_args()
    found = {"networks": of_networks(given.rounds), "calls": of_calls(given.rounds)}
    print(json.dumps(found, indent=1))
    before = json.loads(given.json.read_text())
    given.json.write_text(json.dumps(before | {"other_compilers": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
