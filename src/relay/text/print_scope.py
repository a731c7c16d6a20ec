"""Blocks of lines that are being written, and what names of variables mean in them.

A variable keeps its name unless it hides one that is mentioned below it.  That shows when the mention is
written: the variable then gets a name of its own, and the definition is written again.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

from relay.ir.expr import Var
from relay.ir.scope import Scope
from relay.ir.vars import free_vars
from relay.ir.walk import run
from relay.text import names
from relay.text.layout import Text, pad
from relay.text.print_types import TypeText
from relay.text.survey import Survey

Steps = Generator[Any, Any, Any]
Key = tuple[Any, int]
"""A scope: the node that opens it and the part that is it, as `relay.ir.scope` counts."""


def scope_key(scope: Scope) -> Key:
    """The key of a scope."""
    return scope.owner, scope.index


class Block:
    """Lines being written: the body of a function, a branch, a clause, or a value in braces."""

    __slots__ = ("key", "level", "lines", "margin", "room", "undo")

    def __init__(self, level: int, width: int, key: Key) -> None:
        """`key` is the scope whose text this is, or part of which it is."""
        self.key = key
        self.level = level
        self.margin = pad(level)
        self.room = max(width - len(self.margin), 24)
        self.lines: list[Any] = []
        self.undo: list[tuple[str, Var | None]] = []


class Scopes:
    """The open blocks of one definition, and the names in them."""

    types: TypeText
    survey: Survey
    block: Block

    def __init__(self, width: int) -> None:
        """Printing a definition starts with `begin`."""
        self.width = max(width, 24)
        self.free: dict[Var, str] = {}

    # --- one definition -------------------------------------------------------------------------------------

    def begin(self, survey: Survey) -> None:
        """Turn to another definition, whose free variables have names."""
        self.survey = survey
        self.shared = survey.shared
        self.homes = (
            set[Key]() if survey.where is None else {scope_key(survey.where[e]) for e in survey.shared}
        )
        self.var_texts: dict[Var, str] = {v: names.local(name) for v, name in self.free.items()}
        self.renamed: set[Var] = set()
        self.fresh: names.Fresh | None = None
        taken = set(self.free.values())
        self.simple = survey.distinct_names and not (
            taken and any(v.name_hint in taken for v in survey.bound)
        )
        self._restart()

    def _restart(self) -> None:
        self.visible: dict[str, Var | None] = (
            {} if self.simple else {name: v for v, name in self.free.items()}
        )
        self.hides: dict[Var, Var | None] = {}
        """The variable of the same name that each bound variable hides."""
        self.clashed = False
        self.graph: dict[Any, str] = {}
        self.count = 0
        self.block = Block(0, self.width, (None, 0))
        self.open: dict[Key, list[Block]] = {(None, 0): [self.block]}

    def name_free(self, surveys: Iterable[tuple[Any, Survey]]) -> list[Var]:
        """Give the free variables of all definitions names that are apart; returns them in order."""
        fresh = names.Fresh()
        for root, survey in surveys:
            if survey.has_free():
                for v in free_vars(root):
                    if v not in self.free:
                        self.free[v] = fresh(v.name_hint)
        return list(self.free)

    def whole(self, steps: Callable[[], Steps]) -> Any:
        """Run `steps`, and again as long as names turned out to clash."""
        result = run(steps())
        while self.clashed:
            self._restart()
            result = run(steps())
        return result

    # --- variables ------------------------------------------------------------------------------------------

    def mention(self, v: Var) -> str:
        """A reference to a variable; where another one of that name hides it, that one will be renamed."""
        if not self.simple and v not in self.renamed:
            name = self.free.get(v, v.name_hint)
            if self.visible.get(name) is not v:
                self._rename_hiders(v, name)
        text = self.var_texts.get(v)
        if text is None:
            text = self.var_texts[v] = names.local(v.name_hint)
        return text

    def _rename_hiders(self, v: Var, name: str) -> None:
        hider = self.visible.get(name)
        while hider is not None and hider is not v and hider not in self.free:
            self._rename(hider)
            self.clashed = True
            hider = self.hides.get(hider)
        self.visible[name] = v

    def binder(self, v: Var) -> str:
        """A variable as it is written where it is bound, with its annotation."""
        text = self.var_texts.get(v)
        if text is None:
            text = self.var_texts[v] = names.local(v.name_hint)
        t = v.type_annotation
        return text if t is None else f"{text}: {self.types.argument(t)}"

    def bind(self, v: Var) -> None:
        """A variable is in scope from here to the end of the block."""
        if not self.simple and v not in self.renamed:
            before = self.visible.get(v.name_hint)
            self.hides[v] = before
            self.block.undo.append((v.name_hint, before))
            self.visible[v.name_hint] = v

    def bind_group(self, several: Sequence[Var]) -> list[str]:
        """Variables that are bound together, and so cannot have one name."""
        if not self.simple:
            known: set[str] = set()
            for v in several:
                if v.name_hint in known and v not in self.renamed:
                    self._rename(v)
                known.add(v.name_hint)
        for v in several:
            self.bind(v)
        return [self.binder(v) for v in several]

    def _rename(self, v: Var) -> None:
        """Give a bound variable a name that no other variable of the definition has."""
        if self.fresh is None:
            self.fresh = names.Fresh([*[u.name_hint for u in self.survey.bound], *self.free.values()])
        self.renamed.add(v)
        self.var_texts[v] = names.local(self.fresh(v.name_hint))

    # --- blocks ---------------------------------------------------------------------------------------------

    def enter(self, key: Key | None, deeper: int = 1) -> Block:
        """Open a block for a scope, or for braces inside the current one; returns the block around it."""
        around = self.block
        self.block = Block(around.level + deeper, self.width, key or around.key)
        if self.survey.where is not None:
            self.open.setdefault(self.block.key, []).append(self.block)
        return around

    def leave(self, around: Block) -> list[Any]:
        """Close the block and return its lines."""
        block = self.block
        for name, was in reversed(block.undo):
            self.visible[name] = was
        if self.survey.where is not None:
            self.open[block.key].pop()
        self.block = around
        return block.lines

    def statement(self, before: str, text: Text, after: str) -> None:
        """Write one statement into the current block."""
        block = self.block
        if isinstance(text, str):
            block.lines.append(f"{block.margin}{before}{text}{after}")
        else:
            block.lines += (
                f"{block.margin}{before}{text.first}",
                text.middle,
                f"{block.margin}{text.last}{after}",
            )
