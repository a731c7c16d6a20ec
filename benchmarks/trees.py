"""Programs over trees: Relay batching them as they run, beside Relay call by call, PyTorch by levels, and JAX
on padded trees.

PyTorch gets the nodes of each level as index arrays, and JAX the nodes of each level of each tree, padded to
the most that a tree has, both before the clock starts; Relay finds them while it runs.  Each system has a
process of its own, on as many processors as it has threads; they take turns.  Results are compared first.
What is reported is the ratio of each peer's time to that of Relay's batched program in the same round: its
median, with a 95% bootstrap interval.

    python benchmarks/trees.py [--only TEXT] [--threads 1,2] [--rounds 30] [--json FILE]
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from peer_systems import Run
from peers import JSON, OURS, Worker, interval, prepared, take_rounds

TOLERANCE = 1e-4
"""How far results may be apart, of the greatest value."""
INPUT, HIDDEN, WORDS = 300, 150, 64
CALL_BY_CALL, PYTORCH, JAX = "Relay, call by call", "PyTorch by levels", "JAX, padded"

GROW = """
import "std/list"
type Tree { Leaf(Tensor[(1, {size}), float32]), Node(Tensor[(1, {size}), float32], Tree, Tree) }
def @grow(%i: int32, %xs: Tensor[(n, 1, {size}), float32], %left: Tensor[(n,), int32],
          %right: Tensor[(n,), int32]) -> Tree {
  let %x = take(%xs, %i, axis=0);
  let %l = take(%left, %i, axis=0);
  if (%l < 0) { Leaf(%x) } else {
    Node(%x, @grow(%l, %xs, %left, %right), @grow(take(%right, %i, axis=0), %xs, %left, %right))
  }
}
def @forest(%k: int32, %roots: Tensor[(t,), int32], %xs: Tensor[(n, 1, {size}), float32],
            %left: Tensor[(n,), int32], %right: Tensor[(n,), int32]) -> List[Tree] {
  if (%k == 0) { Nil } else {
    let %tree = @grow(take(%roots, %k - 1, axis=0), %xs, %left, %right);
    Cons(%tree, @forest(%k - 1, %roots, %xs, %left, %right))
  }
}
"""
LSTM = """
def @cell(
  %x: Tensor[(1, 300), float32], %h: Tensor[(1, 150), float32], %c: Tensor[(1, 150), float32], {params}
) {
  let (%in, %out, %content) = split(nn.dense(%x, %iou) + %iou_bias + nn.dense(%h, %iou_h), 3, 1);
  let %memory = sigmoid(%in) * tanh(%content) + %c;
  (sigmoid(%out) * tanh(%memory), %memory)
}
def @visit(%t: Tree, {params}) -> (Tensor[(1, 150), float32], Tensor[(1, 150), float32]) {
  match (%t) {
    Leaf(%x) => {
      let %zero = zeros(shape=(1, 150), dtype=float32);
      @cell(%x, %zero, %zero, {args})
    },
    Node(%x, %left, %right) => {
      let %wanted = nn.dense(%x, %f) + %f_bias;
      let (%h, %c) = @visit(%left, {args});
      let (%g, %d) = @visit(%right, {args});
      let %kept = sigmoid(%wanted + nn.dense(%h, %f_h)) * %c + sigmoid(%wanted + nn.dense(%g, %f_h)) * %d;
      @cell(%x, %h + %g, %kept, {args})
    },
  }
}
def @state(%t: Tree, {params}) { @visit(%t, {args}).0 }
"""
NETWORK = """
def @state(%t: Tree, {params}) -> Tensor[(1, 64), float32] {
  match (%t) {
    Leaf(%x) => %x,
    Node(%x, %left, %right) => {
      let %a = @state(%left, {args});
      let %b = @state(%right, {args});
      tanh(nn.dense(%a, %w) + nn.dense(%b, %v) + %bias)
    },
  }
}
"""
MAIN = """
def @main(%k: int32, %roots: Tensor[(t,), int32], %xs: Tensor[(n, 1, {size}), float32],
          %left: Tensor[(n,), int32], %right: Tensor[(n,), int32], {params}) {
  let %states = @map(fn (%t) { @state(%t, {args}) }, @forest(%k, %roots, %xs, %left, %right));
  @foldl(fn (%a, %b) { %a + %b }, zeros(shape=(1, {out}), dtype=float32), %states)
}
"""


@dataclass(frozen=True)
class Forest:
    """Trees: a vector for each node, the children of each, -1 at leaves, and the roots."""

    xs: Any
    left: Any
    right: Any
    roots: Any

    def levels(self) -> list[Any]:
        """The nodes by height."""
        height = np.zeros(len(self.left), int)
        for i in reversed(range(len(self.left))):  # children come after their parents
            if self.left[i] >= 0:
                height[i] = 1 + max(height[self.left[i]], height[self.right[i]])
        return [np.flatnonzero(height == k) for k in range(height.max() + 1)]


def full_forest(trees: int, size: int) -> Forest:
    """Full binary trees of 63 nodes."""
    left, right = np.full((2, trees, 63), -1, "int32")
    for i in range(31):
        left[:, i], right[:, i] = 2 * i + 1, 2 * i + 2
    base = 63 * np.arange(trees, dtype="int32")[:, None]
    left, right = (np.where(x < 0, x, x + base).reshape(-1).astype("int32") for x in (left, right))
    return Forest(vectors(63 * trees, size), left, right, base[:, 0].copy())


def mixed_forest(trees: int, size: int, shortest: int, longest: int) -> Forest:
    """Trees over sentences of different lengths, each part divided at a random place."""
    rng = np.random.default_rng(trees)
    left: list[int] = []
    right: list[int] = []
    roots: list[int] = []
    for _ in range(trees):
        roots.append(len(left))
        pending = [(int(rng.integers(shortest, longest + 1)), None, 0)]
        while pending:
            words, parent, side = pending.pop()
            me = len(left)
            left.append(-1)
            right.append(-1)
            if parent is not None:
                (left if side == 0 else right)[parent] = me
            if words > 1:
                first = int(rng.integers(1, words))
                pending += [(words - first, me, 1), (first, me, 0)]
    arrays = [np.asarray(x, "int32") for x in (left, right, roots)]
    return Forest(vectors(len(left), size), *arrays)


def vectors(count: int, size: int) -> Any:
    return (np.random.default_rng(count).standard_normal((count, 1, size)) * 0.5).astype("float32")


def weights(shapes: dict[str, tuple[int, ...]]) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {n: (rng.standard_normal(s) / np.sqrt(s[-1])).astype("float32") for n, s in shapes.items()}


LSTM_SHAPES = {
    "iou": (450, 300), "iou_bias": (450,), "iou_h": (450, 150), "f": (150, 300), "f_bias": (150,),
    "f_h": (150, 150),
}  # fmt: skip
NETWORK_SHAPES = {"w": (64, 64), "v": (64, 64), "bias": (64,)}


@dataclass(frozen=True)
class Case:
    """A model over trees."""

    is_lstm: bool
    forest: Callable[[], Forest]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of its weights."""
        return LSTM_SHAPES if self.is_lstm else NETWORK_SHAPES


