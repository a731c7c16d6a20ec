"""The tests in a program: which there are, and what comes of them."""

import re
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from relay.cli.files import STDIN, display_name, read_module, read_text
from relay.diagnostic import RelayError, fail
from relay.interpreter.coverage import CoveringInterpreter, Line
from relay.interpreter.machine import Interpreter
from relay.ir.expr import Expr, Function, GlobalVar
from relay.ir.module import IRModule

TEST = "test"
"""The attribute of a definition that is a test."""
PROMPT = "relay> "
_DEFINITION = re.compile(r'\s*(?:def\s+)(?P<name>@?[A-Za-z_]\w*|@"[^"]*")')
_COMMENT = re.compile(r"\s*// ?(?P<text>.*)")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a test; `fault` is empty if it passed."""

    file: str
    line: int
    name: str
    fault: str


@dataclass(frozen=True, slots=True)
class Example:
    """An expression in a comment, the line that it stands in, and what is said to be printed for it."""

    name: str
    line: int
    typed: str
    printed: str


@dataclass
class Program:
    """A program with tests."""

    file: str
    mod: IRModule
    examples: Sequence[Example]
    lines: set[Line] = field(default_factory=set[Line])
    """Those of the file that have something to evaluate, if that was asked for."""
    covered: set[Line] = field(default_factory=set[Line])
    """Those that its tests have come to, in other files too."""

    @property
    def own(self) -> list[GlobalVar]:
        """The definitions of the file itself."""
        return [v for v in self.mod.functions if v.name_hint not in self.mod.imported]

    def run(self, only: str, backend: str, *, coverage: bool = False) -> list[Outcome]:
        """What comes of the tests whose name has a text in it, definitions before examples."""
        from relay.driver.executor import create_executor

        machine = CoveringInterpreter(self.mod) if coverage else Interpreter(self.mod)
        executor = None if backend == "interpreter" else create_executor(backend, self.mod)
        shown = display_name(self.file)

        def value(e: Expr | GlobalVar) -> Any:
            if executor is None:
                found = machine.value_of(e)
                is_function = isinstance(e, GlobalVar) and isinstance(self.mod.functions[e], Function)
                return machine.apply(found, ()) if is_function else found
            found = executor.evaluate(e)
            return found() if callable(found) else found

        outcomes: list[Outcome] = []
        for v in self.own:
            definition = self.mod.functions[v]
            if only in f"@{v.name_hint}" and isinstance(definition, Function) and is_test(v, definition):
                line = 1 if definition.span is None else definition.span.line
                outcomes.append(Outcome(shown, line, f"@{v.name_hint}", fault_of(self.demand, v, value)))
        chosen = [e for e in self.examples if only in e.name]
        outcomes += [Outcome(shown, e.line, e.name, fault_of(self.check, e, value)) for e in chosen]
        if isinstance(machine, CoveringInterpreter):
            machine.look_at(self.own)
            self.lines = {line for line in machine.lines if line[0] == shown}
            self.covered = machine.covered
        return outcomes

    def demand(self, name: GlobalVar, value: Any) -> None:
        """Demand that the value of a test is not `False`."""
        found = value(name)
        if isinstance(found, bool | np.bool_) and not found:
            fail("assertion", "it is False")

    def check(self, example: Example, value: Any) -> None:
        """Demand that an example prints what it says."""
        from relay.interpreter.show import show
        from relay.text.api import parse_expr

        found = show(value(parse_expr(example.typed, f"{example.name}, line {example.line}", self.mod)))
        if found.split() != example.printed.split():
            fail("assertion", f"`{example.typed}` is\n{found}\nand not\n{example.printed}")

    def coverage_text(self, covered: AbstractSet[Line]) -> str:
        """How many lines are among those that were evaluated, and which are not."""
        missing = sorted([n for _, n in self.lines - covered])
        share = 100 * (1 - len(missing) / len(self.lines)) if self.lines else 100.0
        rest = f", not {', '.join(ranges(missing))}" if missing else ""
        return f"{display_name(self.file)}: {share:.0f}% of {len(self.lines)} lines{rest}"


def read_tests(name: str) -> Program:
    """The program in a file, with its tests."""
    from relay.text.weights import read_program
    from relay.typecheck.infer import infer

    if name.endswith(".json"):
        return Program(name, infer(read_module(name)), [])
    text = read_text(name)
    mod = read_program(text, display_name(name), None if name == STDIN else Path(name))
    return Program(name, infer(mod), list(examples_in(text)))


def is_test(name: GlobalVar, definition: Function) -> bool:
    """Whether a definition is a test, which takes nothing (`attribute-value`)."""
    said = definition.attrs.get(TEST, False)
    if type(said) is not bool:
        message = f"the attribute `test` of `@{name.name_hint}` is true or false, not {said!r}"
        fail("attribute-value", message, definition.span, hint="write test: true")
    if said and definition.params:
        message = f"`@{name.name_hint}` is a test and has parameters"
        fail(
            "attribute-value",
            message,
            definition.span,
            hint="a test calls what it tests with values of its own",
        )
    return said


def fault_of(test: Callable[..., None], *args: Any) -> str:
    """What is wrong with a test; empty if nothing is."""
    try:
        test(*args)
    except RelayError as error:
        return str(error)
    return ""


def examples_in(text: str) -> Iterator[Example]:
    """The examples in the comments right above definitions."""
    comment: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        said = _COMMENT.fullmatch(line)
        if said is not None:
            comment.append((number, said["text"]))
            continue
        definition = _DEFINITION.match(line)
        if definition is not None:
            yield from examples_in_comment("@" + definition["name"].removeprefix("@"), comment)
        comment = []


def examples_in_comment(name: str, comment: Sequence[tuple[int, str]]) -> Iterator[Example]:
    """The examples in a comment, given by its lines with their numbers."""
    typed, first, printed = "", 0, list[str]()
    for number, line in [*comment, (0, "")]:
        said = line.strip()
        if typed and said and not said.startswith(PROMPT):
            printed.append(said)
            continue
        if typed:
            yield Example(name, first, typed, "\n".join(printed))
        typed, first, printed = said.removeprefix(PROMPT) if said.startswith(PROMPT) else "", number, []


def ranges(numbers: Sequence[int]) -> list[str]:
    """Ascending numbers, with those in a row as `3-5`."""
    found: list[list[int]] = []
    for n in numbers:
        if found and n == found[-1][1] + 1:
            found[-1][1] = n
        else:
            found.append([n, n])
    return [str(a) if a == b else f"{a}-{b}" for a, b in found]
