"""The array module that references are given where XLA computes them."""

from collections.abc import Callable
from typing import Any

from relay.backend.xla.blocks import written
from relay.backend.xla.checks import Checks
from relay.backend.xla.convolutions import SHORT_FLOATS
from relay.backend.xla.layout import Layout
from relay.backend.xla.operators import applied_operator


class Namespace:
    """`jax.numpy`, with what `relay.op.traced.Tracing` asks for beside it."""

    def __init__(self, jax: Any, checks: Checks, layout: Layout | None = None) -> None:
        """`checks` takes what is required; `layout` says which devices arrays are split over."""
        self.jax = jax
        self.checks = checks
        self.layout = layout

    def __getattr__(self, name: str) -> Any:
        return getattr(self.jax.numpy, name)

    def require(self, ok: Any, code: str, message: str, hint: str = "") -> None:
        """Let the program fail where an element of `ok` is false."""
        self.checks.require(ok, code, message, hint)

    def loop(self, count: int, step: Callable[[Any, Any], Any], state: Any) -> Any:
        """`state` after `state = step(i, state)` for each `i` below `count`."""

        def body(i: Any, carried: tuple[Any, Any]) -> tuple[Any, Any]:
            self.checks.failed, before = carried
            after = step(i, before)
            return self.checks.failed, after

        start = (self.jax.numpy.asarray(self.checks.failed), state)
        self.checks.failed, found = self.jax.lax.fori_loop(0, count, body, start)
        return found

    def sharded(self, x: Any, spec: Any) -> Any:
        """An array that is split over the devices of the mesh, if there is one (`bad-sharding`)."""
        return x if self.layout is None else self.layout.constrained(x, spec, self.checks.span)

    def matrix_product(self, a: Any, b: Any, dtype: Any) -> Any:
        """`a @ b` added up in `dtype`.  Short floats are multiplied as they are, for which TPUs and GPUs have
        units of their own.
        """
        if a.dtype != b.dtype or str(a.dtype) not in SHORT_FLOATS:
            a, b = a.astype(dtype), b.astype(dtype)
        return self.jax.numpy.matmul(a, b, preferred_element_type=dtype)

    def placed(self, x: Any, at: Any, values: Any) -> Any:
        """`x` with `values` at distinct places."""
        return written(self.jax, x, at, values)

    def operator(self, op: Any, *operands: Any) -> Any:
        """The value of an operator on operands, of which some may be known."""
        return applied_operator(self, op, operands)

    def array(self, x: Any) -> Any:
        """A tensor as an array of JAX, of its own dtype whatever it meets."""
        if isinstance(x, self.jax.Array) and not x.weak_type:
            return x
        return self.jax.numpy.asarray(x, x.dtype)
