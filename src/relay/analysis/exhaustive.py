"""Which values a `match` leaves out."""

from relay.ir.expr import Match, Pattern
from relay.ir.module import IRModule


def unmatched_cases(match: Match, mod: IRModule | None = None) -> list[Pattern]:
    """Patterns of values that no clause takes; empty where the match is exhaustive."""
    from relay.typecheck import exhaustive

    return exhaustive.unmatched_cases(match, mod or IRModule())
