"""Data types and `match`, by the module name that people know."""

from relay.ir.expr import Clause, Constructor, Match, Pattern
from relay.ir.module import TypeData
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar, PatternWildcard

__all__ = [
    "Clause", "Constructor", "Match", "Pattern", "PatternConstructor", "PatternTuple", "PatternVar",
    "PatternWildcard", "TypeData",
]  # fmt: skip
