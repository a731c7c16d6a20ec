"""The open calls of a stopped program: where each is, what its variables are, and how it was called."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from relay.debugger.machine import Layout
from relay.debugger.scopes import variables_at
from relay.diagnostic import Span
from relay.interpreter import code as op
from relay.interpreter.backtrace import Frame, code_of, span_of
from relay.interpreter.code import Code
from relay.interpreter.value import Closure
from relay.ir.expr import Var
from relay.ir.type import Type

DIRECT = frozenset({op.CALL1, op.CALL2, op.CALL, op.CALL_GROUP})


@dataclass(frozen=True, slots=True)
class Variable:
    """A local: its name without the sigil, its static type, and its value."""

    name: str
    type: Type | None
    value: Any


class Calls(Sequence["OpenCall"]):
    """The open calls, innermost first; each is made when it is asked for, since there may be many."""

    def __init__(self, frames: list[Frame], layouts: dict[Code, Layout]) -> None:
        """`frames` are outermost first."""
        self.frames = frames
        self.layouts = layouts

    def __len__(self) -> int:
        return len(self.frames)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            chosen = cast("slice[Any, Any, Any]", i)
            return [self[j] for j in range(*chosen.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        at: int = len(self) - 1 - i % len(self)
        return OpenCall(self.frames[at], self.frames[at - 1] if at else None, self.layouts)


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that has not returned, and the frame of its caller."""

    frame: Frame
    caller: Frame | None
    layouts: dict[Code, Layout]

    @property
    def name(self) -> str:
        """The function, such as `@main`, also in its derivative; `fn` for one without a name."""
        return self._name_of(code_of(self.frame)) or "the inputs"

    def _name_of(self, code: Code) -> str:
        layout = self.layouts.get(code)
        return f"@{layout.origin}" if layout is not None and layout.origin else code.name

    @property
    def span(self) -> Span | None:
        """What is evaluated."""
        return span_of(self.frame)

    @property
    def called(self) -> str:
        """The function that the caller called, if tail calls have since led from it to this one."""
        if self.caller is None:
            return ""
        callee = callee_of(self.caller)
        return self._name_of(callee) if callee is not None and callee is not code_of(self.frame) else ""

    @property
    def title(self) -> str:
        """The name, and which function was called where this one took its place."""
        return f"{self.name} (by tail calls from {self.called})" if self.called else self.name

    def variables(self) -> list[Variable]:
        """The variables that have values, in the order of the text."""
        code = code_of(self.frame)
        layout = self.layouts.get(code)
        if layout is None:
            return []
        registers = self.frame[2]
        found = variables_at(code, layout, self.frame[1] - 1)
        return [Variable(v.name, v.type_annotation, registers[place]) for v, place in found]


def callee_of(frame: Frame) -> Code | None:
    """The function that a frame waits for, where that can be told."""
    opcode, _, f, _, _ = frame[0][frame[1] - 1]
    if opcode in DIRECT:
        return f
    if opcode == op.CALL_VALUE:
        callee = frame[2][f]
        return callee.code if isinstance(callee, Closure) else None
    return None


def captured(closure: Closure, layouts: dict[Code, Layout]) -> list[Variable]:
    """What a function has from around it, by name."""
    layout = layouts.get(closure.code)
    if layout is None:
        return []
    first = closure.code.params
    found: dict[int, Var] = {}
    for var, register in layout.variables:
        place = layout.places.get(register, -1)
        if first <= place < first + len(closure.env):
            found.setdefault(place, var)
    return [
        Variable(v.name, v.type_annotation, closure.env[place - first]) for place, v in sorted(found.items())
    ]
