"""Decoding with language models: options, constraints, sessions, and the program that decodes."""

from relay.decoding.constraint import Automaton, of_json_schema, of_regex
from relay.decoding.generate import Generation, generate, stream
from relay.decoding.options import Options
from relay.decoding.pool import Pool
from relay.decoding.session import Session
from relay.op.namespace import public_function

__all__ = [
    "Automaton",
    "Generation",
    "Options",
    "Pool",
    "Session",
    "generate",
    "of_json_schema",
    "of_regex",
    "stream",
]

globals().update({name: public_function(globals()[name], f"decoding.{name}") for name in __all__})
