"""Groups that are alike but for their constants: their code is made once, and each use brings its constants.

The constants that a group reads lie side by side in the program's table, a row of them for each use; the code
gets the address of the row.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from relay.backend.native.kernels.packed_constants import Packed
from relay.backend.native.llvm.builder import POINTER, Code, Value
from relay.backend.native.memory.representation import is_scalar
from relay.ir.expr import Call, Constant, Expr, Function, Let, Op, Tuple, TupleGetItem, Var
from relay.ir.walk import post_order

ROW = Value(POINTER, "%row")
"""Where the row of constants begins, in the code of a group."""


class Row:
    """The constants that a group reads, each at its place."""

    def __init__(self) -> None:
        """None so far."""
        self.places: dict[Constant | Packed, int] = {}

    def load(self, code: Code, e: Constant | Packed) -> Value:
        """The address of a constant tensor."""
        i = self.places.setdefault(e, len(self.places))
        return code.load(POINTER, code.at(ROW, 8 * i))


class Form(NamedTuple):
    """A group without its constants, equal to that of another group with the same code; and they."""

    key: Hashable
    constants: Sequence[Constant]


class Shared(NamedTuple):
    """The code of a group: its symbol, what it reads, and the constants of the group that it was made of."""

    symbol: str
    row: Sequence[Constant | Packed]
    constants: Sequence[Constant]

    def row_of(self, constants: Sequence[Constant]) -> list[Constant | Packed]:
        """What the same code reads for a group with other constants."""
        by = dict(zip(self.constants, constants, strict=True))
        return [replace_constant(e, by) for e in self.row]


def replace_constant(e: Constant | Packed, by: dict[Constant, Constant]) -> Constant | Packed:
    """A constant, or one packed for a kernel, with another in its place."""
    if isinstance(e, Constant):
        return by.get(e, e)
    return replace(e, weight=by.get(e.weight, e.weight))


def dedup_key(fn: Function) -> Form:
    """What the code of a group depends on, but for the constants in memory."""
    places: dict[Expr, int] = {p: i for i, p in enumerate(fn.params)}
    constants: dict[Constant, int] = {}
    parts: list[Hashable] = [p.type_annotation for p in fn.params]

    def place(e: Expr) -> int:
        return places.setdefault(e, len(places))

    for e in post_order(fn.body):
        said: Hashable = place(e)
        match e:
            case Constant() if not is_scalar(e.type):
                said = said, e.type, constants.setdefault(e, len(constants))
            case Constant():
                said = said, e.type, cast("Any", e.value).tobytes()
            case Call(op=Op()):
                # `repr` tells 0.0 from -0.0, and True from 1.
                said = said, e.attrs, repr(e.attrs), e.written_type_args, *map(place, e.args)
            case Tuple() | TupleGetItem() | Let():
                index = e.index if isinstance(e, TupleGetItem) else None
                bound = place(e.var) if isinstance(e, Let) else None
                said = said, type(e), index, bound, *map(place, e.children)
            case _:
                assert isinstance(e, Var | Op), "groups consist of operators"
        parts.append(said)
    return Form((tuple(parts), place(fn.body), fn.ret_type), list(constants))
