"""Compiling, executors and parameters, by the module name that people know."""

from relay.driver.compilation import build
from relay.driver.executor import create_executor
from relay.ir.bind import bind_params_by_name

__all__ = ["bind_params_by_name", "build", "create_executor"]
