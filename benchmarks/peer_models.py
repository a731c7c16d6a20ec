"""The models that are measured: as Relay programs with weights and inputs, as functions over an array library
for those that have no format of their own (`Ops`), and as ONNX models.

PyTorch and JAX get convolutions with the statistics of batch normalisation folded into their weights, as
Relay, ONNX Runtime and OpenVINO fold them themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

import relay
from relay import testing
from relay.ir.expr import Call, Expr, Function, TupleGetItem, Var
from relay.ir.type import TupleType
from relay.ir.walk import rewrite
from relay.op.nn.activation import Softmax
from relay.op.nn.norm import BatchNorm
from relay.testing import layers, resnet
from relay.testing.mobilenet_v2 import STAGES

Arrays = dict[str, Any]
BERT, GPT2 = {"length": 128}, {"length": 64}
HIDDEN, STEPS = 512, 64
RATE = 1e-3
"""How far a step of training goes."""


class Ops(Protocol):
    """What a model is written in: the functions of an array library, on its own arrays."""

    def __getattr__(self, name: str) -> Callable[..., Any]: ...


@dataclass
class Model:
    """A model: its program, its weights by name, its inputs in order."""

    mod: relay.IRModule
    params: Arrays
    inputs: Arrays
    forward: Callable[[Any, Arrays, Arrays], Any]
    """`forward(ops, weights, inputs)` on the arrays of a library."""
    bars: tuple[float, float]
    """How many times as fast as the best peer it is to be, on one thread and on two."""
    tolerance: float = 2e-3
    onnx: Callable[[Arrays], Any] | None = None
    """Its model where `to_onnx` cannot write it."""
    trains: bool = False
    """Whether `forward` is a loss, and what is measured a step of gradient descent on the weights."""
    folded: Arrays = field(default_factory=dict)
    """The weights that `forward` takes."""

    def __post_init__(self) -> None:
        self.params = {name: varied(x) for name, x in self.params.items()}
        self.folded = self.params if self.trains else folded(self.params)


def varied(x: Any) -> Any:
    """A vector, which workloads fill with ones or zeros, a little off, so that no system may leave it out."""
    return x + abs(random(x.size, scale=0.1)) if x.ndim == 1 else x


def folded(params: Arrays) -> Arrays:
    """Weights with batch normalisation (epsilon 1e-5) folded into the convolutions before it."""
    found = dict(params)
    for name in params:
        if name.endswith("_bn_gamma"):
            base = name.removesuffix("_bn_gamma")
            gamma, beta, mean, var = (
                found.pop(f"{base}_bn_{k}") for k in ("gamma", "beta", "moving_mean", "moving_var")
            )
            scale = gamma / np.sqrt(var + 1e-5)
            found[f"{base}_weight"] = (params[f"{base}_weight"] * scale[:, None, None, None]).astype(
                "float32"
            )
            found[f"{base}_bias"] = (beta - mean * scale).astype("float32")
    return found


def random(*shape: int, scale: float = 1.0) -> Any:
    """Random float32 numbers, the same ones every time."""
    return (np.random.default_rng(sum(shape)).standard_normal(shape) * scale).astype("float32")


def tokens(count: int, length: int) -> Any:
    """Random numbers of tokens."""
    return np.random.default_rng(length).integers(0, count, (1, length)).astype("int32")


def mlp(batch: int) -> Model:
    """784-512-512-10 with rectifiers."""
    x: Any = relay.var("data", shape=(batch, 784), dtype="float32")
    for i, units in enumerate((512, 512, 10)):
        x = layers.dense_add_bias(x, units=units, name=f"fc{i}")
        x = relay.nn.relu(x) if i < 2 else x
    mod, params = testing.create_workload(layers.network(x))

    def forward(nn: Ops, p: Arrays, inputs: Arrays) -> Any:
        y = inputs["data"]
        for i in range(3):
            y = nn.linear(y, p[f"fc{i}_weight"], p[f"fc{i}_bias"])
            y = nn.relu(y) if i < 2 else y
        return y

    return Model(mod, params, {"data": random(batch, 784)}, forward, (1.0, 1.2))


LSTM = f"""
def @step(%t: int32, %into: Tensor[({STEPS}, 1, {4 * HIDDEN}), float32], %h: Tensor[(1, {HIDDEN}), float32],
          %c: Tensor[(1, {HIDDEN}), float32], %h2h_weight: Tensor[({4 * HIDDEN}, {HIDDEN}), float32])
    -> Tensor[(1, {HIDDEN}), float32] {{
  if (%t == {STEPS}) {{ %h }} else {{
    let %gates = split(take(%into, %t, axis=0) + nn.dense(%h, %h2h_weight), indices_or_sections=4, axis=1);
    let %next = sigmoid(%gates.1) * %c + sigmoid(%gates.0) * tanh(%gates.2);
    @step(%t + 1, %into, sigmoid(%gates.3) * tanh(%next), %next, %h2h_weight)
  }}
}}
def @main(%data: Tensor[({STEPS}, 1, {HIDDEN}), float32],
          %i2h_weight: Tensor[({4 * HIDDEN}, {HIDDEN}), float32],
          %bias: Tensor[({4 * HIDDEN},), float32], %h2h_weight: Tensor[({4 * HIDDEN}, {HIDDEN}), float32]) {{
  let %into = nn.bias_add(nn.dense(%data, %i2h_weight), %bias, axis=-1);
  let %zero = zeros(shape=(1, {HIDDEN}), dtype="float32");
  @step(0, %into, %zero, %zero, %h2h_weight)
}}
"""


def lstm() -> Model:
    """A layer of 512 units over 64 steps; the last hidden state."""
    scale = HIDDEN**-0.5
    params = {
        "i2h_weight": random(4 * HIDDEN, HIDDEN, scale=scale),
        "bias": random(4 * HIDDEN, scale=scale),
        "h2h_weight": random(HIDDEN, 4 * HIDDEN, scale=scale).T.copy(),
    }

    def forward(nn: Ops, p: Arrays, inputs: Arrays) -> Any:
        return nn.lstm(inputs["data"], p["i2h_weight"], p["h2h_weight"], p["bias"])

    inputs = {"data": random(STEPS, 1, HIDDEN)}
    mod = relay.infer(relay.parse(LSTM))
    return Model(mod, params, inputs, forward, (1.0, 1.2), onnx=lstm_onnx)


def lstm_onnx(params: Arrays) -> Any:
    """ONNX's own operator, whose gates are in the order input, output, forget, content."""
    from onnx import TensorProto, helper, numpy_helper

    def gates(x: Any) -> Any:
        i, f, c, o = np.split(x, 4)
        return np.concatenate([i, o, f, c])[None]

    weights = {
        "w": gates(params["i2h_weight"]), "r": gates(params["h2h_weight"]),
        "b": np.concatenate([gates(params["bias"]), np.zeros((1, 4 * HIDDEN), "float32")], 1),
        "axis": np.asarray([0]),
    }  # fmt: skip
    nodes = [
        helper.make_node("LSTM", ["data", "w", "r", "b"], ["", "h"], hidden_size=HIDDEN),
        helper.make_node("Squeeze", ["h", "axis"], ["y"]),
    ]
    x = helper.make_tensor_value_info("data", TensorProto.FLOAT, [STEPS, 1, HIDDEN])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, HIDDEN])
    graph = helper.make_graph(
        nodes, "lstm", [x], [y], [numpy_helper.from_array(a, n) for n, a in weights.items()]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


CHAIN = """
def @main(
  %data: Tensor[(4096, 1024), float32], %gamma: Tensor[(1024,), float32], %beta: Tensor[(1024,), float32]
) {
  let %y = %data * (erf(%data * 0.70710678f) * 0.5f + 0.5f);
  nn.softmax(nn.layer_norm(%y, %gamma, %beta))
}
"""


def chain() -> Model:
    """Gelu, layer normalisation and softmax of 4096 rows of 1024."""

    def forward(nn: Ops, p: Arrays, inputs: Arrays) -> Any:
        return nn.softmax(nn.layer_norm(nn.gelu(inputs["data"]), p["gamma"], p["beta"], 1e-5))

    params = {"gamma": random(1024), "beta": random(1024)}
    return Model(relay.infer(relay.parse(CHAIN)), params, {"data": random(4096, 1024)}, forward, (1.5, 1.5))


def convolved(nn: Ops, p: Arrays, x: Any, name: str, stride: int = 1, groups: int = 1) -> Any:
    """A convolution that keeps the size but for the stride, with its bias, or normalised as in training."""
    if f"{name}_bn_gamma" not in p:
        return nn.conv(x, p[f"{name}_weight"], p[f"{name}_bias"], stride, groups)
    y = nn.conv(x, p[f"{name}_weight"], None, stride, groups)
    return nn.batch_norm(y, p[f"{name}_bn_gamma"], p[f"{name}_bn_beta"])


def resnet_model(num_layers: int, batch: int = 1, scores: bool = False) -> Model:
    """ResNet for images of 224 by 224, to the chances of classes (or, for PyTorch and JAX, `scores`)."""
    mod, params = resnet.get_workload(batch, num_layers=num_layers)
    units, channels, deep = resnet.plan(num_layers, 224)

    def forward(nn: Ops, p: Arrays, inputs: Arrays) -> Any:
        x = nn.max_pool(nn.relu(convolved(nn, p, nn.image(inputs["data"]), "conv0", 2)))
        for i, n in enumerate(units):
            for j in range(n):
                name, stride = f"stage{i + 1}_unit{j + 1}", 2 if i and not j else 1
                y = nn.relu(convolved(nn, p, x, name + "_conv1", 1 if deep else stride))
                y = convolved(nn, p, y, name + "_conv2", stride if deep else 1)
                y = convolved(nn, p, nn.relu(y), name + "_conv3") if deep else y
                same = bool(j) or channels[i] == channels[i + 1]
                x = nn.relu(y + (x if same else convolved(nn, p, x, name + "_sc", stride)))
        y = nn.linear(nn.mean_of_image(x), p["fc1_weight"], p["fc1_bias"])
        return y if scores else nn.softmax(y)

    return Model(mod, params, {"data": random(batch, 3, 224, 224)}, forward, (1.0, 1.05))


def mobilenet_v2() -> Model:
    """MobileNetV2 for images of 224 by 224."""
    mod, params = testing.mobilenet_v2.get_workload()

    def forward(nn: Ops, p: Arrays, inputs: Arrays) -> Any:
        x, before = nn.relu6(convolved(nn, p, nn.image(inputs["data"]), "conv0", 2)), 32
        for i, (wider, after, count, first) in enumerate(STAGES):
            for j in range(count):
                name, stride = f"stage{i + 1}_unit{j + 1}", first if j == 0 else 1
                y = x if wider == 1 else nn.relu6(convolved(nn, p, x, name + "_expand"))
                y = nn.relu6(convolved(nn, p, y, name + "_depthwise", stride, before * wider))
                y = convolved(nn, p, y, name + "_project")
                x = x + y if stride == 1 and before == after else y
                before = after
        x = nn.mean_of_image(nn.relu6(convolved(nn, p, x, "conv1")))
        return nn.linear(x, p["fc1_weight"], p["fc1_bias"])

    return Model(mod, params, {"data": random(1, 3, 224, 224)}, forward, (1.0, 1.05))


def heads(nn: Ops, x: Any, count: int) -> Any:
    """`(1, n, h * d)` as `(1, h, n, d)`."""
    _, n, hidden = x.shape
    return nn.transpose(x.reshape(1, n, count, hidden // count), (0, 2, 1, 3))


def attended(nn: Ops, q: Any, k: Any, v: Any, causal: bool) -> Any:
    """Attention with 12 heads, joined again."""
    y = nn.attention(*[heads(nn, x, 12) for x in (q, k, v)], causal)
    return nn.transpose(y, (0, 2, 1, 3)).reshape(q.shape)


def bert() -> Model:
    """BERT-base on 128 tokens."""
    mod, params = testing.transformer.get_workload(**BERT)

    def forward(nn: Ops, p: Arrays, inputs: Arrays) -> Any:
        def dense(x: Any, name: str) -> Any:
            return nn.linear(x, p[name + "_weight"], p[name + "_bias"])

        def norm(x: Any, name: str) -> Any:
            return nn.layer_norm(x, p[name + "_gamma"], p[name + "_beta"], 1e-12)

        x = nn.take(p["token_embedding"], inputs["data"]) + p["position_embedding"][: BERT["length"]]
        x = norm(x + p["kind_embedding"][:1], "embedding_norm")
        for i in range(12):
            a = f"layer{i}_attention"
            q, k, v = (dense(x, f"{a}_{part}") for part in ("query", "key", "value"))
            x = norm(x + dense(attended(nn, q, k, v, False), a + "_output"), f"layer{i}_norm1")
            y = dense(nn.gelu(dense(x, f"layer{i}_fc1")), f"layer{i}_fc2")
            x = norm(x + y, f"layer{i}_norm2")
        return x, nn.tanh(dense(x[:, 0], "pooler"))

    return Model(mod, params, {"data": tokens(30522, BERT["length"])}, forward, (1.0, 1.0))


def gpt2() -> Model:
    """GPT-2 small on 64 tokens."""
    mod, params = testing.gpt2.get_workload(**GPT2)

    def forward(nn: Ops, p: Arrays, inputs: Arrays) -> Any:
        def dense(x: Any, name: str) -> Any:
            return nn.linear(x, p[name + "_weight"], p[name + "_bias"])

        def norm(x: Any, name: str) -> Any:
            return nn.layer_norm(x, p[name + "_gamma"], p[name + "_beta"], 1e-5)

        x = nn.take(p["token_embedding"], inputs["data"]) + p["position_embedding"][: GPT2["length"]]
        for i in range(12):
            name = f"layer{i}"
            qkv = dense(norm(x, name + "_norm1"), name + "_attention_qkv")
            y = attended(nn, *[qkv[..., 768 * j : 768 * (j + 1)] for j in range(3)], True)
            x = x + dense(y, name + "_attention_output")
            y = dense(norm(x, name + "_norm2"), name + "_fc1")
            x = x + dense(nn.gelu_tanh(y), name + "_fc2")
        return nn.linear(norm(x, "norm"), p["token_embedding"], None)

    return Model(mod, params, {"data": tokens(50257, GPT2["length"])}, forward, (1.0, 1.0))


def training(of: Model, classes: int) -> Model:
    """A step of gradient descent on a network, with the statistics of the batch in normalisations."""
    main = of.mod["main"]
    net = rewrite(Function(main.params, main.body), by_batch)
    batch = next(iter(of.inputs.values())).shape[0]
    data, *weights = relay.free_vars(relay.Tuple([net.body]))
    weights = sorted(weights, key=lambda v: v.name_hint)
    tree = Var("weights", TupleType([v.type_annotation for v in weights]))
    targets = relay.var("targets", shape=(batch, classes), dtype="float32")
    scores = relay.bind(net.body, {v: TupleGetItem(tree, i) for i, v in enumerate(weights)})
    chances = relay.nn.log_softmax(scores)
    loss = Function((tree, data, targets), relay.nn.cross_entropy_with_logits(chances, targets))
    typed = relay.infer(relay.IRModule.from_expr(loss))["main"]
    step = relay.optim.train_step(typed, relay.optim.sgd(RATE))
    mod = relay.infer(relay.IRModule.from_expr(step))

    def forward(nn: Ops, p: Arrays, inputs: Arrays) -> Any:
        return -(nn.log_softmax(of.forward(nn, p, inputs)) * inputs["targets"]).sum() / batch

    rows = np.eye(classes, dtype="float32")[np.arange(batch) % classes]
    params = {v.name_hint: of.params[v.name_hint] for v in weights}
    return Model(mod, params, of.inputs | {"targets": rows}, forward, (1.0, 1.0), trains=True)


def by_batch(e: Expr) -> Expr | None:
    """Normalisation by what the batch has, instead of what was kept; and scores, instead of chances."""
    match e:
        case TupleGetItem(Call(BatchNorm(epsilon=epsilon), (x, gamma, beta, *_)), 0):
            axes = (0, 2, 3)
            away = x - relay.mean(x, axes, True)
            spread = relay.mean(away * away, axes, True)
            gamma, beta = (relay.expand_dims(v, 1, 2) for v in (gamma, beta))
            return away * relay.rsqrt(spread + relay.const(epsilon)) * gamma + beta
        case Call(Softmax(), (x,)):
            return x
        case _:
            return None


def trained_resnet() -> Model:
    """ResNet-18 that is trained on four images."""
    return training(resnet_model(18, 4, scores=True), 1000)


MODELS: dict[str, Callable[[], Model]] = {
    "MLP, batch 1": lambda: mlp(1),
    "MLP, batch 64": lambda: mlp(64),
    "LSTM 512, 64 steps": lstm,
    "chain 4096 x 1024": chain,
    "ResNet-18": lambda: resnet_model(18),
    "ResNet-50": lambda: resnet_model(50),
    "MobileNetV2": mobilenet_v2,
    "BERT-base, 128 tokens": bert,
    "GPT-2 small, 64 tokens": gpt2,
    "training: MLP, batch 64": lambda: training(mlp(64), 10),
    "training: ResNet-18, batch 4": trained_resnet,
}


@lru_cache(maxsize=1)
def model(name: str) -> Model:
    """A model by its name."""
    return MODELS[name]()
