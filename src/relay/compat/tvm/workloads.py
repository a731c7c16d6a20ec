"""Helpers of `tvm.relay.testing` whose arrays have `.numpy()`."""

from typing import Any

import numpy as np

from relay import testing
from relay.compat.tvm.arrays import NDArray, array
from relay.compat.tvm.checks import enabled_targets
from relay.compat.tvm.values import shown
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.ir.type import TensorType

__all__ = ["_np_randn_from_type", "ctx_list", "enabled_targets", "rand", "run_as_python"]

ctx_list = enabled_targets


def rand(dtype: str, *shape: int) -> NDArray:
    """Numbers evenly from 0 up to 1."""
    return array(testing.rand(dtype, *shape))


def run_as_python(expr: Expr, mod: IRModule | None = None, target: Any = "llvm") -> Any:
    """The value of an expression; a function is something to call."""
    del target
    return shown(testing.run_as_python(expr, mod))


def _np_randn_from_type(t: TensorType, scale: float = 1, mean: float = 0) -> np.ndarray[Any, Any]:
    return (mean + scale * np.random.randn(*t.concrete_shape)).astype(str(t.dtype))
