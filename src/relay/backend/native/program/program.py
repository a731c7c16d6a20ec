"""A module on its way to LLVM IR: what its definitions share."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from relay.backend.native.kernels.packed_constants import Packed
from relay.backend.native.llvm.builder import CONTEXT, POINTER, VOID, Code, Value, quoted
from relay.backend.native.llvm.modules import Piece
from relay.backend.native.loops.emit_numbers import literal
from relay.backend.native.loops.reuse import Output
from relay.backend.native.memory.datatypes import DataTypes
from relay.backend.native.memory.layout import RESULTS_OFFSET, TENSOR_DATA_OFFSET
from relay.backend.native.memory.objects import (
    ROUTINES,
    Layout,
    header,
    layout,
    read_object,
    write_object,
)  # fmt: skip
from relay.backend.native.memory.strings import load_string
from relay.backend.native.program.code_dedup import Row, Shared
from relay.backend.native.program.instrumentation import Instrumentation
from relay.backend.native.program.nests import Nest
from relay.backend.native.runtime.kept_kernels import KeptKernels
from relay.ir.expr import Constant, Expr, Function, GlobalVar
from relay.ir.module import IRModule
from relay.transform.passes.outline_blocks import ROWS
from relay.typecheck.query import Types

IN_REGISTERS = 2
"""Leaves of a result beyond which all of them come back through the context."""


def result_type(leaves: Sequence[str]) -> str:
    """The LLVM type of a result with these leaves."""
    if not leaves or len(leaves) > IN_REGISTERS:
        return VOID
    return leaves[0] if len(leaves) == 1 else f"{{ {', '.join(leaves)} }}"


def results_layout(leaves: Sequence[str]) -> Layout:
    """Where the leaves of a large result are in the context."""
    return layout(leaves, RESULTS_OFFSET)


@dataclass
class Site:
    """A place where a program may fail: the code, the message, and the expression."""

    code: str
    message: str
    at: Expr
    hint: str = ""


class Program(DataTypes):
    """A module on its way to LLVM IR."""

    def __init__(self, mod: IRModule, kept: KeptKernels) -> None:
        """`mod` is as `lowering` leaves it; `kept` are the kernels that need not be written again."""
        super().__init__(mod.type_definitions)
        self.mod = mod
        self.types = Types(mod)
        self.sites: list[Site] = []
        self.pieces: list[Piece] = []
        """Functions and data."""
        self.plain: set[int] = set()
        """The numbers of those that LLVM need not work hard on: groups and kernels."""
        self.has_loops = False
        """Whether the group that is being made has loops that are not cut for the processor."""
        self.nests: list[Nest] = []
        """The loops of groups and of calls of operators, as they have been written."""
        self.singletons: dict[str, str] = {}
        self.held_symbols: dict[str, str] = {}
        """Functions whose addresses singletons hold, with their declarations."""
        self.wrappers = 0
        self.constants: dict[Constant | Packed, int] = {}
        """Those that the program has in memory, numbered."""
        self.table: list[int] = []
        """Which constant is at each place of the table that the code reads."""
        self.places: dict[Constant | Packed, int] = {}
        """Where definitions find theirs in the table."""
        self.row: Row | None = None
        """What the group reads that is being made."""
        self.outputs: Mapping[GlobalVar, Mapping[int, Output]] = {}
        """The results of groups that the caller may have arrays for."""
        self.groups: dict[Hashable, Shared] = {}
        self.failing: set[GlobalVar] = set()
        """Groups that may fail with a diagnostic."""
        self.shows_references = False
        """Whether somebody may look into references after a call has failed."""
        self.callees: dict[GlobalVar, tuple[str, int | None]] = {}
        """The code of groups, and the place of the constants that it gets."""
        self.shared: set[str] = set()
        self.kept = kept
        self.kernels: dict[str, Piece | bytes] = {}
        """The kernels that are called, by name: to be compiled, each by itself, or as object code."""
        self.watch: Instrumentation | None = None
        """Notes when groups of operators begin and end, if the program is profiled."""
        self.references: list[Function] = []
        """Calls of operators that Python computes by their references: without native code, or for want of
        routines.
        """
        self.fallbacks = 0
        """How many of them are called only where there are no routines."""
        self.routines: list[str] = []
        """The routines of LAPACK that it calls."""
        self.results = 0
        """The most leaves that a result has that come back through the context."""
        self.records = any(isinstance(e, Function) and ROWS in e.attrs for e in mod.functions.values())
        """Whether there are blocks whose calls are recorded,"""
        self.blocks: list[GlobalVar] = []
        """and those that are called."""
        self.keeps = False
        """Whether there are values that stay from one call to the next."""

    def share(self, name: str, make: Callable[[], Piece]) -> None:
        """Add a function that many may call, once."""
        if name not in self.shared:
            self.shared.add(name)
            piece = make()
            self.plain.add(len(self.pieces))
            self.pieces.append(piece)

    def add_kernel(self, name: str, make: Callable[[], Piece]) -> None:
        """Add a kernel, once: from those that are kept, unless it refers to the program."""
        if name in self.kernels or name in self.shared:
            return
        found = self.kept.code(name) or make()
        if isinstance(found, Piece) and found.symbols:
            self.share(name, lambda: found)
        else:
            self.kernels[name] = found

    def site(self, code: str, message: str, at: Expr, hint: str = "") -> int:
        """The number of a place where the program may fail."""
        self.sites.append(Site(code, message, at, hint))
        return len(self.sites)

    def symbol(self, v: GlobalVar) -> str:
        """The name of a definition's code."""
        return quoted(f"def.{v.name_hint}")

    def callee(self, code: Code, v: GlobalVar) -> tuple[str, Sequence[Value]]:
        """The code of a definition that `code` calls, and the arguments that it takes before its own."""
        symbol, constants = self.callees.get(v) or (f"@{self.symbol(v)}", None)
        return symbol, () if constants is None else [self.place(code, constants)]

    def constant(self, code: Code, e: Constant | Packed) -> Value:
        """The address of a constant tensor, or of one packed for a kernel."""
        if self.row is not None:
            return self.row.load(code, e)
        if e not in self.places:
            self.places[e] = self.placed([e])
        return code.load(POINTER, self.place(code, self.places[e]))

    def routine(self, code: Code, name: str) -> Value:
        """Where the program has the address of a routine of LAPACK; that is 0 where there is none."""
        if name not in self.routines:
            self.routines.append(name)
        table = code.refer(f"@{ROUTINES}")
        return Value(POINTER, f"getelementptr (i8, ptr {table}, i64 {8 * self.routines.index(name)})")

    def placed(self, row: Sequence[Constant | Packed]) -> int:
        """The place of the first of some constants that come next in the table."""
        first = len(self.table)
        self.table += [self.constants.setdefault(e, len(self.constants)) for e in row]
        return first

    def place(self, code: Code, i: int) -> Value:
        """A place in the table of constants."""
        return Value(POINTER, f"getelementptr (i8, ptr {code.refer('@relay.constants')}, i64 {8 * i})")

    def number(self, code: Code, e: Constant) -> Value:
        """A constant of rank 0."""
        assert e.type is not None
        dtype = str(e.type.dtype)
        if dtype != "string":
            return literal(dtype, e.value[()])
        return load_string(code, code.at(self.constant(code, e), TENSOR_DATA_OFFSET))

    # --- objects that are there from the start ---

    def singleton(self, code: Code, tag: int) -> Value:
        """The one instance of a constructor without fields."""
        name = f"@relay.nothing.{tag}"
        if name not in self.singletons:
            word = header(self.layouts.number(layout([])), tag, count=0)
            self.singletons[name] = f"{name} = internal global [2 x i64] [i64 {word}, i64 0], align 16"
        return Value(POINTER, code.refer(name))


