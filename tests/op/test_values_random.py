"""Random numbers: the published known answers of Threefry, and what the distributions are."""

from math import sqrt

import numpy as np
import pytest

import relay
from op.concrete import infer, run
from relay.diagnostic import RelayError
from relay.ir.type import TensorType, TupleType
from relay.op.random_keys import KEY, random_key
from relay.op.random_words import TOP, UINT64_MAX
from relay.op.registry import builders
from relay.op.threefry import split_key, threefry

PI = [0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89]
KNOWN = [
    # From the known-answer file of Random123: counter, key, result of threefry4x64 with 20 rounds.
    ([0] * 4, [0] * 4, [0x09218EBDE6C85537, 0x55941F5266D86105, 0x4BD25E16282434DC, 0xEE29EC846BD2E40B]),
    (
        [UINT64_MAX] * 4,
        [UINT64_MAX] * 4,
        [0x29C24097942BBA1B, 0x0371BBFB0F6F4E11, 0x3C231FFA33F83A1C, 0xCD29113FDE32D168],
    ),
    (
        PI,
        [0x452821E638D01377, 0xBE5466CF34E90C6C, 0xBE5466CF34E90C6C, 0xC0AC29B7C97C50DD],
        [0xA7E8FDE591651BD9, 0xBAAFD0C30138319B, 0x84A5C1A729E685B9, 0x901D406CCEBC1BA4],
    ),
]


def cipher(key: list[int], counter: list[int]) -> list[int]:
    return [int(w) for w in threefry([np.uint64(k) for k in key], [np.uint64(w) for w in counter])]


@pytest.mark.parametrize(("counter", "key", "want"), KNOWN)
def test_the_cipher_gives_the_known_answers(counter, key, want) -> None:
    assert cipher(key, counter) == want


def test_the_first_words_of_the_zero_key_are_the_known_answer() -> None:
    _, words = run("random.threefry_generate", random_key(0), out_shape=(4,))
    assert words.tolist() == KNOWN[0][2]


def test_a_key_holds_the_seed_and_the_place_of_its_first_split() -> None:
    seed = 1 + (2 << 64) + (3 << 128) + (4 << 192)
    assert random_key(seed).tolist() == [1, 2, 3, 4, 0, 0, 0, 0, TOP, 0]
    assert builders["random.threefry_key"](5).value.tolist() == [5, 0, 0, 0, 0, 0, 0, 0, TOP, 0]


def test_generation_goes_on_from_its_new_key() -> None:
    key = random_key(9)
    after, first = run("random.threefry_generate", key, out_shape=(2, 6))
    assert after.tolist() == [9, 0, 0, 0, 0, 0, 0, 12, TOP, 0]
    _, again = run("random.threefry_generate", key, out_shape=(12,))
    np.testing.assert_array_equal(first.reshape(-1), again)
    _, second = run("random.threefry_generate", after, out_shape=(12,))
    assert not set(first.reshape(-1).tolist()) & set(second.tolist())


def test_block_i_is_the_cipher_of_counter_plus_i() -> None:
    _, words = run("random.threefry_generate", random_key(9), out_shape=(3, 4))
    for i in range(3):
        assert words[i].tolist() == cipher([9, 0, 0, 0], [i] * 4)


def test_a_full_counter_puts_a_one_on_the_path() -> None:
    key = np.asarray([9, 0, 0, 0, 0, 0, 0, UINT64_MAX - 2, TOP, 0], "uint64")
    after, words = run("random.threefry_generate", key, out_shape=(4,))
    assert after.tolist() == [9, 0, 0, 0, TOP, 0, 0, 4, TOP >> 1, 0]
    assert words.tolist() == cipher([9, 0, 0, 0], [TOP, 0, 0, 0])


def test_a_full_path_makes_a_new_key() -> None:
    key = np.asarray([9, 0, 0, 0, 5, 6, 0, 7, 0, 0], "uint64")
    fresh = cipher([9, 0, 0, 0], [5, 6, 0, 7])
    left, right = split_key(np, key)
    assert left.tolist() == [*fresh, 0, 0, 0, 0, TOP >> 1, 0]
    assert right.tolist() == [*fresh, TOP, 0, 0, 0, TOP >> 1, 0]


