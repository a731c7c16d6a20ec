"""Programs of calls, loops and data types beside C, PyTorch, JAX and CPython, each on one thread, in one run.

    python benchmarks/control.py [--json performance.json] [--only TEXT]

The programs in C (`benchmarks/c`) are compiled by those of gcc and clang that are there, for this machine:
`-O3 -march=native`, the tree with `-ffast-math` too.  A ratio is the median, over rounds in which all take
turns, of a peer's time by ours: above 1, Relay is faster.
"""

import argparse
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from peers import JSON, interval

import relay
from relay.testing import treelstm

C = Path(__file__).parent / "c"
ROUNDS, SECONDS = 31, 0.02
"""How often each takes its turn, and how long a turn is at least."""
DEPTH, INPUT, HIDDEN, CELLS = 6, 300, 150, 1_000_000
NODES = 2**DEPTH - 1

SCALARS = """
def @fib(%n: int32) -> int32 { if (%n < 2) { %n } else { @fib(%n - 1) + @fib(%n - 2) } }
def @loop(%n: int32, %x: float32) -> float32 {
  if (%n == 0) { %x } else { @loop(%n - 1, 3.7f * %x * (1f - %x)) }
}
"""
TREE = f"""
def @grow(%depth: int32, %i: int32, %rows: Tensor[({NODES}, 1, {INPUT}), float32])
    -> Tree[Tensor[(1, {INPUT}), float32]] {{{{
  let %x = take(%rows, %i, axis=0);
  if (%depth == 1) {{{{ Rose(%x, Nil) }}}} else {{{{
    let %first = @grow(%depth - 1, 2 * %i + 1, %rows);
    Rose(%x, Cons(%first, Cons(@grow(%depth - 1, 2 * %i + 2, %rows), Nil)))
  }}}}
}}}}
def @main(%rows: Tensor[({NODES}, 1, {INPUT}), float32], {{parameters}}) {{{{
  @network(@grow({DEPTH}, 0, %rows), {{arguments}})
}}}}
"""
LISTS = """
def @up(%n: int32, %done: List[int32]) -> List[int32] {
  if (%n == 0) { %done } else { @up(%n - 1, Cons(%n % 100, %done)) }
}
def @list_sum(%n: int32) -> int32 { @sum(@up(%n, Nil)) }
def @list_map(%n: int32) -> int32 { @sum(@map(fn(%x: int32) -> int32 { %x * 3 + 1 }, @up(%n, Nil))) }
def @list_filter(%n: int32) -> int32 { @sum(@filter(fn(%x: int32) -> bool { %x < 50 }, @up(%n, Nil))) }
def @list_rev(%n: int32) -> int32 { @sum(@rev(@up(%n, Nil))) }
def @list_foldr(%n: int32) -> int32 {
  @foldr(fn(%x: int32, %s: int32) -> int32 { %x - %s }, 0, @up(%n, Nil))
}
def @list_concat(%n: int32) -> int32 { @length(@concat(@up(%n, Nil), Nil)) }
def @list_zip(%n: int32) -> int32 {
  let %xs = @up(%n, Nil);
  @foldl(fn(%s: int32, %p: (int32, int32)) -> int32 { %s + %p.0 - 2 * %p.1 }, 0, @zip(%xs, %xs))
}
"""

Way = Callable[[], Any]


class PythonLists:
    """The list functions as CPython runs them: pairs, `None` at the end, recursion where Relay has it."""

    def up(self, n: int) -> Any:
        done = None
        while n:
            done, n = (n % 100, done), n - 1
        return done

    def foldl(self, f: Any, acc: Any, xs: Any) -> Any:
        while xs is not None:
            acc, xs = f(acc, xs[0]), xs[1]
        return acc

    def map(self, f: Any, xs: Any) -> Any:
        return None if xs is None else (f(xs[0]), self.map(f, xs[1]))

    def filter(self, f: Any, xs: Any) -> Any:
        while xs is not None and not f(xs[0]):
            xs = xs[1]
        return None if xs is None else (xs[0], self.filter(f, xs[1]))

    def foldr(self, f: Any, last: Any, xs: Any) -> Any:
        return last if xs is None else f(xs[0], self.foldr(f, last, xs[1]))

    def concat(self, xs: Any, ys: Any) -> Any:
        return ys if xs is None else (xs[0], self.concat(xs[1], ys))

    def zip(self, xs: Any, ys: Any) -> Any:
        return None if xs is None or ys is None else ((xs[0], ys[0]), self.zip(xs[1], ys[1]))

    def sum(self, xs: Any) -> Any:
        return self.foldl(lambda s, x: s + x, 0, xs)

    def ways(self, n: int) -> dict[str, Way]:
        """What each program of `LISTS` does."""
        return {
            "list_sum": lambda: self.sum(self.up(n)),
            "list_map": lambda: self.sum(self.map(lambda x: x * 3 + 1, self.up(n))),
            "list_filter": lambda: self.sum(self.filter(lambda x: x < 50, self.up(n))),
            "list_rev": lambda: self.sum(self.foldl(lambda done, x: (x, done), None, self.up(n))),
            "list_foldr": lambda: self.foldr(lambda x, s: x - s, 0, self.up(n)),
            "list_concat": lambda: self.foldl(lambda k, _: k + 1, 0, self.concat(self.up(n), None)),
            "list_zip": lambda: self.foldl(
                lambda s, p: s + p[0] - 2 * p[1], 0, self.zip(xs := self.up(n), xs)
            ),
        }


