"""Attention block by block of rows: one group, which gives what its products give one by one."""

from typing import Any

import numpy as np
import pytest

import relay

SINGLE = """
def @main(%q: Tensor[({h}, {m}, {d}), float32], %k: Tensor[({h}, {n}, {d}), float32],
          %v: Tensor[({h}, {n}, {e}), float32]) {{
  nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k) * 0.125f), %v, transpose_b=False)
}}
"""
HEADS = """
def @main(%x: Tensor[(b, s, 288), float32], %mask: Tensor[(b, s), float32]) {
  let %parts = split(reshape(%x, newshape=(0, 0, 288)), indices_or_sections=3, axis=-1);
  let %q = transpose(reshape(%parts.0, newshape=(0, 0, 4, 24)), axes=(0, 2, 1, 3));
  let %k = transpose(reshape(%parts.1, newshape=(0, 0, 4, 24)), axes=(0, 2, 1, 3));
  let %v = transpose(reshape(%parts.2, newshape=(0, 0, 4, 24)), axes=(0, 2, 1, 3));
  let %scores = nn.matmul(%q, %k, transpose_b=True) * 0.2f + expand_dims(%mask, axis=1, num_newaxis=2);
  reshape(transpose(nn.matmul(nn.softmax(%scores), %v), axes=(0, 2, 1, 3)), newshape=(0, 0, 96))
}
"""
SHARED = """
def @main(%q: Tensor[(6, 20, 16), float32], %k: Tensor[(6, 30, 16), float32]) {
  let %scores = nn.softmax(nn.batch_matmul(%q, %k));
  (%scores, nn.batch_matmul(%scores, %k, transpose_b=False))
}
"""

KEPT = """
def @main(%q: Tensor[(b, 3, {r}, {d}), float32], %k: Tensor[(b, l, 3, {d}), float32],
          %v: Tensor[(b, l, 3, {e}), float32], %mask: Tensor[(b, 1, m), bool]) {{
  let %keys = slice_like(transpose(%k, axes=(0, 2, 1, 3)), %mask, axes=(2,));
  let %values = slice_like(transpose(%v, axes=(0, 2, 1, 3)), %mask, axes=(2,));
  nn.attention(%q, %keys, %values, expand_dims(%mask, axis=1), scale=0.125)
}}
"""


