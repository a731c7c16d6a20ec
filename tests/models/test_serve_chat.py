"""`examples/serve_chat.py`, started as a user would: answers, streams, and what is wrong with a request."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers", reason="needs the lm extra")
pytest.importorskip("jinja2", reason="needs the lm extra")

from models.test_tokenizers import CHATML, trained
from models.tiny import tensors, written
from support import ROOT

pytestmark = pytest.mark.torch

HELLO = [{"role": "user", "content": "Hello"}]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the example serves a tiny model with a tokenizer and a template."""
    made, found = trained(), tensors()
    count = made.get_vocab_size()
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        found[name] = np.random.default_rng(0).normal(size=(count, 8)).astype("float32")
    folder = tmp_path_factory.mktemp("served") / "tiny"
    written(folder, found, vocab_size=count, max_position_embeddings=256)
    made.save(str(folder / "tokenizer.json"))
    said = {"bos_token": "<s>", "eos_token": {"content": "</s>"}, "chat_template": CHATML}
    (folder / "tokenizer_config.json").write_text(json.dumps(said))
    command = [sys.executable, str(Path(ROOT) / "examples" / "serve_chat.py"), str(folder), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        yield server.stdout.readline().strip()
        server.terminate()
        errors = server.stderr.read()
    assert "Traceback" not in errors


def post(address: str, body: Any) -> tuple[int, str]:
    """The status and the text of an answer."""
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(address, data), timeout=600) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_what_is_wrong_with_a_request_is_told(address: str) -> None:
    for body, status, code in (
        ("{bad", 400, "invalid_request"),
        ([1], 400, "invalid_request"),
        ({}, 400, "invalid_request"),
        ({"messages": [{"role": "user"}]}, 400, "invalid_request"),
        ({"messages": HELLO, "model": "another"}, 404, "model_not_found"),
        ({"messages": HELLO, "temperature": -1}, 400, "option-value"),
        ({"messages": HELLO, "temperature": "hot"}, 400, "option-value"),
        ({"messages": [{"role": "user", "content": "ab " * 600}]}, 400, "prompt-too-long"),
        ({"messages": [{"role": "user", "content": "ab " * 600}], "stream": True}, 400, "prompt-too-long"),
    ):
        found, text = post(address, body)
        assert (found, json.loads(text)["error"]["code"]) == (status, code)


def test_answers_and_streams_are_the_same(address: str) -> None:
    asked = {"messages": HELLO, "max_tokens": 6}
    status, text = post(address, asked)
    whole = json.loads(text)
    assert (status, whole["choices"][0]["finish_reason"]) == (200, "length")
    assert whole["usage"]["completion_tokens"] == 6
    status, text = post(address, {**asked, "stream": True})
    events = [line.removeprefix("data: ") for line in text.splitlines() if line]
    assert (status, events[-1]) == (200, "[DONE]")
    chunks = [json.loads(e) for e in events[:-1]]
    pieces = [c["choices"][0]["delta"].get("content", "") for c in chunks]
    assert "".join(pieces) == whole["choices"][0]["message"]["content"]
    assert chunks[-1]["usage"]["prompt_tokens_details"]["cached_tokens"] == 16, "a page is shared"
