"""A transformer encoder.  Source: Vaswani et al., 2017; sizes and embeddings of BERT, Devlin et al., 2018."""

from math import sqrt
from typing import Any

import relay
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.testing import layers
from relay.testing.init import create_workload


def gelu_erf(x: Expr) -> Expr:
    """`x * (1 + erf(x / sqrt(2))) / 2`.  Source: Hendrycks and Gimpel, 2016."""
    return relay.multiply(x, relay.add(relay.multiply(relay.erf(relay.multiply(x, sqrt(0.5))), 0.5), 0.5))


def norm(x: Expr, name: str, epsilon: float = 1e-12) -> Expr:
    """Layer normalisation with `name_gamma` and `name_beta`."""
    return relay.nn.layer_norm(x, relay.var(name + "_gamma"), relay.var(name + "_beta"), epsilon=epsilon)


def attention(x: Expr, batch_size: int, length: int, hidden: int, heads: int, name: str) -> Expr:
    """Each place as a mixture of all places, in each head, by the likeness of queries and keys."""
    size = hidden // heads

    def projected(part: str) -> Expr:
        y = layers.dense_add_bias(x, units=hidden, name=f"{name}_{part}")
        y = relay.transpose(relay.reshape(y, (batch_size, length, heads, size)), axes=(0, 2, 1, 3))
        return relay.reshape(y, (batch_size * heads, length, size))

    likeness = relay.multiply(relay.nn.batch_matmul(projected("query"), projected("key")), 1 / sqrt(size))
    mixed = relay.nn.batch_matmul(relay.nn.softmax(likeness), projected("value"), transpose_b=False)
    mixed = relay.transpose(relay.reshape(mixed, (batch_size, heads, length, size)), axes=(0, 2, 1, 3))
    joined = relay.reshape(mixed, (batch_size, length, hidden))
    return layers.dense_add_bias(joined, units=hidden, name=name + "_output")


def encoder_layer(
    x: Expr, batch_size: int, length: int, hidden: int, heads: int, wide: int, name: str
) -> Expr:
    """Attention and a perceptron, each added to what it sees and normalised."""
    mixed = attention(x, batch_size, length, hidden, heads, name + "_attention")
    x = norm(relay.add(x, mixed), name + "_norm1")
    y = gelu_erf(layers.dense_add_bias(x, units=wide, name=name + "_fc1"))
    return norm(relay.add(x, layers.dense_add_bias(y, units=hidden, name=name + "_fc2")), name + "_norm2")


def get_net(
    batch_size: int = 1,
    length: int = 128,
    num_layers: int = 12,
    hidden: int = 768,
    heads: int = 12,
    wide: int | None = None,
    vocabulary: int = 30522,
    positions: int = 512,
    dtype: str = "float32",
) -> Expr:
    """`data (batch_size, length)`, int32 numbers of tokens, to the state at each and the pooled first one."""
    data = relay.var("data", shape=(batch_size, length), dtype="int32")
    token = relay.var("token_embedding", shape=(vocabulary, hidden), dtype=dtype)
    place = relay.var("position_embedding", shape=(positions, hidden), dtype=dtype)
    kind = relay.var("kind_embedding", shape=(2, hidden), dtype=dtype)
    x = relay.take(token, data, axis=0)
    x = relay.add(x, relay.strided_slice(place, begin=[0], end=[length], axes=[0]))
    x = norm(relay.add(x, relay.strided_slice(kind, begin=[0], end=[1], axes=[0])), "embedding_norm")
    for i in range(num_layers):
        x = encoder_layer(
            x, batch_size, length, hidden, heads, 4 * hidden if wide is None else wide, f"layer{i}"
        )
    first = relay.squeeze(relay.strided_slice(x, begin=[0], end=[1], axes=[1]), axis=[1])
    pooled = relay.tanh(layers.dense_add_bias(first, units=hidden, name="pooler"))
    return layers.network(relay.Tuple([x, pooled]))


def get_workload(
    batch_size: int = 1,
    length: int = 128,
    num_layers: int = 12,
    hidden: int = 768,
    heads: int = 12,
    wide: int | None = None,
    vocabulary: int = 30522,
    positions: int = 512,
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with parameters."""
    return create_workload(
        get_net(batch_size, length, num_layers, hidden, heads, wide, vocabulary, positions, dtype)
    )
