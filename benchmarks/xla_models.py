"""Training steps that XLA is given: as Relay programs, and as losses that are written by hand in JAX."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import lax, nn
from jax import numpy as jnp
from peer_models import by_batch, varied

import relay
from relay import testing
from relay.ir.expr import Expr, Function, TupleGetItem, Var
from relay.ir.type import TupleType
from relay.ir.walk import rewrite
from relay.testing import layers, lstm, resnet
from relay.testing.recurrent import weights as recurrent_weights

Arrays = dict[str, Any]
RATE = 1e-2
"""How far a step of training goes."""
CLASSES = 10


@dataclass
class Step:
    """A step of gradient descent."""

    mod: relay.IRModule
    """`@main` takes the weights, the state of the optimiser and the batch: `(loss, weights, state)`."""
    weights: Arrays
    batch: Arrays
    loss: Callable[[Arrays, Arrays], Any]
    """The same loss on weights and batch, by hand."""

    def by_hand(self, weights: Arrays, batch: Arrays, dtype: str = "float32") -> tuple[Any, Arrays]:
        """The loss and the next weights, as JAX is asked for them: these in float32, all else in `dtype`."""

        def loss(p: Arrays) -> Any:
            return self.loss(*jax.tree.map(lambda x: as_float(x, dtype), (p, batch)))

        value, slopes = jax.value_and_grad(loss)(weights)
        return value, jax.tree.map(lambda w, d: w - RATE * d, weights, slopes)


def as_float(x: Any, dtype: str) -> Any:
    """Floats in a dtype, and integers as they are."""
    return x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x


def step_of(net: Any, targets: Var, loss_of: Callable[[Expr], Expr], loss: Any, batch: Arrays) -> Step:
    """A step on a network, whose `loss_of` its result is; all its variables but the data are weights."""
    mod, values = testing.create_workload(net)
    main = mod["main"]
    body = rewrite(Function(main.params, main.body), in_training).body
    variables = sorted(relay.free_vars(body), key=lambda v: v.name_hint)
    data = next(v for v in variables if v.name_hint == "data")
    weights = [v for v in variables if v is not data]
    tree = Var("weights", TupleType([v.type_annotation for v in weights]))
    result = relay.bind(body, {v: TupleGetItem(tree, i) for i, v in enumerate(weights)})
    whole = relay.infer(relay.IRModule.from_expr(Function((tree, data, targets), loss_of(result))))["main"]
    step = relay.optim.train_step(whole, relay.optim.sgd(RATE))
    named = {v.name_hint: varied(values[v.name_hint]) for v in weights}
    return Step(relay.infer(relay.IRModule.from_expr(step)), named, batch, loss)


def in_training(e: Expr) -> Expr | None:
    """Normalisation of images by what the batch has."""
    return by_batch(e) if isinstance(e, TupleGetItem) else None


def random(*shape: int) -> Any:
    """Random float32 numbers, the same ones every time."""
    return np.random.default_rng(sum(shape)).standard_normal(shape, "float32")


def linear(p: Arrays, name: str, x: Any) -> Any:
    return x @ p[name + "_weight"].T + p[name + "_bias"]


def cross_entropy(scores: Any, labels: Any) -> Any:
    """The mean over all labels."""
    logs = nn.log_softmax(scores.astype("float32"))
    return -jnp.take_along_axis(logs, labels[..., None], axis=-1).mean()


def relay_cross_entropy(targets: Expr, classes: int) -> Callable[[Expr], Expr]:
    """The same, of scores."""
    return lambda x: relay.nn.softmax_cross_entropy(
        relay.reshape(x, (-1, classes)), relay.reshape(targets, (-1,))
    )


def classified(net: Any, loss: Any, data: Any) -> Step:
    """A step on a network for classes, whose result are scores."""
    labels = np.arange(len(data), dtype="int32") % CLASSES
    targets = relay.var("targets", shape=labels.shape, dtype="int32")
    batch = {"data": data, "targets": labels}
    return step_of(net, targets, relay_cross_entropy(targets, CLASSES), loss, batch)


def mlp(batch: int = 64, width: int = 512) -> Step:
    """784-512-512-10 with rectifiers."""
    x: Any = relay.var("data", shape=(batch, 784), dtype="float32")
    for i, units in enumerate((width, width, CLASSES)):
        x = layers.dense_add_bias(x, units=units, name=f"fc{i}")
        x = relay.nn.relu(x) if i < 2 else x

    def loss(p: Arrays, inputs: Arrays) -> Any:
        y = inputs["data"]
        for i in range(3):
            y = linear(p, f"fc{i}", y)
            y = nn.relu(y) if i < 2 else y
        return cross_entropy(y, inputs["targets"])

    return classified(layers.network(x), loss, random(batch, 784))


def recurrent(rows: int = 8, units: int = 128, steps: int = 16) -> Step:
    """A layer of long short-term memory over steps that are unrolled, to the distance of its last state."""

    def loss(p: Arrays, inputs: Arrays) -> Any:
        into = linear(p, "i2h", inputs["data"])
        h = c = jnp.zeros((rows, units), into.dtype)
        for x in into:
            i, f, g, o = jnp.split(x + linear(p, "h2h", h), 4, axis=1)
            c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
            h = nn.sigmoid(o) * jnp.tanh(c)
        return ((h - inputs["targets"]) ** 2).mean()

    data = relay.var("data", shape=(steps, rows, units), dtype="float32")
    targets = relay.var("targets", shape=(rows, units), dtype="float32")
    weights, cell = recurrent_weights(units, 4, "float32"), lstm.lstm_cell(units, rows)
    sb = relay.ScopeBuilder()
    step = sb.let("cell", cell)
    h = c = relay.zeros((rows, units), "float32")
    for i in range(steps):
        state = sb.let(f"state{i}", relay.Call(step, [relay.take(data, i, axis=0), h, c, *weights]))
        h, c = TupleGetItem(state, 0), TupleGetItem(state, 1)
    sb.ret(h)

    def squares(y: Expr) -> Expr:
        return relay.mean(relay.power(relay.subtract(y, targets), relay.const(2.0)))

    batch = {"data": random(steps, rows, units), "targets": random(rows, units) * np.float32(0.1)}
    return step_of(Function([data, *weights], sb.get()), targets, squares, loss, batch)


def convolved(p: Arrays, x: Any, name: str, stride: int = 1) -> Any:
    """A convolution that keeps the size but for the stride, normalised by the batch."""
    weight = p[name + "_weight"]
    pads = [(weight.shape[2] // 2,) * 2] * 2
    y = lax.conv_general_dilated(
        x, weight, (stride, stride), pads, dimension_numbers=("NCHW", "OIHW", "NCHW")
    )
    away = y - y.mean((0, 2, 3), keepdims=True)
    near = away * lax.rsqrt((away * away).mean((0, 2, 3), keepdims=True) + 1e-5)
    return near * p[name + "_bn_gamma"][:, None, None] + p[name + "_bn_beta"][:, None, None]


def resnet_18(batch: int = 2, size: int = 64) -> Step:
    """ResNet-18."""
    units, channels, _ = resnet.plan(18, 224)

    def loss(p: Arrays, inputs: Arrays) -> Any:
        x = nn.relu(convolved(p, inputs["data"], "conv0", 2))
        x = lax.reduce_window(
            x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), [(0, 0), (0, 0), (1, 1), (1, 1)]
        )
        for i, n in enumerate(units):
            for j in range(n):
                name, stride = f"stage{i + 1}_unit{j + 1}", 2 if i and not j else 1
                y = convolved(p, nn.relu(convolved(p, x, name + "_conv1", stride)), name + "_conv2")
                same = bool(j) or channels[i] == channels[i + 1]
                x = nn.relu(y + (x if same else convolved(p, x, name + "_sc", stride)))
        return cross_entropy(linear(p, "fc1", x.mean((2, 3))), inputs["targets"])

    net = resnet.get_net(batch, CLASSES, 18, (3, size, size))
    net = Function(net.params, net.body.args[0])  # scores, in the place of chances
    return classified(net, loss, random(batch, 3, size, size))


def norm(p: Arrays, name: str, x: Any, epsilon: float) -> Any:
    away = x - x.mean(-1, keepdims=True)
    near = away * lax.rsqrt((away * away).mean(-1, keepdims=True) + epsilon)
    return near * p[name + "_gamma"] + p[name + "_beta"]


def attended(q: Any, k: Any, v: Any, *, heads: int, causal: bool) -> Any:
    """Attention in heads, joined again, of queries, keys and values `(n, length, hidden)`."""
    q, k, v = (x.reshape(*x.shape[:2], heads, -1) for x in (q, k, v))
    likeness = jnp.einsum("nqhd,nkhd->nhqk", q, k) * q.shape[-1] ** -0.5
    if causal:
        likeness = jnp.where(jnp.tri(q.shape[1], dtype=bool), likeness, -1e9)
    return jnp.einsum("nhqk,nkhd->nqhd", nn.softmax(likeness), v).reshape(*q.shape[:2], -1)


@dataclass(frozen=True)
class Transformer:
    """Sizes of a network from tokens to scores of tokens."""

    batch: int = 4
    length: int = 32
    depth: int = 2
    hidden: int = 64
    heads: int = 4
    vocabulary: int = 512

    @property
    def named(self) -> dict[str, int]:
        """As Relay's own workloads take them."""
        sizes = {"batch_size": self.batch, "length": self.length, "num_layers": self.depth}
        sizes |= {"hidden": self.hidden, "heads": self.heads, "vocabulary": self.vocabulary}
        return {**sizes, "positions": self.length}


