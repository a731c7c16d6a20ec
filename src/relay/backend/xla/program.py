"""A program as it is traced, with what its definitions say about that."""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from relay.backend.xla.functions import Closure
from relay.backend.xla.layout import Layout
from relay.backend.xla.tail_calls import Loop, find_loop
from relay.interpreter.binding import constant_value
from relay.interpreter.placing import Plan, plan
from relay.ir.expr import Constant, Expr, Function, GlobalVar
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.typecheck.types import Types

EMBEDDED_BYTES = 1_024
"""Up to which size constants are part of the code; larger ones are its arguments, and lie on the device."""

MATMUL_PRECISIONS = {"highest": "highest", "fast": "default"}
"""How products of float32 numbers are computed, as JAX calls it: with all digits, or as the device does it
fastest, which on TPUs and newer GPUs is with fewer.
"""


class Program:
    """A module whose derivatives are expanded, and what is learned of it."""

    def __init__(self, mod: IRModule, jax: Any, matmul_precision: str = "highest") -> None:
        """`mod` is annotated; products of floats are in one of `MATMUL_PRECISIONS`."""
        self.mod = mod
        self.jax = jax
        self.matmul_precision = matmul_precision
        self.types = Types(mod)
        self.plans: dict[GlobalVar, Plan] = {}
        self.loops: dict[Function, Loop | None] = {}
        seen: set[Expr] = set()
        nodes = [e for f in mod.functions.values() for e in post_order(f, seen)]
        self.on_devices: dict[Layout, list[Any]] = {}
        self.constants = [e for e in nodes if isinstance(e, Constant) and is_large(e)]

    def context(self, device: Any) -> AbstractContextManager[None]:
        """What JAX is told while it traces and runs."""
        return xla_context(self.jax, device, self.matmul_precision)

    def placed(self, layout: Layout) -> list[Any]:
        """The values of `constants` where a layout has them, which they are brought to once."""
        found = self.on_devices.get(layout)
        if found is None:
            values = [constant_value(e) for e in self.constants]
            found = self.on_devices[layout] = layout.everywhere(values)
        return found

    def plan(self, name: GlobalVar) -> Plan:
        """The order in which a definition evaluates what it shares."""
        found = self.plans.get(name)
        if found is None:
            found = self.plans[name] = plan(self.mod.functions[name])
        return found

    def loop(self, f: Closure) -> Loop | None:
        """How a function calls itself last, if it does."""
        if f.function not in self.loops:
            self.loops[f.function] = find_loop(f)
        return self.loops[f.function]


@contextmanager
def xla_context(jax: Any, device: Any, matmul_precision: str = "highest") -> Generator[None]:
    """What JAX is told while it traces and runs: numbers of 64 bits stay, how products are computed."""
    precision = MATMUL_PRECISIONS[matmul_precision]
    with jax.enable_x64(True), jax.default_matmul_precision(precision), jax.default_device(device):
        yield


def first_line(error: Exception) -> str:
    """What an error says first."""
    return str(error).partition("\n")[0]


def is_large(e: Constant) -> bool:
    """Whether a constant is an argument of compiled code."""
    return e.type is not None and e.value.dtype != object and e.value.nbytes > EMBEDDED_BYTES
