"""An epoch of `examples/train_digits.py` beside the same network, loss and optimiser in PyTorch.

    python benchmarks/digits.py [--threads 2] [--json performance.json]

A ratio is the median, over rounds in which both take turns, of PyTorch's time by Relay's.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from control import compared
from peers import JSON

EXAMPLES = Path(__file__).parent.parent / "examples"
BATCH, RATE = 32, 0.01


def batches() -> list[tuple[Any, Any]]:
    """What the example trains on, in one order."""
    with np.load(EXAMPLES / "digits.npz") as digits:
        images, labels = digits["images"], digits["labels"]
    seen = np.random.default_rng(0).permutation(np.flatnonzero(np.arange(len(images)) % 5))
    starts = range(0, len(seen) - BATCH + 1, BATCH)
    return [(images[seen[s : s + BATCH]], labels[seen[s : s + BATCH]]) for s in starts]


def in_relay(weights: Any, data: list[tuple[Any, Any]]) -> Callable[[], float]:
    """The example's step; an epoch from the beginning gives the first loss."""
    import relay

    mod = relay.parse((EXAMPLES / "digits.relay").read_text())
    rule, loss = relay.optim.adam(RATE), mod.get_global_var("loss")
    executor = relay.create_executor(mod=mod)
    step = executor.evaluate(relay.optim.train_step(loss, rule, mod))
    start = executor.evaluate(rule.init(mod.type_of(loss).arg_types[0]))(weights)

    def epoch() -> float:
        now, state, losses = weights, start, list[float]()
        for images, labels in data:
            value, now, state = step(now, state, images, labels)
            losses.append(float(value))
        return losses[0]

    return epoch


def in_torch(weights: Any, data: list[tuple[Any, Any]]) -> Callable[[], float]:
    """The same, eager, by the optimiser that updates all weights in one go."""
    torch: Any = import_module("torch")
    functions = torch.nn.functional
    tensors = [(torch.from_numpy(x), torch.from_numpy(y.astype("int64"))) for x, y in data]

    def network(x: Any, w: Any) -> Any:
        x = (x / 16).reshape(-1, 1, 8, 8)
        x = functions.max_pool2d(torch.relu(functions.conv2d(x, w[0], w[1], padding=1)), 2)
        x = functions.max_pool2d(torch.relu(functions.conv2d(x, w[2], w[3], padding=1)), 2)
        return functions.linear(x.flatten(1), w[4], w[5])

    def epoch() -> float:
        now = [torch.tensor(w, requires_grad=True) for w in weights]
        rule, losses = torch.optim.Adam(now, RATE, fused=True), list[float]()
        for images, labels in tensors:
            rule.zero_grad()
            loss = functions.cross_entropy(network(images, now), labels)
            loss.backward()
            rule.step()
            losses.append(loss.item())
        return losses[0]

    return epoch


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, default=JSON)
    given = parser.parse_args()
    os.environ |= {"RELAY_NUM_THREADS": str(given.threads)}
    import_module("torch").set_num_threads(given.threads)
    sys.path.append(str(EXAMPLES))
    weights = import_module("train_digits").initial(np.random.default_rng(0))
    data = batches()
    found = compared("an epoch", {"Relay": in_relay(weights, data), "PyTorch": in_torch(weights, data)})
    kept = json.loads(given.json.read_text()) if given.json.exists() else {}
    kept.setdefault("digits", {})[str(given.threads)] = found | {"date": date.today().isoformat()}
    given.json.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