def language_model(net: Expr, loss: Any, sizes: Transformer) -> Step:
    """A step on a network from tokens to scores of tokens."""
    rng = np.random.default_rng(0)
    data, labels = rng.integers(0, sizes.vocabulary, (2, sizes.batch, sizes.length)).astype("int32")
    targets = relay.var("targets", shape=labels.shape, dtype="int32")
    values = {"data": data, "targets": labels}
    return step_of(net, targets, relay_cross_entropy(targets, sizes.vocabulary), loss, values)


def gpt2(**given: int) -> Step:
    """GPT-2, narrow."""
    sizes = Transformer(**given)

    def loss(p: Arrays, inputs: Arrays) -> Any:
        x = p["token_embedding"][inputs["data"]] + p["position_embedding"]
        for i in range(sizes.depth):
            name = f"layer{i}"
            qkv = jnp.split(linear(p, f"{name}_attention_qkv", norm(p, name + "_norm1", x, 1e-5)), 3, -1)
            x = x + linear(p, f"{name}_attention_output", attended(*qkv, heads=sizes.heads, causal=True))
            y = linear(p, f"{name}_fc1", norm(p, name + "_norm2", x, 1e-5))
            x = x + linear(p, f"{name}_fc2", nn.gelu(y, approximate=True))
        return cross_entropy(norm(p, "norm", x, 1e-5) @ p["token_embedding"].T, inputs["targets"])

    return language_model(testing.gpt2.get_net(**sizes.named), loss, sizes)