def normal(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def softmax(x: Any) -> Any:
    y = np.exp(x - x.max(-1, keepdims=True, initial=-np.inf))
    return y / y.sum(-1, keepdims=True)


def built(text: str, threads: int | None = None) -> Any:
    return relay.build(relay.parse(text), threads=threads)


def count(text: str, *args: Any) -> int:
    """How many groups there are."""
    return len(built(text).profile(*args, repeat=1).rows)


@pytest.mark.parametrize(
    ("h", "m", "n", "d", "e"),
    [(3, 128, 128, 64, 64), (2, 300, 77, 32, 40), (1, 9, 5, 3, 2), (2, 150, 400, 200, 64), (2, 1, 7, 8, 8)],
)
def test_attention_is_what_its_products_are(h: int, m: int, n: int, d: int, e: int) -> None:
    q, k, v = normal(h, m, d), normal(h, n, d), normal(h, n, e)
    text = SINGLE.format(h=h, m=m, n=n, d=d, e=e)
    one, two = (built(text, threads)(q, k, v) for threads in (1, 2))
    np.testing.assert_allclose(one, softmax(q @ k.transpose(0, 2, 1) * 0.125) @ v, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(("b", "s"), [(1, 8), (2, 33), (1, 200), (3, 1), (1, 0), (2, 145)])
def test_heads_of_any_length_are_read_where_they_are(b: int, s: int) -> None:
    x, mask = normal(b, s, 288), normal(b, s)
    one, two = (built(HEADS, threads)(x, mask) for threads in (1, 2))
    q, k, v = (y.reshape(b, s, 4, 24).transpose(0, 2, 1, 3) for y in np.split(x, 3, -1))
    scores = q @ k.transpose(0, 1, 3, 2) * np.float32(0.2) + mask[:, None, None]
    wanted = (softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(b, s, 96)
    np.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(one, two)


def test_attention_with_what_moves_its_heads_is_one_group() -> None:
    assert count(HEADS, normal(1, 8, 288), normal(1, 8)) == 1


@pytest.mark.parametrize(("r", "d", "e"), [(1, 64, 64), (3, 20, 43), (7, 8, 9), (9, 24, 8)])
def test_the_first_of_kept_keys_and_values_are_read_where_they_lie(r: int, d: int, e: int) -> None:
    text = KEPT.format(r=r, d=d, e=e)
    one, two = (built(text, threads) for threads in (1, 2))
    q, k, v = normal(2, 3, r, d), normal(2, 50, 3, d), normal(2, 50, 3, e)
    for m in (1, 8, 21, 50):
        mask = normal(2, 1, m) > -0.5
        scores = np.where(mask[:, None], np.einsum("bhrd,bmhd->bhrm", q, k[:, :m]) * 0.125, -np.inf)
        with np.errstate(invalid="ignore"):
            wanted = np.einsum("bhrm,bmhe->bhre", np.nan_to_num(softmax(scores)), v[:, :m])
        np.testing.assert_allclose(one(q, k, v, mask), wanted, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(one(q, k, v, mask), two(q, k, v, mask))
    assert count(text, q, k, v, mask) == 1
    with pytest.raises(relay.RelayError, match="the part along axis 2 lies within the tensor"):
        one(q, k, v, np.ones((2, 1, 51), bool))


def test_scores_that_somebody_else_reads_stay_apart() -> None:
    q, k = normal(6, 20, 16), normal(6, 30, 16)
    assert count(SHARED, q, k) == 3
    scores, mixed = built(SHARED)(q, k)
    wanted = softmax(q @ k.transpose(0, 2, 1))
    np.testing.assert_allclose(scores, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mixed, wanted @ k, rtol=1e-4, atol=1e-5)


MASKED = """
def @main(%q: Tensor[(b, {heads}, r, {d}), {dtype}], %k: Tensor[(b, {shared}, m, {d}), {dtype}],
          %v: Tensor[(b, {shared}, m, {d}), {dtype}], %mask: Tensor[(b, {mask_heads}, r, m), {mask}]) {{
  nn.attention(%q, %k, %v, %mask, causal={causal}, group_size={group})
}}
"""


@pytest.mark.parametrize(
    ("r", "m", "heads", "group", "mask", "causal", "dtype", "sizes"),
    [
        (1, 9, 4, 1, "bool", False, "float32", "known"),
        (1, 9, 4, 2, "float32", False, "float32", "known"),
        (7, 33, 2, 1, "bool", True, "float32", "known"),
        (20, 20, 4, 4, "bool", True, "float32", "open"),
        (300, 77, 2, 2, "float32", True, "float32", "known"),
        (20, 20, 2, 1, "float32", False, "float32", "open"),
        (20, 20, 2, 1, "float64", False, "float64", "known"),
        (12, 12, 2, 1, "float16", True, "float16", "open"),
        (5, 0, 2, 1, "bool", False, "float32", "open"),
    ],
)
def test_rows_whose_keys_are_all_masked_are_zero(
    r: int, m: int, heads: int, group: int, mask: str, causal: bool, dtype: str, sizes: str
) -> None:
    """PyTorch since 2.5 gives 0; the other rows by the formula, in float64."""
    shared, d = heads // group, 8
    text = MASKED.format(
        heads=heads, shared=shared, d=d, mask_heads=1, mask=mask, causal=causal, group=group, dtype=dtype
    )
    if sizes == "known":
        for name, size in (("b", 2), ("r", r), ("m", m)):
            text = text.replace(f"({name},", f"({size},").replace(f" {name},", f" {size},")
    rng = np.random.default_rng(r + m)
    q, k, v = (
        rng.standard_normal((2, h, n, d)).astype(dtype) for h, n in ((heads, r), (shared, m), (shared, m))
    )
    keep = rng.random((2, 1, r, m)) > 0.3
    keep[0, 0, :: r // 2 + 1] = False
    keep[1, 0, -1] = False
    added = rng.standard_normal(keep.shape) * (mask != "bool")
    operand = keep if mask == "bool" else np.where(keep, added, -np.inf).astype(mask)
    seen = keep & np.tri(r, m, dtype=bool) if causal else keep
    keys, values = (np.repeat(x.astype("float64"), group, 1) for x in (k, v))
    scores = np.where(seen, q.astype("float64") @ keys.swapaxes(-1, -2) / np.sqrt(d) + added, -np.inf)
    weights = np.exp(scores - np.maximum(scores.max(-1, keepdims=True, initial=-np.inf), -1e300))
    wanted = weights @ values / np.maximum(weights.sum(-1, keepdims=True), 1)
    is_empty = np.broadcast_to(~seen.any(-1), wanted.shape[:-1])
    assert is_empty.any()
    mod = relay.parse(text)
    tolerance = {"float64": 1e-12, "float32": 2e-5, "float16": 4e-3}[dtype]
    executors = [
        relay.create_executor("debug", mod).evaluate(),
        *(built(text, threads) for threads in (1, 2)),
    ]
    for run in executors:
        y = run(q, k, v, operand)
        assert not y[is_empty].any()
        np.testing.assert_allclose(y, wanted, rtol=tolerance, atol=tolerance)
