"""Networks as machine code, in PyTorch and in ONNX Runtime: milliseconds, and ratios with their intervals.

All take turns on the same number of threads.  A ratio is the median over the rounds; beside it stands the
lower end of its 95% bootstrap interval.  Usage: `python benchmarks/networks.py [--threads 1] [--rounds 30]
[NAME ...]`.
"""

import argparse
import io
import os
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import relay
from relay.testing import transformer

SETTINGS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RELAY_NUM_THREADS")
PAUSE, WARM = 0.02, 0.05
"""Seconds after which the threads of whoever came before have gone to sleep, and those of who comes next are
each on a core of its own.
"""

parser = argparse.ArgumentParser()
parser.add_argument("names", nargs="*")
parser.add_argument("--rounds", type=int, default=30)
parser.add_argument("--threads", type=int, default=1)
given = parser.parse_args()
os.environ |= dict.fromkeys(SETTINGS, str(given.threads))

torch: Any = import_module("torch")
onnxruntime: Any = import_module("onnxruntime")
F: Any = torch.nn.functional
rng = np.random.default_rng(0)


class Case(NamedTuple):
    """A program, its parameters, a module of PyTorch that computes the same, and what goes in."""

    mod: relay.IRModule
    params: dict[str, Any]
    module: Any
    inputs: Sequence[Any]


def numbers(*shape: int, scale: float = 1.0) -> Any:
    """Random float32 numbers."""
    return (rng.standard_normal(shape) * scale).astype("float32")


# --- transformers ---


class Encoder(torch.nn.Module):
    """`relay.testing.transformer` with the same parameters."""

    def __init__(self, params: dict[str, Any], layers: int, heads: int) -> None:
        """`params` by name."""
        torch.nn.Module.__init__(self)
        self.layers, self.heads = layers, heads
        for name, value in params.items():
            setattr(self, name, torch.nn.Parameter(torch.from_numpy(np.asarray(value))))

    def dense(self, x: Any, name: str) -> Any:
        """A dense layer."""
        return F.linear(x, getattr(self, name + "_weight"), getattr(self, name + "_bias"))

    def norm(self, x: Any, name: str) -> Any:
        """A layer normalisation."""
        gamma, beta = getattr(self, name + "_gamma"), getattr(self, name + "_beta")
        return F.layer_norm(x, x.shape[-1:], gamma, beta, 1e-12)

    def attention(self, x: Any, name: str, causal: bool = False) -> Any:
        """Self-attention by PyTorch's kernel."""
        batch, length, hidden = x.shape
        parts = [
            self.dense(x, f"{name}_{part}").view(batch, length, self.heads, -1).transpose(1, 2)
            for part in ("query", "key", "value")
        ]
        mixed = F.scaled_dot_product_attention(*parts, is_causal=causal)
        return self.dense(mixed.transpose(1, 2).reshape(batch, length, hidden), name + "_output")

    def forward(self, data: Any) -> Any:
        """The states and the pooled first one."""
        length = data.shape[1]
        x = F.embedding(data, self.token_embedding) + self.position_embedding[:length]
        x = self.norm(x + self.kind_embedding[:1], "embedding_norm")
        for i in range(self.layers):
            name = f"layer{i}"
            x = self.norm(x + self.attention(x, name + "_attention"), name + "_norm1")
            y = F.gelu(self.dense(x, name + "_fc1"))
            x = self.norm(x + self.dense(y, name + "_fc2"), name + "_norm2")
        return x, torch.tanh(self.dense(x[:, 0], "pooler"))


class Decoder(Encoder):
    """The same in the order of GPT-2: norms first, each place sees those before it, logits at the end."""

    def forward(self, data: Any) -> Any:
        """The logits."""
        x = F.embedding(data, self.token_embedding) + self.position_embedding[: data.shape[1]]
        for i in range(self.layers):
            name = f"layer{i}"
            x = x + self.attention(self.norm(x, name + "_norm1"), name + "_attention", causal=True)
            y = F.gelu(self.dense(self.norm(x, name + "_norm2"), name + "_fc1"), approximate="tanh")
            x = x + self.dense(y, name + "_fc2")
        return F.linear(self.norm(x, "norm"), self.token_embedding)


