"""One of several processes: `python process.py RANK PROCESSES PORT WHAT`, started by `test_processes.py`."""

import os
import signal
import sys

import numpy as np

import relay
from backend.xla.test_mesh import MLP, mlp_arguments
from backend.xla.training_steps import training_step

STEPS = 20


def train(name: str, processes: int) -> None:
    """Print the loss of each step, and what the new weights are."""
    mod, weights, args = training_step(name)
    shard = {k: ("data",) for k in args if k not in weights}
    step = relay.build(mod, "xla", entries="step", mesh={"data": processes}, shard=shard, donate=weights)
    args.update({w: step.put(**{w: args[w]}) for w in weights})
    for _ in range(STEPS):
        loss, new = step(args, on_device=True)
        args.update(zip(weights, new, strict=True))
    print(name, repr(float(loss)), repr(float(sum(np.abs(np.asarray(w)).sum() for w in new))))


def train_mlp(rank: int, processes: int, ends: str = "") -> None:
    """Train by data and by layers, on rows that each process has alone."""
    half = processes // 2
    step = relay.build(relay.parse(MLP), "xla", entries="step", mesh={"data": half, "model": 2})
    w1, b1, w2, x, y = mlp_arguments()
    rows = slice(rank // 2 * 32 // half, (rank // 2 + 1) * 32 // half)
    x, y = step.put_local(x=x[rows], y=y[rows])
    weights = step.put(w1=w1, b1=b1, w2=w2)
    for i in range(STEPS):
        loss, *weights = step(*weights, x, y, on_device=True)
        if ends and rank == 1 and i == 5:
            if ends == "fails":
                raise ValueError("on purpose")
            os.kill(os.getpid(), signal.SIGSTOP if ends == "stops" else signal.SIGKILL)
    loss, *weights = step(*weights, x, y)
    print("layers", repr(float(loss)), repr(float(sum([np.abs(w).sum() for w in weights]))))


def main() -> None:
    rank, processes, port, what = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    relay.distributed(
        f"127.0.0.1:{port}", processes, rank, timeout=30 if what != "waits" else 3, lost_after=5
    )
    if what == "networks":
        for name in ("mlp", "transformer", "resnet"):
            train(name, processes)
        train_mlp(rank, processes)
    elif what.startswith("save"):
        _, directory = what.split("=")
        mesh = {"data": 1, "model": processes}
        step = relay.build(relay.parse(MLP), "xla", entries="step", mesh=mesh)
        *weights, x, y = mlp_arguments()
        for _ in range(10):
            _, *weights = step(*weights, x, y, on_device=True)
        relay.training.save_state(directory, {"weights": tuple(weights)}, step=10)
        print(relay.training.saved_steps(directory))
    elif what == "divides":
        mod = relay.parse("def @main(%x: Tensor[(8,), int32], %k: int32) { %x / %k }")
        step = relay.build(mod, "xla", mesh={"data": processes}, shard={"x": ("data",)})
        try:
            step(step.put(x=np.ones(8, "int32")), 0)
        except relay.RelayError as error:
            print(error.codes[0])
    else:
        train_mlp(rank, processes, what)


if __name__ == "__main__":
    main()