def call_leaves(program: Program, code: Code, found: Value | None, leaves: Sequence[str]) -> list[Value]:
    """The leaves of a call's result."""
    if not leaves:
        return []
    if len(leaves) == 1:
        assert found is not None
        return [found]
    if len(leaves) <= IN_REGISTERS:
        return [code.set(t, f"extractvalue {found}, {i}") for i, t in enumerate(leaves)]
    program.results = max(program.results, len(leaves))
    return read_object(code, results_layout(leaves), CONTEXT, leaves)


def emit_return(program: Program, code: Code, kinds: Sequence[str], leaves: Sequence[Value]) -> None:
    """Return from a function with a result of these leaves."""
    if not leaves:
        code.do("ret void")
    elif len(leaves) == 1:
        code.do(f"ret {leaves[0]}")
    elif len(leaves) <= IN_REGISTERS:
        whole = Value(code.result, "poison")
        for i, v in enumerate(leaves):
            whole = code.set(whole.type, f"insertvalue {whole}, {v}, {i}")
        code.do(f"ret {whole}")
    else:
        write_object(code, results_layout(kinds), CONTEXT, leaves)
        program.results = max(program.results, len(leaves))
        code.do("ret void")


def emit_tail_call(code: Code, result: str, target: str, args: Sequence[Value]) -> None:
    """A call in tail position."""
    found = code.call(result, target, args, is_tail=True)
    code.do("ret void" if found is None else f"ret {found}")
