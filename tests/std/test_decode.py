"""`std/decode`: the loop on a tiny model, compiled and interpreted, against decoding without a cache."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import relay
import tiny_decoder

PROGRAM = (
    """import "std/decode"
import "std/constrain"
"""
    + tiny_decoder.TEXT
    + """
def @sampled(
  %w: Tiny[v, d], %prompts: Tensor[(b, t), int32], %rest: Tensor[(b, p), int32], %most: Tensor[(b,), int32],
  %stops: Tensor[(m, k), int32], %seeds: Tensor[(b,), uint64], %is_drawn: bool
) {
  let %sampler = Sampler {
    process: fn (%l, %_) { %l },
    pick: fn (%l, %keys) { if (%is_drawn) { @sample(%l, %keys) } else { (@greedy(%l), %keys) } },
    follow: fn (%_, %own) { %own },
    stops: %stops,
  };
  @continued(%w, %prompts, %rest, %most, %sampler, %seeds)
}
def @continued(
  %w: Tiny[v, d], %prompts: Tensor[(b, t), int32], %rest: Tensor[(b, p), int32], %most: Tensor[(b,), int32],
  %sampler: Sampler[b, v, m, k, ()], %seeds: Tensor[(b,), uint64]
) {
  let %cache = zeros(shape=(b, 40, d), dtype=float32);
  let (%logits, %cache) = @read(%w, %prompts, %cache, 0);
  let %h = @history(%prompts, @keys_of(%seeds), %most, %logits, %sampler.stops, ());
  let %step = fn (%x: Tensor[(b, 1), int32], %c, %p: int32) { @read(%w, %x, %c, %p) };
  @generate(%step, %sampler, %rest, %logits, %cache, cast(t, int32), %h).0
}
def @by(%w: Tiny[v, d], %prompt: Tensor[(1, t), int32], %most: Tensor[(1,), int32], %s: Settings) {
  let %sampler = @sampler(%s, fn (%l, %_) { %l }, fn (%_, %own) { %own }, [[-1]]);
  @continued(%w, %prompt, [[-1]], %most, %sampler, [3u64])
}
def @streamed(
  %w: Tiny[v, d], %prompts: Tensor[(1, t), int32], %a: Automaton[q, c, v],
  %emit: fn(Tensor[(1,), int32]) -> bool
) {
  let %cache = zeros(shape=(1, 40, d), dtype=float32);
  let (%logits, %cache) = @read(%w, %prompts, %cache, 0);
  let %stops = [[-1]];
  let %h = @history(%prompts, @keys_of([0]), [30], %logits, %stops, [0]);
  let %step = fn (%x: Tensor[(1, 1), int32], %c, %p: int32) { @read(%w, %x, %c, %p) };
  let %sampler = Sampler {
    process: fn (%l, %known) { @constrained(%a, %l, %known.own) },
    pick: fn (%l, %keys) { (@greedy(%l), %keys) },
    follow: fn (%tokens, %own) { @followed(%a, %tokens, %own) },
    stops: %stops,
  };
  @stream(%step, %sampler, %emit, [[-1]], %logits, %cache, cast(t, int32), %h).1
}
def @endless(%w: Tiny[v, d], %most: int32) {
  let %cache = zeros(shape=(1, 8, d), dtype=float32);
  let (%logits, %cache) = @read(%w, [[1]], %cache, 0);
  let %step = fn (%x: Tensor[(1, 1), int32], %c, %p: int32) { @read(%w, %x, %c, %p % 8) };
  let %choose = fn (%l, %s: int64) {
    let %token = @greedy(%l);
    (%token, %s + cast(%token[0], int64))
  };
  @decode(%step, %choose, fn (%_, %s) { True }, %logits, %cache, 1, 0i64, %most).2
}
"""
)
ENTRIES = ["sampled", "streamed", "endless"]
NONE = np.asarray([[-1]], "int32")


@cache
def program() -> Any:
    return relay.build(relay.parse(PROGRAM), entries=ENTRIES)


def ints(x: Any) -> Any:
    return np.asarray(x, "int32")


def settings(**changed: Any) -> dict[str, Any]:
    plain = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "typical": 1.0}
    return plain | {"repetition": 1.0, "presence": 0.0, "frequency": 0.0} | changed


def sampled(
    w: Any, prompts: Any, most: list[int], rest: Any = NONE, stops: Any = NONE, seeds: Any = None
) -> Any:
    """Tokens of requests, greedily if no seeds are given."""
    drawn = np.asarray(seeds or [0] * len(prompts), "uint64")
    return program()["sampled"](w, ints(prompts), rest, ints(most), stops, drawn, seeds is not None)


@pytest.mark.parametrize("seed", range(3))
def test_greedy_decoding_is_that_without_a_cache(seed: int) -> None:
    w, prompt = tiny_decoder.weights(seed), [3, 1, 4]
    found = sampled(w, [prompt], [12])
    assert found[0].tolist() == tiny_decoder.greedy(w, prompt, 12)
    mod = relay.infer(relay.parse(PROGRAM))
    short = relay.run(
        mod, "sampled", [w, ints([prompt]), NONE, ints([4]), NONE, np.zeros(1, "uint64"), False]
    )
    assert short[0].tolist() == found[0, :4].tolist()


def test_requests_of_different_length_in_a_batch_are_each_as_alone() -> None:
    w = tiny_decoder.weights(5)
    prompts, most = [[3, 1, 4, 1, 5], [9, 2], [6, 5, 3, 5]], [4, 9, 6]
    rest = ints([[*p[2:], *[-1] * 3][:3] for p in prompts])
    first = ints([p[:2] for p in prompts])
    found = sampled(w, first, most, rest)
    drawn = sampled(w, first, most, rest, seeds=[7, 8, 9])
    for i, (prompt, n) in enumerate(zip(prompts, most, strict=True)):
        own = len(prompt) - 2
        assert found[i, :own].tolist() == prompt[2:]
        assert found[i, own : own + n].tolist() == tiny_decoder.greedy(w, prompt, n)
        assert np.all(found[i, own + n :] == -1)
        alone = sampled(w, [prompt], [n], seeds=[7 + i])
        assert drawn[i, own : own + n].tolist() == alone[0].tolist()


def test_a_request_ends_with_a_sequence_of_tokens() -> None:
    w, prompt = tiny_decoder.weights(1), [3, 1, 4]
    tokens = tiny_decoder.greedy(w, prompt, 12)
    stops = ints([[-1, -1], tokens[5:7]])
    found = sampled(w, [prompt], [12], stops=stops)[0].tolist()
    end = next(i for i in range(12) if tokens[i : i + 2] == tokens[5:7])
    assert found == tokens[: end + 2]
    assert sampled(w, [prompt], [12], stops=ints([[tokens[0]]])).tolist() == [tokens[:1]]


def test_settings_change_what_is_drawn() -> None:
    w = tiny_decoder.weights(2)

    mod = relay.infer(relay.parse(PROGRAM))

    def tokens(**changed: Any) -> list[int]:
        return relay.run(mod, "by", [w, ints([[3, 1, 4]]), ints([8]), settings(**changed)])[0].tolist()

    best = tiny_decoder.greedy(w, [3, 1, 4], 8)
    assert tokens(temperature=0.0) == best
    assert tokens(top_k=1) == tokens(top_p=0.0) == tokens(min_p=1.0) == best
    assert tokens() != best
    assert len(set(tokens(temperature=0.0, presence=1e6))) == 8
    assert not set(tokens(temperature=0.0, repetition=1e9)[:1]) & {3, 1, 4}


def test_an_automaton_constrains_and_a_function_of_python_gets_tokens_as_they_come() -> None:
    w = tiny_decoder.weights(3)
    # Tokens 2 and 5 take turns, thrice, and 7 ends.
    after = -np.ones((7, 11), "int32")
    for state in range(6):
        after[state, 5 if state % 2 else 2] = state + 1
    after[6, 7] = 6
    kinds, classes = np.unique(after.T, axis=0, return_inverse=True)
    automaton = {"next": np.ascontiguousarray(kinds.T), "classes": classes.astype("int32")}
    got: list[int] = []

    def emit(tokens: Any) -> bool:
        got.append(int(tokens[0]))
        return got[-1] != 7

    position = program()["streamed"](w, ints([[3, 1, 4]]), automaton, emit)
    assert got == [2, 5, 2, 5, 2, 5, 7]
    assert position == 3 + 6, "the last token is not read"


def test_what_a_function_of_python_raises_ends_the_loop() -> None:
    w = tiny_decoder.weights(3)
    automaton = {"next": np.zeros((1, 1), "int32"), "classes": np.zeros(11, "int32")}

    def emit(tokens: Any) -> bool:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        program()["streamed"](w, ints([[3, 1, 4]]), automaton, emit)


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.parametrize("rounds", [20_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_memory_does_not_grow_with_the_tokens(rounds: int) -> None:
    w = tiny_decoder.weights(4)
    program()["endless"](w, 2_000)
    before = resident_bytes()
    program()["endless"](w, rounds)
    assert resident_bytes() - before < 4 << 20