def bert(length: int = 128, layers: int = 12) -> Case:
    """BERT-base."""
    mod, params = transformer.get_workload(1, length, layers)
    values = {name: np.asarray(v.numpy() if hasattr(v, "numpy") else v) for name, v in params.items()}
    data = rng.integers(0, 30000, (1, length)).astype("int32")
    return Case(mod, values, Encoder(values, layers, 12), [data])


def gpt2(length: int = 64, layers: int = 12, hidden: int = 768, words: int = 50257) -> Case:
    """GPT-2 small."""
    heads = hidden // 64
    shapes: dict[str, tuple[int, ...]] = {
        "token_embedding": (words, hidden),
        "position_embedding": (1024, hidden),
        "norm_gamma": (hidden,),
        "norm_beta": (hidden,),
    }
    for i in range(layers):
        name = f"layer{i}"
        for part in ("query", "key", "value", "output"):
            shapes[f"{name}_attention_{part}_weight"] = (hidden, hidden)
            shapes[f"{name}_attention_{part}_bias"] = (hidden,)
        for part, n, k in (("fc1", 4 * hidden, hidden), ("fc2", hidden, 4 * hidden)):
            shapes |= {f"{name}_{part}_weight": (n, k), f"{name}_{part}_bias": (n,)}
        for part in ("norm1", "norm2"):
            shapes |= {f"{name}_{part}_gamma": (hidden,), f"{name}_{part}_beta": (hidden,)}
    values = {name: numbers(*shape, scale=0.02) for name, shape in shapes.items()}
    consts = {name: relay.var(name, shape=value.shape, dtype="float32") for name, value in values.items()}
    data = relay.var("data", shape=(1, length), dtype="int32")

    def dense(x: Any, name: str) -> Any:
        return relay.nn.bias_add(relay.nn.dense(x, consts[name + "_weight"]), consts[name + "_bias"], axis=-1)

    def norm(x: Any, name: str) -> Any:
        return relay.nn.layer_norm(x, consts[name + "_gamma"], consts[name + "_beta"], epsilon=1e-12)

    mask = relay.const(np.triu(np.full((length, length), -1e9, "float32"), 1))

    def attention(x: Any, name: str) -> Any:
        def part(of: str) -> Any:
            y = relay.reshape(dense(x, f"{name}_{of}"), (1, length, heads, 64))
            return relay.reshape(relay.transpose(y, axes=(0, 2, 1, 3)), (heads, length, 64))

        likeness = relay.nn.batch_matmul(part("query"), part("key")) * relay.const(np.float32(0.125)) + mask
        mixed = relay.nn.batch_matmul(relay.nn.softmax(likeness), part("value"), transpose_b=False)
        mixed = relay.transpose(relay.reshape(mixed, (1, heads, length, 64)), axes=(0, 2, 1, 3))
        return dense(relay.reshape(mixed, (1, length, hidden)), name + "_output")

    def gelu(x: Any) -> Any:
        inner = (x + relay.const(np.float32(0.044715)) * x * x * x) * relay.const(
            np.float32(np.sqrt(2 / np.pi))
        )
        return relay.const(np.float32(0.5)) * x * (relay.const(np.float32(1.0)) + relay.tanh(inner))

    x = relay.take(consts["token_embedding"], data, axis=0) + relay.strided_slice(
        consts["position_embedding"], begin=[0], end=[length], axes=[0]
    )
    for i in range(layers):
        name = f"layer{i}"
        x = x + attention(norm(x, name + "_norm1"), name + "_attention")
        x = x + dense(gelu(dense(norm(x, name + "_norm2"), name + "_fc1")), name + "_fc2")
    body = relay.nn.dense(norm(x, "norm"), consts["token_embedding"])
    mod = relay.IRModule.from_expr(relay.Function([data, *consts.values()], body))
    tokens = rng.integers(0, words, (1, length)).astype("int32")
    return Case(mod, values, Decoder(values, layers, heads), [tokens])


class Attention(torch.nn.Module):
    """PyTorch's kernel."""

    def forward(self, q: Any, k: Any, v: Any) -> Any:
        """Softmax(QK^T / sqrt(d)) V."""
        return F.scaled_dot_product_attention(q[None], k[None], v[None])[0]


