"""A loop that generates text, with its cache of keys and values, as one program."""

import runpy

import pytest

from support import ROOT

pytestmark = [pytest.mark.torch, pytest.mark.long]


def test_greedy_decoding_equals_generate(capsys):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    runpy.run_path(str(ROOT / "examples" / "gpt2_generate.py"), run_name="__main__")
    assert "equal to generate: True" in capsys.readouterr().out
