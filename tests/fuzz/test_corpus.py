"""The seeds of the fuzzer: each is a module that survives printing, or one `RelayError`."""

from pathlib import Path

import pytest

import relay

CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_seed_is_a_module_or_one_error(path):
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    try:
        mod = relay.parse(text, path.name)
    except relay.RelayError:
        return
    text = mod.astext()
    again = relay.parse(text)
    assert relay.structural_equal(again, mod, map_free_vars=True)
    assert again.astext() == text


def test_there_are_seeds_of_both_kinds():
    assert len(CORPUS) >= 60
