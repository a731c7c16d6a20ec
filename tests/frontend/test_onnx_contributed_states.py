"""Operators of `com.microsoft` with states, blocks of keys, tables of 4 bits, beside ONNX Runtime."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the onnx extra")
pytest.importorskip("onnxruntime", reason="needs ONNX Runtime")

from frontend.contributed import by_relay, check, one_node, refusal

pytestmark = pytest.mark.onnx

RNG = np.random.default_rng(0)
INTERPRETED = ("debug",)
HEADS = {"q_num_heads": 4, "kv_num_heads": 2}


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape).astype("float32")


X = normal(2, 6, 5)
FILTERS = [
    ((X, normal(6, 1, 4), normal(6), normal(2, 6, 3)), {"activation": "silu"}),
    ((X, normal(6, 1, 3)), {}),
    ((X, normal(6, 1, 1)), {}),
    ((X, normal(6, 1, 3), None, normal(2, 6, 4)), {"dilation": 2}),
    ((X, normal(2, 1, 3)[[0, 1] * 3], normal(6)), {"channels_last": 0}),
    ((normal(2, 5, 6), normal(6, 1, 3), normal(6)), {"channels_last": 1}),
    ((normal(2, 5, 2, 3), normal(6, 1, 3), normal(6), normal(2, 2, 2, 3)), {"channels_last": 1}),
]


@pytest.mark.parametrize("case", FILTERS, ids=range(len(FILTERS)))
def test_a_causal_filter_carries_its_inputs(case: Any) -> None:
    operands, attributes = case
    check("CausalConvWithState", operands, attributes, results=(1, 1), executors=INTERPRETED)


def test_a_causal_filter_of_any_length() -> None:
    sizes = {0: ("b", 6, "l"), 3: ("b", 6, 3)}
    operands = (X, normal(6, 1, 4), normal(6), normal(2, 6, 3))
    check("CausalConvWithState", operands, {}, results=(1, 1), sizes=sizes)


def attention(tokens: int) -> tuple[Any, ...]:
    """Queries, keys, values, a state, decays for each head and for each number, rates."""
    q, k, v = normal(2, tokens, 32), normal(2, tokens, 16) / 3, normal(2, tokens, 10)
    decays = [-np.abs(normal(2, tokens, n)) for n in (2, 16)]
    return q, k, v, normal(2, 2, 8, 5), *decays, np.abs(normal(2, tokens, 2)) / 4


RULES = {
    "linear": lambda q, k, v, s, g, each, b: (q, k, v, s),
    "gated": lambda q, k, v, s, g, each, b: (q, k, v, s, each),
    "delta": lambda q, k, v, s, g, each, b: (q, k, v, None, None, b[:, :, :1]),
    "gated_delta": lambda q, k, v, s, g, each, b: (q, k, v, s, g, b),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("tokens", [1, 18])
def test_linear_attention_by_each_rule(rule: str, tokens: int) -> None:
    operands = RULES[rule](*attention(tokens))
    how = HEADS | {"update_rule": rule}
    check("LinearAttention", operands, how, results=(1, 1), executors=INTERPRETED)


def test_linear_attention_whose_keys_serve_several_values() -> None:
    q, k, v, state, decay, _, rate = attention(3)
    how = {"q_num_heads": 1, "kv_num_heads": 2, "scale": 0.5}
    operands = (q[..., :8], k[..., :8], v, state, decay, rate)
    check("LinearAttention", operands, how, results=(1, 1), executors=INTERPRETED)


def test_linear_attention_of_any_length() -> None:
    operands = RULES["gated_delta"](*attention(18))
    sizes = {k: ("b", "t", x.shape[-1]) for k, x in enumerate(operands) if k != 3}
    check("LinearAttention", operands, HEADS, results=(1, 1), sizes=sizes | {3: ("b", 2, 8, 5)})


def test_what_linear_attention_does_not_do_is_said() -> None:
    q, k, v, state, *_ = attention(2)
    how = HEADS | {"update_rule": "linear", "state_window": 2}
    assert "`state_window`" in refusal("LinearAttention", (q, k, v, state), how, results=(1, 1))
    assert "lacks an operand" in refusal("LinearAttention", (q, k, v), HEADS, results=(1, 1))
    assert "no rule `new`" in refusal(
        "LinearAttention", (q, k, v), HEADS | {"update_rule": "new"}, results=(1, 1)
    )


def unit(x: Any) -> Any:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


GATES = {
    "given": ((2, 4, 4), {}),
    "softplus": ((2, 4, 4), {"gate_activation": "softplus"}),
    "sigmoid": ((2, 4, 4, 8), {"gate_activation": "sigmoid", "gate_lower_bound": -4.0}),
}


@pytest.mark.parametrize("gate", GATES)
def test_a_gated_delta_network(gate: str) -> None:
    shape, said = GATES[gate]
    q, k, v, state = (
        unit(normal(2, 4, 2, 8)),
        unit(normal(2, 4, 2, 8)),
        normal(2, 4, 4, 5),
        normal(2, 4, 5, 8),
    )
    decay = -np.abs(normal(*shape)) if gate == "given" else normal(*shape)
    more = () if gate == "given" else (normal(4), normal(*shape[2:]))
    how = {} if gate == "given" else {"qk_l2_norm": 1, "beta_activation": "sigmoid", **said}
    operands = (q, k, v, None, decay, np.abs(normal(2, 4, 4)) / 2, state, *more)
    check("GatedDeltaNet", operands, how, results=(1, 1), executors=INTERPRETED)


def test_gates_and_norms_beside_linear_attention() -> None:
    operands = (normal(2, 3, 4), normal(4), -np.abs(normal(4)), normal(2, 3, 4))
    check("LinearAttentionGate", operands, {}, results=(1, 1), executors=INTERPRETED)
    check("GatedRMSNorm", (normal(2, 3, 8), normal(4), normal(2, 3, 8)), {}, executors=INTERPRETED)
    how = {"activation": "sigmoid"}
    check("GatedRMSNorm", (normal(2, 3, 8), normal(8), normal(2, 3, 8)), how, executors=INTERPRETED)
    check("BranchwiseRMSNorm", (normal(2, 3, 8), normal(8)), {}, executors=INTERPRETED)
    check("BranchwiseRMSNorm", (normal(2, 3, 8), normal(8)), {"num_branches": 2}, executors=INTERPRETED)


@pytest.mark.parametrize("kind", [0, 1], ids=["fp4", "nf4"])
@pytest.mark.parametrize(("columns", "depth", "group"), [(3, 32, 16), (5, 48, 32), (3, 15, 16)])
def test_weights_by_a_table_of_4_bits(kind: int, columns: int, depth: int, group: int) -> None:
    count = columns * depth
    data = RNG.integers(0, 256, (count + 1) // 2, dtype="uint8")
    scales = np.abs(normal(-(-count // group)))
    how = {"N": columns, "K": depth, "block_size": group, "quant_type": kind}
    check("MatMulBnb4", (normal(2, depth), data, scales), how, constants=(1, 2), executors=INTERPRETED)


# --- SparseAttention ---

BLOCKS = np.array(
    [
        [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 1]],
        [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]],
    ]
)
SPARSE = {"num_heads": 4, "kv_num_heads": 2, "sparse_block_size": 16}


def compressed(blocks: Any) -> tuple[Any, Any]:
    """The ends of rows and the columns of blocks that are seen."""
    ends = np.concatenate((np.zeros((len(blocks), 1)), blocks.sum(2).cumsum(1)), 1).astype("int32")
    columns = np.full((len(blocks), ends.max()), -1, "int32")
    for layout, seen in enumerate(blocks):
        columns[layout, : ends[layout, -1]] = np.nonzero(seen)[1]
    return ends, columns


def sparse(tokens: int, total: int, lengths: list[int], packed: bool, turned: bool) -> tuple[Any, Any]:
    """A model of one node and its inputs."""
    q, k, v = normal(2, tokens, 64), normal(2, tokens, 32), normal(2, tokens, 32)
    operands = [np.concatenate((q, k, v), 2), None, None] if packed else [q, k, v]
    operands += [normal(2, 2, 64, 16), normal(2, 2, 64, 16), *compressed(BLOCKS)]
    operands += [np.array(total, "int32"), np.array(lengths, "int32")]
    if turned:
        angles = np.outer(np.arange(64), 0.5 ** np.arange(8)).astype("float32")
        operands += [np.cos(angles), np.sin(angles)]
    how = SPARSE | {"do_rotary": int(turned)}
    return one_node("SparseAttention", operands, how, results=(1, 1, 1), constants=(5, 6))


def in_place(proto: Any, given: dict[str, Any]) -> list[Any]:
    """The results of ONNX Runtime, which demands that new caches lie where the old ones are."""
    import onnxruntime

    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    values = {k: onnxruntime.OrtValue.ortvalue_from_numpy(x.copy()) for k, x in given.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    binding.bind_output("y0")
    for name, cache in (("y1", "x3"), ("y2", "x4")):
        binding.bind_ortvalue_output(name, values[cache])
    session.run_with_iobinding(binding)
    return [x.numpy().copy() for x in binding.get_outputs()]


@pytest.mark.parametrize("packed", [False, True], ids=["apart", "packed"])
@pytest.mark.parametrize(("tokens", "total"), [(40, 40), (1, 41), (1, 64)])
def test_sparse_attention_sees_blocks_of_keys(tokens: int, total: int, packed: bool) -> None:
    proto, given = sparse(tokens, total, [total] * 2, packed, turned=packed)
    for ours, theirs in zip(by_relay(proto, given), in_place(proto, given), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=2e-6)


def test_sparse_attention_of_rows_of_different_length() -> None:
    proto, given = sparse(1, 41, [41, 30], packed=False, turned=True)
    both = by_relay(proto, given, "native")
    given["x7"], given["x8"] = np.array(30, "int32"), np.array([30, 30], "int32")
    for ours, alone in zip(both, by_relay(proto, given, "native"), strict=True):
        np.testing.assert_allclose(ours[1], alone[1], rtol=1e-5, atol=2e-6)
