"""A transformer decoder.  Source: Radford et al., 2019 (GPT-2)."""

from math import pi, sqrt
from typing import Any

import numpy as np

import relay
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.testing import layers
from relay.testing.init import create_workload
from relay.testing.transformer import norm

FORBIDDEN = -1e9
"""Added to the scores of a position and those after it."""


def gelu_tanh(x: Expr) -> Expr:
    """The approximation by `tanh`.  Source: Hendrycks and Gimpel, 2016."""
    cube = relay.multiply(relay.multiply(relay.multiply(x, x), x), 0.044715)
    bent = relay.tanh(relay.multiply(relay.add(x, cube), sqrt(2 / pi)))
    return relay.multiply(relay.multiply(x, 0.5), relay.add(bent, 1.0))


def causal_attention(
    x: Expr, batch_size: int, length: int, hidden: int, heads: int, name: str, dtype: str = "float32"
) -> Expr:
    """Each place as a mixture of itself and those before it, in each head."""
    size = hidden // heads
    parts = relay.split(layers.dense_add_bias(x, units=3 * hidden, name=name + "_qkv"), 3, axis=-1)

    def of_heads(part: Expr) -> Expr:
        y = relay.transpose(relay.reshape(part, (batch_size, length, heads, size)), axes=(0, 2, 1, 3))
        return relay.reshape(y, (batch_size * heads, length, size))

    query, key, value = map(of_heads, parts)
    likeness = relay.multiply(relay.nn.batch_matmul(query, key), 1 / sqrt(size))
    later = np.triu(np.full((length, length), FORBIDDEN, "float32"), 1)
    mixed = relay.nn.batch_matmul(
        relay.nn.softmax(relay.add(likeness, relay.const(later, dtype))), value, transpose_b=False
    )
    mixed = relay.transpose(relay.reshape(mixed, (batch_size, heads, length, size)), axes=(0, 2, 1, 3))
    joined = relay.reshape(mixed, (batch_size, length, hidden))
    return layers.dense_add_bias(joined, units=hidden, name=name + "_output")


def block(
    x: Expr, batch_size: int, length: int, hidden: int, heads: int, name: str, dtype: str = "float32"
) -> Expr:
    """Attention and a perceptron, each on what is normalised, and added to it."""
    normed = norm(x, name + "_norm1", epsilon=1e-5)
    mixed = causal_attention(normed, batch_size, length, hidden, heads, name + "_attention", dtype)
    x = relay.add(x, mixed)
    y = layers.dense_add_bias(norm(x, name + "_norm2", epsilon=1e-5), units=4 * hidden, name=name + "_fc1")
    return relay.add(x, layers.dense_add_bias(gelu_tanh(y), units=hidden, name=name + "_fc2"))


def get_net(
    batch_size: int = 1,
    length: int = 64,
    num_layers: int = 12,
    hidden: int = 768,
    heads: int = 12,
    vocabulary: int = 50257,
    positions: int = 1024,
    dtype: str = "float32",
) -> Expr:
    """`data (batch_size, length)`, int32 numbers of tokens, to the scores of the token that follows each."""
    data = relay.var("data", shape=(batch_size, length), dtype="int32")
    token = relay.var("token_embedding", shape=(vocabulary, hidden), dtype=dtype)
    place = relay.var("position_embedding", shape=(positions, hidden), dtype=dtype)
    x = relay.take(token, data, axis=0)
    x = relay.add(x, relay.strided_slice(place, begin=[0], end=[length], axes=[0]))
    for i in range(num_layers):
        x = block(x, batch_size, length, hidden, heads, f"layer{i}", dtype)
    return layers.network(relay.nn.dense(norm(x, "norm", epsilon=1e-5), token))


def get_workload(
    batch_size: int = 1,
    length: int = 64,
    num_layers: int = 12,
    hidden: int = 768,
    heads: int = 12,
    vocabulary: int = 50257,
    positions: int = 1024,
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with parameters."""
    return create_workload(
        get_net(batch_size, length, num_layers, hidden, heads, vocabulary, positions, dtype)
    )
