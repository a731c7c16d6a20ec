"""`relay generate` and `relay chat`: what they print, and what they say of what is wrong."""

from pathlib import Path

import pytest

from models.tiny import written
from support import cli


def test_what_is_wrong_is_one_diagnostic(tmp_path: Path) -> None:
    folder = str(written(tmp_path / "tiny"))
    (tmp_path / "text.txt").write_text("no model")
    for args, code in (
        (["generate", str(tmp_path / "nowhere"), "Hello"], "cannot-read"),
        (["generate", str(tmp_path / "text.txt"), "Hello"], "model-file"),
        (["generate", folder, "Hello"], "no-tokenizer"),
        (["generate", folder, "Hello", "--temperature", "-1"], "option-value"),
        (["generate", folder, "Hello", "--grammar", str(tmp_path / "nowhere")], "cannot-read"),
    ):
        ran = cli(*args)
        assert (ran.status, ran.output.count("error[")) == (1, 1), args
        assert f"error[{code}]" in ran.output
    assert cli("generate", folder).status == 2


@pytest.mark.long
def test_a_model_writes_and_talks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    folder = written(tmp_path / "tiny", eos_token_id=9, max_position_embeddings=512)
    words = {c: i for i, c in enumerate(["a", "b", "c", "d", "e", " ", "U", ":", "s", "</s>", "\n"])}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=words, merges=[]))
    made.decoder = tokenizers.decoders.Fuse()
    made.save(str(folder / "tokenizer.json"))
    ran = cli("generate", str(folder), "abc", "--max-tokens", "5", "--stats")
    assert ran.status == 0
    assert "prompt: 3 tokens" in ran.output
    assert set(ran.output.splitlines()[0]) <= {*words}
    lines = iter(["abc", "/reset", "/help", "dea", "/quit"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(lines))
    talked = cli("chat", str(folder), "--max-tokens", "4")
    assert talked.status == 0
    assert talked.output.count("/reset begins anew") == 2
