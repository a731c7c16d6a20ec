"""One function in the making: where its values are, and what it takes from the functions around it."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from relay.diagnostic import Diagnostic, RelayError, Span
from relay.interpreter import code as op
from relay.interpreter.binding import Getter, hidden_of_type, sources
from relay.interpreter.code import Code, Draft, Register, finish
from relay.ir.dtype import to_numpy
from relay.ir.expr import Call, Constructor, Expr, Function, GlobalVar, Op, Var
from relay.ir.type import FuncType, Type, TypeVar

Step: TypeAlias = Generator["Step", Any, Any]
"""Yields the steps it needs done, and receives their results."""


class World(Protocol):
    """What lowering asks of the machine that will run the code, and of inference."""

    def global_code(self, name: GlobalVar) -> Code | None:
        """The code of a global function; None if the name is not of a function literal."""
        ...

    def global_cell(self, name: GlobalVar) -> Any:
        """The cell of a global constant."""
        ...

    def type_of(self, e: Expr) -> Type | None:
        """The static type of an expression; None where it is not known."""
        ...

    def datatype_size(self, constructor: Constructor) -> int:
        """How many constructors the data type of this one has."""
        ...

    def operator(self, e: Call) -> Callable[..., Any]:
        """What to apply to the operands of an operator call."""
        ...

    def operator_value(self, op: Op) -> Any:
        """An operator as a first-class value."""
        ...

    def region(self, fn: Function, name: str) -> Callable[..., Any] | None:
        """What computes a function that another compiler takes; None for one whose body is evaluated."""
        ...

    def arrange(self, unit: "Unit") -> None:
        """Change the instructions of a function before they are final."""
        ...


@dataclass(eq=False, slots=True)
class Group:
    """Functions that call one another by variable and share what they capture: `let rec`, `let %f = fn…`."""

    members: dict[Var, Code] = field(default_factory=dict[Var, Code])
    keys: dict[Any, None] = field(default_factory=dict[Any, None])


@dataclass(eq=False, slots=True)
class Unit:
    """A function that is being lowered; `outer` is the one around it.

    `places` says which register holds a variable, a shared node or a type parameter.
    """

    code: Code
    draft: Draft
    group: Group
    outer: "Unit | None"
    places: dict[Any, Register] = field(default_factory=dict[Any, Register])
    params: tuple[Var, ...] = ()
    _sources: dict[Any, tuple[int, Getter]] | None = None

    @property
    def sources(self) -> dict[Any, tuple[int, Getter]]:
        """How this function learns a type parameter from its arguments: `TypeVar -> (argument, how)`."""
        if self._sources is None:
            self._sources = sources(self.params)
        return self._sources

    def emit(self, span: Span | None, opcode: int, f: Any, a: Any = 0, b: Any = 0) -> Register:
        """An instruction that defines a new register."""
        d = self.draft.fresh()
        self.draft.span = span
        self.draft.emit(opcode, d, f, a, b)
        return d

    def failure(self, diagnostic: Diagnostic) -> Register:
        """Code that stops with a diagnostic when it is reached."""

        def stop() -> Any:
            raise RelayError(diagnostic)

        return self.draft.operate(stop, ())

    def seal(self, world: World) -> None:
        """Finish the function once everything that its group captures is known."""
        self.draft.env = [self.captured(key) for key in self.group.keys]
        world.arrange(self)
        finish(self.draft, self.code)

    # --- names

    def captured(self, key: Any) -> Register:
        """The register that holds `key` of the function's environment."""
        register = self.places.get(key)
        if register is None:
            register = self.places[key] = self.draft.fresh()
        return register

    def lookup(self, key: Any) -> Register:
        """The register that holds a variable, a shared node or a type parameter from outside or inside."""
        path: list[Unit] = []
        at: Unit | None = self
        while at is not None and not at.has(key):
            path.append(at)
            at = at.outer
        if at is None:
            return self.unbound(key)
        register = at.places.get(key)
        if register is None:
            register = at.draft.fresh()
            at.draft.emit(op.GROUP, register, at.group.members[key], 0, at.code)
        for inner in reversed(path):
            inner.group.keys.setdefault(key)
            register = inner.captured(key)
        return register

    def has(self, key: Any) -> bool:
        """Whether this very function holds a variable, a shared node or a type parameter, or can learn it."""
        return key in self.places or key in self.group.members or (type(key) is TypeVar and self.learned(key))

    def learned(self, key: TypeVar) -> bool:
        """Whether the function can tell a type parameter from its arguments; if so it does, on entry."""
        source = self.sources.get(key)
        if source is None:
            if key not in self.code.hidden:
                return False
            self.captured(key)
            return True
        param, how = source
        self.places[key] = self.draft.at_entry(how, self.draft.params[param])
        return True

    def is_bound(self, key: TypeVar) -> bool:
        """Whether a type parameter belongs to this function or one around it, and shows in its arguments."""
        at: Unit | None = self
        while at is not None:
            if key in at.places or key in at.sources:
                return True
            at = at.outer
        return False

    def unbound(self, key: Any) -> Register:
        """A free variable has no value; a type parameter that nothing binds is unknown."""
        if isinstance(key, Var):
            diagnostic = Diagnostic(
                "unknown-variable",
                f"`%{key.name}` has no value here",
                self.draft.span or key.span,
                "it is free in this expression",
                hint="make it a parameter of a function, or bind it with `let`",
            )
            return self.failure(diagnostic)
        return self.draft.constant(None)

    def hidden_arguments(self, e: Call, code: Code | None) -> tuple[Register, ...]:
        """What a call passes for the hidden parameters of its callee, whose code may be known."""
        hidden: tuple[TypeVar, ...] = ()
        by: dict[Any, Any] = {}
        if code is not None:
            hidden = code.hidden
            by = dict(zip(code.function.type_params, e.written_type_args, strict=False)) if hidden else {}
        elif e.written_type_args and isinstance(e.op, Var):
            scheme = e.op.type_annotation
            if isinstance(scheme, FuncType) and len(scheme.type_params) == len(e.written_type_args):
                hidden = hidden_of_type(scheme)
                by = dict(zip(scheme.type_params, e.written_type_args, strict=True))
        return tuple([self._dtype(by.get(p)) for p in hidden])

    def _dtype(self, dtype: Any) -> Register:
        if isinstance(dtype, str):
            return self.draft.constant(to_numpy(dtype))
        return self.lookup(dtype) if isinstance(dtype, TypeVar) else self.draft.constant(None)
