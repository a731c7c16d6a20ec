"""Vocabularies in GGUF files as tokenizers: byte-level pairs, and SentencePiece's with scores."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from relay.diagnostic import fail
from relay.models.settings import unsupported
from relay.models.tokenizer import Tokenizer, library, numbers

KEY = "tokenizer.ggml."
WHOLE = "tokenizer.huggingface.json"
"""The key of a folder's `tokenizer.json`, for what the other keys cannot say."""
CONTROL, USER_DEFINED, UNUSED, BYTE = 3, 4, 5, 6
"""Types of tokens."""
ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
WORDS = r"|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3, QWEN2 = ENDINGS + WORDS % r"\p{N}{1,3}", ENDINGS + WORDS % r"\p{N}"
SPLITS: Mapping[str, tuple[str, bool]] = {
    name: found
    for names, found in (
        ("llama-bpe llama3 llama-v3 dbrx smaug-bpe ", (LLAMA3, False)),
        ("qwen2 stablelm2 ", (QWEN2, False)),
        ("gpt-2 phi-2 jina-es olmo mpt default ", ("", False)),
        ("smollm starcoder refact command-r codeshell ", ("", True)),
    )
    for name in names.split()
}
"""How a text is split before pairs are joined: a pattern, else GPT-2's; whether digits stand alone."""


def gguf_tokenizer(values: Mapping[str, Any]) -> Tokenizer | None:
    """The tokenizer of a file; None if it has no vocabulary (`model-file`, `model-unsupported`)."""
    kind, tokens = values.get(KEY + "model"), values.get(KEY + "tokens")
    if kind is None or tokens is None:
        return None
    tokens = texts(tokens)
    whole = values.get(WHOLE)
    if isinstance(whole, str):
        inside = whole_vocabulary(whole)
    elif kind == "gpt2":
        inside = byte_level(values, tokens)
    elif kind == "llama":
        inside = by_scores(values, tokens)
    else:
        unsupported(f"a vocabulary of the kind {kind!r}")
    if not isinstance(whole, str):
        add_special(inside, tokens, values.get(KEY + "token_type"))
    begin = next(iter(numbers(values.get(KEY + "bos_token_id"))), None)
    ends = [n for k in ("eos", "eot", "eom") for n in numbers(values.get(f"{KEY}{k}_token_id"))]
    usual = kind == "llama" or SPLITS.get(str(values.get(KEY + "pre")), ("", False))[0] == LLAMA3
    adds = values.get(KEY + "add_bos_token", usual) is True
    template = values.get("tokenizer.chat_template")
    return Tokenizer(inside, begin, frozenset(ends), adds, template if isinstance(template, str) else None)


def whole_vocabulary(text: str) -> Any:
    """A tokenizer as a folder has it (`model-file`)."""
    try:
        return library().Tokenizer.from_str(text)
    except Exception as error:  # the library raises this very class
        fail("model-file", f"`{WHOLE}` is not a tokenizer ({error})", hint="fetch the file again")


def texts(said: Any) -> list[str]:
    """A list of texts (`model-file`)."""
    found = cast("list[str]", said if isinstance(said, list) else [None])
    if {*map(type, found)} - {str}:
        fail("model-file", "the vocabulary of the file is not a list of texts", hint="fetch the file again")
    return found


def byte_level(values: Mapping[str, Any], tokens: Sequence[str]) -> Any:
    """Pairs of bytes, joined in the order of a list (`model-unsupported`).  Source: Radford et al., 2019."""
    lib = library()
    name = str(values.get(KEY + "pre", "default"))
    if name not in SPLITS:
        unsupported(f"texts split in the way of {name!r}")
    pattern, digits_alone = SPLITS[name]
    pairs = [(a, b) for a, _, b in (m.partition(" ") for m in texts(values.get(KEY + "merges", [])))]
    known = {t: i for i, t in enumerate(tokens)}
    pairs = [(a, b) for a, b in pairs if a in known and b in known and a + b in known]
    model = lib.models.BPE(vocab=known, merges=pairs, ignore_merges=pattern == LLAMA3)
    inside = lib.Tokenizer(model)
    before = lib.pre_tokenizers
    steps = [before.Digits(individual_digits=True)] if digits_alone else []
    if pattern:
        steps.append(before.Split(lib.Regex(pattern), behavior="isolated"))
    steps.append(before.ByteLevel(add_prefix_space=False, use_regex=not pattern))
    inside.pre_tokenizer = before.Sequence(steps)
    if name == "qwen2":
        inside.normalizer = lib.normalizers.NFC()
    inside.decoder = lib.decoders.ByteLevel()
    return inside


def by_scores(values: Mapping[str, Any], tokens: Sequence[str]) -> Any:
    """SentencePiece's pairs: those are joined first that make the token of the highest score (`model-file`).

    Source: Kudo and Richardson, 2018; llama.cpp's `llm_tokenizer_spm`.
    """
    scores = values.get(KEY + "scores")
    if not is_beside(scores, tokens):
        fail("model-file", "the vocabulary of the file has no scores", hint="fetch the file again")
    lib = library()
    known = {t: i for i, t in enumerate(tokens)}
    model = lib.models.BPE(
        vocab=known, merges=merges_by_score(known, cast("list[float]", scores)), byte_fallback=True,
        fuse_unk=True,
        unk_token=tokens[unknown(values, len(tokens))],
    )  # fmt: skip
    inside = lib.Tokenizer(model)
    steps = [lib.normalizers.Replace(" ", "▁")]
    has_prefix = values.get(KEY + "add_space_prefix", True) is True
    inside.normalizer = lib.normalizers.Sequence(
        [lib.normalizers.Prepend("▁"), *steps] if has_prefix else steps
    )
    d = lib.decoders
    strip = [d.Strip(content=" ", left=1)] if has_prefix else []
    inside.decoder = d.Sequence([d.Replace("▁", " "), d.ByteFallback(), d.Fuse(), *strip])
    return inside


def is_beside(said: Any, tokens: Sequence[str]) -> bool:
    """Whether that is a list with something for each token."""
    return isinstance(said, list) and len(cast("list[Any]", said)) == len(tokens)


def unknown(values: Mapping[str, Any], count: int) -> int:
    """The token that stands for what the vocabulary has not."""
    found = numbers(values.get(KEY + "unknown_token_id", 0))
    return found[0] if found and found[0] < count else 0


def merges_by_score(known: Mapping[str, int], scores: Sequence[float]) -> list[tuple[str, str]]:
    """The pairs of tokens that make a token, best token first."""
    found: list[tuple[float, int, int, str, str]] = []
    for token, i in known.items():
        for cut in range(1, len(token)):
            a, b = known.get(token[:cut]), known.get(token[cut:])
            if a is not None and b is not None:
                found.append((-float(scores[i]), a, b, token[:cut], token[cut:]))
    found.sort()
    return [(a, b) for *_, a, b in found]


def add_special(inside: Any, tokens: Sequence[str], kinds: Any) -> None:
    """Say which tokens are not text: they are found in a text before it is split."""
    if not is_beside(kinds, tokens):
        return
    lib = library()
    control = [t for t, k in zip(tokens, kinds, strict=True) if k == CONTROL and t]
    own = [t for t, k in zip(tokens, kinds, strict=True) if k == USER_DEFINED and t]
    inside.add_special_tokens([lib.AddedToken(t, special=True, normalized=False) for t in control])
    inside.add_tokens([lib.AddedToken(t, special=False, normalized=False) for t in own])
