"""Which adapter of a model each row of a batch has."""

from collections.abc import Sequence

from relay.diagnostic import did_you_mean, fail

Choice = str | Sequence[str | None] | None
"""The name of an adapter; or of one for each row, None for those without; or None."""


def is_by_row(choice: Choice) -> bool:
    """Whether each row has an adapter of its own."""
    return choice is not None and not isinstance(choice, str)


def expect_adapters(choice: Choice, known: Sequence[str], rows: int) -> None:
    """Fail unless there are such adapters, one or as many as rows (`unknown-name`, `option-value`)."""
    asked = [choice] if choice is None or isinstance(choice, str) else choice
    for name in asked:
        if name is not None and name not in known:
            fail("unknown-name", f"there is no adapter {name!r}", hint=did_you_mean(name, known))
    if is_by_row(choice) and len(asked) != rows:
        hint = "give one name, or a list with one for each row; None is without"
        fail("option-value", f"{len(asked)} adapters are given for {rows} rows", hint=hint)
