"""What is said where Python asks a traced value for what only a run can tell."""

from typing import NoReturn

from relay.diagnostic import Span, caller_span, fail

BRANCH_HINT = (
    "a branch is relay.cond(c, f, g, x), relay.switch or relay.where, a loop relay.while_loop, relay.fori or"
    " relay.scan; `and`, `or` and `not` are relay.logical_and, …"
)
"""What to write for Python's `if` and `while`."""


def refuse(message: str, hint: str, span: Span | None = None) -> NoReturn:
    """Report a use of a traced value that Python cannot make, at the user's line (`traced-control-flow`)."""
    fail("traced-control-flow", message, span or caller_span(), hint=hint)
