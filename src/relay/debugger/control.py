"""A program under control: run, stopped, stepped."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from relay.debugger.breakpoints import Breakpoint, nearest, resolved
from relay.debugger.calls import Calls
from relay.debugger.evaluation import Evaluator
from relay.debugger.machine import DebuggedInterpreter, Site, is_library
from relay.diagnostic import RelayError
from relay.interpreter.backtrace import Frame
from relay.interpreter.code import Code
from relay.ir.expr import Expr
from relay.ir.module import IRModule


class Command(Enum):
    """How a stopped program goes on."""

    CONTINUE = "continue"
    NEXT = "next"
    IN = "in"
    OUT = "out"
    TERMINATE = "terminate"


class TerminatedError(BaseException):
    """The program is to end."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a program has stopped, and its open calls."""

    reason: str
    """`entry`, `step`, `pause`, `breakpoint`, `function breakpoint` or `exception`."""
    calls: Calls
    breakpoints: Sequence[Breakpoint] = ()
    error: RelayError | None = None


Decide = Callable[[Stop], Command]
"""Asks how to go on, and returns when that is known."""


class Debugger:
    """One run of a program.

    `decide` and `write` (what breakpoints write) are called on the thread of `run`; `pause`, `resume` and
    `terminate` may be called on any.
    """

    def __init__(
        self,
        mod: IRModule,
        decide: Decide,
        write: Callable[[str], None],
        *,
        max_depth: int | None = None,
        steps_into_library: bool = False,
    ) -> None:
        """`steps_into_library`: whether steps stop in the standard library, too."""
        self.decide, self.write = decide, write
        self.steps_into_library = steps_into_library
        self.machine = DebuggedInterpreter(mod, self._reached, self._failed, max_depth)
        self.machine.added = self._arm
        self.evaluator = Evaluator(mod)
        self.breakpoints: list[Breakpoint] = []
        self.stops_on_errors = True
        self.stops_on_entry = False
        self.ignores_stops = False
        self._paused = self._ending = self._is_evaluating = self._is_stopped = False
        self._turn = threading.Lock()
        """Held where the program stops or goes on, and where it is asked to stop."""
        self._step: tuple[Command, int, Code | None] | None = None
        self._armed: dict[tuple[str, int], list[Breakpoint]] = {}
        self._thread = 0
        self.machine.lower_program()

    # --- what people say

    def run(self, what: Expr, args: Sequence[Any] = ()) -> Any:
        """The value of an expression, or of a function on arguments; stops where it is to."""
        self._thread = threading.get_ident()
        self.machine.every = self.stops_on_entry or self._paused or self._ending
        self._step = (Command.IN, 0, None) if self.stops_on_entry else None
        return self.machine.evaluate(what, *args)

    def pause(self) -> None:
        """Stop at the next line; nothing while the program is stopped."""
        with self._turn:
            if not self._is_stopped:
                self._paused = self.machine.every = True

    def resume(self) -> None:
        """It has been told to go on: `pause` counts from now on, before `decide` has returned, too."""
        with self._turn:
            self._is_stopped = False

    def terminate(self) -> None:
        """End the program at the next line."""
        self._ending = self.machine.every = True

    def set_breakpoints(self, several: Sequence[Breakpoint]) -> None:
        """Stop at these, and no others; sets where each is."""
        self.breakpoints = list(several)
        self._armed = {}
        for b in several:
            if not b.path:
                continue
            b.verified_line = nearest(b.line, self.lines(b.path))
            if b.verified_line:
                self._armed.setdefault((b.path, b.verified_line), []).append(b)
        for site in self.machine.sites:
            self._arm(site)

    def lines(self, path: str) -> list[int]:
        """The lines of a file where the program can stop."""
        return sorted({s.line[1] for s in self.machine.sites if resolved(s.line[0]) == path})

    def evaluate(self, text: str, call: int, calls: Calls) -> tuple[Any, Any]:
        """The value and the type of an expression over the variables of a call."""
        self._is_evaluating = True
        try:
            return self.evaluator.evaluate(text, calls[call].variables())
        finally:
            self._is_evaluating = False

    # --- what the machine says

    def _arm(self, site: Site) -> None:
        name, line = site.line
        is_function = any(_is_of(b, site) for b in self.breakpoints)
        site.armed = is_function or (resolved(name), line) in self._armed

    def _reached(self, site: Site) -> None:
        if self._is_evaluating or threading.get_ident() != self._thread:
            return
        if self._ending:
            raise TerminatedError
        depth = self.machine.depth
        calls = Calls(self.machine.frames(), self.machine.layouts) if site.armed else None
        hit = self._hit(site, calls) if calls is not None else []
        reason = self._reason(site, depth, hit)
        if not reason or self.ignores_stops:
            return
        calls = calls or Calls(self.machine.frames(), self.machine.layouts)
        self.breakpoints = [b for b in self.breakpoints if not (b in hit and b.is_temporary)]
        self._go_on(self._decided(Stop(reason, calls, hit)), depth, site.code)

    def _decided(self, stop: Stop) -> Command:
        """Stop, and how the program is to go on."""
        with self._turn:
            self._is_stopped, self._paused = True, False
        command = self.decide(stop)
        self.resume()
        return command

    def _hit(self, site: Site, calls: Calls) -> list[Breakpoint]:
        """The breakpoints that stop the program here."""
        here = list(self._armed.get((resolved(site.line[0]), site.line[1]), ()))
        here += [b for b in self.breakpoints if _is_of(b, site)]
        found: list[Breakpoint] = []
        for b in here:
            self._is_evaluating = True
            try:
                stops, text = b.hit(calls[0].variables(), self.evaluator)
            finally:
                self._is_evaluating = False
            if text:
                self.write(text)
            if stops:
                found.append(b)
        return found

    def _reason(self, site: Site, depth: int, hit: list[Breakpoint]) -> str:
        if hit:
            return "breakpoint" if hit[0].path else "function breakpoint"
        if self._paused:
            return "pause"
        if self._step is None or not self._is_mine(site):
            return ""
        command, start, code = self._step
        if command is Command.IN:
            return "step" if start else "entry"
        if depth < start or (command is Command.NEXT and depth == start and site.code is code):
            return "step"
        return ""

    def _is_mine(self, site: Site) -> bool:
        name = site.line[0]
        return not name.startswith("<") and (self.steps_into_library or not is_library(name))

    def _go_on(self, command: Command, depth: int, code: Code | None) -> None:
        if command is Command.TERMINATE:
            self._ending = True
            raise TerminatedError
        self._step = None if command is Command.CONTINUE else (command, depth, code)
        self.machine.every = self._step is not None
        if self._paused or self._ending:  # asked for since it stopped, perhaps by another thread just now
            self.machine.every = True

    def _failed(self, error: BaseException, frames: Sequence[Frame]) -> None:
        """Stop where an error is, with the calls that led there."""
        if not isinstance(error, RelayError) or not self.stops_on_errors or self.ignores_stops:
            return
        if self._is_evaluating or threading.get_ident() != self._thread:
            return
        stop = Stop("exception", Calls(list(frames), self.machine.layouts), (), error)
        if self._decided(stop) is Command.TERMINATE:
            self._ending = True


def _is_of(b: Breakpoint, site: Site) -> bool:
    return bool(b.function) and site.function == b.function