def libraries(name: str, *options: str) -> dict[str, ctypes.CDLL]:
    """A program in C by each compiler that is there."""
    found: dict[str, ctypes.CDLL] = {}
    with tempfile.TemporaryDirectory() as folder:
        for compiler in ("gcc", "clang"):
            if shutil.which(compiler) is None:
                continue
            file = Path(folder) / f"{name}-{compiler}.so"
            flags = ["-O3", "-march=native", *options, "-shared", "-fPIC", "-o", str(file)]
            subprocess.run([compiler, *flags, str(C / f"{name}.c"), "-lm"], check=True)
            found[f"C, {compiler}"] = ctypes.CDLL(str(file))
    return found


def scalar_cases() -> dict[str, dict[str, Way]]:
    """Recursion and a loop over numbers."""
    import torch

    built = relay.build(relay.parse(SCALARS), entries=["fib", "loop"])
    fib, loop = built["fib"], built["loop"]
    cases: dict[str, dict[str, Way]] = {}
    for n in (20, 30):
        cases[f"fib({n})"] = {"Relay": lambda n=n: fib(n)} | {
            name: lambda c=library.fib, n=n: c(n) for name, library in libraries("fib").items()
        }
    ways: dict[str, Way] = {"Relay": lambda: loop(10_000, 0.3)}
    for name, library in libraries("loop").items():
        library.loop.restype = ctypes.c_float
        ways[name] = lambda c=library.loop: c(10_000, ctypes.c_float(0.3))

    def eager() -> float:
        x = torch.tensor(0.3)
        for _ in range(10_000):
            x = 3.7 * x * (1 - x)
        return float(x)

    cases["10,000 steps of a recurrence"] = ways | {"PyTorch": eager}
    return cases


def tree_case() -> dict[str, Way]:
    """The LSTM over a full binary tree; Relay grows it from the rows of a matrix in each call."""
    network, weights = treelstm.get_workload(INPUT, HIDDEN)
    rows = np.random.default_rng(0).standard_normal((NODES, 1, INPUT)).astype("float32")
    wanted = ", ".join([f"%{p.name_hint}: {p.type_annotation}" for p in network["main"].params[1:]])
    given = ", ".join([f"%{name}" for name in weights])
    network["network"] = network["main"]
    del network["main"]
    mod = relay.parse(TREE.format(parameters=wanted, arguments=given), init_module=network)
    ours = relay.build(mod, params=weights)["main"]
    ways: dict[str, Way] = {"Relay": lambda: ours(rows)}
    ways |= {
        name: c_tree(library, rows, weights)
        for name, library in libraries("treelstm", "-ffast-math", "-mprefer-vector-width=512").items()
    }
    return ways | {"PyTorch": torch_tree(rows, weights), "JAX": jax_tree(rows, weights)}


def c_tree(library: ctypes.CDLL, rows: Any, weights: dict[str, Any]) -> Way:
    """The tree as structures of C, made before the clock starts."""

    class Node(ctypes.Structure):
        pass

    Node._fields_ = [("x", ctypes.c_void_p), ("children", ctypes.POINTER(Node) * 2)]
    nodes = (Node * NODES)()
    for i in range(NODES):
        nodes[i].x = rows[i].ctypes.data
        for k, child in enumerate((2 * i + 1, 2 * i + 2)):
            if child < NODES:
                nodes[i].children[k] = ctypes.pointer(nodes[child])
    order = ("iou_weight", "iou_bias", "iou_h_weight", "forget_weight", "forget_bias", "forget_h_weight")
    pointers = (ctypes.c_void_p * 6)(*[weights[name].ctypes.data for name in order])
    state = np.empty((2, HIDDEN), "float32")
    arguments = ctypes.byref(nodes[0]), pointers, state[0].ctypes, state[1].ctypes
    call = library.treelstm
    call.argtypes = [ctypes.c_void_p] * 4

    def run() -> Any:
        call(*arguments)
        return state[0:1], state[1:2]

    run.keep = nodes, rows, weights
    return run


