"""Frequencies by which pairs of numbers are turned, as configurations say them.

Sources: Su et al., 2021; linear: Chen et al., 2023; dynamic: "NTK-aware scaling", 2023; yarn: Peng et
al., 2023; longrope: Ding et al., 2024; llama3: Grattafiori et al., 2024.
"""

from collections.abc import Mapping
from math import log, pi, sqrt
from typing import Any, cast

import numpy as np

from relay.models.settings import unsupported
from relay.models.values import Made, made

Array = np.ndarray[Any, Any]


def rotation(said: Mapping[str, Any], size: int, context: int, base: float = 10000.0) -> Made:
    """How `size` numbers of a head are turned, by the parameters of a configuration (`model-unsupported`).

    `context` is the number of tokens that the model was made for.
    """
    base = float(said.get("rope_theta", base))
    exponents = np.arange(0, size, 2) / size
    plain = base**-exponents
    kind = said.get("rope_type", said.get("type", "default"))
    original = int(said.get("original_max_position_embeddings") or context)
    factor = float(said.get("factor") or 1.0)
    match kind:
        case "default" | None:
            return fixed(plain)
        case "linear":
            return fixed(plain / factor)
        case "dynamic":
            power = size / max(size - 2, 1)
            return made("Growing", exponents.astype("float32"), base, factor, power, context)
        case "llama3":
            return fixed(llama3(plain, said, factor, original))
        case "yarn":
            return fixed(*yarn(plain, said, size, base, original))
        case "longrope" | "su":
            return longrope(plain, said, context, original)
        case _:
            unsupported(f"rotary embeddings of the kind {kind!r}")


def fixed(frequencies: Array, factor: float = 1.0) -> Made:
    """Frequencies that do not change."""
    return made("Rotation", frequencies.astype("float32"), factor)


def llama3(plain: Array, said: Mapping[str, Any], factor: float, original: int) -> Array:
    """Low frequencies divided by a factor, high ones as they are, smooth between."""
    low, high = float(said.get("low_freq_factor", 1.0)), float(said.get("high_freq_factor", 4.0))
    turns = original * plain / (2 * pi)
    smooth = np.clip((turns - low) / (high - low), 0, 1)
    return (1 - smooth) * plain / factor + smooth * plain


def yarn(plain: Array, said: Mapping[str, Any], size: int, base: float, original: int) -> tuple[Array, float]:
    """Frequencies between their own and those divided by a factor, by how often they turn; and a stretch."""
    factor = float(said.get("factor") or 1.0)
    fast, slow = float(said.get("beta_fast") or 32), float(said.get("beta_slow") or 1)

    def place(turns: float) -> float:
        """Which pair turns so often within the original context."""
        return size * log(original / (turns * 2 * pi)) / (2 * log(base))

    low, high = place(fast), place(slow)
    if said.get("truncate", True):
        low, high = np.floor(low), np.ceil(high)
    low, high = max(low, 0), min(high, size - 1)
    ramp = np.clip((np.arange(size // 2) - low) / ((high - low) or 0.001), 0, 1)
    stretch = said.get("attention_factor")
    if stretch is None:
        a, b = said.get("mscale"), said.get("mscale_all_dim")
        stretch = growth(factor, a) / growth(factor, b) if a and b else growth(factor)
    return plain / factor * ramp + plain * (1 - ramp), float(stretch)


def growth(factor: float, share: float = 1.0) -> float:
    """How much scores are stretched for a context that is longer by a factor."""
    return 1.0 if factor <= 1 else 0.1 * share * log(factor) + 1.0


def longrope(plain: Array, said: Mapping[str, Any], context: int, original: int) -> Made:
    """Frequencies divided by measured factors, others beyond the original context."""
    short, long = (factors(said.get(k), len(plain)) for k in ("short_factor", "long_factor"))
    stretch = said.get("attention_factor")
    if stretch is None:
        ratio = float(said.get("factor") or context / original)
        stretch = sqrt(1 + log(ratio) / log(original)) if ratio > 1 else 1.0
    frequencies = [(plain / x).astype("float32") for x in (short, long)]
    return made("ShortLong", *frequencies, float(stretch), original)


def factors(said: Any, count: int) -> Array:
    """Factors of frequencies (`model-unsupported`)."""
    if not isinstance(said, list) or len(cast("list[Any]", said)) != count:
        unsupported(f"not {count} factors of frequencies")
    return np.asarray(said, "float64")
