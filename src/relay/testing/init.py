"""Parameters for networks: what a function still needs besides its data, and numbers to fill it with."""

from math import prod
from typing import Any

import numpy as np

from relay.ir.dtype import to_numpy
from relay.ir.expr import Expr, Function
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.typecheck.infer import infer

INPUTS = ("data", "steps")
"""What a network is about, by name: every other tensor is a parameter."""
STATISTICS = ("moving_mean", "moving_var")


class Initializer:
    """Fills an array in place, by the parameter's name: `initializer("conv1_weight", array)`."""

    rng = np.random.default_rng(0)

    def __call__(self, name: str, array: np.ndarray[Any, Any]) -> None:
        if name.endswith(("bias", "beta", "moving_mean")):
            array[...] = 0
        elif name.endswith(("gamma", "moving_var")):
            array[...] = 1
        elif name.endswith(("weight", "embedding")):
            self.weight(array)
        else:
            self.other(name, array)

    def weight(self, array: np.ndarray[Any, Any]) -> None:
        """Fill a weight."""
        raise TypeError(f"{type(self).__name__} must say how a weight is filled")

    def other(self, name: str, array: np.ndarray[Any, Any]) -> None:
        """Fill what no name convention covers."""
        raise ValueError(f"no rule fills the parameter {name}; name it …weight, …bias, …gamma, …beta")


class Xavier(Initializer):
    """Random weights whose scale keeps the size of signals from layer to layer.

    Source: Glorot and Bengio, 2010.
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        """`rnd_type` is "uniform" or "gaussian", `factor_type` "in", "out" or "avg"."""
        if rnd_type not in ("uniform", "gaussian") or factor_type not in ("in", "out", "avg"):
            raise ValueError(f"there is no Xavier({rnd_type!r}, {factor_type!r})")
        self.rnd_type, self.factor_type, self.magnitude = rnd_type, factor_type, magnitude

    def weight(self, array: np.ndarray[Any, Any]) -> None:
        """Fill a weight whose first axis is its outputs and whose second its inputs."""
        window = prod(array.shape[2:])
        out, into = array.shape[0] * window, (array.shape[1] if array.ndim > 1 else 1) * window
        factor = {"in": into, "out": out, "avg": (into + out) / 2}[self.factor_type]
        scale = float(np.sqrt(self.magnitude / max(1.0, factor)))
        drawn = np.empty(array.shape, "float32")
        if self.rnd_type == "uniform":
            self.rng.random(out=drawn, dtype=np.float32)
            drawn *= 2 * scale
            drawn -= scale
        else:
            self.rng.standard_normal(out=drawn, dtype=np.float32)
            drawn *= scale
        array[...] = drawn


class Constant(Initializer):
    """Weights that all are one number."""

    def __init__(self, value: float) -> None:
        """`value` fills every weight."""
        self.value = value

    def weight(self, array: np.ndarray[Any, Any]) -> None:
        """Fill a weight."""
        array[...] = self.value


def typed(net: Expr | IRModule) -> IRModule:
    """The module of a network, with every parameter typed."""
    return infer(net if isinstance(net, IRModule) else IRModule.from_expr(net))


def parameters(net: Expr | IRModule) -> dict[str, TensorType]:
    """The tensors a network takes besides its data, by name."""
    main = typed(net)["main"]
    assert isinstance(main, Function)
    return {
        v.name_hint: v.type_annotation
        for v in main.params
        if v.name_hint not in INPUTS and isinstance(v.type_annotation, TensorType)
    }


def count_parameters(net: Expr | IRModule) -> int:
    """How many numbers are trained: those of all parameters but moving statistics."""
    return sum(prod(t.concrete_shape) for name, t in parameters(net).items() if not name.endswith(STATISTICS))


def create_workload(
    net: Expr | IRModule, initializer: Initializer | None = None, seed: int = 0
) -> tuple[IRModule, dict[str, np.ndarray[Any, Any]]]:
    """The typed module of a network, and arrays for its parameters, by `Xavier()` or another initializer."""
    mod = typed(net)
    fill = Xavier() if initializer is None else initializer
    fill.rng = np.random.default_rng(seed)
    params: dict[str, np.ndarray[Any, Any]] = {}
    for name, t in parameters(mod).items():
        assert isinstance(t.dtype, str)
        array = params[name] = np.zeros(t.concrete_shape, to_numpy(t.dtype))
        fill(name, array)
    return mod, params
