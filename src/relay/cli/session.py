"""What a conversation with Relay keeps: definitions, values by name, and what is answered to a line."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from relay.diagnostic import Report, Source, did_you_mean, fail
from relay.interpreter.machine import Interpreter
from relay.interpreter.show import show
from relay.ir.expr import Expr, Function, GlobalVar, Var
from relay.ir.module import IRModule
from relay.ir.type import Type
from relay.ir.vars import free_vars
from relay.text.api import parse_expr
from relay.text.lexer import lex
from relay.text.parser import parse_module
from relay.typecheck.infer import infer, infer_expr
from relay.typecheck.query import type_of

PROMPT, CONTINUED = "relay> ", "...... "
ITEMS = ("def", "type", "import", "attributes", "options", "extern")
"""What definitions begin with."""
BINDING = re.compile(r"let\s+(?P<pattern>[^=]+?)(?::[^=]*)?=(?![=>])(?P<value>.*)", re.DOTALL)
NAMES = re.compile(r"%([A-Za-z_]\w*)")
TIMED_SECONDS = 0.2
"""How long `:time` repeats an expression."""
HELP = """\
EXPRESSION          its value and its type
let %x = …          keeps a value under a name
def @f(…) { … }     keeps a definition; `type` and `import` do so too
:type EXPRESSION    its type alone
:passes P EXPR      the program for it after passes, such as fold_constants,dead_code
:time EXPRESSION    how long it takes in the interpreter, and as machine code
:load FILE          the definitions in a file
:list               what is defined
:op NAME            the manual of an operator
:explain CODE       the page of an error
:reset              forgets everything
:quit               or Ctrl-D"""


class QuitError(Exception):
    """The conversation is over."""


class Session:
    """One conversation."""

    def __init__(self, backend: str = "interpreter") -> None:
        """`backend` computes values: `interpreter` or `native`."""
        self.backend = backend
        self.commands: dict[str, Callable[[str], str]] = {
            "type": self.type,
            "passes": self.passes,
            "time": self.time,
            "load": self.load,
            "list": self.list,
            "op": self.op,
            "explain": self.explain,
            "reset": self.reset,
            "help": self.help,
            "quit": self.quit,
        }
        self.reset("")

    def answer(self, text: str) -> str:
        """What is answered to an input, empty if nothing is."""
        text = text.strip()
        if not text or text.startswith("//"):
            return ""
        if text.startswith(":"):
            name, _, rest = text[1:].partition(" ")
            if name not in self.commands:
                listing = ", ".join([f":{c}" for c in self.commands])
                hint = did_you_mean(name, self.commands) or f"there are {listing}"
                fail("unknown-name", f"there is no command `:{name}`", hint=hint)
            return self.commands[name](rest.strip())
        if text.split(maxsplit=1)[0] in ITEMS:
            self.define(parse_module(text, "<input>", init_module=self.mod))
            return ""
        binding = BINDING.fullmatch(text.rstrip(";"))
        if binding is not None and NAMES.search(binding["pattern"]) and not is_whole(text):
            return self.bind(text.rstrip(";"), NAMES.findall(binding["pattern"]))
        value, t = self.evaluated(text)
        return with_type(show(value), t)

    # --- what is kept

    def define(self, grown: IRModule) -> None:
        """Go on with a module that has more definitions, if it is right."""
        infer(grown)
        self.mod = grown
        self.machine = Interpreter(grown)

    def bind(self, text: str, names: Sequence[str]) -> str:
        """Keep the values that a `let` binds."""
        (values, t) = self.evaluated(f"{text}; ({', '.join([f'%{n}' for n in names])},)")
        types = getattr(t, "fields", ())
        self.values |= dict(zip(names, zip(values, types, strict=True), strict=True))
        return ""

    def closed(self, text: str, source_name: str = "<input>") -> tuple[Function, list[Any]]:
        """An expression as a function of the values that it names, with these; its types are known."""
        e: Expr = parse_expr(text, source_name, self.mod)
        free = {v: v.name_hint for v in free_vars(e)}
        known = [v for v, name in free.items() if name in self.values]
        params = {v: Var(name, self.values[name][1], span=v.span) for v, name in free.items() if v in known}
        from relay.ir.bind import substitute

        fn = Function(tuple(params.values()), substitute(e, dict(params)))
        typed = infer_expr(fn, self.mod)
        assert isinstance(typed, Function)
        return typed, [self.values[free[v]][0] for v in known]

    def evaluated(self, text: str, source_name: str = "<input>") -> tuple[Any, Type]:
        """The value of an expression, and its type."""
        fn, values = self.closed(text, source_name)
        return self.applied(fn, values, self.backend), fn.ret_type or type_of(fn.body)

    def applied(self, fn: Function, values: Sequence[Any], backend: str) -> Any:
        """The value of a function on values, by a backend."""
        if backend == "interpreter":
            return self.machine.apply(self.machine.value_of(fn), tuple(values))
        from relay.driver.executor import create_executor

        return create_executor(backend, self.mod).evaluate(fn)(*values)

    # --- commands

    def type(self, text: str, source_name: str = "<input>") -> str:
        """The type of an expression."""
        fn, _ = self.closed(text, source_name)
        return str(fn.ret_type or type_of(fn.body))

    def passes(self, text: str) -> str:
        """The program for an expression after passes."""
        from relay.transform.rewriting.pipeline import parse_pipeline

        names, _, rest = text.partition(" ")
        fn, _ = self.closed(rest)
        mod = self.mod.copy()
        mod[GlobalVar("main")] = fn
        mod = infer(mod)
        for step in parse_pipeline(names):
            mod = step(mod)
        return IRModule({GlobalVar("main"): mod["main"]}).astext().rstrip("\n")

    def time(self, text: str) -> str:
        """How long an expression takes."""
        from relay.picture.times import format_seconds

        fn, values = self.closed(text)
        found: list[str] = []
        for backend in ("interpreter", "native"):
            call = self.caller(fn, backend)
            call(*values)
            count, start = 0, perf_counter()
            while perf_counter() - start < TIMED_SECONDS:
                call(*values)
                count += 1
            found.append(f"{backend}: {format_seconds((perf_counter() - start) / count)}")
        return "\n".join(found)

    def caller(self, fn: Function, backend: str) -> Callable[..., Any]:
        """A function as something to call again and again."""
        if backend == "interpreter":
            value = self.machine.value_of(fn)
            return lambda *args: self.machine.apply(value, args)
        from relay.driver.executor import create_executor

        return create_executor(backend, self.mod).evaluate(fn)

    def load(self, name: str) -> str:
        """Add the definitions in a file."""
        from relay.cli.files import read_text

        text = read_text(name)
        self.define(parse_module(text, name, path=Path(name), init_module=self.mod))
        return self.list("")

    def list(self, _: str) -> str:
        """What is defined, and the names of values."""
        own = [v for v in self.mod.functions if v.name_hint not in self.mod.imported]
        lines = [f"@{v.name_hint}: {self.mod.type_of(self.mod.functions[v])}" for v in own]
        return "\n".join([*lines, *[f"%{name}: {t}" for name, (_, t) in self.values.items()]])

    def op(self, name: str) -> str:
        """The manual of an operator."""
        from relay.cli.ops import find, operator_page

        return operator_page(find(name))

    def explain(self, code: str) -> str:
        """The page of an error."""
        from relay.cli.explain import pages

        known = pages()
        if code not in known:
            fail("unknown-code", f"no error has the code `{code}`", hint=did_you_mean(code, known))
        return known[code].rstrip("\n")

    def reset(self, _: str) -> str:
        """Forget everything."""
        self.mod = IRModule()
        self.machine = Interpreter(self.mod)
        self.values: dict[str, tuple[Any, Type]] = {}
        return ""

    def help(self, _: str) -> str:
        """What can be said."""
        return HELP

    def quit(self, _: str) -> str:
        """End the conversation."""
        raise QuitError


def with_type(shown: str, t: Type | None) -> str:
    """A value with its type, behind it or below it."""
    return f"{shown}\n: {t}" if "\n" in shown else f"{shown} : {t}"


def is_open(text: str) -> bool:
    """Whether an input goes on in the next line: a bracket is open."""
    if text.lstrip().startswith(":"):
        return False
    return lex(Source("<input>", text), Report()).unclosed() is not None


def is_whole(text: str) -> bool:
    """Whether a `let` has a body behind its value."""
    tokens = lex(Source("<input>", text.rstrip().rstrip(";")), Report())
    partner, depth = tokens.brackets(), 0
    for i, kind in enumerate(tokens.kinds):
        if i in partner:
            depth += 1 if partner[i] > i else -1
        elif kind == ";" and depth == 0:
            return True
    return False
