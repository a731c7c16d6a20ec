"""An interpreter that can stop at each line, and whose frames can be read.

Before each line its functions ask whether to stop there (`Site`); where they do, they call a function of
Python with all open calls on the stack.  Registers keep their values until a function returns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from relay.diagnostic import Span
from relay.interpreter import code as op
from relay.interpreter.backtrace import Frame
from relay.interpreter.code import Code, Label
from relay.interpreter.coverage import lower_all
from relay.interpreter.lines import Line, before_lines
from relay.interpreter.loop import execute
from relay.interpreter.machine import Interpreter, quiet
from relay.interpreter.unit import Unit
from relay.ir.expr import Expr, Function, GlobalVar, Var
from relay.ir.module import IRModule
from relay.text.imports import STANDARD


@dataclass(eq=False, slots=True)
class Site:
    """A place where a program can stop: a line of a function."""

    line: Line
    span: Span
    code: Code
    function: str
    """The function, without its sigil, that begins here: its own first line, or that of its derivative."""
    armed: bool = False


@dataclass(eq=False, slots=True)
class Layout:
    """Where the variables of a function are in its frames."""

    variables: list[tuple[Var, int]]
    """Each with a register in the making, whose place `places` tells."""
    places: dict[int, int]
    known: dict[int, list[tuple[Var, int]]] = field(default_factory=dict[int, list[tuple[Var, int]]])
    """For an instruction the variables that have a value there, with their places; made when asked for."""
    dominators: list[int] | None = None
    origin: str = ""
    """The definition that this one is the derivative of; empty for those of the program."""


class DebuggedInterpreter(Interpreter):
    """An interpreter that asks `reached` at armed sites, or at all of them while `every` is true."""

    def __init__(
        self,
        mod: IRModule,
        reached: Callable[[Site], None],
        failed: Callable[[BaseException, Sequence[Frame]], None],
        max_depth: int | None = None,
    ) -> None:
        """`reached` returns when the program goes on; `failed` is told of an error before the calls end."""
        self.sites: list[Site] = []
        self.layouts: dict[Code, Layout] = {}
        self.definitions = {
            v.name_hint: e.span
            for v, e in mod.functions.items()
            if isinstance(e, Function) and e.span is not None
        }
        super().__init__(mod, max_depth=max_depth)
        self.reached = reached
        self.failed = failed
        self.every = False
        self.stacks: list[list[Frame]] = []
        """The open calls, outermost first; operators that call functions have stacks of their own."""
        self.added: Callable[[Site], None] | None = None
        """Is told of each site when a function is lowered."""

    def _run(self, code: Code, frame: list[Any]) -> Any:
        stack: list[Frame] = []
        self.stacks.append(stack)
        try:
            with quiet():  # one call more than else, that of what stops
                return execute(code, frame, self.max_depth + 1, self, stack)
        finally:
            self.stacks.pop()

    @property
    def depth(self) -> int:
        """How many calls are open."""
        return sum([len(stack) for stack in self.stacks])

    def frames(self) -> list[Frame]:
        """The open calls, outermost first."""
        return [frame for stack in self.stacks for frame in stack]

    def fault(self, error: BaseException, stack: Sequence[Frame]) -> BaseException:
        """What to raise for an error, once the debugger has seen where it happened."""
        located = super().fault(error, stack)
        outer = [frame for s in self.stacks[:-1] for frame in s]
        self.failed(located, [*outer, *stack])
        return located

    # --- lowering

    def arrange(self, unit: Unit) -> None:
        """Have a function ask before each line, and keep its values."""
        draft, code = unit.draft, unit.code
        nothing = draft.constant(None)
        function, origin = code.name.lstrip("@%"), ""
        is_derived = code.name.startswith("@") and function not in self.definitions

        def asking(line: Line, span: Span) -> list[list[Any]]:
            nonlocal function, origin
            if is_derived and not origin:
                function = origin = self._original(code.name, span)
            site = Site(line, span, code, function)
            function = ""
            self._add(site)
            answer, behind = draft.fresh(), Label()
            behind.position = len(draft.code) + 3
            return [
                [op.OP1, answer, self._asked(site), nothing, 0],
                [op.BRANCH, behind, None, answer, 0],
                [op.CALL, draft.fresh(), self._stop(site), (), 0],
            ]

        before_lines(draft, asking)
        draft.keeps = True
        variables = [(v, r) for v, r in unit.places.items() if isinstance(v, Var)]
        self.layouts[code] = Layout(variables, draft.places, origin=origin)

    def _original(self, derived: str, span: Span) -> str:
        """Return the definition that one of the compiler comes from: its name begins as that of the
        definition, and a place of it is there; empty if there is none.
        """
        before = [
            (of.start, name)
            for name, of in self.definitions.items()
            if of.source == span.source and of.start <= span.start
        ]
        _, name = max(before, default=(0, ""))
        return name if name and derived.startswith(f"@{name}_") else ""

    def _add(self, site: Site) -> None:
        self.sites.append(site)
        if self.added is not None:
            self.added(site)

    def _asked(self, site: Site) -> Callable[[Any], bool]:
        return lambda _: site.armed or self.every

    def _stop(self, site: Site) -> Code:
        """A function that is called where the program may stop: its caller's frame is on the stack then."""

        def reached(_: Any) -> None:
            self.reached(site)

        code = Code("", None, 0)
        code.instructions[:] = [
            (op.OP1, 0, reached, 0, 0),
            (op.RETURN, 0, None, 0, 0),
            *code.instructions,
        ]
        code.spans[:] = [site.span, site.span, None]
        code.rest[:] = [None]
        return code

    def lower_program(self) -> None:
        """Lower all definitions, and what they call of the standard library, to know their lines."""
        own: dict[GlobalVar, Expr] = {
            v: e
            for v, e in self.mod.functions.items()
            if isinstance(e, Function) and e.span is not None and not is_library(e.span.source.name)
        }
        self._infer(own)
        codes = [self.global_code(v) for v in own]
        lower_all([code for code in codes if code is not None])


def is_library(name: str) -> bool:
    """Whether a source is one of the standard library."""
    return name.startswith(STANDARD)