CASES = {
    "TreeLSTM, 1 tree of 63 nodes": Case(True, lambda: full_forest(1, INPUT)),
    "TreeLSTM, 16 trees of 63 nodes": Case(True, lambda: full_forest(16, INPUT)),
    "TreeLSTM, 64 trees of 63 nodes": Case(True, lambda: full_forest(64, INPUT)),
    "TreeLSTM, 64 trees of mixed forms": Case(True, lambda: mixed_forest(64, INPUT, 5, 40)),
    "recursive network, parses of 64 sentences": Case(False, lambda: mixed_forest(64, WORDS, 5, 40)),
}


def program_text(case: Case, main: str) -> str:
    """The definitions of a model, and what it is to be done with them."""
    size, out = (INPUT, HIDDEN) if case.is_lstm else (WORDS, WORDS)
    params = ", ".join([f"%{n}: Tensor[{s}, float32]" for n, s in case.shapes.items()])
    args = ", ".join([f"%{n}" for n in case.shapes])
    text = GROW + (LSTM if case.is_lstm else NETWORK) + main
    for name, value in (("params", params), ("args", args), ("size", size), ("out", out)):
        text = text.replace(f"{{{name}}}", str(value))
    return text


def relay_program(case: Case, threads: int, batch: str | None) -> Run:
    """The program, built for its weights."""
    import relay

    mod, forest = relay.parse(program_text(case, MAIN)), case.forest()
    built = relay.build(mod, params=weights(case.shapes), threads=threads, batch=batch)["main"]
    given = (len(forest.roots), forest.roots, forest.xs, forest.left, forest.right)
    return lambda: built(*given)


