"""`%%relay` cells, which see the values of Python and define functions for it; `%relay_type`.

They are registered with IPython as plain functions, so nothing of IPython is imported.
"""

import re
from collections.abc import Callable
from functools import partial
from shlex import split
from typing import Any

from relay.cli.session import BINDING, NAMES, Session, is_whole
from relay.diagnostic import RelayError, did_you_mean, fail
from relay.driver.executor import create_executor
from relay.interpreter.value import ConstructorValue, FunctionValue, is_tuple, type_of_value
from relay.ir.expr import Function
from relay.ir.leaf import constant
from relay.ir.type import Type
from relay.notebook.cells import CELL, parts_of, words_of
from relay.text.parser import parse_module

BACKENDS = ("native", "interpreter")
RED, BLUE, CYAN, BOLD, PLAIN = "\x1b[31m", "\x1b[34m", "\x1b[36m", "\x1b[1m", "\x1b[0m"


class CellError(RelayError):
    """Diagnostics of a cell, which a notebook shows in colours and without Python's frames."""

    def _render_traceback_(self) -> list[str]:
        return [coloured(str(self))]


def coloured(text: str) -> str:
    """Diagnostics in the colours of terminals, which notebooks show too."""
    text = re.sub(
        r"(?m)^(error|warning)(\[[\w-]+\]): (.*)$", rf"{BOLD}{RED}\1\2{PLAIN}{BOLD}: \3{PLAIN}", text
    )
    text = re.sub(r"(?m)^( *\d* *\|)", rf"{BLUE}\1{PLAIN}", text)
    text = re.sub(r"(?m)(\^+)([^\n]*)$", rf"{RED}\1\2{PLAIN}", text)
    return re.sub(r"(?m)^(  = (?:hint|note):)", rf"{CYAN}\1{PLAIN}", text)


class Cells:
    """What the cells of a notebook have defined, and the values that they see."""

    def __init__(self, shell: Any) -> None:
        """`shell` is the one of IPython."""
        self.shell = shell
        self.session = Session()
        self.own: dict[str, Any] = {}
        """The values of Relay that Python has not replaced."""

    def cell(self, line: str, cell: str) -> Any:
        """`%%relay [--backend native|interpreter] [NAME]`: the definitions of a cell become functions of
        Python; its expression is the value, which NAME keeps.
        """
        try:
            backend, name = options(line)
            self.session.backend = backend
            return self.evaluated(cell, name)
        except RelayError as error:
            raise CellError(error.diagnostics) from None

    def evaluated(self, cell: str, name: str) -> Any:
        """The value of a cell; None where it only defines."""
        definitions, rest = parts_of(cell)
        if definitions.strip():
            self.define(definitions)
        if not without_comments(rest).strip():
            return None
        self.look(rest)
        text = rest.rstrip().rstrip(";")
        binding = BINDING.fullmatch(text.strip())
        if binding is not None and NAMES.search(binding["pattern"]) and not is_whole(text):
            names = NAMES.findall(binding["pattern"])
            self.session.bind(text, names)
            self.keep({n: self.session.values[n][0] for n in names})
            return None
        value, t = self.session.evaluated(text, CELL)
        if name:
            self.session.values[name] = (value, t)
            self.keep({name: value})
            return None
        return value

    def define(self, text: str) -> None:
        """Add definitions, and functions of Python that call them."""
        before = set(self.session.mod.functions)
        defined = set(re.findall(r"(?m)\bdef\s+@(\w+)", text))
        mod = self.session.mod.copy()
        for v in before:
            if v.name_hint in defined:
                del mod[v]
        self.session.define(parse_module(text, CELL, init_module=mod))
        mod = self.session.mod
        for v, e in mod.functions.items():
            if v.name_hint in defined and isinstance(e, Function):
                self.shell.user_ns[v.name_hint] = Definition(self, v.name_hint)

    def keep(self, values: dict[str, Any]) -> None:
        """Give values to Python."""
        self.own |= values
        self.shell.user_ns.update(values)

    def look(self, text: str) -> None:
        """Take the values of Python that a text names."""
        space = self.shell.user_ns
        for name in words_of(text):
            if name in space and not (name in self.own and self.own[name] is space[name]):
                known = as_value(space[name])
                if known is not None:
                    self.session.values[name] = known

    def type_line(self, line: str) -> None:
        """`%relay_type EXPRESSION`: prints its type."""
        try:
            self.look(line)
            print(self.session.type(line, CELL))
        except RelayError as error:
            raise CellError(error.diagnostics) from None


class Definition:
    """A definition of a cell as a function of Python; it is compiled when it is first called."""

    def __init__(self, cells: Cells, name: str) -> None:
        """The definition of that name as it is now."""
        self.__name__ = self.__qualname__ = name
        self.mod = cells.session.mod
        self.backend = cells.session.backend
        self.call: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The value on arguments."""
        if self.call is None:
            self.call = create_executor(self.backend, self.mod).evaluate(f"{self.__name__}")
        assert self.call is not None
        return self.call(*args, **named)

    def __repr__(self) -> str:
        return f"@{self.__name__}: {self.mod.type_of(self.mod[self.__name__])}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return self.mod[self.__name__]._repr_mimebundle_()


def options(line: str) -> tuple[str, str]:
    """The backend and the name that a cell begins with (`unknown-option`)."""
    words = split(line)
    backend, name = BACKENDS[0], ""
    while words:
        word, *words = words
        if word == "--backend" and words:
            backend, *words = words
        elif word.startswith("--backend="):
            backend = word.partition("=")[2]
        elif word.isidentifier() and not name:
            name = word
        else:
            fail(
                "unknown-option",
                f"a cell has no option `{word}`",
                hint="write %%relay [--backend NAME] [NAME]",
            )
    if backend not in BACKENDS:
        hint = did_you_mean(backend, BACKENDS) or f"there are {', '.join(BACKENDS)}"
        fail("unknown-option", f"cells have no backend `{backend}`", hint=hint)
    return backend, name


def as_value(x: Any) -> tuple[Any, Type] | None:
    """A value of Python as one of Relay, with its type; None for what has none."""
    if isinstance(x, Definition) or callable(x):
        return None
    if isinstance(x, ConstructorValue | FunctionValue) or is_tuple(x):
        t = type_of_value(x)
        return x, t
    if hasattr(x, "__dlpack__") and not hasattr(x, "__array_interface__"):
        import numpy as np

        x = np.from_dlpack(x.detach() if hasattr(x, "detach") else x)
    try:
        made = constant(x)
    except (TypeError, ValueError):
        return None
    return (made.value if made.value.ndim else made.value[()]), made.checked_type


def without_comments(text: str) -> str:
    """A text without its comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext relay` does: register `%%relay` and `%relay_type`."""
    cells = Cells(shell)
    shell.register_magic_function(partial(Cells.cell, cells), "cell", "relay")
    shell.register_magic_function(partial(Cells.type_line, cells), "line", "relay_type")


def unload_ipython_extension(shell: Any) -> None:
    """What `%unload_ext relay` does."""
    shell.magics_manager.magics["cell"].pop("relay", None)
    shell.magics_manager.magics["line"].pop("relay_type", None)
