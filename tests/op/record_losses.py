"""Writes `tests/data/losses.json`: PyTorch's values of losses, and their gradients by the predictions.

Usage, where PyTorch is installed: `python tests/op/record_losses.py`.
"""

import json
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as f

LOGITS = [[2.0, -1.0, 0.5, 0.0], [100.0, -100.0, 50.0, 0.0], [-1e-4, 1e-4, 0.0, 1e4], [3.0, 3.0, 3.0, 3.0]]
LABELS = [0, 1, 3, 2]
IGNORED = [0, -100, 3, -100]
SCORES = [-1000.0, -40.0, -1.0, 0.0, 0.5, 2.0, 40.0, 1000.0]
CHANCES = [0.0, 1.0, 0.25, 0.5, 1.0, 0.0, 1.0, 0.0]
IMAGE = [[[0.5, -2.0], [1.5, 30.0], [0.0, -30.0]]]
IMAGE_LABELS = [[2, 1]]
TARGETS = [[0.2, 0.3, 0.5, 0.0], [0.0, 0.0, 1.0, 0.0], [0.25, 0.25, 0.25, 0.25], [1e-6, 1 - 1e-6, 0.0, 0.0]]

CASES: list[tuple[str, Any, Any, dict[str, Any]]] = [
    *[
        ("softmax_cross_entropy", LOGITS, labels, {"reduction": reduction, "label_smoothing": smoothing})
        for labels in (LABELS, IGNORED)
        for reduction in ("mean", "sum", "none")
        for smoothing in (0.0, 0.1)
    ],
    ("softmax_cross_entropy", IMAGE, IMAGE_LABELS, {"reduction": "none"}),
    *[
        (name, SCORES, CHANCES, {"reduction": reduction, **attrs})
        for reduction in ("mean", "sum", "none")
        for name, attrs in (
            ("binary_cross_entropy_with_logits", {}),
            ("huber_loss", {"delta": 1.0}),
            ("huber_loss", {"delta": 0.5}),
            ("mse_loss", {}),
            ("l1_loss", {}),
        )
    ],
    *[
        ("kl_div", LOGITS, TARGETS, {"reduction": reduction})
        for reduction in ("mean", "batchmean", "sum", "none")
    ],
    ("kl_div", LOGITS, [[-1.0, -2.0, -3.0, -4.0]] * 4, {"reduction": "none", "log_target": True}),
    *[("cosine_similarity", LOGITS, TARGETS, {"axis": axis}) for axis in (0, 1, -1)],
]


def value(name: str, x: torch.Tensor, y: torch.Tensor, attrs: dict[str, Any]) -> torch.Tensor:
    if name == "softmax_cross_entropy":
        return f.cross_entropy(x, y, **attrs)
    if name == "cosine_similarity":
        return f.cosine_similarity(x, y, dim=attrs["axis"])
    return getattr(f, name)(x, y, **attrs)


def recorded() -> list[dict[str, Any]]:
    """For each case its operands and attributes, and in float64 the value and the slope of its sum."""
    found: list[dict[str, Any]] = []
    for name, predictions, targets, attrs in CASES:
        x = torch.tensor(predictions, dtype=torch.float64, requires_grad=True)
        y = torch.tensor(targets, dtype=torch.int64 if name == "softmax_cross_entropy" else torch.float64)
        loss = value(name, x, y, attrs)
        (slope,) = torch.autograd.grad(loss.sum(), x)
        found.append(
            {
                "name": name, "predictions": predictions, "targets": targets, "attrs": attrs,
                "value": loss.tolist(), "slope": slope.tolist(),
            }
        )  # fmt: skip
    return found


if __name__ == "__main__":
    path = Path(__file__).parents[1] / "data" / "losses.json"
    path.write_text(
        "[\n" + ",\n".join(f"  {json.dumps(case)}" for case in recorded()) + "\n]\n", encoding="utf-8"
    )