def torch_program(case: Case, threads: int) -> Run:
    """Level by level, the nodes of all trees together."""
    torch: Any = import_module("torch")
    torch.set_num_threads(threads)
    forest = case.forest()
    w = {n: torch.from_numpy(a) for n, a in weights(LSTM_SHAPES if case.is_lstm else NETWORK_SHAPES).items()}
    xs = torch.from_numpy(forest.xs[:, 0])
    leaves, *inner = [torch.from_numpy(ids) for ids in forest.levels()]
    left, right = (torch.from_numpy(x.astype("int64")) for x in (forest.left, forest.right))
    steps = [(ids, left[ids], right[ids]) for ids in inner]
    roots = torch.from_numpy(forest.roots.astype("int64"))
    linear = torch.nn.functional.linear

    def finish(gates: Any, c: Any) -> Any:
        into, out, content = gates.chunk(3, 1)
        memory = torch.sigmoid(into) * torch.tanh(content) + c
        return torch.sigmoid(out) * torch.tanh(memory), memory

    def lstm() -> Any:
        h, c = torch.empty(2, len(xs), HIDDEN)
        gates = linear(xs, w["iou"], w["iou_bias"])
        h[leaves], c[leaves] = finish(gates[leaves], 0)
        for ids, first, second in steps:
            wanted = linear(xs[ids], w["f"], w["f_bias"])
            a, b = h[first], h[second]
            kept = torch.sigmoid(wanted + linear(a, w["f_h"])) * c[first]
            kept = kept + torch.sigmoid(wanted + linear(b, w["f_h"])) * c[second]
            h[ids], c[ids] = finish(gates[ids] + linear(a + b, w["iou_h"]), kept)
        return h[roots].sum(0, keepdim=True)

    def network() -> Any:
        h = xs.clone()
        for ids, first, second in steps:
            h[ids] = torch.tanh(linear(h[first], w["w"]) + linear(h[second], w["v"], w["bias"]))
        return h[roots].sum(0, keepdim=True)

    def run() -> Any:
        with torch.inference_mode():
            return lstm() if case.is_lstm else network()

    return run


def jax_program(case: Case) -> Run:
    """Each tree level by level, mapped over trees that are padded to the most nodes of a level."""
    jax: Any = import_module("jax")
    jnp: Any = import_module("jax.numpy")
    forest = case.forest()
    w = {n: jnp.asarray(a) for n, a in weights(LSTM_SHAPES if case.is_lstm else NETWORK_SHAPES).items()}
    xs, levels, roots = padded(forest)
    size = HIDDEN if case.is_lstm else WORDS

    def finish(gates: Any, c: Any) -> Any:
        into, out, content = jnp.split(gates, 3, 1)
        memory = jax.nn.sigmoid(into) * jnp.tanh(content) + c
        return jax.nn.sigmoid(out) * jnp.tanh(memory), memory

    def lstm(x: Any, tree: Any, root: Any) -> Any:
        h, c = jnp.zeros((2, len(x), size))
        gates = x @ w["iou"].T + w["iou_bias"]
        for k, (ids, first, second) in enumerate(tree):
            if k == 0:
                made = finish(gates[ids], 0)
            else:
                wanted = x[ids] @ w["f"].T + w["f_bias"]
                a, b = h[first], h[second]
                kept = jax.nn.sigmoid(wanted + a @ w["f_h"].T) * c[first]
                kept = kept + jax.nn.sigmoid(wanted + b @ w["f_h"].T) * c[second]
                made = finish(gates[ids] + (a + b) @ w["iou_h"].T, kept)
            h, c = h.at[ids].set(made[0]), c.at[ids].set(made[1])
        return h[root]

    def network(x: Any, tree: Any, root: Any) -> Any:
        h = x
        for ids, first, second in tree[1:]:
            h = h.at[ids].set(jnp.tanh(h[first] @ w["w"].T + h[second] @ w["v"].T + w["bias"]))
        return h[root]

    one = lstm if case.is_lstm else network
    program = jax.jit(lambda x, trees, roots: jax.vmap(one)(x, trees, roots).sum(0, keepdims=True))
    given = jax.device_put((xs, levels, roots))
    return lambda: jax.block_until_ready(program(*given))


