"""The weights of a Mamba, as `mamba.relay` takes them."""

from functools import cached_property
from typing import Any

import numpy as np

from relay.models.settings import Settings
from relay.models.source import Source, wrong_shape
from relay.models.values import Made, made

Array = np.ndarray[Any, Any]


class Mamba:
    """A model that is being put together of the tensors in a file."""

    def __init__(self, settings: Settings, source: Source) -> None:
        """Nothing is read yet."""
        self.s, self.source = settings, source

    @cached_property
    def shape(self) -> tuple[int, int, int, int]:
        """How many numbers of a token have states, of which size; taps; the rank of steps (`model-file`)."""
        filters, steps = self.source.need("blk.0.ssm_conv1d"), self.source.need("blk.0.ssm_dt")
        decay = self.tensor("blk.0.ssm_a")
        if decay.ndim != 2 or len(steps.shape) != 2 or not 2 <= filters.ndim <= 3:
            wrong_shape("blk.0.ssm_a", decay.shape, (0, 0))
        return decay.shape[0], decay.shape[1], filters.shape[-1], steps.shape[1]

    def tensor(self, name: str) -> Array:
        """A tensor whose name has no `.weight` behind it in checkpoints (`model-file`)."""
        found = self.source.find(name, "")
        return self.source.need(name) if found is None else found

    def sizes(self) -> dict[str, int]:
        """The dimensions of `Model`, in order."""
        inner, size, taps, rank = self.shape
        return {
            "vocab": self.s.vocabulary, "d": self.s.width, "kv": inner, "size": size, "taps": taps,
            "rank": rank,
        }  # fmt: skip

    def value(self) -> Made:
        """All weights: a `Model` (`model-file`, `model-unsupported`)."""
        s, source = self.s, self.source
        tokens = source.matrix("token_embd", s.vocabulary, s.width)
        head = source.matrix("output", s.vocabulary, s.width) if source.has("output") else tokens
        return made("Model", tokens, [self.layer(i) for i in range(s.layers)], self.norm("output_norm"), head)

    def norm(self, name: str) -> Made:
        """A norm."""
        weight = self.source.vector(name, self.s.width)
        return made("RootMeanSquare", self.source.need(name) if weight is None else weight, self.s.epsilon)

    def layer(self, i: int) -> Made:
        """One layer."""
        inner, size, taps, rank = self.shape
        source, at, width = self.source, f"blk.{i}.", self.s.width
        filters = np.ascontiguousarray(source.need(at + "ssm_conv1d"), "float32").reshape(-1, taps)
        source.check(at + "ssm_conv1d", filters, (inner, taps))
        bias = source.vector(at + "ssm_conv1d", inner, ".bias")
        decay = np.ascontiguousarray(self.tensor(at + "ssm_a"), "float32")
        source.check(at + "ssm_a", decay, (inner, size))
        skip = np.ascontiguousarray(self.tensor(at + "ssm_d"), "float32")
        source.check(at + "ssm_d", skip, (inner,))
        return made(
            "Layer", self.norm(at + "attn_norm"), source.matrix(at + "ssm_in", 2 * inner, width), filters,
            np.zeros(inner, "float32") if bias is None else bias,
            source.matrix(at + "ssm_x", rank + 2 * size, inner), source.matrix(at + "ssm_dt", inner, rank),
            decay, skip, source.matrix(at + "ssm_out", width, inner),
        )  # fmt: skip
