"""`relay.decoding` on a tiny Llama: what it writes is what its scores say, however it is asked."""

import os
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.tiny import written
from relay.decoding import Session
from relay.decoding.words import Words, byte_letters, bytes_of_tokens, spelled
from relay.diagnostic import RelayError
from relay.models import LanguageModel, load

TEXTS: list[bytes | None] = [None, b"a", b"b", b"{", b'"', b"}", b":", b"1", b"\xc3", None, b"ab"]
END = 9


class Letters:
    """A tokenizer of few letters."""

    def encode(self, text: str) -> list[int]:
        return [TEXTS.index(c.encode()) for c in text]

    def decode(self, tokens: Sequence[int]) -> str:
        return b"".join([TEXTS[t] or b"" for t in tokens]).decode(errors="replace")

    def token_bytes(self, token: int) -> bytes | None:
        return TEXTS[token]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    found = load(written(tmp_path_factory.mktemp("models") / "tiny", eos_token_id=END))
    found.tokenizer = Letters()
    return found


def expected(model: LanguageModel, prompt: Sequence[int], count: int) -> list[int]:
    """The most likely tokens, of a cache that is read anew for each."""
    tokens = list(prompt)
    cache = model.cache(1, 64)
    at = 0
    while len(tokens) < len(prompt) + count and (at == 0 or tokens[-1] != END):
        scores, cache = model.step([tokens[at:]], cache, at)
        at = len(tokens)
        tokens.append(int(scores[0].argmax()))
    return tokens[len(prompt) :]


def test_generated_tokens_are_the_most_likely(model: LanguageModel) -> None:
    for prompt in ([3, 1, 4], [1, 2], [10]):
        found = model.generate(prompt, max_tokens=12)
        assert found.tokens == expected(model, prompt, 12)
        assert found.reason == ("end" if found.tokens[-1] == END else "length")
        assert found.text == Letters().decode([t for t in found.tokens if t != END])
    assert model.generate([3, 1, 4], max_tokens=0).tokens == []
    assert len(model.generate([1] * 30, max_tokens=9).tokens) <= 2, "the context has 32 tokens"


def test_a_text_ends_it_and_is_left_out(model: LanguageModel) -> None:
    whole = model.generate("ab", max_tokens=12)
    stop = whole.text[2:4]
    pieces: list[str] = []
    found = model.generate("ab", max_tokens=12, stop=[stop, "zz"], on_text=pieces.append)
    assert found.text == whole.text[: whole.text.index(stop)] == "".join(pieces)
    assert found.reason == "stop"


def test_a_stream_gives_the_text_in_pieces_and_can_be_closed(model: LanguageModel) -> None:
    whole = model.generate("ab", max_tokens=12).text
    assert "".join(model.stream("ab", max_tokens=12)) == whole
    session = Session(model)
    pieces = model.stream("ab", max_tokens=12, session=session)
    first = next(pieces)
    pieces.close()
    with session.lock:
        assert whole.startswith(first)
        assert session.tokens[0][:2] == [1, 2]
    assert model.generate("ab", max_tokens=12, session=session).text == whole


def test_a_session_reads_what_is_new_and_is_saved(model: LanguageModel, tmp_path: Path) -> None:
    session = Session(model)
    first = model.generate([3, 1, 4, 1], max_tokens=4, session=session)
    assert first.read_tokens == 4
    longer = [3, 1, 4, 1, *first.tokens[:2], 7]
    again = model.generate(longer, max_tokens=5, session=session)
    assert again.tokens == expected(model, longer, 5)
    assert again.read_tokens == 1, "the rest is in the cache"
    session.save(tmp_path / "session.safetensors")
    loaded = Session.load(model, tmp_path / "session.safetensors")
    assert loaded.tokens == session.tokens
    more = [*session.tokens[0], 2]
    found = model.generate(more, max_tokens=5, session=loaded)
    assert (found.tokens, found.read_tokens) == (expected(model, more, 5), 1)
    loaded.roll_back(3)
    assert model.generate([3, 1, 4, 2], max_tokens=5, session=loaded).tokens == expected(
        model, [3, 1, 4, 2], 5
    )
    with pytest.raises(RelayError, match="bad-session"):
        Session.load("another model", tmp_path / "session.safetensors")