def padded(forest: Forest) -> tuple[Any, list[Any], Any]:
    """The vectors of each tree, its nodes and their children by levels, and its root; a last node of each
    tree stands for those that there are not.
    """
    ends = [*forest.roots[1:], len(forest.left)]
    most = max([e - r for r, e in zip(forest.roots, ends, strict=True)])
    xs = np.zeros((len(ends), most + 1, forest.xs.shape[2]), "float32")
    for t, (r, e) in enumerate(zip(forest.roots, ends, strict=True)):
        xs[t, : e - r] = forest.xs[r:e, 0]
    levels: list[Any] = []
    for ids in forest.levels():
        tree = np.searchsorted(forest.roots, ids, "right") - 1
        width = np.bincount(tree, minlength=len(ends)).max()
        rows = np.full((3, len(ends), width), most, "int32")
        at = np.zeros(len(ends), int)
        for i, t in zip(ids, tree, strict=True):
            children = (forest.left[i] - forest.roots[t], forest.right[i] - forest.roots[t])
            rows[:, t, at[t]] = i - forest.roots[t], *(children if forest.left[i] >= 0 else (most, most))
            at[t] += 1
        levels.append(tuple(rows))
    return xs, levels, np.zeros(len(ends), "int32")


def of_case(name: str, system: str, threads: int) -> Run:
    """A call of a program."""
    case = CASES[name]
    if system == PYTORCH:
        return torch_program(case, threads)
    if system == JAX:
        return jax_program(case)
    return relay_program(case, threads, "dynamic" if system == OURS else None)


def measured(name: str, threads: int, workers: dict[str, Worker], rounds: int) -> dict[str, Any]:
    """Times of a program, and the ratio of each peer's to ours."""
    failed = prepared(name, workers, TOLERANCE)
    if failed:
        raise SystemExit(f"{name}: {failed}")
    times = take_rounds(workers, rounds, lambda: None)
    seconds = {system: median(t) for system, t in times.items()}
    ratios = {
        system: interval([b / a for a, b in zip(times[OURS], t, strict=False)])
        for system, t in times.items() if system != OURS
    }  # fmt: skip
    line = [f"{OURS} {1e3 * seconds[OURS]:.3f} ms"]
    line += [f"{s} {1e3 * seconds[s]:.3f} ms, {r['ratio']:.2f} ({r['low']:.2f}-{r['high']:.2f})"
             for s, r in ratios.items()]  # fmt: skip
    print(f"{name}, threads: {threads}: {'; '.join(line)}", flush=True)
    date = datetime.now(UTC).date().isoformat()
    return {"threads": threads, "date": date, "seconds": seconds, "ratios": ratios}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="the cases that have it in their name")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=Path, default=JSON)
    args = parser.parse_args()
    found: dict[str, Any] = {}
    for threads in [int(t) for t in args.threads.split(",")]:
        workers = {s: Worker(s, threads, of_case) for s in (OURS, CALL_BY_CALL, PYTORCH, JAX)}
        for name in CASES:
            if args.only in name:
                found[f"{name}, threads: {threads}"] = measured(name, threads, workers, args.rounds)
        for worker in workers.values():
            worker.stop()
    kept = json.loads(args.json.read_text()) if args.json.exists() else {}
    kept["trees"] = kept.get("trees", {}) | found
    args.json.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
