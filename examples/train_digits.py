"""Train the network of `digits.relay` on handwritten digits, with the gradient that Relay derives.

    python examples/train_digits.py                     # some seconds; writes digits.safetensors
    relay run examples/digits.relay examples/digits.npz --weights examples/digits.safetensors

`--state DIRECTORY` keeps the state of the run there after each epoch; a run that was stopped, `kill -9`
included, goes on from it when the same command is given again, and ends with the very weights it would have
had.

`--plot curve.png` draws the accuracy on images it was not trained on; that needs matplotlib, which
`pip install 'relay-ir[plot]'` brings.
"""

import argparse
from pathlib import Path

import numpy as np
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from safetensors.numpy import save_file

import relay

HERE = Path(__file__).parent
NAMES = ("conv1", "bias1", "conv2", "bias2", "dense", "bias3")
SHAPES = ((8, 1, 3, 3), (8,), (16, 8, 3, 3), (16,), (10, 64), (10,))
FIFTH = 5
"""Every fifth image is for measuring; the network is trained on the others."""


def initial(rng):
    """Weights drawn so that every layer keeps the scale of its input (He, Zhang, Ren and Sun, 2015); biases
    0.
    """
    return tuple(
        [
            (rng.normal(size=s) * (2 / np.prod(s[1:])) ** 0.5 if len(s) > 1 else np.zeros(s)).astype(
                "float32"
            )
            for s in SHAPES
        ]
    )


def train(epochs, batch, rate, seed, output=None, plot=None, state=None):
    """The weights, and the accuracy on unseen images after each epoch."""
    mod = relay.parse((HERE / "digits.relay").read_text())
    with np.load(HERE / "digits.npz") as digits:
        images, labels = digits["images"], digits["labels"]
    unseen = np.arange(len(images)) % FIFTH == 0
    tests, answers, images, labels = images[unseen], labels[unseen], images[~unseen], labels[~unseen]
    rng = np.random.default_rng(seed)
    weights = initial(rng)
    rule = relay.optim.adam(rate)
    loss = mod.get_global_var("loss")
    executor = relay.create_executor(mod=mod)
    step = executor.evaluate(relay.optim.train_step(loss, rule, mod))
    accuracy = executor.evaluate(mod.get_global_var("accuracy"))
    moments = executor.evaluate(rule.init(mod.type_of(loss).arg_types[0]))(weights)
    curve = []
    if state is not None and relay.training.saved_steps(state):
        (weights, moments, curve, rng.bit_generator.state), _ = relay.training.restore_state(state)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[loss]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns) as progress:
        steps = len(images) // batch
        task = progress.add_task("training", total=epochs * steps, completed=len(curve) * steps, loss="")
        for epoch in range(len(curve), epochs):
            order = rng.permutation(len(images))
            for start in range(0, len(images) - batch + 1, batch):
                chosen = order[start : start + batch]
                value, weights, moments = step(weights, moments, images[chosen], labels[chosen])
                progress.update(task, advance=1, loss=f"loss {value:.4f}")
            curve.append(float(accuracy(weights, tests, answers)))
            if state is not None:
                parts = weights, moments, curve, rng.bit_generator.state
                relay.training.save_state(state, parts, step=epoch + 1)
    if output is not None:
        save_file(dict(zip(NAMES, map(np.ascontiguousarray, weights), strict=True)), output)
    if plot is not None:
        draw(curve, plot)
    return weights, curve


def draw(curve, path):
    """Accuracy over epochs, as a picture."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    axes.plot(range(1, len(curve) + 1), [100 * a for a in curve], marker="o")
    axes.set_xlabel("epoch")
    axes.set_ylabel("accuracy on unseen digits [%]")
    axes.set_title("A network in Relay learns to read digits")
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def main():
    """Read the command line and train."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--epochs", type=int, default=30)
    options.add_argument("--batch", type=int, default=32, help="images a step")
    options.add_argument("--rate", type=float, default=0.01, help="learning rate")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--output", default=HERE / "digits.safetensors", help="where the weights go")
    options.add_argument("--state", help="a directory that keeps the state of the run")
    options.add_argument("--plot", help="where the curve goes, as a PNG")
    given = options.parse_args()
    _, curve = train(**vars(given))
    print(f"accuracy on unseen digits: {curve[-1]:.4f}; weights in {given.output}")


if __name__ == "__main__":
    main()
