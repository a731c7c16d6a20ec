"""A debugger at a prompt: what is typed while the program is stopped, and what is answered."""

import re
from collections.abc import Callable
from typing import Any

from relay.debugger.breakpoints import Breakpoint, resolved
from relay.debugger.calls import OpenCall
from relay.debugger.control import Command, Debugger, Stop
from relay.debugger.values import described, parts_of, shown, type_text
from relay.diagnostic import RelayError, Source, did_you_mean, fail
from relay.ir.module import IRModule

PROMPT = "debug> "
LINES_AROUND = 4
MOST_CALLS = 20
"""How many calls `where` prints, if no number is given."""
MOST_PARTS = 20
"""How many parts of a value `print` lists."""
PLACE = re.compile(r"(?P<place>\S+)(?:\s+if\s+(?P<condition>.+))?", re.DOTALL)
HELP = """\
break [FILE:]LINE [if CONDITION]   stop at a line, where the condition is true; `break @NAME` at a function
delete [NUMBER]                    forget a breakpoint, or all
breakpoints                        list them
step, next, finish, continue       to the next line; the next of this function; its end; the next breakpoint
print EXPRESSION                   a value, its type, and its parts or statistics
locals                             the variables that have a value
where [COUNT]                      the open calls, innermost first
up, down, frame NUMBER             choose the call that the commands above are about
list                               the text around
quit                               end the program"""


