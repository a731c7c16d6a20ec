"""Programs for XLA as people hold them: called by the names of their entries."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from relay.backend.xla.platforms import first_device, kind_of, load_jax
from relay.backend.xla.program import Program
from relay.backend.xla.report import Report
from relay.backend.xla.whole import FailedError, Whole
from relay.diagnostic import did_you_mean, fail
from relay.interpreter.arguments import arrange, convert_arguments, inputs
from relay.interpreter.machine import Interpreter
from relay.interpreter.value import Closure, Value
from relay.ir.expr import GlobalVar
from relay.ir.module import IRModule
from relay.op.traced import UntraceableError
from relay.pipelines import optimize_for_xla


class Entry:
    """A definition that is called from Python."""

    def __init__(self, source: IRModule, whole: Whole) -> None:
        """`source` has the program as it was written, which the interpreter runs where XLA does not."""
        self.whole = whole
        self.machine = Interpreter(source)
        self.ran_on_host = ""
        """Why the interpreter ran the last call; empty if XLA did."""
        self.calls = 0
        self.__name__ = self.__qualname__ = whole.name.name_hint

    def __call__(self, /, *args: Any, **named: Any) -> Value:
        self.calls += 1
        definition = self.machine.value_of(self.whole.name)
        if not isinstance(definition, Closure):
            return definition
        code = definition.code
        values, _ = convert_arguments(code, arrange(code, *inputs(args, named)), self.machine)
        try:
            self.ran_on_host = ""
            return self.whole(values)
        except FailedError:
            pass
        except UntraceableError as error:
            self.ran_on_host = str(error)
        return self.machine.apply(definition, tuple(values))


class XlaModule:
    """A program for XLA: `built(…)` calls `@main`, or its only entry, and `built["f"]` is the entry `@f`.

    Entries take what those of a compiled program take, and give values of the interpreter.  A definition is
    compiled when it is called, for each shape and structure of its arguments.
    """

    def __init__(self, entries: dict[str, Entry], device: Any) -> None:
        """Use `build_for_xla`."""
        self.by_name = entries
        self.device = device

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of the definitions that can be called."""
        return tuple(self.by_name)

    def default(self) -> str:
        """The entry that is called without a name."""
        return "main" if "main" in self.entries else self.entries[0]

    def __call__(self, /, *args: Any, **named: Any) -> Value:
        return self.by_name[self.default()](*args, **named)

    def __getitem__(self, name: str) -> Callable[..., Value]:
        """An entry (`unknown-global`)."""
        name = name.removeprefix("@")
        if name not in self.by_name:
            listing = ", ".join([f"`@{n}`" for n in self.entries])
            hint = did_you_mean(name, self.entries) or f"it has {listing}; `entries=` chooses them"
            fail("unknown-global", f"the compiled program has no entry `@{name}`", hint=hint)
        return self.by_name[name]

    def report(self) -> Report:
        """What XLA has computed of the calls so far, and what the interpreter has, and why."""
        return Report.of(self.by_name.values())

    def __reduce__(self) -> NoReturn:
        raise TypeError("a program for XLA is not pickled: build it again in the other process")

    def __repr__(self) -> str:
        return f"<for {self.device}: {', '.join([f'@{n}' for n in self.entries])}>"


def build_for_xla(
    mod: IRModule,
    target: object,
    entries: Sequence[str],
    level: int | None = None,
    precision: str | None = None,
) -> XlaModule:
    """A program for a device that XLA compiles for (`no-xla`, `unknown-target`)."""
    device = first_device(kind_of(target))
    program = Program(optimize_for_xla(mod, entries, level, precision), load_jax())
    wholes = [Whole(program, GlobalVar(name), device) for name in entries]
    return XlaModule({w.name.name_hint: Entry(mod, w) for w in wholes}, device)