def attention(heads: int, length: int, size: int) -> Case:
    """Attention alone."""
    shape = f"Tensor[({heads}, {length}, {size}), float32]"
    mod = relay.parse(f"""def @main(%q: {shape}, %k: {shape}, %v: {shape}) {{
      nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k) * {size**-0.5}f), %v, transpose_b=False)
    }}""")
    return Case(mod, {}, Attention(), [numbers(heads, length, size) for _ in range(3)])


# --- recurrent networks ---


def lstm(hidden: int = 512, steps: int = 64) -> Case:
    """A layer of long short-term memory over the steps of one sequence."""
    module = torch.nn.LSTM(hidden, hidden)
    w_ih, w_hh, b_ih, b_hh = [p.detach().numpy() for p in module.parameters()]
    x = relay.var("x", shape=(steps, 1, hidden), dtype="float32")
    names = {"w_ih": w_ih, "w_hh": w_hh, "b_ih": b_ih, "b_hh": b_hh}
    params = {n: relay.var(n, shape=v.shape, dtype="float32") for n, v in names.items()}
    sb = relay.ScopeBuilder()
    h: Any = relay.zeros((1, hidden), "float32")
    c: Any = h
    outs: list[Any] = []
    for i in range(steps):
        row = relay.take(x, relay.const(i), axis=0)
        first = relay.nn.bias_add(relay.nn.dense(row, params["w_ih"]), params["b_ih"], axis=-1)
        second = relay.nn.bias_add(relay.nn.dense(h, params["w_hh"]), params["b_hh"], axis=-1)
        gates = relay.split(first + second, 4, axis=1)
        c = relay.sigmoid(gates[1]) * c + relay.sigmoid(gates[0]) * relay.tanh(gates[2])
        c = sb.let(f"c{i}", c)
        h = sb.let(f"h{i}", relay.sigmoid(gates[3]) * relay.tanh(c))
        outs.append(h)
    sb.ret(relay.stack(outs, axis=0))
    mod = relay.IRModule.from_expr(relay.Function([x, *params.values()], sb.get()))

    class Outputs(torch.nn.Module):
        def __init__(self) -> None:
            torch.nn.Module.__init__(self)
            self.layer = module

        def forward(self, x: Any) -> Any:
            return self.layer(x)[0]

    return Case(mod, names, Outputs(), [numbers(steps, 1, hidden)])


def gru(hidden: int = 512, steps: int = 64) -> Case:
    """A layer of gated recurrent units."""
    module = torch.nn.GRU(hidden, hidden)
    w_ih, w_hh, b_ih, b_hh = [p.detach().numpy() for p in module.parameters()]
    x = relay.var("x", shape=(steps, 1, hidden), dtype="float32")
    names = {"w_ih": w_ih, "w_hh": w_hh, "b_ih": b_ih, "b_hh": b_hh}
    params = {n: relay.var(n, shape=v.shape, dtype="float32") for n, v in names.items()}
    sb = relay.ScopeBuilder()
    h: Any = relay.zeros((1, hidden), "float32")
    outs: list[Any] = []
    for i in range(steps):
        row = relay.take(x, relay.const(i), axis=0)
        first = relay.nn.bias_add(relay.nn.dense(row, params["w_ih"]), params["b_ih"], axis=-1)
        second = relay.nn.bias_add(relay.nn.dense(h, params["w_hh"]), params["b_hh"], axis=-1)
        a, b = relay.split(first, 3, axis=1), relay.split(second, 3, axis=1)
        r, z = relay.sigmoid(a[0] + b[0]), relay.sigmoid(a[1] + b[1])
        new = relay.tanh(a[2] + r * b[2])
        h = sb.let(f"h{i}", new + z * (h - new))
        outs.append(h)
    sb.ret(relay.stack(outs, axis=0))
    mod = relay.IRModule.from_expr(relay.Function([x, *params.values()], sb.get()))

    class Outputs(torch.nn.Module):
        def __init__(self) -> None:
            torch.nn.Module.__init__(self)
            self.layer = module

        def forward(self, x: Any) -> Any:
            return self.layer(x)[0]

    return Case(mod, names, Outputs(), [numbers(steps, 1, hidden)])


