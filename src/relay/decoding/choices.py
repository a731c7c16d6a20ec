"""Constraints of requests as arguments of the program that decodes."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relay.decoding.constraint import Automaton, of_json_schema, of_regex
from relay.decoding.grammar import Vocabulary, of_grammar
from relay.decoding.options import Options
from relay.decoding.words import bytes_of_tokens
from relay.diagnostic import fail


@dataclass
class Constraint:
    """The kind of a constraint (see `Form`), and its arguments."""

    kind: str = ""
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])


def constraint_of(model: Any, o: Options, rows: int) -> Constraint:
    """The constraint of requests (`bad-constraint`, `no-tokenizer`)."""
    schema = o.json_schema if o.json_schema is None or isinstance(o.json_schema, str) else repr(o.json_schema)
    if schema is None and o.regex is None and o.grammar is None:
        return Constraint()
    tokens = tokens_of(model)
    end = model.end_tokens[0] if model.end_tokens else -1
    if o.grammar is not None:
        allowed, follow = of_grammar(o.grammar, Vocabulary(tokens, end, model.encode), rows)
        return Constraint("mask", {"allowed": allowed, "follow": follow})
    key = ("automaton", schema, o.regex)
    if key not in model.programs:
        model.programs[key] = (
            of_regex(o.regex, tokens, end)
            if o.regex is not None
            else of_json_schema(o.json_schema or "", tokens, end)
        )
    found: Automaton = model.programs[key]
    return Constraint("automaton", {"automaton": found.value, "state": np.zeros(rows, "int32")})


def tokens_of(model: Any) -> list[bytes | None]:
    """The bytes of each token of a model (`no-tokenizer`)."""
    if model.tokenizer is None:
        fail("no-tokenizer", "a constraint is about texts, and the model has no tokenizer")
    if "tokens" not in model.programs:
        model.programs["tokens"] = bytes_of_tokens(model.tokenizer, model.vocabulary)
    return model.programs["tokens"]
