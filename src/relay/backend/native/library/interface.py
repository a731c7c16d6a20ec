"""What a library offers of a program: entries with their inputs and outputs; and what cannot be offered."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from relay.analysis.annotated_regions import compiler_of
from relay.backend.native.host.compiler import Compiler
from relay.backend.native.memory.representation import SIZES, scalar
from relay.backend.native.program.program import Program
from relay.diagnostic import Span, fail
from relay.ir.expr import Call, Function, Op
from relay.ir.type import Dim, FuncType, RefType, TensorType, TupleType, Type, TypeVar
from relay.op.debugging import Effect

INT, UINT, FLOAT, BFLOAT, BOOL = 0, 1, 2, 4, 6
DLPACK = {
    "bool": (BOOL, 8),
    **{f"int{n}": (INT, n) for n in (8, 16, 32, 64)},
    **{f"uint{n}": (UINT, n) for n in (8, 16, 32, 64)},
    **{f"float{n}": (FLOAT, n) for n in (16, 32, 64)},
    "bfloat16": (BFLOAT, 16),
    "float8_e3m4": (7, 8),
    "float8_e4m3": (8, 8),
    "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
}
"""Dtypes as DLPack has them: code and bits."""


@dataclass(frozen=True)
class Port:
    """An input or an output."""

    name: str
    dtype: str
    shape: tuple[Dim, ...]

    @property
    def item_bytes(self) -> int:
        """Bytes of an element."""
        return SIZES[scalar(self.dtype)]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes, -1 where only a call knows."""
        return tuple([d if isinstance(d, int) else -1 for d in self.shape])

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype} ({', '.join(map(str, self.shape))})"


@dataclass(frozen=True)
class Entry:
    """A function that a library offers."""

    name: str
    start: str
    """The code that works on the box of a context."""
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    @property
    def symbols(self) -> list[TypeVar]:
        """The sizes that inputs bind, each where an axis has it alone."""
        found = [d for port in self.inputs for d in port.shape if isinstance(d, TypeVar)]
        return list(dict.fromkeys(found))


def entries_of(made: Compiler) -> list[Entry]:
    """The entries of a program; what C cannot call is an error (`no-library`)."""
    require_no_python(made.program)
    return [entry_of(name, point.header, point.start) for name, point in made.entries.items()]


def require_no_python(program: Program) -> None:
    """Refuse a program of which Python computes a part (`no-library`)."""
    for fn in program.references:
        if compiler_of(fn):
            hint = "`relay.transform.MarkCompilerFunctionsAsExtern` gives it back to this one"
            refuse("a library cannot call what another compiler has made", fn.span, hint=hint)
        call = fn.body
        assert isinstance(call, Call)
        assert isinstance(call.op, Op)
        if isinstance(call.attrs, Effect):
            label, hint = "Python does this", "leave it out of what is compiled"
        elif program.routines:
            label, hint = "it is computed by LAPACK, or else by Python", ""
        else:
            label, hint = "Python computes it, by its reference", "give the operator a rule `native`"
        what = f"a library cannot compute `{call.op.name}`: it has no machine code of its own"
        refuse(what, fn.span, label, hint)


def entry_of(name: str, fn: Function, start: str) -> Entry:
    """A definition that can be called from C (`no-library`)."""
    if fn.constraints:
        refuse(
            f"`@{name}` has relations between its arguments that only Python checks",
            fn.span,
            hint="write the types of its parameters",
        )
    inputs: list[Port] = []
    for p in fn.params:
        assert p.type_annotation is not None
        what = f"the parameter `%{p.name}` of `@{name}`"
        inputs += ports(p.type_annotation, p.name, what, p.span or fn.span)
    assert fn.ret_type is not None
    outputs = ports(fn.ret_type, "result", f"the result of `@{name}`", fn.span)
    return Entry(name, start, tuple(inputs), tuple(outputs))


def ports(t: Type, name: str, what: str, span: Span | None) -> Iterator[Port]:
    """The tensors that a value consists of, those of tuples with their numbers in their names."""
    pending = [(t, name)]
    while pending:
        part, path = pending.pop()
        if isinstance(part, TupleType):
            fields = [(f, f"{path}.{i}") for i, f in enumerate(part.fields)]
            pending += reversed(fields)
            continue
        reason = misfit(part)
        if reason:
            hint = "let the entry take and return tensors, or tuples of them"
            refuse(f"{what} cannot cross to C", span, reason, hint)
        assert isinstance(part, TensorType)
        assert isinstance(part.dtype, str)
        assert isinstance(part.shape, tuple)
        yield Port(path, part.dtype, part.shape)


def misfit(t: Type) -> str:
    """Why values of a type cannot cross to C; empty if they can."""
    if isinstance(t, TensorType):
        if t.dtype in DLPACK:
            return ""
        return f"DLPack has no tensors of {t.dtype} as machine code holds them"
    if isinstance(t, FuncType):
        return "it is a function, which C could not call"
    if isinstance(t, RefType):
        return "it is a reference, which C could not read"
    return f"it is of the data type {t}, whose instances DLPack has no form for"


def refuse(message: str, span: Span | None, label: str = "", hint: str = "") -> NoReturn:
    """Refuse to make a library (`no-library`)."""
    fail("no-library", message, span, label=label, hint=hint)


def parameters_text(ports: Sequence[Port]) -> str:
    """Inputs or outputs in a line."""
    return ", ".join(map(str, ports)) or "none"
