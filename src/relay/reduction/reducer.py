"""A program made small by trying changes: delta debugging (Zeller and Hildebrandt, 2002)."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from relay.diagnostic import RelayError
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.lsp.typed import Types
from relay.reduction import items
from relay.reduction.changes import (
    Change,
    attributes_left_out,
    changed,
    constants_instead,
    lets_dropped,
    own_definitions,
    parts_instead,
    results_instead,
)
from relay.text.parser import parse_module
from relay.text.printer import module_text
from relay.typecheck.infer import infer

T = TypeVar("T")
MOST_PARTS = 4
"""How many parts of a node are tried in its place."""


ATTEMPTS_PER_TEST = 20
"""How many programs that are not right are tried for each test that may be made."""


class ExhaustedError(Exception):
    """There are no more tests, or there is no more time."""


@dataclass
class Reducer:
    """A program that is made smaller while `still_fails` says so of its text."""

    text: str
    name: str
    path: Path | None
    still_fails: Callable[[str], bool]
    well_typed: bool = True
    max_tests: int = 1000
    limit_s: float = float("inf")
    report: Callable[["Reducer"], None] = lambda _: None
    tests: int = 0
    attempts: int = 0
    """How many programs were tried, those among them that are not right."""
    seen: set[str] = field(default_factory=set[str])
    begun_s: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.mod = self.parsed(self.text)
        self.text = module_text(self.mod)

    def parsed(self, text: str) -> IRModule:
        """The module of a text."""
        return parse_module(text, self.name, path=self.path)

    def renewed(self) -> IRModule:
        """The module anew: inference, which says the types of its nodes, keeps what it has found of one."""
        self.mod = self.parsed(self.text)
        return self.mod

    def run(self) -> str:
        """The smallest text that was found; a round of all changes that finds nothing ends it."""
        try:
            before = ""
            while before != self.text:
                before = self.text
                self.round()
        except ExhaustedError:
            pass
        return self.text

    def round(self) -> None:
        """Try each kind of change, those that leave the most out first."""
        self.leave_out(lambda m: list(own_definitions(m)), items.without_definitions)
        self.nodes(lets_dropped)
        for i in range(MOST_PARTS):
            self.nodes(lambda m, t, i=i: parts_instead(m, t, i))
        self.nodes(constants_instead)
        self.nodes(results_instead)
        self.leave_out(items.parameters, items.without_parameters)
        self.leave_out(items.constructors, items.without_constructors)
        self.leave_out(items.constructor_fields, items.without_fields)
        self.nodes(attributes_left_out)
        self.leave_out(lambda m: list(own_definitions(m)), items.without_definitions)
        self.leave_out(lambda m: list(items.own_types(m)), items.without_types)
        self.leave_out(lambda m: list(m.imports), items.without_imports)

    def nodes(self, find: Callable[[IRModule, Types], list[Change]]) -> None:
        """Try changes of nodes."""
        self.leave_out(lambda m: find(m, Types(m)), changed)

    def leave_out(
        self, find: Callable[[IRModule], list[T]], made: Callable[[IRModule, Sequence[T]], IRModule]
    ) -> None:
        """Try what `made` makes of parts of a list: all of it, halves, quarters, … down to single ones."""
        several = find(self.renewed())
        size = len(several)
        while size:
            at = 0
            while at < len(several):
                if self.take(partial(made, self.mod, several[at : at + size])):
                    several = find(self.renewed())  # what was next is where this was
                else:
                    at += size
            size //= 2

    def take(self, make: Callable[[], IRModule]) -> bool:
        """Go on with a module if it is right and still fails, and is smaller."""
        self.attempts += 1
        is_late = time.monotonic() - self.begun_s > self.limit_s
        if is_late or self.tests >= self.max_tests or self.attempts > ATTEMPTS_PER_TEST * self.max_tests:
            raise ExhaustedError
        try:
            text = module_text(make())
            if text in self.seen:
                return False
            self.seen.add(text)
            mod = self.parsed(text)
            if measure(mod, text) >= measure(self.mod, self.text):
                return False
            if self.well_typed:
                infer(mod)
        except (RelayError, RecursionError):
            return False
        except (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError):
            return False  # nodes that cannot be built or printed: the change is not one of this program
        self.tests += 1
        fails = self.still_fails(text)
        if fails:
            self.text, self.mod = text, mod
        self.report(self)
        return fails


def measure(mod: IRModule, text: str) -> tuple[int, int]:
    """How large a program is: its nodes, parameters and fields, then its text."""
    own = own_definitions(mod).values()
    nodes = sum([1 for e in own for _ in post_order(e)])
    return nodes + len(items.parameters(mod)) + len(items.constructor_fields(mod)), len(text)


def size_of(text: str) -> str:
    """How large a text is, in words."""
    lines, count = text.count("\n"), len(text.encode())
    return f"{lines:,} lines, {count:,} bytes"