class Chain(torch.nn.Module):
    """Gelu, layer norm, softmax."""

    def forward(self, x: Any) -> Any:
        """One after the other."""
        return torch.softmax(F.layer_norm(F.gelu(x), x.shape[-1:]), -1)


def chain(rows: int = 4096, columns: int = 1024) -> Case:
    """Gelu, layer norm, softmax."""
    x = relay.var("x", shape=(rows, columns), dtype="float32")
    one, none = (relay.const(np.full(columns, v, "float32")) for v in (1, 0))
    body = relay.nn.softmax(relay.nn.layer_norm(transformer.gelu_erf(x), one, none, epsilon=1e-5))
    mod = relay.IRModule.from_expr(relay.Function([x], body))
    return Case(mod, {}, Chain(), [numbers(rows, columns)])


CASES: dict[str, Callable[[], Case]] = {
    "bert": bert,
    "gpt2": gpt2,
    "attention": lambda: attention(12, 128, 64),
    "attention 1024": lambda: attention(12, 1024, 64),
    "lstm": lstm,
    "gru": gru,
    "chain": chain,
}


# --- measuring ---


def by_onnxruntime(case: Case) -> Callable[[], Any]:
    """The module, exported."""
    out = io.BytesIO()
    names = [f"x{i}" for i in range(len(case.inputs))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        args = tuple([torch.from_numpy(x) for x in case.inputs])
        torch.onnx.export(case.module, args, out, input_names=names, opset_version=20, dynamo=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = given.threads
    session = onnxruntime.InferenceSession(out.getvalue(), options, providers=["CPUExecutionProvider"])
    feed = dict(zip(names, case.inputs, strict=True))
    return lambda: session.run(None, feed)


def flat(x: Any) -> list[Any]:
    """Results as arrays."""
    several: Any = x
    return [np.asarray(v) for v in several] if type(x) in (tuple, list) else [np.asarray(x)]


def seconds(f: Callable[[], Any]) -> float:
    """What a call takes, after another one."""
    time.sleep(PAUSE)
    start = time.perf_counter()
    while time.perf_counter() < start + WARM:
        f()
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def lower_end(ratios: Sequence[float]) -> float:
    """The lower end of the median's 95% bootstrap interval."""
    drawn = rng.choice(np.asarray(ratios), (1000, len(ratios)))
    return float(np.quantile(np.median(drawn, axis=1), 0.025))


def measure(name: str) -> None:
    """Print the row of a case."""
    case = CASES[name]()
    start = time.perf_counter()
    built = relay.build(case.mod, params=case.params)
    compiled = time.perf_counter() - start
    ours = partial(built["main"], *case.inputs)
    args = tuple([torch.from_numpy(x) for x in case.inputs])
    ways: list[Callable[[], Any]] = [ours, lambda: case.module(*args), by_onnxruntime(case)]
    with torch.inference_mode():
        expected = flat(ways[1]())
        for found in (flat(ours()), flat(ways[2]())):
            for x, y in zip(found, expected, strict=False):
                np.testing.assert_allclose(x.reshape(y.shape), y, rtol=1e-2, atol=1e-3)
        for f in ways:
            f()
        times = [[seconds(f) for f in ways] for _ in range(given.rounds)]
    each = [median(column) * 1000 for column in zip(*times, strict=True)]
    ratios = [[row[i] / row[0] for row in times] for i in (1, 2)]
    print(f"{name:16}{compiled:8.1f}" + "".join([f"{ms:10.3f}" for ms in each]), end="")
    print("".join([f"{median(r):8.2f} (>={lower_end(r):5.2f})" for r in ratios]), flush=True)


def main() -> None:
    """Measure the cases that are named, or all."""
    torch.set_num_threads(given.threads)
    head = f"{given.threads} threads{'build s':>15}{'ours ms':>10}{'torch':>10}{'ort':>10}"
    print(head + f"{'to torch':>12}{'to ort':>17}")
    for name in given.names or CASES:
        measure(name)


if __name__ == "__main__":
    main()
