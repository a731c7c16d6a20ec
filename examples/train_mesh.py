"""Train a network on handwritten digits over a mesh of devices: of one process, or of several together.

    python examples/train_mesh.py                            # on the devices that there are, split by data
    export XLA_FLAGS=--xla_force_host_platform_device_count=8
    python examples/train_mesh.py --data 4 --model 2         # on eight that are made of the CPU

Several processes are each started with a rank, here by a loop of the shell:

    for rank in 0 1 2 3; do
      python examples/train_mesh.py --coordinator 127.0.0.1:9000 --processes 4 --rank $rank &
    done; wait

`--zero` splits the state of the optimiser over the devices that split the data, `--accumulate 4` takes a step
down the mean gradient of four parts of a batch, and `--precision bf16` computes products on 16 bits.  With
`--state DIRECTORY` a run that was stopped goes on, on any number of devices.  It needs JAX, which
`pip install 'relay-ir[xla]'` brings.
"""

import argparse
from pathlib import Path

import numpy as np

import relay

HERE = Path(__file__).parent
BATCH, HIDDEN = 256, 512
WEIGHTS = {"w1": (None, "model"), "b1": ("model",), "w2": ("model", None), "b2": ()}
"""The first layer is split by its outputs and the second by its inputs, so that one sum joins the parts."""
SHARD = {f"params.{name}": spec for name, spec in WEIGHTS.items()}


def scores(params, images):
    """Scores of the ten digits for images of 8x8 pixels from 0 to 16."""
    hidden = relay.nn.relu(images / 16 @ params["w1"] + params["b1"])
    return hidden @ params["w2"] + params["b2"]


def loss(params, images, labels):
    """The mean of -log of the probability that the right digit gets."""
    target = relay.one_hot(labels, 1.0, 0.0, depth=10, dtype="float32")
    return -(target * relay.nn.log_softmax(scores(params, images))).sum(axis=1).mean()


def training_step(rule, parts):
    """A step of `rule` down the mean gradient of some parts of a batch."""

    def step(params, state, images, labels):
        if parts == 1:
            value, slope = relay.value_and_grad(loss, 0)(params, images, labels)
        else:
            rows = (
                images.reshape((-1, parts, 64)).transpose((1, 0, 2)),
                labels.reshape((-1, parts)).transpose((1, 0)),
            )

            def add(sums, part):
                found = relay.value_and_grad(loss, 0)(params, *part)
                return added(sums, found), ()

            zeros = (relay.const(0.0), {name: relay.zeros_like(w) for name, w in params.items()})
            (value, slope), _ = relay.scan(add, zeros, rows)
            value, slope = value / parts, {name: g / parts for name, g in slope.items()}
        return value, *relay.optim.apply_rule(rule, params, slope, state)

    return step


def added(sums, found):
    """A loss and gradients added to those of other parts."""
    return sums[0] + found[0], {name: g + found[1][name] for name, g in sums[1].items()}


def initial(seed):
    """Weights drawn by a seed, the same in all processes."""
    keys = relay.training.split(seed, 2)
    return {
        "w1": relay.training.kaiming_normal(keys[0], (HIDDEN, 64)).T.copy(),
        "b1": np.zeros(HIDDEN, "float32"),
        "w2": relay.training.xavier_normal(keys[1], (10, HIDDEN)).T.copy(),
        "b2": np.zeros(10, "float32"),
    }


def train(options):
    """The loss of the last step and the accuracy on images that are not trained on."""
    with np.load(HERE / "digits.npz") as digits:
        images, labels = digits["images"], digits["labels"]
    unseen = np.arange(len(images)) % 5 == 0
    tests, answers, images, labels = images[unseen], labels[unseen], images[~unseen], labels[~unseen]
    rule = relay.optim.adamw(options.rate)
    mesh = {"data": options.data, "model": options.model}
    shard = {**SHARD, "images": ("data",), "labels": ("data",)}
    step = relay.build(
        training_step(rule, options.accumulate),
        "xla",
        mesh=mesh,
        shard={**shard, "state": ("data",)} if options.zero else shard,
        donate=("params", "state"),
        precision=options.precision,
    )
    params = initial(options.seed)
    state, first = relay.optim.initial_state(rule, params), 0
    if options.state is not None and relay.training.saved_steps(options.state):
        like = {"params": params, "state": state}
        saved, first = relay.training.restore_state(options.state, like=like)
        params, state = saved["params"], saved["state"]
    value = np.nan
    for i in range(first, options.steps):
        rows = np.random.default_rng((options.seed, i)).choice(len(images), BATCH, replace=False)
        value, params, state = step(params, state, images[rows], labels[rows], on_device=True)
        if options.state is not None and (i + 1) % 100 == 0:
            saved = {"params": params, "state": state}
            relay.training.save_state(options.state, saved, step=i + 1, wait=options.processes > 1)
    found = relay.build(scores, "xla", mesh=mesh, shard=SHARD)(params, tests)
    return float(value), np.mean(found.argmax(axis=1) == answers)


def arguments():
    """What the command line says."""
    parser = argparse.ArgumentParser(
        description="Train a network on handwritten digits over a mesh of devices."
    )
    parser.add_argument("--data", type=int, help="devices that split the data (default: all others)")
    parser.add_argument("--model", type=int, default=1, help="devices that split the layers")
    parser.add_argument("--zero", action="store_true", help="split the optimiser's state by data, too")
    parser.add_argument("--accumulate", type=int, default=1, metavar="N", help="parts of a batch")
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", metavar="DIRECTORY", help="where the run is kept every 100 steps")
    parser.add_argument("--coordinator", metavar="HOST:PORT", help="where process 0 listens")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--rank", type=int, default=0)
    options = parser.parse_args()
    if options.coordinator is not None:
        relay.distributed(options.coordinator, options.processes, options.rank)
    if options.data is None:
        import jax

        options.data = jax.device_count() // options.model
    return options


def main():
    """Train, and have the first process say how well."""
    options = arguments()
    value, accuracy = train(options)
    if options.rank == 0:
        print(f"loss {value:.4f}, {accuracy:.4f} of unseen digits are read correctly")


if __name__ == "__main__":
    try:
        main()
    except relay.RelayError as error:
        raise SystemExit(str(error)) from None
