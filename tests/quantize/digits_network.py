"""The network of the examples, with its weights and data."""

from functools import cached_property
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

import relay
from relay.quantize import Static
from relay.quantize.calibration import observed, scales_from, statistic_for
from relay.quantize.prepare import prerequisite_optimize
from relay.quantize.sites import OPERATORS, find_sites
from relay.quantize.static import Plan, scale_of_weight

MAIN = """
def @main(
  %images: Tensor[(n, 64), float32], %conv1: Tensor[(8, 1, 3, 3), float32], %bias1: Tensor[(8,), float32],
  %conv2: Tensor[(16, 8, 3, 3), float32], %bias2: Tensor[(16,), float32],
  %dense: Tensor[(10, 64), float32], %bias3: Tensor[(10,), float32]
) { @network(%images, (%conv1, %bias1, %conv2, %bias2, %dense, %bias3)) }
"""


def interpreted(mod: relay.IRModule, *inputs: np.ndarray) -> np.ndarray:
    """What the interpreter makes of some inputs."""
    return np.asarray(relay.create_executor("debug", mod=mod).evaluate()(*inputs))


class Digits:
    """The module, its weights, images to calibrate with, and images and labels that it was not trained on."""

    def __init__(self, folder: Path) -> None:
        text = (folder / "digits.relay").read_text().split("def @main")[0] + MAIN
        self.mod = relay.parse(text, "digits.relay")
        self.weights = load_file(folder / "digits.safetensors")
        with np.load(folder / "digits.npz") as digits:
            images, labels = digits["images"], digits["labels"]
        unseen = np.arange(len(images)) % 5 == 0
        self.images, self.labels = images[unseen], labels[unseen]
        self.calibration = [images[~unseen][i : i + 64] for i in range(0, 512, 64)]
        self.prepared = prerequisite_optimize(self.mod, self.weights)
        self.sites = find_sites(self.prepared, OPERATORS)
        self.scores = interpreted(self.prepared, self.images)

    @cached_property
    def statistics(self) -> dict:
        """What calibration has seen."""
        return observed(self.prepared, self.sites, self.calibration, statistic_for)

    def plan(self, config: Static) -> Plan:
        """The plan of quantisation, by what calibration has seen."""
        scales = scales_from(self.statistics, self.sites, config)
        weights = {s: scale_of_weight(s, config) for s in self.sites}
        return Plan(self.prepared, tuple(self.sites), scales, weights, config, {})

    def accuracy(self, scores: np.ndarray) -> float:
        """The share of digits that scores read right."""
        return float((scores.argmax(1) == self.labels).mean())
