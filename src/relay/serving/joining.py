"""Requests in one call: what may be joined, and how results are split again."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from relay.serving.model import Array, Joining, Model


def kind_of(model: Model, arrays: Sequence[Array]) -> tuple[Hashable, int]:
    """What requests have in common that are joined, and how many rows this one has; None is never joined."""
    if model.joining is Joining.STACKED:
        return tuple([x.shape for x in arrays]), 1
    if model.joining is Joining.ROWS:
        return tuple([x.shape[1:] for x in arrays]), arrays[0].shape[0]
    return None, 1


def run_joined(model: Model, requests: Sequence[Sequence[Array]]) -> list[Any]:
    """The outputs for each request, or what it raised: in one call, or where that fails each by itself."""
    if len(requests) > 1:
        try:
            return _together(model, requests)
        except Exception:  # whose fault it is, the calls one by one say
            return [_alone(model, arrays) for arrays in requests]
    return [_alone(model, requests[0])]


def _alone(model: Model, arrays: Sequence[Array]) -> Any:
    try:
        return model(arrays)
    except Exception as error:
        return error


def _together(model: Model, requests: Sequence[Sequence[Array]]) -> list[Any]:
    """One call for requests of one kind."""
    columns = list(zip(*requests, strict=True))
    if model.joining is Joining.STACKED:
        found = model.stacked([np.stack(column) for column in columns])
        _expect_rows(found, len(requests))
        return [[y[i] for y in found] for i in range(len(requests))]
    found = model([np.concatenate(column) for column in columns])
    ends = np.cumsum([arrays[0].shape[0] for arrays in requests]).tolist()
    _expect_rows(found, ends[-1])
    return [[y[begin:end] for y in found] for begin, end in zip([0, *ends], ends, strict=False)]


def _expect_rows(outputs: Sequence[Array], count: int) -> None:
    """Refuse outputs that cannot be split: then requests are computed one by one."""
    if any(y.ndim == 0 or y.shape[0] != count for y in outputs):
        raise ValueError(f"an output of a batch does not have {count} rows")
