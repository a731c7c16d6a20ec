"""Tokenizers of folders as keys of GGUF files, and those of GGUF files as files of a folder."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from relay.models.gguf_vocabulary import BYTE, CONTROL, KEY, LLAMA3, QWEN2, UNUSED, USER_DEFINED, WHOLE
from relay.models.settings import unsupported
from relay.models.tokenizer import Tokenizer

NORMAL, UNKNOWN = 1, 2
TEMPLATE = "tokenizer.chat_template"
FLOOR = -1e4
"""The score of a token that no pair makes."""


def keys_of(tokenizer: Tokenizer, size: int) -> dict[str, Any]:
    """A tokenizer as the keys of a GGUF file with `size` tokens (`model-unsupported`).

    Where those of llama.cpp do not say all, `tokenizer.json` is one of them.
    """
    state = cast("dict[str, Any]", json.loads(tokenizer.inside.to_str()))
    model = cast("dict[str, Any]", state["model"])
    if model.get("type") != "BPE":
        unsupported(f"a vocabulary of the kind {model.get('type')!r}, for which GGUF files have no keys here")
    known = cast("dict[str, int]", model["vocab"])
    listed = cast("list[dict[str, Any]]", state.get("added_tokens") or [])
    added = {int(t["id"]): t for t in listed}
    by_number = {i: t for t, i in known.items()} | {i: str(t["content"]) for i, t in added.items()}
    tokens = [by_number.get(i, f"[PAD{i}]") for i in range(size)]
    unknown = known.get(str(model.get("unk_token")))
    kinds = [NORMAL if i in by_number else UNUSED for i in range(size)]
    for i, token in added.items():
        if i < size:
            kinds[i] = CONTROL if token.get("special") else USER_DEFINED
    pairs = [m.split(" ", 1) if isinstance(m, str) else m for m in model["merges"]]
    said: dict[str, Any] = {"tokens": tokens, "token_type": kinds}
    if model.get("byte_fallback"):
        for i, token in enumerate(tokens):
            if kinds[i] == NORMAL and len(token) == len("<0x00>") and token.startswith("<0x"):
                kinds[i] = BYTE
        if unknown is not None:
            kinds[unknown] = UNKNOWN
            said["unknown_token_id"] = unknown
        made = {a + b: float(-k) for k, (a, b) in reversed([*enumerate(pairs)])}
        said |= {"model": "llama", "scores": [made.get(t, FLOOR) for t in tokens]}
        said["add_space_prefix"] = has_space_prefix(state)
    else:
        said |= {"model": "gpt2", "merges": [" ".join(pair) for pair in pairs], "pre": splitting(state)}
    found = {KEY + k: x for k, x in said.items()} | special(tokenizer)
    is_whole = is_said(state, by_bytes=not model.get("byte_fallback"))
    return found if is_whole else found | {WHOLE: tokenizer.inside.to_str()}


def has_space_prefix(state: Mapping[str, Any]) -> bool:
    """Whether a space is put before a text."""
    steps = [*steps_of_part(state, "normalizer"), *steps_of_part(state, "pre_tokenizer")]
    kinds = [s.get("type") for s in steps if s.get("prepend_scheme") != "never"]
    return "Prepend" in kinds or "Metaspace" in kinds


def special(tokenizer: Tokenizer) -> dict[str, Any]:
    """What is said of the tokens at the beginning and the end of texts, and how conversations are written."""
    found: dict[str, Any] = {}
    if tokenizer.begin is not None:
        found[f"{KEY}bos_token_id"] = tokenizer.begin
        found[f"{KEY}add_bos_token"] = tokenizer.encode("a")[:1] == [tokenizer.begin]
    for key, number in zip(("eos", "eot", "eom"), sorted(tokenizer.ends), strict=False):
        found[f"{KEY}{key}_token_id"] = number
    return found if tokenizer.template is None else found | {TEMPLATE: tokenizer.template}


def steps_of_part(state: Mapping[str, Any], part: str) -> Iterator[dict[str, Any]]:
    """The steps of a part of a tokenizer, those in sequences one by one."""
    pending: list[Any] = [state.get(part)]
    while pending:
        step = pending.pop(0)
        if isinstance(step, dict):
            found = cast("dict[str, Any]", step)
            pending = [*(found.get("normalizers") or []), *(found.get("pretokenizers") or []), *pending]
            yield found


def splitting(state: Mapping[str, Any]) -> str:
    """How llama.cpp calls the way in which texts are split before pairs are joined (`model-unsupported`)."""
    pattern, digits_alone = "", False
    for step in steps_of_part(state, "pre_tokenizer"):
        match step.get("type"):
            case "Split":
                pattern = str(cast("dict[str, Any]", step.get("pattern") or {}).get("Regex"))
            case "Digits" if step.get("individual_digits"):
                digits_alone = True
            case "ByteLevel" | "Sequence":
                pass
            case other:
                unsupported(f"texts split by {other!r}, for which GGUF files have no name here")
    if (pattern, digits_alone) == (QWEN2, False):
        return "qwen2" if normalizers_of(state) == ["NFC"] else "stablelm2"
    known = {("", False): "gpt-2", ("", True): "smollm", (LLAMA3, False): "llama-bpe"}
    name = known.get((pattern, digits_alone))
    return (
        name
        if name is not None
        else unsupported(f"texts split by {pattern!r}, for which there is no name here")
    )


def normalizers_of(state: Mapping[str, Any]) -> list[Any]:
    """How texts are changed before they are split: the types of the steps."""
    found = [step.get("type") for step in steps_of_part(state, "normalizer")]
    return [kind for kind in found if kind != "Sequence"]


def is_said(state: Mapping[str, Any], by_bytes: bool) -> bool:
    """Whether a GGUF file's own keys say all of how texts become tokens."""
    before = list(steps_of_part(state, "pre_tokenizer"))
    kinds = normalizers_of(state)
    if by_bytes:
        has_space = any(step.get("add_prefix_space") for step in before)
        return not has_space and kinds == (["NFC"] if splitting(state) == "qwen2" else [])
    whole = [step for step in before if step.get("type") == "Split" and is_space(step.get("pattern"))]
    spaces = [s for s in steps_of_part(state, "normalizer") if s.get("type") == "Replace"]
    return (
        len(whole) == len(before)
        and kinds in (["Prepend", "Replace"], ["Replace"])
        and all(is_space(s.get("pattern")) and s.get("content") == "▁" for s in spaces)
    )


def is_space(pattern: Any) -> bool:
    """Whether a pattern is one space."""
    return pattern == {"String": " "}


def files_of(tokenizer: Tokenizer) -> dict[str, bytes]:
    """A tokenizer as files of a folder, by name."""
    texts = {"bos_token": tokenizer.begin, "eos_token": min(tokenizer.ends, default=None)}
    said: dict[str, Any] = {k: tokenizer.text_of(n) for k, n in texts.items() if n is not None}
    said |= {"add_bos_token": tokenizer.adds_begin, "tokenizer_class": "PreTrainedTokenizerFast"}
    if tokenizer.template is not None:
        said["chat_template"] = tokenizer.template
    found = {"tokenizer.json": tokenizer.inside.to_str(), "tokenizer_config.json": json.dumps(said, indent=2)}
    if tokenizer.ends:
        found["generation_config.json"] = json.dumps({"eos_token_id": sorted(tokenizer.ends)})
    return {name: text.encode() for name, text in found.items()}
