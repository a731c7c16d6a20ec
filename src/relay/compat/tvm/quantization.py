"""Quantisation as scripts call it: a program in which nothing is quantised is given back as it is."""

from typing import Any

from relay.compat.tvm.executors import bound_module
from relay.diagnostic import RelayError
from relay.quantize import api

__all__ = ["quantize"]


def quantize(mod: Any, params: Any = None, dataset: Any = None) -> Any:
    """A program in small integers, as the current `qconfig` says, calibrated with `dataset` if given."""
    try:
        return api.quantize(mod, params, dataset)
    except RelayError as error:
        if error.codes != ("nothing-to-quantize",):
            raise
        return bound_module(mod, params)
