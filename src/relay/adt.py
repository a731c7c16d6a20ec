"""Data types and `match`, by the module name that people know."""

from relay.ir.expr import Clause, Constructor, Match, Pattern
from relay.ir.module import TypeData
from relay.ir.pattern import (
    PatternAs,
    PatternConstructor,
    PatternLiteral,
    PatternOr,
    PatternTuple,
    PatternVar,
    PatternWildcard,
)

__all__ = [
    "Clause", "Constructor", "Match", "Pattern", "PatternAs", "PatternConstructor", "PatternLiteral",
    "PatternOr", "PatternTuple", "PatternVar", "PatternWildcard", "TypeData",
]  # fmt: skip