def torch_tree(rows: Any, weights: dict[str, Any]) -> Way:
    """PyTorch, node by node."""
    import torch

    xs = torch.from_numpy(rows)
    w = {name: torch.from_numpy(array) for name, array in weights.items()}
    linear = torch.nn.functional.linear

    def visit(i: int) -> Any:
        x = xs[i]
        h, c = torch.zeros(1, HIDDEN), torch.zeros(1, HIDDEN)
        for child in (2 * i + 1, 2 * i + 2) if 2 * i + 1 < NODES else ():
            below_h, below_c = visit(child)
            wanted = linear(x, w["forget_weight"], w["forget_bias"])
            forget = torch.sigmoid(wanted + linear(below_h, w["forget_h_weight"]))
            h, c = h + below_h, c + forget * below_c
        gates = linear(x, w["iou_weight"], w["iou_bias"]) + linear(h, w["iou_h_weight"])
        into, out, content = gates.chunk(3, 1)
        memory = torch.sigmoid(into) * torch.tanh(content) + c
        return torch.sigmoid(out) * torch.tanh(memory), memory

    def run() -> Any:
        with torch.inference_mode():
            return visit(0)

    return run


def jax_tree(rows: Any, weights: dict[str, Any]) -> Way:
    """JAX, a compiled cell for leaves and one for pairs."""
    import jax
    from jax import numpy as jnp

    w = {name: jnp.asarray(array) for name, array in weights.items()}
    xs = [jnp.asarray(row) for row in rows]
    zero = jnp.zeros((1, HIDDEN))

    def cell(x: Any, h: Any, c: Any) -> Any:
        gates = x @ w["iou_weight"].T + w["iou_bias"] + h @ w["iou_h_weight"].T
        into, out, content = jnp.split(gates, 3, 1)
        memory = jax.nn.sigmoid(into) * jnp.tanh(content) + c
        return jax.nn.sigmoid(out) * jnp.tanh(memory), memory

    @jax.jit
    def leaf(x: Any) -> Any:
        return cell(x, zero, zero)

    @jax.jit
    def pair(x: Any, left: Any, right: Any) -> Any:
        wanted = x @ w["forget_weight"].T + w["forget_bias"]
        memories = [jax.nn.sigmoid(wanted + h @ w["forget_h_weight"].T) * c for h, c in (left, right)]
        return cell(x, left[0] + right[0], memories[0] + memories[1])

    def visit(i: int) -> Any:
        if 2 * i + 1 >= NODES:
            return leaf(xs[i])
        return pair(xs[i], visit(2 * i + 1), visit(2 * i + 2))

    return lambda: jax.block_until_ready(visit(0))


def list_cases() -> dict[str, dict[str, Way]]:
    """Functions of the prelude over many cells."""
    names = [line.split("@")[1].split("(")[0] for line in LISTS.splitlines() if "@list_" in line]
    built = relay.build(relay.parse(f'import "std/list"\n{LISTS}'), entries=names)
    python = PythonLists().ways(CELLS)
    return {
        f"{name.removeprefix('list_')} of {CELLS:,} cells": {
            "Relay": lambda f=built[name]: f(CELLS), "CPython": python[name]
        }
        for name in names
    }  # fmt: skip


def turn(run: Way, times: int) -> float:
    """Seconds of a call, over some of them."""
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def compared(name: str, ways: dict[str, Way]) -> dict[str, Any]:
    """Seconds of each way, and the ratios to Relay's; all must give the same numbers."""
    wanted = [np.asarray(v, "float64") for v in as_list(ways["Relay"]())]
    for peer, run in ways.items():
        for got, value in zip(as_list(run()), wanted, strict=True):
            np.testing.assert_allclose(
                np.asarray(got, "float64"), value, 1e-4, 1e-5, err_msg=f"{name}: {peer}"
            )
    times = {peer: max(1, int(SECONDS / turn(run, 1))) for peer, run in ways.items()}
    rounds = [{peer: turn(run, times[peer]) for peer, run in ways.items()} for _ in range(ROUNDS)]
    seconds = {peer: float(np.median([r[peer] for r in rounds])) for peer in ways}
    ratios = {peer: interval([r[peer] / r["Relay"] for r in rounds]) for peer in ways if peer != "Relay"}
    line = [
        f"{peer} {s * 1e6:,.1f} us" + ("" if peer == "Relay" else f" ({ratios[peer]['ratio']:.2f}x)")
        for peer, s in seconds.items()
    ]
    print(f"{name}: {', '.join(line)}", flush=True)
    return {"seconds": seconds, "ratios": ratios}


def as_list(value: Any) -> list[Any]:
    """The arrays or the number of a result."""
    return list(value) if isinstance(value, tuple | list) else [value]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, default=JSON)
    parser.add_argument("--only", default="", metavar="TEXT", help="the cases that have it in their name")
    args = parser.parse_args()
    os.environ |= {"RELAY_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    import_module("torch").set_num_threads(1)
    sys.setrecursionlimit(10 * CELLS)
    cases = scalar_cases() | {f"TreeLSTM over {NODES} nodes": tree_case()} | list_cases()
    found = {name: compared(name, ways) for name, ways in cases.items() if args.only in name}
    data = json.loads(args.json.read_text()) if args.json.exists() else {}
    data["control"] = data.get("control", {}) | found
    args.json.write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main()
