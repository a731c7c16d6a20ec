"""Tokenizers of folders and of GGUF files, and conversations."""

import json

import pytest

pytest.importorskip("tokenizers", reason="needs the lm extra")
pytest.importorskip("jinja2", reason="needs the lm extra")

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

import relay
from models.tiny import written
from models.tiny_gguf import written as written_gguf
from relay.models import load
from relay.models.gguf_vocabulary import gguf_tokenizer
from relay.models.tokenizer import Tokenizer, folder_tokenizer
from relay.models.vocabulary_files import files_of, keys_of

pytestmark = pytest.mark.torch

TEXTS = [
    "Hello world, it's 2024!",
    "  two  spaces\n\nand  lines\t",
    "naïve Æsop 你好 🙂",
    "",
    "x=y+1;",
    "I'LL 12345",
]
CORPUS = [*TEXTS, "hello there world of words", "the lines of the world are words and spaces"] * 3
CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' }}"
    "{{ m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def trained():
    """A byte-level vocabulary of GPT-2's kind."""
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    special = ["<s>", "</s>", "<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        CORPUS, trainers.BpeTrainer(vocab_size=330, special_tokens=special, initial_alphabet=alphabet)
    )
    return made


def test_a_folder_has_its_tokenizer_and_its_template(tmp_path):
    folder = written(tmp_path)
    made = trained()
    made.save(str(folder / "tokenizer.json"))
    said = {"bos_token": "<s>", "eos_token": {"content": "</s>"}, "chat_template": CHATML}
    (folder / "tokenizer_config.json").write_text(json.dumps(said))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [1, 3]}))
    model = load(folder)
    for text in TEXTS:
        assert model.tokenizer.encode(text) == made.encode(text).ids
        assert model.tokenizer.decode(model.tokenizer.encode(text)) == text
    assert (model.tokenizer.begin, model.tokenizer.ends) == (0, {1, 3})
    messages = [{"role": "user", "content": "hello"}]
    assert model.tokenizer.chat(messages) == "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"
    assert model.chat(messages)[0] == 2
    assert model.chat(messages, answer=False)[-2:] == [3, made.token_to_id("Ċ")]


def vocabulary(made, kind: str = "gpt2", **said: object) -> dict[str, object]:
    state = json.loads(made.to_str())
    tokens = [made.id_to_token(i) for i in range(made.get_vocab_size())]
    merges = [" ".join(m) if isinstance(m, list) else m for m in state["model"]["merges"]]
    kinds = [3 if i < 4 else 1 for i in range(len(tokens))]
    found = {
        "model": kind,
        "tokens": tokens,
        "merges": merges,
        "token_type": kinds,
        "eos_token_id": 1,
        **said,
    }
    return {f"tokenizer.ggml.{k}": x for k, x in found.items()}


@pytest.mark.parametrize("pre", ["gpt-2", "llama-bpe", "qwen2", "smollm"])
def test_a_gguf_file_has_its_vocabulary(pre, tmp_path):
    made = trained()
    said = vocabulary(made, pre=pre) | {"tokenizer.chat_template": CHATML}
    model = load(written_gguf(tmp_path / "a.gguf", metadata=said))
    for text in TEXTS:
        found = model.tokenizer.encode(text)
        assert model.tokenizer.decode(found) == text
        if pre == "gpt-2":
            assert found == made.encode(text).ids
    assert model.chat([{"role": "user", "content": "hello"}])[0] == 2
    assert model.tokenizer.ends == {1}


