"""Caches before the first token, as the texts of families have them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from relay.models.values import Made, made

Sizes = Mapping[str, int]


def empty_state(sizes: Sizes, batch: int, length: int, dtype: str) -> Made:
    """What a layer keeps before the first token."""
    inputs = np.zeros((batch, sizes["taps"] - 1, sizes["kv"]), dtype)
    states = np.zeros((batch, sizes["kv"], sizes["size"]), dtype)
    return made("State", inputs, states, np.zeros((batch, length, 0), dtype))


def empty_keys(sizes: Sizes, batch: int, length: int, dtype: str) -> Made:
    """The keys and values of a layer of attention before the first token."""
    shape = (batch, length, sizes["kv"], sizes["size"])
    return made("KeysValues", np.zeros(shape, dtype), np.zeros(shape, dtype))


EMPTY: Mapping[str, Callable[[Sizes, int, int, Any], Made]] = {"llama": empty_keys, "mamba": empty_state}
"""The part of one layer, by the name of the text."""
