"""A layer of BERT and a training step in each precision, beside float32 in the same rounds.

    python benchmarks/precision.py [threads]

Rounds take turns; what is shown is the median of the ratios of a round, with its 10th and 90th percentiles.
"""

import sys
import time

import numpy as np

import relay

STEP = """
def @loss(%w: Tensor[(512, 784), f32], %v: Tensor[(10, 512), f32], %x: Tensor[(64, 784), f32],
          %y: Tensor[(64, 10), f32]) {
  nn.mse_loss(nn.dense(nn.relu(nn.dense(%x, %w)), %v), %y)
}
def @main(%w: Tensor[(512, 784), f32], %v: Tensor[(10, 512), f32], %x: Tensor[(64, 784), f32],
          %y: Tensor[(64, 10), f32]) {
  let %g = grad(@loss)(%w, %v, %x, %y).1;
  (%w - 0.01f * %g.0, %v - 0.01f * %g.1)
}
"""
LAYER = """
def @heads(%x: Tensor[(128, 768), f32]) { transpose(reshape(%x, newshape=(128, 12, 64)), axes=(1, 0, 2)) }
def @main(%x: Tensor[(128, 768), f32], %q: Tensor[(768, 768), f32], %k: Tensor[(768, 768), f32],
          %v: Tensor[(768, 768), f32], %o: Tensor[(768, 768), f32], %a: Tensor[(3072, 768), f32],
          %b: Tensor[(768, 3072), f32], %g: Tensor[(768,), f32]) {
  let %s = nn.softmax(nn.batch_matmul(@heads(nn.dense(%x, %q)), @heads(nn.dense(%x, %k))) * 0.125f);
  let %m = reshape(transpose(nn.matmul(%s, @heads(nn.dense(%x, %v))), axes=(1, 0, 2)), newshape=(128, 768));
  let %h = nn.layer_norm(%x + nn.dense(%m, %o), %g, %g);
  nn.layer_norm(%h + nn.dense(nn.gelu(nn.dense(%h, %a)), %b), %g, %g)
}
"""


def arrays(mod):
    """Random arguments of `@main`, by name."""
    random = np.random.default_rng(0)
    params = relay.infer(mod)["main"].params
    shapes = {p.name_hint: p.type_annotation.concrete_shape for p in params}
    return {name: (random.normal(size=s) / 28).astype("float32") for name, s in shapes.items()}


def compare(name, text, bound, precisions, threads, seconds=15):
    """Print how long a program takes in each precision, in what it does in float32."""
    mod = relay.parse(text)
    values = arrays(mod)
    weights = {n: x for n, x in values.items() if bound and n != "x"}
    args = [x for n, x in values.items() if n not in weights]
    built = {p: relay.build(mod, params=weights, precision=p, threads=threads) for p in ("f32", *precisions)}
    times = {p: [] for p in built}
    end = time.time() + seconds
    while time.time() < end:
        for p, f in built.items():
            begin = time.perf_counter()
            f(*args)
            times[p].append(time.perf_counter() - begin)
    print(f"{name}, {threads} threads: f32 {1000 * np.median(times['f32']):.2f} ms")
    for p in precisions:
        low, middle, high = np.quantile(np.array(times[p]) / times["f32"], (0.1, 0.5, 0.9))
        print(f"  {p}: {middle:.2f} ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    compare("training step of an MLP", STEP, False, ("bf16", "f16"), threads)
    compare("layer of BERT", LAYER, True, ("bf16", "f16", "int8", "int4"), threads)