class Prompt:
    """A conversation about a program; `read` asks for a line, `write` prints a text."""

    def __init__(self, mod: IRModule, read: Callable[[], str], write: Callable[[str], None]) -> None:
        """`read` raises `EOFError` at the end."""
        self.read, self.write = read, write
        self.debugger = Debugger(mod, self.decide, write)
        self.debugger.stops_on_entry = True
        self.stop: Stop | None = None
        self.at = 0
        self.last = ""
        self.commands: dict[str, Callable[[str], Any]] = {
            "break": self.set_breakpoint,
            "delete": self.delete,
            "breakpoints": self.list_breakpoints,
            "step": lambda _: Command.IN,
            "next": lambda _: Command.NEXT,
            "finish": lambda _: Command.OUT,
            "continue": lambda _: Command.CONTINUE,
            "print": self.print,
            "locals": self.locals,
            "where": self.where,
            "up": lambda _: self.choose(self.at + 1),
            "down": lambda _: self.choose(self.at - 1),
            "frame": lambda text: self.choose(number_of(text)),
            "list": self.list,
            "help": lambda _: HELP,
            "quit": lambda _: Command.TERMINATE,
        }
        self.short = {"b": "break", "bt": "where", "n": "next", "s": "step", "c": "continue", "p": "print"}
        self.short |= {"l": "list", "q": "quit", "h": "help", "u": "up", "d": "down", "f": "finish"}

    def decide(self, stop: Stop) -> Command:
        """Talk until the program is to go on."""
        self.stop, self.at = stop, 0
        self.write(self.opening(stop) + "\n")
        while True:
            try:
                text = self.read().strip() or self.last
            except EOFError:
                return Command.TERMINATE
            try:
                said = self.answer(text)
            except RelayError as error:
                said = str(error)
            if isinstance(said, Command):
                self.last = text
                return said
            self.last = ""
            if said:
                self.write(said + "\n")

    def answer(self, text: str) -> Any:
        """What is said to a line: a text, or how the program goes on."""
        word, _, rest = text.partition(" ")
        name = self.short.get(word, word)
        if not name:
            return ""
        if name not in self.commands:
            if word.startswith(("%", "@", "(", "[")):
                return self.print(text)
            hint = did_you_mean(word, self.commands) or "`help` lists the commands"
            fail("unknown-name", f"there is no command `{word}`", hint=hint)
        return self.commands[name](rest.strip())

    @property
    def call(self) -> OpenCall:
        """The call that commands are about."""
        assert self.stop is not None
        return self.stop.calls[self.at]

    def opening(self, stop: Stop) -> str:
        """Why the program has stopped, and where."""
        why = {"entry": "", "step": ""}.get(stop.reason, f"{stop.reason}: ")
        if stop.error is not None:
            return str(stop.error)
        return f"{why}{self.place()}"

    def place(self) -> str:
        """The call and the line of the text."""
        call = self.call
        if call.span is None:
            return call.title
        line = call.span.source.line_text(call.span.line)
        return f"{call.title} at {call.span.source.name}:{call.span.line}\n{call.span.line:6} | {line}"

    # --- breakpoints

    def set_breakpoint(self, text: str) -> str:
        """Add a breakpoint (`unknown-global`, `debug-command`)."""
        found = PLACE.fullmatch(text)
        if found is None:
            fail(
                "debug-command", "`break` needs a place", hint="break 12, break model.relay:12 or break @main"
            )
        condition = found["condition"] or ""
        if found["place"].startswith("@"):
            b = Breakpoint(function=found["place"], condition=condition)
            names = [v.name_hint for v in self.debugger.machine.mod.functions]
            if b.function not in names:
                hint = did_you_mean(b.function, names)
                fail("unknown-global", f"there is no definition `@{b.function}`", hint=hint)
            file = ""
        else:
            file, _, line = found["place"].rpartition(":")
            b = Breakpoint(resolved(file or self.file()), number_of(line), condition=condition)
        self.debugger.set_breakpoints([*self.debugger.breakpoints, b])
        if b.path and not b.verified_line:
            self.debugger.set_breakpoints(self.debugger.breakpoints[:-1])
            fail(
                "debug-command", f"nothing is evaluated at line {b.line} of `{file or self.file()}` or below"
            )
        return f"breakpoint {breakpoint_text(b)}"

    def file(self) -> str:
        """The file that is shown."""
        return "" if self.call.span is None else self.call.span.source.name

    def delete(self, text: str) -> str:
        """Forget breakpoints."""
        kept = [b for b in self.debugger.breakpoints if text and b.id != number_of(text)]
        if text and len(kept) == len(self.debugger.breakpoints):
            fail("debug-command", f"there is no breakpoint {text}", hint="`breakpoints` lists them")
        self.debugger.set_breakpoints(kept)
        return ""

    def list_breakpoints(self, _: str) -> str:
        """Each with the number of its hits."""
        return "\n".join([f"{breakpoint_text(b)}, {b.reached} hits" for b in self.debugger.breakpoints])

    # --- looking

    def print(self, text: str) -> str:
        """The value of an expression, with what it consists of."""
        if not text:
            fail("debug-command", "`print` needs an expression", hint="print %x + 1")
        assert self.stop is not None
        value, t = self.debugger.evaluate(text, self.at, self.stop.calls)
        head = f"{shown(value)} : {type_text(value, t)}"
        parts = parts_of(value, self.debugger.machine.layouts)
        lines = [f"  {p.name}: {p.text if p.text is not None else shown(p.value)}" for p in parts.named()]
        if not parts.named_count and parts.count:
            lines = [f"  {p.name}: {shown(p.value)}" for p in parts.page(0, MOST_PARTS)]
            lines += [f"  … {parts.count - MOST_PARTS:,} more"] if parts.count > MOST_PARTS else []
        return "\n".join([head, *lines])

    def locals(self, _: str) -> str:
        """The variables of the call."""
        return "\n".join([described(v) for v in self.call.variables()]) or "no variable has a value here"

    def where(self, text: str) -> str:
        """The open calls."""
        assert self.stop is not None
        calls = self.stop.calls
        count = number_of(text) if text else MOST_CALLS
        lines = [
            f"{'>' if i == self.at else ' '} {i}: {c.title}{f' at {c.span}' if c.span is not None else ''}"
            for i, c in enumerate(calls[:count])
        ]
        return "\n".join([*lines, *([f"  … {len(calls) - count:,} more"] if len(calls) > count else [])])

    def choose(self, number: int) -> str:
        """Look at another call."""
        assert self.stop is not None
        if not 0 <= number < len(self.stop.calls):
            fail(
                "debug-command",
                f"there is no call {number}",
                hint=f"they are 0 to {len(self.stop.calls) - 1}",
            )
        self.at = number
        return self.place()

    def list(self, _: str) -> str:
        """The text around the line, with breakpoints marked."""
        span = self.call.span
        if span is None:
            return "the place is not known: this was not read from text"
        marked = {b.verified_line for b in self.debugger.breakpoints if b.path == resolved(span.source.name)}
        first, last = max(1, span.line - LINES_AROUND), span.line + LINES_AROUND
        lines: list[str] = []
        for n in range(first, min(last, line_count(span.source)) + 1):
            mark = ("*" if n in marked else " ") + (">" if n == span.line else " ")
            lines.append(f"{mark}{n:5} | {span.source.line_text(n)}".rstrip())
        return "\n".join(lines)


def breakpoint_text(b: Breakpoint) -> str:
    """A breakpoint in words."""
    where = f"@{b.function}" if b.function else f"{b.path}:{b.verified_line}"
    return f"{b.id} at {where}" + (f" if {b.condition}" if b.condition else "")


def number_of(text: str) -> int:
    """A number that was typed (`debug-command`)."""
    if not text.isdecimal() or len(text) > 9:
        fail("debug-command", f"`{text}` is not a number")
    return int(text)


def line_count(source: Source) -> int:
    """How many lines a text has."""
    return len(source.starts)
