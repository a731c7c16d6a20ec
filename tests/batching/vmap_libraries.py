"""What functions to be batched are written in: Relay, and JAX in the same words."""

from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

import relay
from relay import nn
from relay import numpy as rnp


class Ours:
    """Relay."""

    np = rnp
    vmap, cond, while_loop, fori, scan = (
        staticmethod(f) for f in (relay.vmap, relay.cond, relay.while_loop, relay.fori, relay.scan)
    )
    softmax = staticmethod(nn.softmax)
    log_softmax = staticmethod(nn.log_softmax)
    relu, sigmoid, erf = staticmethod(nn.relu), staticmethod(relay.sigmoid), staticmethod(relay.erf)
    logsumexp = staticmethod(relay.logsumexp)

    def grad(self, f: Any) -> Any:
        return lambda *xs: relay.value_and_grad(f, 0)(*xs)[1]

    def jvp(self, f: Any, x: Any, v: Any) -> Any:
        return relay.jvp(f)((x,), (v,))[1]

    def vjp(self, f: Any, x: Any, v: Any) -> Any:
        return relay.vjp(f)(x)[1](v)[0]

    def jacobian(self, f: Any) -> Any:
        return relay.jacobian(f)

    def gelu(self, x: Any) -> Any:
        return nn.gelu(x)

    def einsum(self, equation: str, *xs: Any) -> Any:
        return relay.einsum(xs, equation=equation)

    def cummax(self, x: Any) -> Any:
        return relay.cummax(x, axis=0)[0]

    def switch(self, i: Any, branches: Any, x: Any) -> Any:
        return relay.switch(i, branches, x)

    def checkpoint(self, f: Any) -> Any:
        return lambda x: f(relay.annotation.checkpoint(x))

    def stop(self, x: Any) -> Any:
        return relay.stop_gradient(x)

    def one_hot(self, i: Any, depth: int, like: Any) -> Any:
        return (rnp.expand_dims(i, axis=-1) == rnp.arange(depth)) * like

    def conv(self, x: Any, w: Any, strides: Any, padding: Any, groups: int = 1, dilation: int = 1) -> Any:
        op = {1: nn.conv1d, 2: nn.conv2d, 3: nn.conv3d}[len(strides)]
        lo, hi = zip(*padding, strict=True)
        return op(
            x, w, strides=strides, padding=(*lo, *hi), groups=groups, dilation=(dilation,) * len(strides)
        )

    def max_pool(self, x: Any) -> Any:
        return nn.max_pool2d(x, pool_size=(2, 2), strides=(2, 2))

    def avg_pool(self, x: Any) -> Any:
        return nn.avg_pool2d(x, pool_size=(2, 2), strides=(1, 1))

    def compiled(self, f: Any, dtype: str) -> Any:
        return relay.compile(f) if dtype == "float32" else relay.function(f)


class Theirs:
    """JAX."""

    def __init__(self) -> None:
        self.jax: Any = import_module("jax")
        self.lax: Any = import_module("jax.lax")
        self.np: Any = import_module("jax.numpy")
        self.vmap, self.fori, self.while_loop = self.jax.vmap, self.lax.fori_loop, self.lax.while_loop
        self.cond, self.scan, self.switch = self.lax.cond, self.lax.scan, self.lax.switch
        f: Any = import_module("jax.nn")
        self.softmax, self.log_softmax, self.relu, self.sigmoid = f.softmax, f.log_softmax, f.relu, f.sigmoid
        special: Any = import_module("jax.scipy.special")
        self.erf, self.logsumexp = special.erf, special.logsumexp
        self.gelu = partial(f.gelu, approximate=False)
        self.grad, self.jacobian, self.checkpoint = self.jax.grad, self.jax.jacobian, self.jax.checkpoint
        self.einsum, self.cummax, self.stop = self.np.einsum, self.lax.cummax, self.lax.stop_gradient

    def jvp(self, f: Any, x: Any, v: Any) -> Any:
        return self.jax.jvp(f, (x,), (v,))[1]

    def vjp(self, f: Any, x: Any, v: Any) -> Any:
        return self.jax.vjp(f, x)[1](v)[0]

    def one_hot(self, i: Any, depth: int, like: Any) -> Any:
        return self.jax.nn.one_hot(i, depth, dtype=like.dtype) * like

    def conv(self, x: Any, w: Any, strides: Any, padding: Any, groups: int = 1, dilation: int = 1) -> Any:
        return self.lax.conv_general_dilated(
            x, w, strides, padding, feature_group_count=groups, rhs_dilation=(dilation,) * len(strides)
        )

    def max_pool(self, x: Any) -> Any:
        return self.lax.reduce_window(x, -np.inf, self.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def avg_pool(self, x: Any) -> Any:
        return self.lax.reduce_window(x, 0.0, self.lax.add, (1, 1, 2, 2), (1, 1, 1, 1), "VALID") / 4

    def compiled(self, f: Any, dtype: str) -> Any:
        return self.jax.jit(f)
