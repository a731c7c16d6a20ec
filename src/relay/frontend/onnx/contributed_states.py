"""Operators of `com.microsoft` that carry a state from token to token: linear attention, causal filters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relay.frontend.onnx.heads import columns
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.recurrent import sizes_at
from relay.frontend.onnx.registry import CONTRIBUTED, converts
from relay.frontend.products import matmul
from relay.frontend.recurrence import Cell, run_direction
from relay.frontend.support import cast, reshape_to, sizes_as_value, stretched
from relay.frontend.value import Value, call, constant

RULES = ("linear", "gated", "delta", "gated_delta")
"""How a state follows from the one before: with a decay ("gated"), with what it holds already ("delta")."""


def refuse_windows(node: Node) -> None:
    """Refuse the forms that speculative decoding asks for (`onnx-unsupported`)."""
    if node.int("state_window", 0):
        node.fail("it keeps several states (`state_window`)")
    if node.int("state_update_capacity", 0):
        node.fail("it gives what changes its state (`state_update_capacity`)")


@converts("CausalConvWithState", domain=CONTRIBUTED)
def causal_conv_with_state(
    node: Node, x: Value, weight: Value, bias: Value | None = None, past: Value | None = None
) -> Any:
    """Each channel of `(batch, channels, tokens)` filtered over time; the last of its inputs."""
    refuse_windows(node)
    if node.int("ndim", 1) != 1:
        return node.fail("it filters images, not sequences")
    if any(node.int(name, default) != default for name, default in CUDA.items()):
        return node.fail(f"one of {', '.join(CUDA)} is given, which are of CUDA alone")
    last, lead = bool(node.int("channels_last", 0)), x.shape
    sizes = sizes_as_value(x)
    if last:
        x, past = with_channels_first(x), None if past is None else with_channels_first(past)
    found, state = filtered(node, x, weight, bias, past)
    match node.text("activation", "none"):
        case "silu" | "swish":
            found = call("nn.silu", found)
        case "none":
            pass
        case other:
            return node.fail(f"there is no activation `{other}` of its")
    if not last:
        return found, state
    found, state = (call("transpose", v, axes=(0, 2, 1)) for v in (found, state))
    if len(lead) == 3:
        return found, state
    others = call("strided_slice", sizes, begin=(2,), end=(None,), axes=(0,))
    kept = call("concatenate", (sizes_at(state, 0), sizes_at(state, 1), others), axis=0)
    return reshape_to(found, lead, sizes), reshape_to(state, (*state.shape[:2], *lead[2:]), kept)


CUDA = {"state_channels_last": -1, "state_length": 0, "input_channel_offset": 0, "input_channels": 0}
"""Attributes of `CausalConvWithState` that one device knows, and what they are unless given."""


def with_channels_first(x: Value) -> Value:
    """`(batch, tokens, ...)` as `(batch, channels, tokens)`."""
    while x.rank > 3:
        x = call("reshape", x, newshape=(0, 0, -3, -2))
    return call("transpose", x, axes=(0, 2, 1))


def filtered(
    node: Node, x: Value, weight: Value, bias: Value | None, past: Value | None
) -> tuple[Value, Value]:
    """The sums `(batch, channels, tokens)`, and the last inputs that later ones ask for."""
    spread, channels = node.int("dilation", 1), weight.size(0)
    before = (weight.size(2) - 1) * spread
    if past is None:
        sizes = call("concatenate", (sizes_at(x, 0), constant([channels, before], "int64")), axis=0)
        past = stretched(constant(0, x.dtype), (x.shape[0], channels, before), sizes)
    whole = call("concatenate", (past, x), axis=2) if before else x
    how = {"channels": channels, "groups": channels, "dilation": (spread,), "padding": (0, 0)}
    found = call("nn.conv1d", whole, weight, kernel_size=(weight.size(2),), **how)
    state = call("strided_slice", whole, begin=(-before,), end=(None,), axes=(2,)) if before else past
    return found if bias is None else call("nn.bias_add", found, bias, axis=1), state


# --- linear attention ---


@dataclass(frozen=True)
class Recurrence:
    """Linear attention, one token after another: `state' = decay * state + key (beta * (value - …))`.

    Source: Yang, Kautz and Hatamizadeh, 2024 (gated delta rule); Katharopoulos et al., 2020 (linear).
    """

    rule: str
    queries: int
    """Heads of queries, of keys and of values, and the sizes of theirs."""
    keys: int
    heads: int
    key_size: int
    value_size: int
    scale: float

    decays: int = 0
    """How many numbers of a token are decays: one for each head, or for each number of a key."""

    def spread(self, x: Value, heads: int) -> Value:
        """`(batch, heads, size)` with as many heads as the state has."""
        return x if heads == self.heads else call("repeat", x, repeats=self.heads // heads, axis=1)

    @property
    def widths(self) -> list[int]:
        """How many numbers of a token each operand has: queries, keys, values, decays, rates."""
        found = [self.queries * self.key_size, self.keys * self.key_size, self.heads * self.value_size]
        return [n for n in (*found, self.decays, self.heads * ("delta" in self.rule)) if n]

    def step(self, x: Value, states: Sequence[Value], _: Sequence[Value]) -> list[Value]:
        """The output `(batch, numbers)` and the next state `(batch, heads, keys, values)`."""
        q, k, v, *rest = columns(x, self.widths)
        q = call("reshape", q, newshape=(0, self.queries, self.key_size))
        k = self.spread(call("reshape", k, newshape=(0, self.keys, self.key_size)), self.keys)
        v = call("reshape", v, newshape=(0, self.heads, self.value_size))
        state = states[1]
        if self.decays:
            each = call("exp", call("reshape", rest[0], newshape=(0, self.heads, self.decays // self.heads)))
            state = state * call("expand_dims", each, axis=3)
        column = call("expand_dims", k, axis=3)
        if "delta" in self.rule:
            v = (v - call("sum", state * column, axis=(2,))) * call("expand_dims", rest[-1], axis=2)
        state = state + column * call("expand_dims", v, axis=2)
        if self.queries > self.heads:
            q = call("reshape", q, newshape=(0, self.heads, self.queries // self.heads, self.key_size))
        else:
            q = call("expand_dims", self.spread(q, self.queries), axis=2)
        found = matmul(q, state) * self.scale
        return [call("reshape", found, newshape=(0, self.outputs)), state]

    @property
    def outputs(self) -> int:
        """The numbers of a token in the result."""
        return max(self.queries, self.heads) * self.value_size

    def run(self, parts: Sequence[Value], state: Value | None) -> tuple[Value, Value]:
        """Outputs `(batch, tokens, numbers)` and the last state, of parts `(batch, tokens, numbers)`."""
        x = call("transpose", call("concatenate", tuple(parts), axis=2), axes=(1, 0, 2))
        row = sizes_at(x, 1)

        def zeros(*shape: int) -> Value:
            sizes = call("concatenate", (row, constant(shape, "int64")), axis=0)
            return stretched(constant(0, x.dtype), (x.shape[1], *shape), sizes)

        first = zeros(self.heads, self.key_size, self.value_size) if state is None else state
        found, last = run_direction(x, [zeros(self.outputs), first], Cell(self.step, ()), None, back=False)
        return call("transpose", found, axes=(1, 0, 2)), last[1]


def rule_of(node: Node) -> str:
    """The rule of a node (`onnx-unsupported`)."""
    rule = node.text("update_rule", "gated_delta")
    return (
        rule
        if rule in RULES
        else node.fail(f"there is no rule `{rule}`", hint=f"there are {', '.join(RULES)}")
    )


@converts("LinearAttention", domain=CONTRIBUTED)
def linear_attention(
    node: Node, query: Value, key: Value, value: Value, past: Value | None = None,
    decay: Value | None = None, beta: Value | None = None,
) -> Any:  # fmt: skip
    """Attention whose cache is a matrix for each head, `(batch, heads, keys, values)`."""
    refuse_windows(node)
    queries, heads, rule = node.int("q_num_heads"), node.int("kv_num_heads"), rule_of(node)
    each, size = query.size(2) // queries, value.size(2) // heads
    keys = key.size(2) // each
    parts = [query, key, value]
    for name, x in (("gated", decay), ("delta", beta)):
        if name in rule:
            if x is None:
                return node.fail(f"the rule `{rule}` lacks an operand")
            parts.append(
                call("repeat", x, repeats=heads, axis=2) if name == "delta" and x.shape[2] == 1 else x
            )
    scale, decays = node.float("scale", 0.0) or each**-0.5, parts[3].size(2) if "gated" in rule else 0
    how = Recurrence(rule, queries, keys, heads, each, size, scale, decays)
    kept = query.dtype if past is None else past.dtype
    wide = "float64" if query.dtype == "float64" else "float32"
    found, state = how.run([cast(v, wide) for v in parts], None if past is None else cast(past, wide))
    return cast(found, query.dtype), cast(state, kept)


@converts("GatedDeltaNet", domain=CONTRIBUTED)
def gated_delta_net(
    node: Node, query: Value, key: Value | None = None, value: Value | None = None, ends: Value | None = None,
    decay: Value | None = None, beta: Value | None = None, state: Value | None = None,
    a_log: Value | None = None, bias: Value | None = None, *captured: Value | None,
) -> Any:  # fmt: skip
    """`LinearAttention` of `(batch, tokens, heads, size)` over states `(batch, heads, values, keys)`."""
    refuse_windows(node)
    if ends is not None or captured or key is None or value is None:
        return node.fail("its sequences are packed one behind the other, or its operands in one")
    if query.rank != 4:
        return node.fail("its operands have no axis of the batch")
    rule = rule_of(node)
    each, heads, size = query.size(3), value.size(2), value.size(3)
    scale = node.float("scale", 0.0) or each**-0.5
    q, k, v = (cast(x, "float32") for x in (query, key, value))
    if node.int("qk_l2_norm", 0):
        q, k = (unit(x) for x in (q, k))
    parts = [call("reshape", x, newshape=(0, 0, -3)) for x in (q, k, v)]
    if "gated" in rule:
        if decay is None:
            return node.fail(f"the rule `{rule}` lacks an operand")
        parts.append(decay_of(node, cast(decay, "float32"), a_log, bias))
    if "delta" in rule:
        if beta is None:
            return node.fail(f"the rule `{rule}` lacks an operand")
        share = cast(beta, "float32")
        parts.append(call("sigmoid", share) if node.text("beta_activation", "none") == "sigmoid" else share)
    decays = parts[3].size(2) if "gated" in rule else 0
    how = Recurrence(rule, query.size(2), key.size(2), heads, each, size, scale, decays)
    before = None if state is None else call("transpose", state, axes=(0, 1, 3, 2))
    found, last = how.run(parts, before)
    found = call("reshape", cast(found, query.dtype), newshape=(0, 0, -1, size))
    return found, call("transpose", last, axes=(0, 1, 3, 2))


def unit(x: Value) -> Value:
    """The last axis divided by its length."""
    return x * call("rsqrt", call("sum", x * x, axis=(x.rank - 1,), keepdims=True) + 1e-6)


def decay_of(node: Node, x: Value, a_log: Value | None, bias: Value | None) -> Value:
    """The logarithm of the decay, `(batch, tokens, numbers)`."""
    kind = node.text("gate_activation", "none")
    if x.rank == 4:
        x = call("reshape", x, newshape=(0, 0, -3))
    if kind == "none":
        return x
    if a_log is None:
        return node.fail(f"`{kind}` lacks an operand")
    width = x.size(2)
    rate = call("exp", call("repeat", a_log, repeats=width // a_log.size(0), axis=0))
    moved = x if bias is None else x + spread_bias(bias, width)
    if kind in ("softplus", "qwen"):
        return call("nn.softplus", moved) * -rate
    if kind in ("sigmoid", "kda"):
        return call("sigmoid", rate * moved) * node.float("gate_lower_bound", -5.0)
    return node.fail(f"there is no activation `{kind}` of its gates")


def spread_bias(bias: Value, width: int) -> Value:
    """A bias for each number of a token."""
    flat = call("reshape", bias, newshape=(-1,))
    return call("repeat", flat, repeats=width // flat.size(0), axis=0)


@converts("LinearAttentionGate", domain=CONTRIBUTED)
def linear_attention_gate(node: Node, a: Value, bias: Value, scale: Value, b: Value | None = None) -> Any:
    """What `LinearAttention` takes as decay and rate: `scale * softplus(a + bias)` and `sigmoid(b)`."""
    decay = cast(call("nn.softplus", cast(a, "float32") + bias) * scale, a.dtype)
    return decay, None if b is None else call("sigmoid", b)
