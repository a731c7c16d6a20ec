"""Patterns as functions: what looks like one is set apart, under a name that a compiler knows."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from relay.diagnostic import fail
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.pattern.partition import inside_functions, partition
from relay.pattern.patterns import DFPattern, is_op, wildcard
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.query import Types

Check: TypeAlias = Callable[[Expr], object]
Entry: TypeAlias = tuple[str, DFPattern, Check]
DENSE_RELU = ("dense_relu", is_op("nn.relu")(is_op("nn.dense")(wildcard(), wildcard())))
"""An entry of a table of patterns."""


@module_pass("merge_composite", opt_level=0, public="MergeComposite")
def merge_composite(mod: IRModule, *, pattern_table: Sequence[Any] = ()) -> IRModule:
    """Outline each match of a pattern as a function with the attribute `Composite`.

    `pattern_table` lists patterns of `relay.dataflow_pattern` by name, each optionally with a condition on
    the match: `(name, pattern)` or `(name, pattern, check)`.  The patterns are tried in order, and functions
    made by earlier ones are not searched.  A match whose intermediate results are used elsewhere is left
    alone.  The results of the program do not change.

    >>> text = "def @main(%x: Tensor[(2, 4), f32], %w: Tensor[(3, 4), f32]) "
    >>> text += "{ exp(nn.relu(nn.dense(%x, %w))) }"
    >>> show(merge_composite, text, pattern_table=[DENSE_RELU])
    def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]) -> Tensor[(2, 3), float32] {
      %0 = fn (
        %x0: Tensor[(2, 4), float32], %x1: Tensor[(3, 4), float32],
        PartitionedFromPattern="nn.dense_nn.relu_", Composite="dense_relu"
      ) -> Tensor[(2, 3), float32] {
        nn.relu(nn.dense(%x0, %x1))
      };
      exp(%0(%x, %w))
    }
    """
    entries = [_entry(e) for e in pattern_table]
    types = Types(mod)
    new = {v: _with_composites(e, entries, types) for v, e in mod.functions.items()}
    return with_definitions(mod, new)


def _entry(given: Any) -> Entry:
    """An entry of the table (`option-type`)."""
    match given:
        case (str() as name, DFPattern() as pattern):
            return name, pattern, lambda _: True
        case (str() as name, DFPattern() as pattern, check) if callable(check):
            return name, pattern, check
        case _:
            fail(
                "option-type",
                f"{given!r} is not an entry of a table of patterns",
                hint='an entry is a name, a pattern, and a condition if need be: `("dense_relu", pattern)`',
            )


def _with_composites(root: Expr, entries: Sequence[Entry], types: Types) -> Expr:
    """A definition in which the matches of all patterns are functions."""
    for name, pattern, check in entries:
        made = inside_functions(root, "Composite")
        root = partition(
            pattern, root, {"Composite": name}, lambda e: e not in made and bool(check(e)), types  # noqa: B023
        )  # fmt: skip
    return root
