"""Writes `tests/data/optimizers.json`: the parameters after each step of PyTorch's and optax's optimisers,
and the learning rates of their schedules.

Usage, where PyTorch, jax and optax are installed: `python tests/optim/record_steps.py`.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import optax
import torch

jax.config.update("jax_enable_x64", True)
STEPS = 20
RATE_STEPS = 30
rng = np.random.default_rng(0)
START = [rng.normal(size=3), rng.normal(size=(4, 6)), np.zeros(2)]
TARGET = [3 * rng.normal(size=3), rng.normal(size=(4, 6)), np.zeros(2)]
"""The gradient is the distance from the target; that of the last tensor is 0, as the tensor is."""


def rounded(x: np.ndarray) -> Any:
    """The elements with ten digits, which is more than is compared."""
    return np.vectorize(lambda v: float(f"{v:.10g}"))(x).tolist()


def of_torch(
    optimizer: Callable[[Any], Any], schedule: Callable[[Any], Any] | None = None, clip: float | None = None
) -> list[Any]:
    params = [torch.tensor(p, requires_grad=True) for p in START]
    rule = optimizer(params)
    rates = schedule(rule) if schedule else None
    found: list[Any] = []
    for _ in range(STEPS):
        for p, t in zip(params, TARGET, strict=True):
            p.grad = p.detach() - torch.tensor(t)
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(params, clip)
        rule.step()
        if rates is not None:
            rates.step()
        found.append([rounded(p.detach().numpy()) for p in params])
    return found


def of_optax(rule: optax.GradientTransformation) -> list[Any]:
    params = [jax.numpy.asarray(p) for p in START]
    state = rule.init(params)
    found: list[Any] = []
    for _ in range(STEPS):
        grads = [p - t for p, t in zip(params, TARGET, strict=True)]
        updates, state = rule.update(grads, state, params)
        params = optax.apply_updates(params, updates)
        found.append([rounded(np.asarray(p)) for p in params])
    return found


def rates_of_torch(schedule: Callable[[Any], Any]) -> list[float]:
    rule = torch.optim.SGD([torch.zeros(1, requires_grad=True)], 0.1)
    rates = schedule(rule)
    found: list[float] = []
    for _ in range(RATE_STEPS):
        found.append(rule.param_groups[0]["lr"])
        rule.step()
        rates.step()
    return found


def rates_of_optax(schedule: optax.Schedule) -> list[float]:
    return [float(schedule(i)) for i in range(RATE_STEPS)]


MASK = [False, True, False]
LR = torch.optim.lr_scheduler
ADAPTIVE = {"learning_rate": 0.05, "min_dim_size_to_factor": 4}
CASES = {
    "sgd": of_torch(lambda p: torch.optim.SGD(p, 0.1)),
    "sgd, momentum, decay": of_torch(lambda p: torch.optim.SGD(p, 0.1, 0.9, weight_decay=0.01)),
    "sgd, nesterov": of_torch(lambda p: torch.optim.SGD(p, 0.1, 0.9, nesterov=True)),
    "sgd, one cycle": of_torch(
        lambda p: torch.optim.SGD(p, 0.1, 0.9),
        lambda rule: LR.OneCycleLR(rule, 0.2, total_steps=STEPS + 1, cycle_momentum=False),
    ),
    "adam": of_torch(lambda p: torch.optim.Adam(p, 0.05)),
    "adamw": of_torch(lambda p: torch.optim.AdamW(p, 0.05, weight_decay=0.1)),
    "adamw, cosine, clipped": of_torch(
        lambda p: torch.optim.AdamW(p, 0.05, weight_decay=0.1),
        lambda rule: LR.CosineAnnealingLR(rule, STEPS, eta_min=0.001),
        clip=1.0,
    ),
    "lion": of_optax(optax.lion(0.02, weight_decay=0.1)),
    "lion, masked": of_optax(optax.lion(0.02, weight_decay=0.1, mask=MASK)),
    "lamb": of_optax(optax.lamb(0.02, weight_decay=0.1)),
    "adafactor": of_optax(optax.adafactor(**ADAPTIVE)),
    "adafactor, plain": of_optax(
        optax.adafactor(
            **ADAPTIVE, multiply_by_parameter_scale=False, clipping_threshold=None, factored=False
        )
    ),
    "adafactor, decay": of_optax(optax.adafactor(**ADAPTIVE, weight_decay_rate=0.01)),
}
RATES = {
    "cosine": rates_of_torch(lambda rule: LR.CosineAnnealingLR(rule, RATE_STEPS, eta_min=0.01)),
    "piecewise": rates_of_torch(lambda rule: LR.MultiStepLR(rule, [5, 12], gamma=0.1)),
    "one_cycle": rates_of_torch(lambda rule: LR.OneCycleLR(rule, 0.2, total_steps=RATE_STEPS + 1)),
    "warmup": rates_of_optax(optax.warmup_cosine_decay_schedule(0.0, 0.1, 5, 25, 0.01)),
    "linear": rates_of_optax(optax.linear_schedule(0.1, 0.02, 20)),
}

if __name__ == "__main__":
    path = Path(__file__).parents[1] / "data" / "optimizers.json"
    values = {"start": START, "target": TARGET}
    lines = [f'"{name}": {json.dumps([x.tolist() for x in found])}' for name, found in values.items()]
    lines += [f'"rates": {json.dumps(RATES)}', f'"steps": {json.dumps(CASES)}']
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