def test_vocabularies_with_scores_are_those_of_sentencepiece(tmp_path):
    spm = pytest.importorskip("sentencepiece")
    (tmp_path / "corpus.txt").write_text("\n".join(CORPUS))
    spm.SentencePieceTrainer.train(
        input=str(tmp_path / "corpus.txt"), model_prefix=str(tmp_path / "m"), vocab_size=360,
        model_type="bpe", byte_fallback=True, character_coverage=0.99, normalization_rule_name="identity",
        remove_extra_whitespaces=False,
    )  # fmt: skip
    made = spm.SentencePieceProcessor(model_file=str(tmp_path / "m.model"))
    every = range(made.get_piece_size())
    kinds = [
        3 if made.is_control(i) else 2 if made.is_unknown(i) else 6 if made.is_byte(i) else 1 for i in every
    ]
    said = {
        "model": "llama", "tokens": [made.id_to_piece(i) for i in every], "bos_token_id": 1,
        "eos_token_id": 2,
        "scores": [made.get_score(i) for i in every], "token_type": kinds, "unknown_token_id": 0,
    }  # fmt: skip
    found = gguf_tokenizer({f"tokenizer.ggml.{k}": x for k, x in said.items()})
    for text in TEXTS:
        assert found.encode(text) == [1, *made.encode(text)], text
        assert found.decode(found.encode(text)) == text


@pytest.mark.parametrize(
    "template",
    [
        "{{ raise_exception('no system here') }}", "{{ messages[9].content }}", "{% for %}",
        "{{ messages.__class__.__mro__ }}", "{{ messages.append(1) }}",
        "{% for i in range(10 ** 9) %}{% endfor %}", "{{ cycler.__init__.__globals__.os.system('true') }}",
    ],
)  # fmt: skip
def test_templates_are_data_in_a_sandbox(template, tmp_path):
    said = vocabulary(trained(), pre="gpt-2") | {"tokenizer.chat_template": template}
    model = load(written_gguf(tmp_path / "a.gguf", metadata=said))
    with pytest.raises(relay.RelayError, match="model-file") as caught:
        print(model.tokenizer.chat([{"role": "user", "content": "hello"}]))
    assert len(caught.value.diagnostics) == 1


def test_what_is_wrong_with_a_vocabulary_is_said(tmp_path):
    def refused(**said: object) -> str:
        with pytest.raises(relay.RelayError) as caught:
            gguf_tokenizer({f"tokenizer.ggml.{k}": x for k, x in said.items()})
        return str(caught.value)

    assert "kind 'bert'" in refused(model="bert", tokens=["a"])
    assert "not a list of texts" in refused(model="gpt2", tokens=[1])
    assert "no scores" in refused(model="llama", tokens=["a"], scores=[])
    assert "in the way of 'odd'" in refused(model="gpt2", tokens=["a"], pre="odd", merges=[])
    folder = written(tmp_path)
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(relay.RelayError, match="is not a tokenizer"):
        _ = load(folder).tokenizer
    assert gguf_tokenizer({}) is None


def joined(texts):
    """A vocabulary of SentencePiece's kind: pairs of characters, and bytes for what it has not."""
    made = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    made.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.Prepend("▁"), tokenizers.normalizers.Replace(" ", "▁")]
    )
    special = ["<unk>", "<s>", "</s>", *[f"<0x{i:02X}>" for i in range(256)]]
    made.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=400, special_tokens=special))
    state = json.loads(made.to_str())
    state["added_tokens"] = [t for t in state["added_tokens"] if t["id"] < 3]
    d = decoders
    made = tokenizers.Tokenizer.from_str(json.dumps(state))
    made.decoder = d.Sequence([d.Replace("▁", " "), d.ByteFallback(), d.Fuse(), d.Strip(content=" ", left=1)])
    return made


@pytest.mark.parametrize("make", [trained, lambda: joined(CORPUS)], ids=["bytes", "characters"])
def test_a_vocabulary_goes_to_a_gguf_file_and_back(make, tmp_path):
    inside = make()
    before = Tokenizer(inside, 1, frozenset({2}), False, CHATML)
    keys = keys_of(before, len(before) + 5)
    assert keys["tokenizer.ggml.tokens"][-1] == f"[PAD{len(before) + 4}]"
    after = gguf_tokenizer(keys)
    for name, data in files_of(after).items():
        (tmp_path / name).write_bytes(data)
    again = folder_tokenizer(tmp_path, {})
    for tokenizer in (after, again):
        for text in TEXTS:
            assert tokenizer.encode(text) == before.encode(text), text
            assert tokenizer.decode(tokenizer.encode(text)) == before.decode(before.encode(text))
        assert (tokenizer.begin, tokenizer.ends, tokenizer.template) == (1, {2}, CHATML)
