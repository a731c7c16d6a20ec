"""Writes `tests/data/loss_scaling.json`: parameters and scales after each step of PyTorch's `GradScaler`.

Usage, where PyTorch is installed: `python tests/optim/record_scaling.py`.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

STEPS = 16
INITIAL, EVERY = 2.0**14, 3
START = [[0.5, -1.25, 2.0], [[1.0, -0.5], [0.25, 3.0]]]
"""The gradient of a parameter is its factor, the same for all, computed in the narrow dtype."""
FACTORS = {
    "float16": [0.5, 1.0, 2.0, 8.0, 0.125, 2.0, 1.0, 0.25, 0.5, 1.0, 4.0, 0.0078125, 0.5, 0.5, 0.5, 0.5],
    "bfloat16": [0.5, 1e34, 2e34, 4e34, 1e3, 2.0, 1.0, 1e34, 0.5, 3e34, 4.0, 0.0078125, 0.5, 0.5, 0.5, 0.5],
}
RULES: dict[str, Any] = {
    "sgd": lambda params: torch.optim.SGD(params, lr=0.1, momentum=0.9),
    "adamw": lambda params: torch.optim.AdamW(params, lr=0.05, weight_decay=0.1),
}


def steps(rule: str, dtype: str) -> list[dict[str, Any]]:
    """What is there after each step."""
    params = [torch.tensor(p, requires_grad=True) for p in START]
    optimizer = RULES[rule](params)
    scaler = torch.amp.GradScaler("cpu", init_scale=INITIAL, growth_interval=EVERY)
    found: list[dict[str, Any]] = []
    for factor in FACTORS[dtype]:
        narrow = getattr(torch, dtype)
        optimizer.zero_grad()
        loss = sum([(p.to(narrow) * torch.tensor(factor, dtype=narrow)).float().sum() for p in params])
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        now = [np.asarray(p.detach(), "float64").tolist() for p in params]
        found.append({"scale": scaler.get_scale(), "params": now})
    return found


if __name__ == "__main__":
    recorded = {f"{rule}, {dtype}": steps(rule, dtype) for rule in RULES for dtype in FACTORS}
    path = Path(__file__).parents[1] / "data" / "loss_scaling.json"
    lines = [f'"{name}": {json.dumps(value)}' for name, value in recorded.items()]
    said = {"start": START, "factors": FACTORS, "initial": INITIAL, "every": EVERY}
    lines += [f'"{name}": {json.dumps(value)}' for name, value in said.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
