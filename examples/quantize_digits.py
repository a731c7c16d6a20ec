"""Quantise the network of `digits.relay`: by calibration, by weights alone, and trained with quantisation.

    python examples/quantize_digits.py            # half a minute

It prints the accuracy on images that the network was not trained on, in float32 and quantised.
"""

import argparse
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

import relay

HERE = Path(__file__).parent
NAMES = ("conv1", "bias1", "conv2", "bias2", "dense", "bias3")
MAIN = """
def @main(
  %images: Tensor[(n, 64), float32], %conv1: Tensor[(8, 1, 3, 3), float32], %bias1: Tensor[(8,), float32],
  %conv2: Tensor[(16, 8, 3, 3), float32], %bias2: Tensor[(16,), float32],
  %dense: Tensor[(10, 64), float32], %bias3: Tensor[(10,), float32]
) { @network(%images, (%conv1, %bias1, %conv2, %bias2, %dense, %bias3)) }
"""


def trained(training, weights, images, labels, epochs, rate):
    """The weights after some epochs of training with quantisation."""
    mod, rule, batch = training.mod, relay.optim.adam(rate), 32
    executor = relay.create_executor(mod=mod)
    loss = mod.get_global_var("loss")
    step = executor.evaluate(relay.optim.train_step(loss, rule, mod))
    state = executor.evaluate(rule.init(mod.type_of(loss).arg_types[0]))(weights)
    rng = np.random.default_rng(0)
    for _ in range(epochs):
        order = rng.permutation(len(images))
        for start in range(0, len(images) - batch + 1, batch):
            chosen = order[start : start + batch]
            _, weights, state = step(weights, state, images[chosen], labels[chosen])
    return weights


def accuracies(epochs=3, rate=1e-4, methods=("minmax", "entropy", "rtn", "gptq", "awq")):
    """The accuracy in float32, by each method, and after training with quantisation, by name."""
    mod = relay.parse((HERE / "digits.relay").read_text().split("def @main")[0] + MAIN, "digits.relay")
    weights = load_file(HERE / "digits.safetensors")
    with np.load(HERE / "digits.npz") as digits:
        images, labels = digits["images"], digits["labels"]
    unseen = np.arange(len(images)) % 5 == 0
    tests, answers, images, labels = images[unseen], labels[unseen], images[~unseen], labels[~unseen]
    calibration = [images[i : i + 64] for i in range(0, 512, 64)]

    def accuracy(program, params=None):
        return float((relay.build(program, params=params)(tests).argmax(1) == answers).mean())

    found = {"float32": accuracy(mod, weights)}
    for method in methods:
        made = relay.quantize.quantize(mod, weights, calibration, method=method)
        integers = relay.transform.FakeQuantizationToInteger(use_qat=True)(made)
        found[method] = accuracy(integers)
    training = relay.quantize.prepare_training(mod, weights, calibration)
    first = tuple([weights[n] for n in NAMES])
    after = dict(zip(NAMES, trained(training, first, images, labels, epochs, rate), strict=True))
    found["trained"] = accuracy(training.converted(after))
    return found


def main():
    """Read the command line, and print a line for each method."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--epochs", type=int, default=3, help="epochs of training with quantisation")
    options.add_argument("--rate", type=float, default=1e-4, help="its learning rate")
    for name, share in accuracies(**vars(options.parse_args())).items():
        print(f"{name:8} {share:.4f}")


if __name__ == "__main__":
    main()
