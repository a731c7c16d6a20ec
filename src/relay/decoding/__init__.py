"""Decoding with language models: options, constraints, sessions, and the program that decodes."""

from relay.decoding.constraint import Automaton, of_json_schema, of_regex
from relay.decoding.generate import Generation, generate, stream
from relay.decoding.options import Options
from relay.decoding.pool import Pool
from relay.decoding.session import Session

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
