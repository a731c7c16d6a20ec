"""Kernels as functions of the loop IR: built by a schedule, verified, called by the loops of operators."""

from collections.abc import Callable, Sequence

from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.nodes import Function, Value, Var
from relay.backend.native.loops.value_builder import Scope
from relay.backend.native.loops.verify import VERIFIES, verify
from relay.ir.expr import Tuple

NOWHERE = Tuple(())
"""Where a kernel fails: nowhere, it checks nothing."""


def kernel_function(
    name: str, params: Sequence[tuple[str, str]], build: Callable[[Builder, Sequence[Value]], None]
) -> Function:
    """A kernel that takes `params`, names and dtypes; `build` adds what it does."""
    given = tuple([Var(dtype, name) for name, dtype in params])
    scope = Scope()
    build(Builder(None, scope, NOWHERE), given)
    body = scope.built()
    if VERIFIES:
        verify(body, given)
    return Function(name, given, body)
