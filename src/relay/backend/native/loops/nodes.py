"""The loop IR: loops over tensors, as frozen nodes.

A block is a sequence of statements.  A value is defined by a statement of its block or of one around it:
`Apply` and `Load` are such statements themselves, the others name what they give as `Var`s.  How many
elements are computed at once, and by how many threads, is what the passes of `schedule` write: `For.lanes`,
`Parallel`.

An index is a Python integer where it is known, else a value of dtype `index`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, dataclass_transform

from relay.ir.expr import Expr
from relay.ir.type import TensorType

INDEX, ADDRESS, OBJECT = "index", "address", "object"
"""The dtypes of values that are not numbers: counts of elements, places in memory, tensors."""


@dataclass_transform(frozen_default=True, eq_default=False)
def node(cls: type[Any]) -> type[Any]:
    """A frozen dataclass that compares by identity."""
    return dataclass(frozen=True, slots=True, eq=False, repr=False)(cls)


@node
class Var:
    """A value that a function, a loop or a statement defines."""

    dtype: str
    name: str


@node
class Const:
    """A number."""

    dtype: str
    value: Any


@node
class Apply:
    """A function of values without effect: `op` is `add`, `exp`, `select`, `plus` (of indices), ..."""

    op: str
    args: "tuple[Operand, ...]"
    dtype: str
    cost: int = 1
    """Instructions, about, as the operator says that it is for."""
    is_wide: bool = False
    """Whether the operator says that it is computed in float64."""


@node
class Global:
    """A constant tensor of the program, or one that is packed for a kernel."""

    constant: Any
    dtype = OBJECT


@node
class Stack:
    """Memory of the function, in bytes, until it returns."""

    size: int
    dtype = ADDRESS


@node
class Registers:
    """As many bytes, which LLVM keeps in registers: the indices of all accesses are known where loops are
    unrolled.
    """

    size: int
    dtype = ADDRESS


@node
class Buffer:
    """Elements in memory, row-major."""

    data: "Value"
    dtype: str
    sizes: "tuple[Index, ...]"
    name: str = ""


@node
class Load:
    """An element of a buffer.  Where axes are merged, the index of the last of them counts through all."""

    buffer: Buffer
    index: "tuple[Index, ...]"

    @property
    def dtype(self) -> str:
        """That of the buffer."""
        return self.buffer.dtype


Value: TypeAlias = Var | Const | Apply | Global | Stack | Registers | Load
Index: TypeAlias = int | Value
Operand: TypeAlias = int | Value


@node
class Block:
    """Statements in order, and the values that the block ends with."""

    statements: "tuple[Statement, ...]"
    yields: tuple[Value, ...] = ()


@node
class Store:
    """Write an element."""

    buffer: Buffer
    index: "tuple[Index, ...]"
    value: Value


class Combining(Protocol):
    """The rules of a reduction: see `relay.op.native`.  One of several totals can `merge` those of lanes."""

    adds_up: bool
    """True if elements are combined by adding."""

    def combine(self, b: Any, totals: Any, x: Any) -> Any:
        """The totals with an element more."""
        ...

    def of_lane(self, b: Any, totals: Any, lane: Any, lanes: int) -> Any:
        """The totals of a lane in terms of all elements."""
        ...

    def merge(self, b: Any, totals: Any, others: Any) -> Any:
        """The totals of two parts."""
        ...


@node
class Let:
    """A value, or a known index, in place of another: of a variable, or of what has been computed before."""

    result: Value
    value: "Operand"


@node
class For:
    """A perfect nest of loops over `indices`, each from 0 to its extent, the last one innermost.

    `carried` are `inits` in the first iteration and the yields of the last one in each other; `results` are
    what they are in the end.
    """

    indices: tuple[Var, ...]
    extents: tuple[Index, ...]
    body: Block
    inits: tuple[Value, ...] = ()
    carried: tuple[Var, ...] = ()
    results: tuple[Var, ...] = ()
    any_order: bool = False
    """Whether iterations may run in any order, and several at once."""
    reduction: Combining | None = None
    """What combines elements into the totals that are carried, if these may be combined in any order."""
    lanes: int = 0
    """How many neighbours along the last index are computed at once; 0 for one."""
    is_whole: bool = False
    """Whether the last extent is known to be a multiple of the lanes."""
    unroll: int = 0
    """How many iterations, or vectors, of the last index are written one after the other; 0 if it is a loop.
    Without lanes, that is the only index, and the number its extent.  Vectors are masked where the extent is
    not known to fill all of them.
    """
    is_rolled: bool = False
    """Whether LLVM is told to leave the loops as they are."""
    origin: str = ""
    """The operator that it is for."""
    scratch: tuple[Value, ...] = ()
    """Memory for as many elements as the last extent, where that is not known, that rows may be kept in."""


@node
class Branch:
    """The block of the first condition that holds, or else the last one; `results` are what that yields."""

    conditions: tuple[Value, ...]
    blocks: tuple[Block, ...]
    results: tuple[Var, ...] = ()


@node
class Check:
    """Fail if a condition holds, with a diagnostic at an expression."""

    condition: Value
    code: str
    message: str
    hint: str
    at: Expr


@node
class Poll:
    """Look whether the call has been interrupted."""


@node
class Place:
    """A tensor whose memory another may take if nobody else has it and its sizes along some axes are those of
    the other, as all else is; one that `is_reshaped` has as many elements, and gets those sizes.
    """

    value: Value
    axes: tuple[int, ...] = ()
    is_reshaped: bool = False


@node
class CallersArray:
    """A tensor that the caller may have left in a slot of the context for a result, whose sizes along some
    axes are still to be compared.
    """

    slot: int
    axes: tuple[int, ...] = ()


@node
class NewTensor:
    """A new tensor, its elements not yet written: the caller's, if there is one for it; or the first of the
    places that can be taken, with one more reference.
    """

    result: Var
    type: TensorType
    sizes: tuple[Index, ...]
    places: tuple[Place, ...] = ()
    array: CallersArray | None = None


@node
class Release:
    """Give up a reference to a tensor."""

    value: Value


@node
class Function:
    """A kernel: what it takes, and what it does.  Memory of different parameters does not overlap where it is
    written.
    """

    name: str
    params: tuple[Var, ...]
    body: Block


class Callee(Protocol):
    """The schedule of a kernel, which says all about it."""

    @property
    def name(self) -> str:
        """The symbol of its code."""
        ...

    def function(self) -> Function:
        """Its loops."""
        ...


@node
class Invoke:
    """Call a kernel."""

    callee: Callee
    args: tuple[Operand, ...]


@node
class CallRoutine:
    """Call a routine of LAPACK, whose arguments are all addresses."""

    name: str
    args: tuple[Operand, ...]


@node
class Prefetch:
    """Have a cache fetch what a loop along the lanes accesses of a buffer, `beyond` elements after an index;
    elsewhere, the line of that element.
    """

    buffer: Buffer
    index: tuple[Index, ...]
    beyond: Index
    is_written: bool
    level: int = 3
    """How long it is wanted: 3 for the first level of the cache, 2 for the second."""


@node
class Transpose:
    """The elements of a matrix in registers, row by row, in the order of its columns; as many rows as a row
    has elements, or fewer.
    """

    buffer: Buffer


@node
class Parallel:
    """The body on ranges from `begin` to `end` that make up the one from 0 to `count`, on several threads.

    A range has at least `grain` iterations; 0 gives each thread one range.  Ranges that run at the same time
    have different `lane`s.
    """

    count: Index
    grain: Index
    begin: Var
    end: Var
    lane: Var
    body: Block


@node
class Alternate:
    """Whether this is every other time that the thread comes here."""

    result: Var


Statement: TypeAlias = (
    Apply | Load | Global | Stack | Registers | Let | Store | For | Branch | Check | Poll | NewTensor
    | Release | Invoke | CallRoutine | Prefetch | Transpose | Parallel | Alternate
)  # fmt: skip


VALUES = (Apply, Load, Global, Stack, Registers)
"""Statements that are the value that they define."""


def operands(s: Statement) -> Sequence[Operand]:
    """What a statement reads, without its blocks."""
    if isinstance(s, Apply):
        return s.args
    if isinstance(s, Load):
        return (s.buffer.data, *s.buffer.sizes, *s.index)
    read = READ.get(type(s))
    return () if read is None else read(s)


READ: dict[type, Callable[[Any], Sequence[Operand]]] = {
    Let: lambda s: (s.value,),
    Store: lambda s: (s.buffer.data, *s.buffer.sizes, *s.index, s.value),
    For: lambda s: (*s.extents, *s.inits, *s.scratch),
    Branch: lambda s: s.conditions,
    Check: lambda s: (s.condition,),
    NewTensor: lambda s: (*s.sizes, *[p.value for p in s.places]),
    Release: lambda s: (s.value,),
    Invoke: lambda s: s.args,
    CallRoutine: lambda s: s.args,
    Prefetch: lambda s: (s.buffer.data, *s.buffer.sizes, *s.index, s.beyond),
    Transpose: lambda s: (s.buffer.data,),
    Parallel: lambda s: (s.count, s.grain),
}


BLOCKS: dict[type, Callable[[Any], "tuple[Block, ...]"]] = {
    For: lambda s: (s.body,),
    Parallel: lambda s: (s.body,),
    Branch: lambda s: s.blocks,
}
"""The blocks of each class of statements that has some."""


def blocks(s: Statement) -> "tuple[Block, ...]":
    """The blocks of a statement."""
    own = BLOCKS.get(type(s))
    return () if own is None else own(s)


def bound(s: Statement) -> tuple[Var, ...]:
    """The variables that a statement defines inside of its blocks."""
    if isinstance(s, For):
        return (*s.indices, *s.carried)
    return (s.begin, s.end, s.lane) if isinstance(s, Parallel) else ()


def results(s: Statement) -> tuple[Value, ...]:
    """The values that a statement defines for those after it."""
    if isinstance(s, VALUES):
        return (s,)
    if isinstance(s, (For, Branch)):
        return s.results
    return (s.result,) if isinstance(s, NewTensor | Let | Alternate) else ()


def statements(block: Block) -> Iterator[Statement]:
    """All statements of a block, outer ones before those inside of them."""
    pending: list[Statement] = [*reversed(block.statements)]
    while pending:
        s = pending.pop()
        yield s
        if type(s) in BLOCKS:
            for inner in reversed(blocks(s)):
                pending += reversed(inner.statements)


def with_blocks(s: Any, inner: Sequence[Block]) -> Any:
    """A statement with other blocks."""
    if all(x is y for x, y in zip(blocks(s), inner, strict=True)):
        return s
    return replace(s, blocks=tuple(inner)) if isinstance(s, Branch) else replace(s, body=inner[0])
