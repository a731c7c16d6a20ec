"""Quantisation as scripts call it: a program in which nothing is quantised is given back as it is."""

from typing import Any

from relay.diagnostic import RelayError
from relay.quantize import api

__all__ = ["quantize"]


def quantize(mod: Any, params: Any = None, dataset: Any = None) -> Any:
    """A program in small integers, as the current `qconfig` says; `dataset` has examples for it."""
    try:
        return api.quantize(mod, params, dataset)
    except RelayError as error:
        if error.codes != ("nothing-to-quantize",):
            raise
        return mod if not params else _bound(mod, params)


def _bound(mod: Any, params: Any) -> Any:
    from relay.build_module import bind_params_by_name

    made = mod.copy()
    made["main"] = bind_params_by_name(made["main"], params)
    return made
