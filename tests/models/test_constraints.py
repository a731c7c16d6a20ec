"""Automata over tokens: what they let follow is what a regular expression or a schema says."""

import json
import re
from typing import Any

import numpy as np
import pytest

from models.test_generate import END, TEXTS, Letters
from models.tiny import written
from relay.decoding import Automaton, of_json_schema, of_regex
from relay.decoding.constraint import along_tokens
from relay.models import load


def table(edges: dict[tuple[int, str], int], states: int) -> Any:
    found = np.full((states + 1, 256), states, "int32")
    for (state, letters), target in edges.items():
        for c in letters:
            found[state, ord(c)] = target
    return found


def test_tokens_of_several_bytes_take_several_steps() -> None:
    # (ab)+
    a = along_tokens(
        table({(0, "a"): 1, (1, "b"): 2, (2, "a"): 1}, 3), np.array([False, False, True]), TEXTS, END
    )
    assert a.allows(0).tolist() == [1, 10]
    assert a.allows(a.after([1])).tolist() == [2]
    assert a.allows(a.after([10])).tolist() == [1, END, 10]
    assert a.after([1, 1]) == -1


def test_tokens_that_lead_nowhere_are_left_out() -> None:
    # a[bx]c | b, where no token has x or c
    edges = {(0, "a"): 1, (1, "bx"): 2, (2, "c"): 3, (0, "b"): 3}
    a = along_tokens(table(edges, 4), np.array([False, False, False, True]), TEXTS, END)
    assert a.allows(0).tolist() == [2]


def texts_of(a: Automaton, depth: int) -> set[str]:
    """All texts of at most so many tokens."""
    found: set[str] = set()
    pending: list[tuple[int, list[int]]] = [(0, [])]
    while pending:
        state, tokens = pending.pop()
        for t in a.allows(state).tolist():
            if t == END:
                found.add(Letters().decode(tokens))
            elif len(tokens) < depth:
                pending.append((int(a.next[state, a.classes[t]]), [*tokens, t]))
    return found


@pytest.mark.parametrize("expression", ["(ab)+1?", "a*b{1,2}", r"\{\"[ab]?\":1\}", "[^a1]|b"])
def test_all_texts_of_an_automaton_match_its_expression(expression: str) -> None:
    pytest.importorskip("outlines_core")
    found = texts_of(of_regex(expression, TEXTS, END), 6)
    assert found
    assert all(re.fullmatch(expression, t) for t in found)


@pytest.mark.long
def test_what_a_model_writes_fits_the_schema(tmp_path: Any) -> None:
    pytest.importorskip("outlines_core")
    model = load(written(tmp_path / "tiny", eos_token_id=END, max_position_embeddings=64))
    model.tokenizer = Letters()
    schema = {"type": "object", "properties": {"a": {"enum": [1, 11, "b"]}}, "required": ["a"]}
    assert texts_of(of_json_schema(schema, TEXTS, END), 9)
    for seed in range(40):
        found = model.generate("ab", max_tokens=40, temperature=2.0, seed=seed, json_schema=schema)
        assert json.loads(found.text)["a"] in (1, 11, "b")


@pytest.mark.long
def test_what_a_model_writes_is_of_the_grammar(tmp_path: Any) -> None:
    pytest.importorskip("llguidance")
    model = load(written(tmp_path / "tiny", eos_token_id=END, max_position_embeddings=64))
    model.tokenizer = Letters()
    for seed in range(20):
        found = model.generate(
            "ab", max_tokens=30, temperature=1.0, seed=seed, grammar='start: "{" start "}" | "ab"'
        )
        n = found.text.count("{")
        assert found.text in ("{" * n + "ab" + "}" * n, "{" * 30)
