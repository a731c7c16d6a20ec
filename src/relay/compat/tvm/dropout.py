"""Dropout as scripts call it: with the rate, and without a key, so that nothing is dropped."""

from typing import Any

from relay.ir.expr import Expr
from relay.op import nn

__all__ = ["dropout", "dropout_raw"]


def dropout(data: Expr, rate: float = 0.5) -> Any:
    """Return the data, which `rate` says nothing about where nothing is trained."""
    return nn.dropout(data, rate=float(rate))


def dropout_raw(data: Expr, rate: float = 0.5) -> Any:
    """Return the pair of the data and a mask of ones."""
    return nn.dropout_raw(data, rate=float(rate))