def test_an_interrupt_leaves_the_session_as_it_was(model: LanguageModel) -> None:
    session = Session(model)
    model.generate([3, 1, 4], max_tokens=2, session=session)
    before = [list(t) for t in session.tokens]

    def interrupt(text: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

    assert threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            model.generate([3, 1, 4, 2], max_tokens=20, session=session, on_text=interrupt)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert session.tokens[0] == before[0][:3]
    assert model.generate([3, 1, 4], max_tokens=12, session=session).tokens == expected(model, [3, 1, 4], 12)


@pytest.mark.long
def test_requests_of_a_batch_are_each_as_alone(model: LanguageModel) -> None:
    prompts = [[3, 1, 4], [1, 2], [5, 6, 7, 8]]
    found = model.generate(prompts, max_tokens=12)
    assert [f.tokens for f in found] == [expected(model, p, 12) for p in prompts]
    drawn = model.generate(prompts, max_tokens=12, temperature=1.0, top_k=6, seed=5)
    for i, prompt in enumerate(prompts):
        alone = model.generate(prompt, max_tokens=12, temperature=1.0, top_k=6, seed=5 + i)
        assert alone.tokens == drawn[i].tokens


@pytest.mark.long
@pytest.mark.parametrize("kind", ["whole", "paged", "ring"])
def test_rows_of_a_session_go_on_where_each_has_ended(kind: str, tmp_path: Path) -> None:
    window = 32 if kind == "ring" else None
    model = load(written(tmp_path / "a", eos_token_id=END), cache=kind, window=window)
    session = Session(model, 3)
    prompts = [[3, 1, 4], [1, 2, 6, 6, 5, 10, 10], [5, 6, 7, 8]]
    first = model.generate(prompts, max_tokens=6, session=session)
    assert [f.tokens for f in first] == [expected(model, p, 6) for p in prompts]
    longer = [[*p, *f.tokens, 7] for p, f in zip(prompts, first, strict=True)]
    longer[2] = [5, 6, 1]
    again = model.generate(longer, max_tokens=5, session=session)
    assert [f.tokens for f in again] == [expected(model, p, 5) for p in longer]
    assert [f.read_tokens for f in again] == [2, 2, 1]
    session.save(tmp_path / "saved.safetensors")
    more = [[*t, 2, 3] for t in session.tokens]
    loaded = Session.load(model, tmp_path / "saved.safetensors")
    found = model.generate(more, max_tokens=4, session=loaded)
    assert [f.tokens for f in found] == [expected(model, p, 4) for p in more]
    assert [f.read_tokens for f in found] == [2, 2, 2]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["paged", "ring", "int8"])
def test_other_caches_serve_tokens_ahead_and_interrupts(kind: str, tmp_path: Path) -> None:
    window = 32 if kind == "ring" else None
    model = load(written(tmp_path / "a", eos_token_id=END), cache=kind, window=window)
    session = Session(model)
    wanted = model.generate([3, 1, 4], max_tokens=12).tokens
    if kind != "int8":
        assert wanted == expected(model, [3, 1, 4], 12)
    assert model.generate([3, 1, 4], max_tokens=12, lookup=1, session=session).tokens == wanted
    pieces = []

    def fail(text: str) -> None:
        pieces.append(text)
        if len(pieces) == 2:
            raise KeyboardInterrupt

    model.tokenizer = Letters()
    with pytest.raises(KeyboardInterrupt):
        model.generate([3, 1, 5], max_tokens=9, session=session, on_text=fail)
    assert session.tokens == [[] if kind == "ring" else [3, 1]]
    assert model.generate([3, 1, 4], max_tokens=12, session=session).tokens == wanted


@pytest.mark.long
def test_tokens_proposed_ahead_change_nothing(model: LanguageModel, tmp_path: Path) -> None:
    draft = load(written(tmp_path / "draft", num_hidden_layers=1, eos_token_id=END))
    for prompt in ([3, 1, 4], [1, 2], [10, 10, 10]):
        wanted = expected(model, prompt, 14)
        assert model.generate(prompt, max_tokens=14, lookup=1).tokens == wanted
        assert model.generate(prompt, max_tokens=14, draft=draft).tokens == wanted
        assert model.generate(prompt, max_tokens=14, draft=model).tokens == wanted


@pytest.mark.long
def test_processors_of_relay_and_of_python(model: LanguageModel) -> None:
    best = model.generate([3, 1], max_tokens=9, process="fn (%l, %h) { %l with { [:, 7]: 50.0 } }")
    assert best.tokens == [7] * 9
    seen: list[Any] = []

    def process(ids: Any, logits: Any) -> Any:
        seen.append(ids.tolist())
        return np.where(np.arange(11) == ids.shape[1], 100.0, logits)

    assert model.generate([3, 1], max_tokens=5, process=process).tokens == [2, 3, 4, 5, 6]
    assert seen[-1] == [[3, 1, 2, 3, 4, 5]]


def test_options_that_cannot_be(model: LanguageModel) -> None:
    for options, code in (
        ({"temperature": -1.0}, "option-value"),
        ({"temprature": 1.0}, "unknown-option"),
        ({"regex": "a", "grammar": "b"}, "option-value"),
        ({"draft": model, "repetition_penalty": 2.0}, "option-value"),
    ):
        with pytest.raises(RelayError, match=code):
            model.generate([3], **options)
    for prompt, code in (([], "option-value"), ([11], "option-value"), ([1] * 32, "prompt-too-long")):
        with pytest.raises(RelayError, match=code):
            model.generate(prompt)


def test_words_hold_back_what_may_yet_change() -> None:
    words = Words(Letters(), ["}1"])
    assert [words.add(t) for t in (1, 8, 2)] == ["a", "", "\ufffdb"]
    assert [words.add(t) for t in (5, 6, 5, 7)] == ["", "}:", "", ""]
    assert words.is_stopped
    assert words.text == "a\ufffdb}:"


def test_bytes_of_tokens() -> None:
    letters = byte_letters()
    assert sorted(letters.values()) == list(range(256))
    assert spelled("\u0120a", letters) == b" a"
    assert spelled("\u2581a", {}) == b" a"
    assert spelled("<0x0A>", {}) == b"\n"
    assert bytes_of_tokens(Letters(), 11) == TEXTS