def bert(**given: int) -> Step:
    """BERT, narrow, that predicts a token at each place and is asked for its pooled state too."""
    sizes = Transformer(**given)

    def loss(p: Arrays, inputs: Arrays) -> Any:
        x = p["token_embedding"][inputs["data"]] + p["position_embedding"]
        x = norm(p, "embedding_norm", x + p["kind_embedding"][:1], 1e-12)
        for i in range(sizes.depth):
            a = f"layer{i}_attention"
            mixed = attended(
                *[linear(p, f"{a}_{part}", x) for part in ("query", "key", "value")],
                heads=sizes.heads,
                causal=False,
            )
            x = norm(p, f"layer{i}_norm1", x + linear(p, a + "_output", mixed), 1e-12)
            y = linear(p, f"layer{i}_fc2", nn.gelu(linear(p, f"layer{i}_fc1", x), approximate=False))
            x = norm(p, f"layer{i}_norm2", x + y, 1e-12)
        pooled = jnp.tanh(linear(p, "pooler", x[:, 0]))
        return cross_entropy((x * pooled[:, None]) @ p["token_embedding"].T, inputs["targets"])

    both = testing.transformer.get_net(**sizes.named)
    x, pooled = both.body.fields
    table = next(v for v in both.params if v.name_hint == "token_embedding")
    scores = relay.nn.dense(relay.multiply(x, relay.expand_dims(pooled, axis=1)), table)
    return language_model(layers.network(scores), loss, sizes)


STEPS_MEASURED: dict[str, Callable[..., Step]] = {
    "MLP": mlp,
    "LSTM": recurrent,
    "ResNet-18": resnet_18,
    "GPT-2": gpt2,
    "BERT": bert,
}
TRANSFORMER = {"batch": 8, "length": 512, "depth": 6, "hidden": 1024, "heads": 16, "vocabulary": 32_000}
SIZES: dict[str, dict[str, dict[str, int]]] = {
    "small": {},
    "large": {
        "MLP": {"batch": 4096, "width": 4096},
        "LSTM": {"rows": 64, "units": 1024, "steps": 32},
        "ResNet-18": {"batch": 64, "size": 224},
        "GPT-2": TRANSFORMER,
        "BERT": TRANSFORMER,
    },
}
"""What models are given, where these are not their own sizes: for processors, and for accelerators."""