def test_keys_of_any_depth_of_splits_differ() -> None:
    key, leaves = random_key(1), []
    for _ in range(140):
        left, key = run("random.threefry_split", key)
        leaves.append(left)
    drawn = {tuple(run("random.threefry_generate", k, out_shape=(2,))[1].tolist()) for k in [*leaves, key]}
    assert len(drawn) == 141


@pytest.mark.parametrize(("dtype", "bits"), [("float32", 23), ("float64", 52), ("float16", 10)])
def test_uniform_is_the_top_bits_of_a_word(dtype: str, bits: int) -> None:
    _, words = run("random.threefry_generate", random_key(4), out_shape=(64,))
    _, found = run(
        "random.uniform",
        random_key(4),
        np.zeros((), dtype),
        np.ones((), dtype),
        out_shape=(64,),
        out_dtype=dtype,
    )
    np.testing.assert_array_equal(
        found, [np.dtype(dtype).type((w >> (64 - bits)) / 2**bits) for w in words.tolist()]
    )


def test_uniform_fills_its_interval_evenly() -> None:
    _, x = run("random.uniform", random_key(4), np.float32(-2), np.float32(6), out_shape=(100, 200))
    assert x.min() >= -2
    assert x.max() < 6
    counts, _ = np.histogram(x, bins=10, range=(-2, 6))
    assert np.abs(counts - 2000).max() < 5 * sqrt(2000)


def test_normal_has_its_mean_and_deviation() -> None:
    _, x = run(
        "random.normal", random_key(4), np.float64(3), np.float64(2), out_shape=(20000,), out_dtype="float64"
    )
    assert abs(x.mean() - 3) < 5 * 2 / sqrt(20000)
    assert abs(x.std() - 2) < 0.06
    assert abs(((x - 3) ** 3).mean() / 8) < 0.1
    assert abs((np.abs(x - 3) < 2).mean() - 0.6827) < 0.02


def test_multinomial_draws_by_chance() -> None:
    probs = np.asarray([[0.1, 0.2, 0.7], [2.0, 2.0, 0.0]], "float32")
    _, x = run("random.multinomial", random_key(4), probs, num_samples=10000)
    shares = np.stack([np.bincount(row, minlength=3) for row in x]) / 10000
    np.testing.assert_allclose(shares, [[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]], atol=0.03)
    assert x[1].max() == 1


def test_builders_take_what_people_write() -> None:
    key = builders["random.threefry_key"](0)
    call = builders["random.uniform"](key, (100,), low=0, high=10)
    assert [a.value.dtype for a in call.args] == [np.uint64, np.float32, np.float32]
    assert (call.attrs.out_shape, call.attrs.out_dtype) == ((100,), "float32")
    new_key, values = builders["random.normal"](key, (3, 2), "float64", 1.0, 2.0)
    assert (new_key.index, values.index) == (0, 1)
    assert builders["random.threefry_generate"](key, [4]).attrs.out_shape == (4,)


def test_a_seed_has_256_bits() -> None:
    with pytest.raises(RelayError, match=r"attribute-value.*seed"):
        random_key(-1)
    with pytest.raises(RelayError, match=r"attribute-value.*seed"):
        infer("random.threefry_key", seed=2**256)


def test_text_makes_keys() -> None:
    mod = relay.parse("random.threefry_key(seed=5)")
    assert relay.parse(str(relay.infer(mod)))["main"].body.attrs.seed == 5
    assert relay.run(relay.infer(mod), "main", ()).tolist() == random_key(5).tolist()


def test_types_and_faults() -> None:
    assert infer("random.threefry_split", KEY) is TupleType([KEY, KEY])
    assert infer("random.threefry_generate", KEY, out_shape=(12,)) is TupleType(
        [KEY, TensorType((12,), "uint64")]
    )
    bad = TensorType((9,), "uint64")
    number = TensorType((), "float32")
    for call, code in [
        (lambda: infer("random.threefry_generate", bad, out_shape=(12,)), "type-mismatch"),
        (
            lambda: infer("random.uniform", KEY, number, number, out_shape=(2,), out_dtype="int32"),
            "dtype-not-supported",
        ),
        (
            lambda: infer("random.uniform", KEY, number, number, out_shape=(2,), out_dtype="float64"),
            "type-mismatch",
        ),
        (lambda: infer("random.multinomial", KEY, number), "rank-mismatch"),
    ]:
        with pytest.raises(RelayError) as caught:
            call()
        assert caught.value.codes == (code,)
