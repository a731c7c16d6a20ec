"""How long models take to become programs, each in a process of its own, and how much memory.

`seconds` is `from_onnx` of a file, its imports included.  `growth` is by how much the memory of the process
is larger at its peak than before, in multiples of the file; the program, which holds the weights, is `kept`
of that.  Files: weights are random, the small nodes are additions and products of vectors.
Usage: `python benchmarks/imports.py [--check] [NAME ...]`.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BARS = {"ResNet-50": 1.5, "BERT-base": 2.0, "10,000 nodes": 5.0}
"""Seconds that the import may take."""
GROWTH = 1.5
"""Times the file that may be needed beside the program."""


def network(name: str, **options: Any) -> Any:
    """A network of `relay.testing` as a model."""
    from importlib import import_module

    from relay.frontend import to_onnx

    mod, params = import_module(f"relay.testing.{name}").get_workload(**options)
    return to_onnx(mod, params)


def small_nodes(count: int = 10_000) -> Any:
    """A graph of so many nodes."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    kinds = ("Add", "Mul")
    nodes = [helper.make_node(kinds[k % 2], [f"v{k}", "c"], [f"v{k + 1}"]) for k in range(count)]
    ends = [helper.make_tensor_value_info(v, TensorProto.FLOAT, [16]) for v in ("v0", f"v{count}")]
    weight = numpy_helper.from_array(np.ones(16, "float32"), "c")
    return helper.make_model(helper.make_graph(nodes, "small", ends[:1], ends[1:], [weight]))


MODELS: dict[str, Callable[[], Any]] = {
    "ResNet-50": lambda: network("resnet", num_layers=50),
    "BERT-base": lambda: network("transformer"),
    "10,000 nodes": small_nodes,
}


def memory(what: str) -> int:
    """Bytes that the process has in memory, now ("VmRSS") or at most ("VmHWM")."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(what))


def measured(file: str) -> dict[str, float]:
    """The import of one file."""
    import gc

    import relay
    from relay.frontend import from_onnx

    before, start = memory("VmRSS"), (time.perf_counter(), time.process_time())
    mod, _ = from_onnx(file)
    wall, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    gc.collect()
    peak, kept = memory("VmHWM") - before, memory("VmRSS") - before
    assert isinstance(mod, relay.IRModule)
    return {"wall": wall, "cpu": cpu, "peak": peak, "kept": kept}


def report(name: str) -> bool:
    """Measure a model, say what was found, and whether it is below its bars."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model.onnx")
        file.write_bytes(MODELS[name]().SerializeToString())
        size = file.stat().st_size
        said = subprocess.run(
            [sys.executable, __file__, "--file", str(file)], stdout=subprocess.PIPE, text=True, check=True
        )
    found = json.loads(said.stdout.splitlines()[-1])
    beside = (found["peak"] - found["kept"]) / size
    good = found["wall"] <= BARS[name] and (beside <= GROWTH or found["peak"] < 1 << 27)
    mark = " " if good else "!"
    growth, kept = found["peak"] / size, found["kept"] / size
    times = f"{found['wall']:>9.2f}{mark}{BARS[name]:>6}{found['cpu']:>8.2f}"
    print(f"{name:<16}{times}{size / 1e6:>10.1f}{growth:>9.2f}{kept:>8.2f}", flush=True)
    return good


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    options.add_argument("--file", help=argparse.SUPPRESS)
    options.add_argument("names", nargs="*", metavar="NAME")
    given = options.parse_args()
    if given.file:
        print(json.dumps(measured(given.file)))
        return 0
    print(f"{'':<16}{'seconds':>9}{'bar':>7}{'CPU':>8}{'MB':>10}{'growth':>9}{'kept':>8}")
    missed = [name for name in given.names or BARS if not report(name)]
    return 1 if missed and given.check else 0


if __name__ == "__main__":
    sys.exit(main())
