"""Writes `tests/data/activations.json`: PyTorch's values and derivatives of activations.

Usage, where PyTorch is installed: `python tests/frontend/record_activations.py`.
"""

import json
from pathlib import Path

import torch
from torch.nn import functional as f

POINTS = [-100.0, -20.0, -1e-4, 0.0, 1e-4, 20.0, 100.0]
FUNCTIONS = {
    "celu": lambda x: f.celu(x, 2.0),
    "elu": lambda x: f.elu(x, 0.5),
    "erf": torch.erf,
    "erfc": torch.erfc,
    "expm1": torch.expm1,
    "gelu": f.gelu,
    "gelu_tanh": lambda x: f.gelu(x, approximate="tanh"),
    "hard_sigmoid": f.hardsigmoid,
    "hard_swish": f.hardswish,
    "leaky_relu": lambda x: f.leaky_relu(x, 0.25),
    "log_sigmoid": f.logsigmoid,
    "mish": f.mish,
    "ndtr": torch.special.ndtr,
    "relu": f.relu,
    "selu": f.selu,
    "sigmoid": torch.sigmoid,
    "silu": f.silu,
    "softplus": f.softplus,
    "softsign": f.softsign,
    "tanh": torch.tanh,
}
SLOPES = {"tanh": lambda x: torch.cosh(x) ** -2}
"""Derivatives by another formula: PyTorch's `1 - tanh(x) ** 2` is 0 from 19 on, where 1e-16 is right."""


def recorded() -> dict[str, dict[str, list[float]]]:
    """For each function its values and derivatives at the points, in float64."""
    found: dict[str, dict[str, list[float]]] = {"points": {"values": POINTS, "slopes": [1.0] * len(POINTS)}}
    for name, function in FUNCTIONS.items():
        x = torch.tensor(POINTS, dtype=torch.float64, requires_grad=True)
        y = function(x)
        (slope,) = torch.autograd.grad(y.sum(), x)
        slope = SLOPES[name](x.detach()) if name in SLOPES else slope
        found[name] = {"values": y.tolist(), "slopes": slope.tolist()}
    return found


if __name__ == "__main__":
    path = Path(__file__).parents[1] / "data" / "activations.json"
    lines = [f'  "{name}": {json.dumps(values)}' for name, values in recorded().items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
