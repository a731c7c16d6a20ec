"""`MoE` and `QMoE` of `com.microsoft`: each row goes to a few of many small networks."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf

from relay.frontend.onnx.contributed_weights import BITS, numbers
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import CONTRIBUTED, converts
from relay.frontend.products import matmul
from relay.frontend.recurrence import gates
from relay.frontend.support import reshape_to, sizes_as_value
from relay.frontend.value import Value, call, constant, fields, kept, type_in, union
from relay.ir.expr import If

ACTIVATIONS: dict[str, Callable[[Value], Value]] = {
    "relu": partial(call, "nn.relu"),
    "gelu": partial(call, "nn.gelu", approximate="tanh"),
    "silu": partial(call, "nn.silu"),
    "identity": lambda x: x,
}
"""The functions between the layers of an expert, but for `swiglu`."""


@dataclass(frozen=True)
class Layer:
    """One layer of all experts."""

    weight: Callable[[Value | None], Value]
    """`(experts, outputs, inputs)`, of those with some numbers `(rows, chosen, outputs, inputs)`."""
    bias: Value | None
    """`(experts, outputs)`, if there is one."""

    def __call__(self, x: Value, chosen: Value | None) -> Value:
        """`(experts, rows, inputs)` to `(experts, rows, outputs)`; of chosen ones `(rows, chosen, 1, …)`."""
        weight = self.weight(chosen)
        last = weight.rank - 1
        found = matmul(x, call("transpose", weight, axes=(*range(last - 1), last, last - 1)))
        if self.bias is None:
            return found
        bias = self.bias if chosen is None else call("take", self.bias, chosen, axis=0)
        return found + call("expand_dims", bias, axis=bias.rank - 1)


def plain(weight: Value, chosen: Value | None) -> Value:
    """A weight of floats."""
    return weight if chosen is None else call("take", weight, chosen, axis=0)


@dataclass(frozen=True)
class Packed:
    """A weight of few bits, `(experts, outputs, bytes)`, scales of its groups and their zero points."""

    data: Value
    scales: Value
    zero: Value | None
    bits: int
    dtype: str

    def __call__(self, chosen: Value | None) -> Value:
        """The weight as floats, of the experts that are chosen."""
        parts = [self.data, self.scales, *([] if self.zero is None else [self.zero])]
        if chosen is not None:
            parts = [kept("take", v, chosen, axis=0) for v in parts]
        data, scales, *zero = parts
        groups, width = scales.size(scales.rank - 1), data.size(data.rank - 1)
        if groups < 1 or width % groups:
            raise ValueError(f"{width} bytes are not {groups} groups")
        data = call("reshape", data, newshape=(*[0] * (data.rank - 1), groups, width // groups))
        group = width // groups * 8 // self.bits
        return kept("dequantize_groups", data, scales, *zero, bits=self.bits, group=group, dtype=self.dtype)


def packed(
    node: Node, name: str, data: Value, scales: Value | None, zero: Value | None, dtype: str
) -> Packed:
    """The weight of a layer, whose scales may be one for each row."""
    bits = node.int(f"{name}_expert_weight_bits", node.int("expert_weight_bits", 4))
    if bits not in BITS:
        return node.fail(f"its numbers have {bits} bits, not 2, 4 or 8")
    if scales is None:
        return node.fail("a weight has no scales")
    if scales.rank == 2:
        scales = call("expand_dims", scales, axis=2)
        if zero is not None:
            points = call("strided_slice", numbers(zero, bits), begin=(0,), end=(data.size(1),), axes=(1,))
            zero = call("expand_dims", points, axis=2)
    return Packed(data, scales, zero, bits, dtype)


def activated(node: Node, first: Value, third: Value | None) -> Value:
    """The activation between two layers; `third` is the product beside, if it is not within the first."""
    kind = node.text("activation_type", "relu")
    if kind == "swiglu":
        return gated(node, first, third)
    if kind not in ACTIVATIONS:
        names = ", ".join([*ACTIVATIONS, "swiglu"])
        return node.fail(f"there is no activation `{kind}`", hint=f"there are {names}")
    found = ACTIVATIONS[kind](first)
    return found if third is None else found * third


def gated(node: Node, first: Value, third: Value | None) -> Value:
    """`gate * sigmoid(alpha * gate) * (line + beta)`, with both within a limit.  Source: Shazeer, 2020."""
    fusion = node.int("swiglu_fusion", 0)
    if fusion == 1:
        pairs = call("reshape", first, newshape=(*[0] * (first.rank - 1), first.size(first.rank - 1) // 2, 2))
        gate, line = (call("take", pairs, constant(k, "int64"), axis=first.rank) for k in (0, 1))
    elif fusion == 2:
        gate, line = gates(first, 2)
    elif third is None:
        return node.fail("`swiglu` needs a third layer, or both within the first (`swiglu_fusion`)")
    else:
        gate, line = first, third
    limit = node.float("swiglu_limit", inf)
    if limit != inf:
        gate = call("minimum", gate, constant(limit, gate.dtype))
        line = call("clip", line, a_min=-limit, a_max=limit)
    open_gate = gate * call("sigmoid", gate * node.float("activation_alpha", 1.0))
    return open_gate * (line + node.float("activation_beta", 0.0))


def routed(node: Node, scores: Value, weights: Value | None) -> tuple[Value, Value]:
    """Which experts each row goes to, `(rows, k)`, and with which weights."""
    if node.int("use_sparse_mixer", 0):
        return node.fail("it mixes sparsely")
    k = node.int("k", 1)
    shares = call("nn.softmax", scores, axis=1) if weights is None else scores
    best, index = fields(call("topk", shares, k=k, axis=1, ret_type="both", is_ascend=False, dtype="int64"))
    if weights is not None:
        best = call("gather", weights, index, axis=1)
    if node.int("normalize_routing_weights", 0):
        best = best / call("sum", best, axis=(1,), keepdims=True)
    return index, best


def mixture(
    node: Node,
    x: Value,
    scores: Value,
    weights: Value | None,
    first: Layer,
    second: Layer,
    third: Layer | None,
) -> Value:
    """The sum of what the experts of each row make of it; few rows use their own experts' weights alone."""
    rows = x if x.rank == 2 else call("reshape", x, newshape=(-3, 0))
    index, best = routed(node, scores, weights)
    experts, k = scores.size(1), node.int("k", 1)

    def network(data: Value, chosen: Value | None) -> Value:
        beside = None if third is None else third(data, chosen)
        return second(activated(node, first(data, chosen), beside), chosen)

    def few() -> Value:
        found = network(call("expand_dims", rows, axis=1, num_newaxis=2), index)  # (rows, k, 1, size)
        return call("sum", call("squeeze", found, axis=(2,)) * call("expand_dims", best, axis=2), axis=(1,))

    def all_of_them() -> Value:
        found = network(call("expand_dims", rows, axis=0), None)  # (experts, rows, size)
        hot = call("one_hot", index, constant(1, best.dtype), constant(0, best.dtype), depth=experts,
                   dtype=best.dtype)  # fmt: skip
        each = call("sum", hot * call("expand_dims", best, axis=2), axis=(1,))
        each = call("expand_dims", call("transpose", each, axes=(1, 0)), axis=2)
        return call("sum", found * each, axis=(0,))

    found = chosen_by_rows(node, rows, experts // max(k, 1), few, all_of_them)
    return found if x.rank == 2 else reshape_to(found, x.shape, sizes_as_value(x))


def chosen_by_rows(
    node: Node, rows: Value, most: int, few: Callable[[], Value], many: Callable[[], Value]
) -> Value:
    """`few()` for so many rows, otherwise `many()`; which is decided when the program runs, if it must be."""
    count = rows.shape[0]
    if isinstance(count, int):
        return few() if count <= most else many()
    size = call("take", sizes_as_value(rows), constant(0, "int64"), axis=0)
    flag = call("less_equal", size, constant(most, "int64"))
    a, b = few(), many()
    t = type_in(If(flag.stand_in, a.stand_in, b.stand_in), node.mod)
    return Value(If(flag.expr, a.expr, b.expr), t, sources=union([flag, a, b]))


@converts("MoE", domain=CONTRIBUTED)
def mixture_of_experts(
    node: Node, x: Value, scores: Value, w1: Value, b1: Value | None, w2: Value, b2: Value | None = None,
    w3: Value | None = None, b3: Value | None = None,
) -> Value:  # fmt: skip
    """Experts whose weights are floats."""
    third = None if w3 is None else Layer(partial(plain, w3), b3)
    layers = Layer(partial(plain, w1), b1), Layer(partial(plain, w2), b2)
    return mixture(node, x, scores, None, *layers, third)


@converts("QMoE", domain=CONTRIBUTED)
def quantised_mixture_of_experts(
    node: Node, x: Value, scores: Value, w1: Value, s1: Value | None, b1: Value | None, w2: Value,
    s2: Value | None, b2: Value | None = None, w3: Value | None = None, s3: Value | None = None,
    b3: Value | None = None, z1: Value | None = None, z2: Value | None = None, z3: Value | None = None,
    weights: Value | None = None, *scaled: Value | None,
) -> Value:  # fmt: skip
    """Experts whose weights have few bits."""
    if node.text("quant_type", "int") != "int" or any(v is not None for v in scaled):
        return node.fail("its weights are not integers")
    first = Layer(packed(node, "fc1", w1, s1, z1, x.dtype), b1)
    second = Layer(packed(node, "fc2", w2, s2, z2, x.dtype), b2)
    third = None if w3 is None else Layer(packed(node, "fc3", w3, s3, z3, x.dtype), b3)
    return mixture(node, x, scores, weights, first, second, third)
