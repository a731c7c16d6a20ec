"""Tables of patterns, by the compiler that knows what they stand for."""

from collections.abc import Callable, Sequence
from typing import Any

from relay.diagnostic import did_you_mean, fail

Table = Sequence[Any]
"""Entries `(name, pattern)` or `(name, pattern, check)`, as `MergeComposite` takes them."""

tables: dict[str, Callable[[], Table]] = {}


def register_pattern_table(compiler: str, table: Callable[[], Table] | None = None) -> Any:
    """Say which patterns a compiler takes as a whole: `table()` lists them for `MergeComposite`.

    Their names begin with that of the compiler, `"other.dense_relu"`: so `AnnotateTarget` knows who takes
    the functions.  Without a table, the function that is decorated gives it.
    """

    def register(function: Callable[[], Table]) -> Callable[[], Table]:
        tables[compiler] = function
        return function

    return register if table is None else register(table)


def get_pattern_table(compiler: str) -> Table:
    """The patterns of a compiler (`no-code-generator`)."""
    if compiler not in tables:
        hint = (
            did_you_mean(compiler, tables) or f'`register_pattern_table("{compiler}", table)` registers one'
        )
        fail("no-code-generator", f"no table of patterns is registered for `{compiler}`", hint=hint)
    return tables[compiler]()
