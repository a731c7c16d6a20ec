"""What calls, compiling and memory cost: nanoseconds beside NumPy, PyTorch and JAX; seconds; bytes.

    python benchmarks/costs.py [--json performance.json] [--only calls|compile|memory] [--programs TEXT]

Each build runs in a process of its own, which has made the weights before the clock starts and finds
bytecode of all modules, as after an installation, and the runtime that all programs share.  `cold` is
`relay.build`, imports included, of a program that the cache does not have, `warm` the same when it has,
`first` when the folder is empty, `process` a cold process from its start to its end.  Of the pieces of a cold
build, one after the other, `optimized` are the passes that programs go through, `lowered` those of the native
backend, `emitted` LLVM IR as text, `llvm` its passes and the code they end in, on all cores, `weights` packs
the constants, `loaded` brings all into memory.

Memory is what a program holds when it has been called: its constants and the most that tensors took at once,
beside its weights and the least that its groups of operators could do with, whose operands and results have
to be there at the same time.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median
from typing import Any

import numpy as np
from peer_models import MODELS, model
from peers import JSON

ROUNDS, CALLS = 31, 5_000
BUILDS = 3
"""Times that each program is built; the median counts."""
COMPILED = {
    "MLP, batch 1": 0.3, "ResNet-18": 2.0, "ResNet-50": 4.0, "BERT-base, 128 tokens": 5.0,
    "LSTM 512, 64 steps": None, "training: ResNet-18, batch 4": None, "5,000 calls of layers": 2.5,
    "5,000 tiny operations": 2.5, "50,000 tiny operations": 25.0,
}  # fmt: skip
"""The most seconds that each may take, cold."""
PIECES = ("optimized", "lowered", "emitted", "llvm", "weights", "loaded")
MEMORY = {"with Winograd": 2.2, "without": 1.3}
"""How many times the least that ResNet-50 needs it may take."""
BARS = {"x + 1 of a float64": 150, "16 float32 added to 16": 500}
"""The most nanoseconds that each may take."""
SMALL = "a sum"


# --- calls ---


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


# --- compiling ---


def tiny(count: int) -> str:
    """A program of so many operations on 8 numbers."""
    lines = [f"let %x{i + 1} = tanh(%x{i}) * %x{max(i - 1, 0)};" for i in range(count // 2)]
    return f"def @main(%x0: Tensor[(8,), float32]) {{ {' '.join(lines)} %x{count // 2} }}"


def program(name: str) -> tuple[Any, Mapping[str, Any]]:
    """A program, and the weights that become part of it."""
    import relay

    if name in MODELS:
        made = model(name)
        return made.mod, {} if made.trains else made.params
    if name.endswith("calls of layers"):
        import compile as compiling

        return relay.IRModule.from_expr(compiling.SHAPES["residual MLP"](5_000)), {}
    return relay.parse(tiny(2 if name == SMALL else int(name.split()[0].replace(",", "")))), {}


def build(name: str) -> dict[str, float]:
    """Seconds that building a program takes in this process, and the most bytes that it has had."""
    import relay

    mod, params = program(name)
    start = time.perf_counter()
    relay.build(mod, params=params)
    return {"build": time.perf_counter() - start, "peak": getrusage(RUSAGE_SELF).ru_maxrss * 1024}


def pieces(name: str) -> dict[str, float]:
    """Seconds of the pieces of one compilation, one after the other."""
    from relay.backend.native.host.compiler import Compiler
    from relay.backend.native.llvm import codegen, jit
    from relay.backend.native.memory.tensors import TENSOR, image
    from relay.backend.native.runtime import runtime_library
    from relay.backend.native.runtime.parallel_map import parallel_map
    from relay.driver.arguments import with_params
    from relay.pipelines import lower_to_native, optimize_for_native

    mod, params = program(name)
    found: dict[str, float] = {}
    start = time.perf_counter()

    def end(piece: str) -> None:
        nonlocal start
        now = time.perf_counter()
        found[piece], start = now - start, now

    mod = optimize_for_native(with_params(mod, params) if params else mod, ("main",))
    end("optimized")
    lower_to_native(mod)
    end("lowered")
    made = Compiler(mod)
    parts = made.modules()
    end("emitted")
    found["emitted"] -= found["lowered"]
    codes = parallel_map(lambda work: work(), codegen.compile_tasks(parts))
    end("llvm")
    number = made.program.layouts.number(TENSOR)
    images = [image(e.value, number) for e in made.program.constants]
    assert len(images) == len(made.program.constants)
    end("weights")
    runtime_library.runtime_library()
    jit.LoadedCode(codes)
    end("loaded")
    return found


def elsewhere(task: str, name: str, folder: str) -> dict[str, float]:
    """A measurement in a process of its own, and how long that took."""
    env = os.environ | {"RELAY_CACHE": f"{folder}/cache", "PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, __file__, "--task", task, name]
    start = time.perf_counter()
    said = subprocess.run(command, env=env, text=True, capture_output=True, check=True).stdout
    return {**json.loads(said.splitlines()[-1]), "process": time.perf_counter() - start}


def empty(folder: str, keep: str = "") -> None:
    """Remove what the cache has, but for files of some kind."""
    for path in (Path(folder) / "cache").iterdir():
        if not keep or path.suffix != keep:
            path.unlink()


def compile_times(wanted: str) -> dict[str, Any]:
    """Seconds of building each program whose name has a text in it."""
    found: dict[str, Any] = {}
    names = [name for name in COMPILED if wanted.lower() in name.lower()]
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            elsewhere("pieces", SMALL, folder)
            elsewhere("build", SMALL, folder)
            runs: dict[str, list[dict[str, float]]] = {"cold": [], "warm": [], "first": []}
            for _ in range(BUILDS if COMPILED[name] is None or COMPILED[name] < 20 else 1):
                empty(folder, keep=".o")
                runs["cold"].append(elsewhere("build", name, folder))
                runs["warm"].append(elsewhere("build", name, folder))
                empty(folder)
                runs["first"].append(elsewhere("build", name, folder))
            found[name] = {"bar": COMPILED[name]}
            found[name] |= {kind: median([r["build"] for r in several]) for kind, several in runs.items()}
            found[name]["process"] = median([r["process"] for r in runs["cold"]])
            found[name]["peak"] = median([r["peak"] for r in runs["cold"]])
            parts = elsewhere("pieces", name, folder)
            said = ", ".join([f"{k} {found[name][k]:.2f}" for k in ("cold", "warm", "first", "process")])
            print(f"{name}: {said} s, {found[name]['peak'] / 1e6:.0f} MB at most")
            print("    " + ", ".join([f"{piece} {parts[piece]:.2f}" for piece in PIECES]), flush=True)
    return found


# --- memory ---


def memory_of(winograd: bool) -> dict[str, float]:
    """Bytes that the compiled ResNet-50 takes, and the least that it could do with."""
    import relay
    from relay.backend.native.host.context import read_leaf
    from relay.backend.native.kernels import winograd as tiles
    from relay.backend.native.memory.layout import PEAK_BYTES_OFFSET
    from relay.driver.arguments import with_params
    from relay.pipelines import lower_to_native, optimize_for_native

    if not winograd:
        tiles.size_of_tiles = lambda *_: 0
    made = model("ResNet-50")
    built = relay.build(made.mod, params=made.params, cache=False, threads=1)
    for _ in range(3):
        built(*made.inputs.values())
    contexts = built.program.contexts.known
    mod = lower_to_native(optimize_for_native(with_params(made.mod, made.params), ("main",)))
    return {
        "constants": sum([c.nbytes for c in built.artefact.constants]),
        "tensors": sum([read_leaf(at + PEAK_BYTES_OFFSET, "i64") for at in contexts]),
        "weights": sum([np.asarray(x).nbytes for x in made.params.values()]),
        "least": least_of_tensors(mod["main"]),
        "resident": getrusage(RUSAGE_SELF).ru_maxrss * 1024,
    }


def least_of_tensors(main: Any) -> int:
    """The most bytes of tensors that are there at once, each from its group to the last one that reads it;
    those that come from outside do not count.
    """
    import relay

    chain: list[Any] = []
    e = main.body
    while isinstance(e, relay.Let):
        chain.append(e)
        e = e.body
    sizes = {s.var: bytes_of(s.var.type_annotation) for s in chain}
    steps = [(s.var, [v for v in relay.post_order(s.value) if v in sizes]) for s in chain]
    steps.append((None, [v for v in relay.post_order(e) if v in sizes]))
    last = {v: i for i, (_, read) in enumerate(steps) for v in read}
    there = most = 0
    for i, (var, read) in enumerate(steps):
        there += sizes.get(var, 0)
        most = max(most, there)
        there -= sum([sizes[v] for v in read if last[v] == i])
    return most


def bytes_of(t: Any) -> int:
    """The bytes of a tensor of a known type, or of several."""
    if hasattr(t, "fields"):
        return sum(map(bytes_of, t.fields))
    return int(np.prod(t.concrete_shape)) * np.dtype(t.dtype).itemsize


def memory() -> dict[str, Any]:
    """What the compiled ResNet-50 takes of memory, with Winograd's convolutions and without."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, bar in MEMORY.items():
            said = elsewhere("memory", name, folder)
            ratio = (said["constants"] + said["tensors"]) / (said["weights"] + said["least"])
            found[name] = {"bar": bar, "ratio": ratio, **said}
            kinds = ("constants", "tensors", "weights", "least", "resident")
            parts = ", ".join([f"{k} {said[k] / 1e6:.1f}" for k in kinds])
            print(f"ResNet-50 {name}: {ratio:.2f} of {bar}; MB: {parts}", flush=True)
    return found


TASKS: dict[str, Callable[[str], dict[str, float]]] = {
    "build": build, "pieces": pieces, "memory": lambda name: memory_of(name == "with Winograd"),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, default=JSON)
    parser.add_argument("--only", choices=("calls", "compile", "memory"))
    parser.add_argument(
        "--programs", default="", metavar="TEXT", help="build those that have it in their name"
    )
    parser.add_argument("--task", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.task:
        print(json.dumps(TASKS[args.task[0]](args.task[1])))
        return
    data = json.loads(args.json.read_text()) if args.json.exists() else {"models": []}
    if args.only in (None, "calls"):
        data["calls"] = calls()
        for name, each in data["calls"].items():
            print(name, {k: round(v) for k, v in each.items()})
    if args.only in (None, "compile"):
        data["compile"] = data.get("compile", {}) | compile_times(args.programs)
    if args.only in (None, "memory"):
        data["memory"] = memory()
    args.json.write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main()
