"""Texts of many scripts are the same tokens for a folder, for its GGUF file, and for the folder of that."""

import json

import numpy as np
import pytest

pytest.importorskip("tokenizers", reason="needs the lm extra")
pytest.importorskip("jinja2", reason="needs the lm extra")

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers

import relay
from models.tiny import tensors, written
from relay.models import load
from relay.models.gguf_vocabulary import LLAMA3, QWEN2, WHOLE

pytestmark = pytest.mark.torch

TRAINING = [
    "Hello world, it's 2024! the lines of the world are words and spaces",
    "naïve Æsop 你好 🙂 привет мир שלום עולם", "def f(x):\n    return x + 1\n",
] * 5  # fmt: skip
SPECIAL = ["<s>", "</s>", "<|im_start|>", "<|im_end|>"]
ODD = [
    *TRAINING[:3], "e\u0301 é", "1234567 ١٢٣", "'LL 's it'S", "a <s></s>b<|im_start|>user\n", " ▁ a ▁b",
    "<0x41>", "", "   ", "\n\n\n a", "👩‍👩‍👧‍👦 🇩🇪",
]  # fmt: skip
SCRIPTS = [
    (0x00, 0x1F), (0x20, 0x7F), (0xA0, 0x17F), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x4FF), (0x590, 0x5FF),
    (0x600, 0x6FF), (0x900, 0x97F), (0xE00, 0xE7F), (0x1100, 0x11FF), (0x2000, 0x206F), (0x2190, 0x22FF),
    (0x3040, 0x30FF), (0x4E00, 0x4EFF), (0xAC00, 0xACFF), (0xE000, 0xE0FF), (0xFB00, 0xFB4F),
    (0x1D400, 0x1D4FF), (0x1F300, 0x1F64F),
]  # fmt: skip
TEXTS = 300


def drawn(rng) -> str:
    """A text of parts in some scripts, with some white space between."""
    parts = []
    for first, last in rng.choice(SCRIPTS, rng.integers(1, 6)):
        parts.append("".join(map(chr, rng.integers(first, last + 1, rng.integers(1, 8)))))
    return str(rng.choice([" ", "", "  ", "\n", " \t", "\r\n"])).join(parts)


def by_bytes(pattern="", digits=False, normalizer=None, begins=False, space=False):
    """A vocabulary of GPT-2's kind."""
    made = tokenizers.Tokenizer(models.BPE(ignore_merges=begins))
    steps = [pre_tokenizers.Digits(individual_digits=True)] if digits else []
    if pattern:
        steps.append(pre_tokenizers.Split(Regex(pattern), behavior="isolated"))
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=space, use_regex=not pattern))
    made.pre_tokenizer = pre_tokenizers.Sequence(steps)
    made.decoder = decoders.ByteLevel()
    if normalizer is not None:
        made.normalizer = normalizer
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=SPECIAL, initial_alphabet=alphabet)
    made.train_from_iterator(TRAINING, trainer)
    if begins:
        made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return made


def by_characters(normalizer, before=None, space=True):
    """A vocabulary of SentencePiece's kind."""
    made = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    if normalizer is not None:
        made.normalizer = normalizer
    if before is not None:
        made.pre_tokenizer = before
    special = ["<unk>", "<s>", "</s>", *[f"<0x{i:02X}>" for i in range(256)]]
    made.train_from_iterator(TRAINING, trainers.BpeTrainer(vocab_size=400, special_tokens=special))
    state = json.loads(made.to_str())
    state["added_tokens"] = [t for t in state["added_tokens"] if t["id"] < 3]
    made = tokenizers.Tokenizer.from_str(json.dumps(state))
    ends = [decoders.Strip(content=" ", left=1)] if space else []
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *ends]
    )
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return made


SPACES = normalizers.Replace(" ", "▁")
KINDS = {
    "gpt2": lambda: by_bytes(),
    "gpt2, composed": lambda: by_bytes(normalizer=normalizers.NFC()),
    "gpt2, a space before": lambda: by_bytes(space=True),
    "llama3": lambda: by_bytes(LLAMA3, begins=True),
    "qwen2": lambda: by_bytes(QWEN2, normalizer=normalizers.NFC()),
    "qwen2, as it is": lambda: by_bytes(QWEN2),
    "smollm": lambda: by_bytes(digits=True),
    "llama2": lambda: by_characters(normalizers.Sequence([normalizers.Prepend("▁"), SPACES])),
    "llama2, later": lambda: by_characters(
        None, pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=False)
    ),
    "gemma": lambda: by_characters(SPACES, pre_tokenizers.Split(" ", "merged_with_previous"), space=False),
}
NOT_SAID = ("gpt2, composed", "gpt2, a space before", "llama2, later")
"""Kinds of which llama.cpp's keys do not say all."""


def folder(path, made):
    size = {"vocab_size": made.get_vocab_size()}
    rows = np.zeros((size["vocab_size"], 8), "float32")
    written(path, tensors() | {"model.embed_tokens.weight": rows, "lm_head.weight": rows}, **size)
    (path / "tokenizer.json").write_text(made.to_str())
    said = {"bos_token": "<s>", "eos_token": "</s>"}
    (path / "tokenizer_config.json").write_text(json.dumps(said))
    return load(path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_its_gguf_file_and_the_folder_of_that_give_the_same_tokens(kind, tmp_path):
    made = KINDS[kind]()
    models = [folder(tmp_path / "a", made)]
    models[0].save(tmp_path / "a.gguf")
    models.append(load(tmp_path / "a.gguf"))
    models[1].save(tmp_path / "b")
    models.append(load(tmp_path / "b"))
    assert (WHOLE in models[1].config) == (kind in NOT_SAID)
    rng = np.random.default_rng(0)
    for text in [*ODD, *[drawn(rng) for _ in range(TEXTS)]]:
        expected = made.encode(text).ids
        for model in models:
            assert model.tokenizer.encode(text) == expected, text
            assert model.tokenizer.decode(expected) == made.decode(expected), text


def test_a_split_without_a_name_and_a_damaged_tokenizer_are_refused(tmp_path):
    made = by_bytes()
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), made.pre_tokenizer])
    with pytest.raises(relay.RelayError, match="texts split by 'Whitespace'"):
        folder(tmp_path / "a", made).save(tmp_path / "a.gguf")
    model = folder(tmp_path / "b", KINDS["llama2, later"]())
    model.save(tmp_path / "b.gguf")
    damaged = load(tmp_path / "b.gguf")
    damaged.config[WHOLE] = "{}"
    with pytest.raises(relay.RelayError, match="is not a tokenizer"):
        _ = damaged.tokenizer
