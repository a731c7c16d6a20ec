"""Attention, rotary embeddings and normalisations of `com.microsoft`: what ONNX Runtime gives."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the onnx extra")
pytest.importorskip("onnxruntime", reason="needs ONNX Runtime")

from frontend.contributed import array, by_relay, check, one_node, refusal

pytestmark = pytest.mark.onnx
RNG = np.random.default_rng(0)
INTERPRETED = ("debug",)
HEADS, SIZE = 4, 16
WIDTH = HEADS * SIZE
ANGLES = RNG.uniform(0, 6, (64, SIZE // 2))
TURNS = (np.cos(ANGLES).astype("float32"), np.sin(ANGLES).astype("float32"))


def drawn(*shape: int) -> Any:
    return RNG.normal(size=shape).astype("float32")


def ints(x: Any) -> Any:
    return array(x, "int32")


def trimmed(operands: list[Any]) -> list[Any]:
    """Operands without those at the end that are left out."""
    while operands[-1] is None:
        operands = operands[:-1]
    return operands


GROUPED: dict[str, dict[str, Any]] = {
    "prompt": {"batch": 2, "rows": 5, "past": 0, "lengths": [4, 4]},
    "token": {"batch": 1, "rows": 1, "past": 7, "lengths": [7]},
    "several tokens": {"batch": 1, "rows": 3, "past": 7, "lengths": [9]},
    "ragged batch": {"batch": 2, "rows": 1, "past": 7, "lengths": [7, 4], "whole": 8, "valid": 5},
    "shared buffer": {"batch": 1, "rows": 1, "past": 16, "lengths": [7], "whole": 8, "valid": 8},
    "window": {"batch": 1, "rows": 1, "past": 7, "lengths": [7], "local_window_size": 3},
    "window of a prompt": {"batch": 1, "rows": 6, "past": 0, "lengths": [5], "local_window_size": 3},
    "capped": {"batch": 1, "rows": 2, "past": 7, "lengths": [8], "softcap": 2.0, "scale": 0.2},
    "capped prompt": {"batch": 1, "rows": 6, "past": 0, "lengths": [5], "softcap": 2.0},
    "packed": {"batch": 1, "rows": 2, "past": 7, "lengths": [8], "packed": True, "rotary_interleaved": 1},
    "smooth": {"batch": 1, "rows": 2, "past": 7, "lengths": [8], "smooth_softmax": 1},
    "sinks": {"batch": 1, "rows": 2, "past": 7, "lengths": [8], "sink": drawn(HEADS)},
    "bias": {"batch": 1, "rows": 2, "past": 7, "lengths": [8], "bias": drawn(1, HEADS, 2, 9)},
    "positions": {"batch": 1, "rows": 2, "past": 7, "lengths": [8], "positions": array([[3, 9]], "int64")},
    "open sizes": {"batch": 2, "rows": 1, "past": 7, "lengths": [7, 7], "open": True},
}


@pytest.mark.parametrize("name", GROUPED)
def test_group_query_attention(name: str) -> None:
    compare_grouped(GROUPED[name], ("debug",))


@pytest.mark.parametrize("name", ["open sizes", "shared buffer"])
def test_group_query_attention_as_machine_code(name: str) -> None:
    compare_grouped(GROUPED[name], ("native",))


def compare_grouped(case: dict[str, Any], executors: tuple[str, ...]) -> None:
    batch, rows, past, lengths, *_ = case.values()
    whole, shared = case.get("whole", past + rows), 2
    q, k, v = drawn(batch, rows, WIDTH), drawn(batch, rows, shared * SIZE), drawn(batch, rows, shared * SIZE)
    parts = [np.concatenate([q, k, v], 2), None, None] if case.get("packed") else [q, k, v]
    caches = [drawn(batch, shared, past, SIZE) for _ in range(2)]
    rest = [case.get("positions"), case.get("bias"), case.get("sink")]
    operands = trimmed([*parts, *caches, ints(lengths), ints(whole), *TURNS, *rest])
    own = (
        "batch",
        "rows",
        "past",
        "lengths",
        "whole",
        "valid",
        "packed",
        "sink",
        "bias",
        "positions",
        "open",
    )
    attributes = {"num_heads": HEADS, "kv_num_heads": shared, "do_rotary": 1}
    attributes |= {n: x for n, x in case.items() if n not in own}
    sizes: dict[int, Any] = {}
    if case.get("open"):
        sizes = {k: ["batch", "rows", x.shape[2]] for k, x in enumerate(operands[:3])}
        sizes |= {k: ["batch", shared, "past", SIZE] for k in (3, 4)}
        sizes[5] = ["batch"]
    check("GroupQueryAttention", operands, attributes, results=(1, 1, 1), sizes=sizes,
          rows=case.get("valid"), executors=executors)  # fmt: skip


def test_group_query_attention_normalises_heads_before_it_turns_them() -> None:
    """ONNX Runtime does this on other processors only, so the data are normalised outside as well."""
    q, k, v = drawn(1, 3, WIDTH), drawn(1, 3, 2 * SIZE), drawn(1, 3, 2 * SIZE)
    gains, caches = [drawn(SIZE), drawn(SIZE)], [drawn(1, 2, 0, SIZE) for _ in range(2)]
    head = [*caches, ints([2]), ints(3), *TURNS]
    attributes = {"num_heads": HEADS, "kv_num_heads": 2, "do_rotary": 1}

    def normalised(x: Any, gain: Any) -> Any:
        rows = x.reshape(1, 3, -1, SIZE)
        rows = rows / np.sqrt((rows**2).mean(-1, keepdims=True) + 1e-6) * gain
        return rows.reshape(x.shape).astype("float32")

    inside = [q, k, v, *head, None, None, None, None, None, *gains]
    outside = [normalised(q, gains[0]), normalised(k, gains[1]), v, *head]
    results = [by_relay(*one_node("GroupQueryAttention", o, attributes)) for o in (inside, outside)]
    np.testing.assert_allclose(results[0][0], results[1][0], atol=1e-5)


def test_variants_of_grouped_attention_that_are_not_converted_are_named() -> None:
    q, k = drawn(1, 1, WIDTH), drawn(1, 1, 2 * SIZE)
    operands = [q, k, k, *[drawn(1, 2, 7, SIZE) for _ in range(2)], ints([7]), ints(8)]
    attributes = {"num_heads": HEADS, "kv_num_heads": 2}
    for more, message in (
        ({"sliding_window_cache": 1, "local_window_size": 4}, "its caches are windows"),
        ({"k_quant_type": "PER_TENSOR"}, "its caches are quantised"),
        ({"qk_output": 1}, "it gives the scores"),
        ({"do_rotary": 1}, "angles that are not given"),
        ({"num_heads": 3}, "64 columns are not 3 heads"),
    ):
        assert message in refusal("GroupQueryAttention", operands, attributes | more)


B, S, T = 2, 3, 5
QKV = (drawn(B, S, WIDTH), drawn(B, T, WIDTH), drawn(B, T, WIDTH))
SELF = tuple([x[:, :S] for x in QKV])
PAST = (drawn(B, HEADS, 4, SIZE), drawn(B, HEADS, 4, SIZE))
MASK = ints([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]])
MULTI: list[Any] = [
    (QKV, {}),
    ((*QKV, drawn(3 * WIDTH)), {"scale": 0.3}),
    ((*QKV, None, ints([5, 3])), {}),
    ((*QKV, None, MASK), {}),
    ((*QKV, None, ints(np.stack([np.eye(S, T), np.tri(S, T)]))), {}),
    ((*QKV, None, None, drawn(1, HEADS, S, T)), {}),
    (SELF, {"unidirectional": 1}),
    ((*SELF, None, MASK[:, :S]), {"unidirectional": 1, "mask_filter_value": -500.0}),
    ((*SELF, drawn(3 * WIDTH), None, drawn(B, HEADS, S, 7), *PAST), {"unidirectional": 1}),
    ((QKV[0], drawn(B, HEADS, T, SIZE), drawn(B, HEADS, T, SIZE)), {}),
]


@pytest.mark.parametrize("k", range(len(MULTI)))
def test_multi_head_attention(k: int) -> None:
    operands, attributes = MULTI[k]
    results = (1, 1, 1) if len(operands) > 6 else (1,)
    executors = ("debug", "native") if k in (3, 8) else ("debug",)
    check(
        "MultiHeadAttention",
        operands,
        {"num_heads": HEADS, **attributes},
        results=results,
        executors=executors,
    )


def test_packed_operands_of_multi_head_attention() -> None:
    """ONNX Runtime has them on other processors only."""
    (plain,) = by_relay(*one_node("MultiHeadAttention", QKV, {"num_heads": HEADS}))
    q, k, v = (x.reshape(*x.shape[:2], HEADS, SIZE) for x in QKV)
    packed = one_node("MultiHeadAttention", [QKV[0], np.stack([k, v], 3)], {"num_heads": HEADS})
    np.testing.assert_array_equal(by_relay(*packed)[0], plain)
    (own,) = by_relay(*one_node("MultiHeadAttention", SELF, {"num_heads": HEADS}))
    whole = one_node("MultiHeadAttention", [np.stack([q, k[:, :S], v[:, :S]], 3)], {"num_heads": HEADS})
    np.testing.assert_array_equal(by_relay(*whole)[0], own)


X, W, BIAS = drawn(B, S, 12), drawn(12, 3 * WIDTH), drawn(3 * WIDTH)
MERGED: list[Any] = [
    ((X, W, BIAS), {}),
    ((X, W, BIAS, ints([3, 2])), {}),
    ((X, W, BIAS, ints([3, 2, 1, 0])), {}),
    ((X, W, BIAS, MASK[:, :S]), {"unidirectional": 1}),
    ((X, drawn(12, 2 * WIDTH + 16), drawn(2 * WIDTH + 16)), {"qkv_hidden_sizes": [WIDTH, WIDTH, 16]}),
    ((X, W, BIAS, None, drawn(2, B, HEADS, 4, SIZE)), {"unidirectional": 1}),
    ((X, W, BIAS, None, None, drawn(B, HEADS, S, S)), {"scale": 0.5}),
]


@pytest.mark.parametrize("k", range(len(MERGED)))
def test_attention_with_its_projection(k: int) -> None:
    operands, attributes = MERGED[k]
    results = (1, 1) if len(operands) == 5 else (1,)
    check("Attention", operands, {"num_heads": HEADS, **attributes}, results=results, constants=(1, 2),
          executors=INTERPRETED, atol=1e-4)  # fmt: skip


def test_attention_over_a_product_of_integers() -> None:
    x, w = (
        RNG.integers(0, 256, (B, S, 12)).astype("uint8"),
        RNG.integers(-60, 60, (12, 3 * WIDTH)).astype("int8"),
    )
    zeros = array(120, "uint8"), array(3, "int8")
    operands = [x, w, BIAS, array(0.02), array(0.01), ints([3, 2]), *zeros]
    check("QAttention", operands, {"num_heads": HEADS}, constants=(1, 2), atol=1e-4, executors=INTERPRETED)


def test_rotary_embedding() -> None:
    rows, heads = drawn(B, S, WIDTH), drawn(B, HEADS, S, SIZE)
    places, first = array([[0, 5, 2], [1, 2, 3]], "int64"), array([2], "int64")
    check("RotaryEmbedding", [rows, first, *TURNS], {}, sizes={0: ["b", "s", WIDTH]})
    check("RotaryEmbedding", [rows, places, *TURNS], {"interleaved": 1}, executors=INTERPRETED)
    check("RotaryEmbedding", [heads, first, *TURNS], {}, executors=INTERPRETED)
    part = [t[:, :4] for t in TURNS]
    how = {"num_heads": HEADS, "rotary_embedding_dim": 8}
    check("RotaryEmbedding", [rows, first, *part], how, executors=INTERPRETED)
    packed = refusal("RotaryEmbedding", [rows, first, *TURNS], {"is_packed_batching": 1})
    assert "rows of several sequences are packed" in packed


GAIN, SHIFT = drawn(12), drawn(12)
NORMS: list[Any] = [
    ("SimplifiedLayerNormalization", (X, GAIN), {"epsilon": 1e-2}, (1, 1)),
    ("SimplifiedLayerNormalization", (X, GAIN), {}, (1,)),
    ("SkipSimplifiedLayerNormalization", (X, drawn(B, S, 12), GAIN), {}, (1,)),
    ("SkipSimplifiedLayerNormalization", (X, drawn(B, S, 12), GAIN, SHIFT), {}, (1, 0, 0, 1)),
    ("SkipLayerNormalization", (X, drawn(1, S, 12), GAIN, SHIFT, drawn(12)), {}, (1, 0, 0, 1)),
]


@pytest.mark.parametrize("k", range(len(NORMS)))
def test_normalisations_of_sums(k: int) -> None:
    kind, operands, attributes, results = NORMS[k]
    domain = "" if kind.startswith("Simplified") else "com.microsoft"
    check(kind, operands, attributes, results=results, domain=domain, executors=INTERPRETED)


def test_embeddings_and_their_normalisation() -> None:
    ids, kinds = ints(RNG.integers(0, 20, (2, 5))), ints(RNG.integers(0, 2, (2, 5)))
    tables = drawn(20, 12), drawn(10, 12), drawn(2, 12)
    words, places, _ = tables
    order = ints([[3, 1, 2, 4, 0]])
    for operands, results in (
        ([ids, kinds, *tables, GAIN, SHIFT, MASK], (1, 6, 1)),
        ([ids, None, words, places, None, GAIN, SHIFT], (1, 6)),
        ([ids, kinds, *tables, GAIN, SHIFT, MASK, order], (1, 6)),
    ):
        check("EmbedLayerNormalization", operands, {}, results=results, executors=INTERPRETED)
    packed = [RNG.integers(0, 256, t.shape).astype("uint8") for t in (*tables, GAIN, SHIFT)]
    scales, zeros = [array(0.01 * k) for k in range(1, 6)], [array(100 + k, "uint8") for k in range(5)]
    operands = [ids, kinds, *packed, MASK, *scales, *zeros]
    check("QEmbedLayerNormalization", operands, {}, results=(1, 6), executors=INTERPRETED)


def test_normalisations_of_groups_of_channels() -> None:
    """ONNX Runtime has them on other processors only."""
    x, gain, shift = drawn(2, 4, 4, 8), drawn(8), drawn(8)
    how = {"groups": 2, "activation": 1}
    (found,) = by_relay(*one_node("GroupNorm", [x, gain, shift], how))
    groups = x.reshape(2, 16, 2, 4)
    centred = groups - groups.mean((1, 3), keepdims=True)
    y = (centred / np.sqrt(groups.var((1, 3), keepdims=True) + 1e-5)).reshape(x.shape) * gain + shift
    np.testing.assert_allclose(found, y / (1 + np.exp(-y)), atol=1e-5)
    first = one_node("GroupNorm", [x.transpose(0, 3, 1, 2), gain, shift], how | {"channels_last": 0})
    np.testing.assert_allclose(by_relay(*first)[0].transpose(0, 2, 3, 1), found, atol=1e-5)
    skip, bias = drawn(2, 8), drawn(8)
    both = one_node("SkipGroupNorm", [x, gain, shift, skip, bias], how, results=(1, 1))
    whole = x + skip[:, None, None] + bias
    alone = by_relay(*one_node("GroupNorm", [whole, gain, shift], how))[0]
    for ours, theirs in zip(by_relay(*both), (alone, whole), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("kind", ["bool", "float32"])
def test_rows_whose_keys_are_all_masked_are_those_of_onnx_runtime(kind: str) -> None:
    q, hidden = drawn(1, 2, 3, 4), np.asarray([[0, 0, 0], [1, 1, 1], [1, 0, 1]], bool)
    mask = hidden if kind == "bool" else np.where(hidden, 0, -np.inf).astype("float32")
    for attributes in ({}, {"softcap": 2.0}):
        case = ("Attention", [q, q, q, mask], attributes)
        check(*case, domain="", opset=23)
        (y,) = by_relay(*one_node(*case, domain="", opset=23))
        assert not y[:, :, 0].any()
