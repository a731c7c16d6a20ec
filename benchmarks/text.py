"""A step of `examples/train_text.py` beside the same transformer in PyTorch, eager and compiled.

    python benchmarks/text.py [--threads 2] [--steps 300] [--wide] [--peers eager,compiled]
                              [--json performance.json]

All begin with the same weights and see the same batches, without dropout.  First each takes so many steps,
and the last losses are compared; then they take turns.  A ratio is the median, over rounds in which all take
turns, of PyTorch's time by Relay's, with its interval.  `--wide` is a larger network than the example's.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from datetime import date
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from control import compared
from peers import JSON

EXAMPLES = Path(__file__).parent.parent / "examples"
LAST = 20
"""How many of the last losses are averaged."""
TURN = 8
"""Steps of a turn, one after the other as in training."""
WIDE = {"WIDTH": 384, "HEADS": 6, "BLOCKS": 4, "BATCH": 4, "CONTEXT": 128}
"""The sizes of a larger network, a step of which is a turn."""


def example(is_wide: bool = False) -> Any:
    """The module of the example, with its own sizes or larger ones."""
    sys.path.append(str(EXAMPLES))
    found = import_module("train_text")
    vars(found).update(WIDE if is_wide else {})
    return found


def in_relay(ours: Any, steps: int) -> Callable[[Any, Any], float]:
    """The example's step, from its first weights on."""
    import relay

    params = ours.initial(0)
    rule = ours.rule(steps)
    state, step = relay.optim.initial_state(rule, params), ours.compiled_step(rule)
    key = relay.random.threefry_key(0).value

    def run(tokens: Any, targets: Any) -> float:
        nonlocal params, state
        params, state, value = step(params, state, key, tokens, targets)
        return float(value)

    return run


def leaves(tree: Any) -> list[Any]:
    """The arrays of nested dicts and lists, in order."""
    if isinstance(tree, dict | list):
        parts = tree.values() if isinstance(tree, dict) else tree
        return [leaf for part in parts for leaf in leaves(part)]
    return [tree]


def in_torch(ours: Any, steps: int, is_compiled: bool = False) -> Callable[[Any, Any], float]:
    """The same in PyTorch, with the optimiser that updates all weights in one go."""
    torch: Any = import_module("torch")
    f = torch.nn.functional

    def tensors(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {name: tensors(part) for name, part in tree.items()}
        if isinstance(tree, list):
            return [tensors(part) for part in tree]
        return torch.tensor(tree, requires_grad=True)

    params = tensors(ours.initial(0))

    def normalised(x: Any, p: Any) -> Any:
        return f.layer_norm(x, (ours.WIDTH,), p["gamma"], p["beta"])

    def attention(x: Any, p: Any) -> Any:
        batch, size, _ = x.shape
        q, k, v = f.linear(x, p["qkv"]).reshape(batch, size, 3, ours.HEADS, -1).permute(2, 0, 3, 1, 4)
        mixed = f.scaled_dot_product_attention(q, k, v, is_causal=True)
        return f.linear(mixed.transpose(1, 2).reshape(batch, size, -1), p["out"])

    def loss(tokens: Any, targets: Any) -> Any:
        x = f.embedding(tokens, params["tokens"]) + params["places"][: tokens.shape[1]]
        for p in params["blocks"]:
            x = x + attention(normalised(x, p["norm1"]), p)
            x = x + f.linear(f.gelu(f.linear(normalised(x, p["norm2"]), p["up"])), p["down"])
        scores = f.linear(normalised(x, params["norm"]), params["last"])
        return f.cross_entropy(scores.transpose(1, 2), targets)

    all_params = leaves(params)
    schedule = ours.rule(steps).rule.learning_rate
    decays = {"params": [p for p in all_params if p.ndim > 1], "weight_decay": 0.1}
    others = {"params": [p for p in all_params if p.ndim == 1], "weight_decay": 0.0}
    rule = torch.optim.AdamW([decays, others], lr=1.0, fused=True)
    rates = torch.optim.lr_scheduler.LambdaLR(rule, schedule)
    run_loss = torch.compile(loss) if is_compiled else loss

    def run(tokens: Any, targets: Any) -> float:
        rule.zero_grad()
        value = run_loss(torch.from_numpy(tokens), torch.from_numpy(targets))
        value.backward()
        torch.nn.utils.clip_grad_norm_(all_params, 1.0)
        rule.step()
        rates.step()
        return value.item()

    return run


PEERS: dict[str, Callable[[Any, int], Callable[[Any, Any], float]]] = {
    "eager": in_torch,
    "compiled": lambda ours, steps: in_torch(ours, steps, is_compiled=True),
}


def last_losses(ways: dict[str, Callable[[Any, Any], float]], data: Sequence[Any]) -> dict[str, float]:
    """The mean of the last losses of each, on the same batches."""
    return {name: float(np.mean([run(*batch) for batch in data][-LAST:])) for name, run in ways.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--wide", action="store_true", help="a larger network than the example's")
    parser.add_argument("--peers", default="eager,compiled")
    parser.add_argument("--json", type=Path, default=JSON)
    given = parser.parse_args()
    os.environ |= {"RELAY_NUM_THREADS": str(given.threads), "OMP_NUM_THREADS": str(given.threads)}
    import_module("torch").set_num_threads(given.threads)
    ours, steps_of_turn = example(given.wide), 1 if given.wide else TURN
    peers = given.peers.split(",")

    def ways() -> dict[str, Callable[[Any, Any], float]]:
        made = {f"PyTorch, {name}": PEERS[name](ours, given.steps) for name in peers}
        return {"Relay": in_relay(ours, given.steps)} | made

    losses = last_losses(ways(), list(islice(ours.batches(0), given.steps)))
    print(f"mean of the last {LAST} losses: {losses}")
    batch = next(ours.batches(0))

    def turn(run: Callable[[Any, Any], float]) -> Callable[[], int]:
        """What runs the steps of a turn; their losses have been compared."""
        return lambda: sum(run(*batch) > 0 for _ in range(steps_of_turn))

    turns = {name: turn(run) for name, run in ways().items()}
    found = compared(f"{steps_of_turn} steps", turns) | {"losses": losses}
    found["seconds"] = {name: seconds / steps_of_turn for name, seconds in found["seconds"].items()}
    kept = json.loads(given.json.read_text()) if given.json.exists() else {}
    table = kept.setdefault("wide text" if given.wide else "text", {})
    table[str(given.threads)] = found | {"date": date.today().isoformat()}
    given.json.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
