"""Values that a reference gives up while they are replaced, so that they can be overwritten.

    let %x = ref_read(%r); let %y = f(%x); ref_write(%r, %y)

Between the two nobody reads the reference, so that `%x` takes over its reference to the tensor, if the write
follows where `%x` ends: a failure before leaves the tensor in its place.

    let %x = ref_read(%r); let %a = f(%x.0); let %b = g(%x.1); ref_write(%r, (%a, %b))

Where it holds a tuple, this goes for each field; `%a` is written as soon as there is one, since the tensor
whose place it takes is gone if `g` fails.
"""

from collections.abc import Callable, Mapping, Sequence

from relay.backend.native.program.ownership import Block, Statement
from relay.ir.expr import Expr, RefRead, RefWrite, Tuple, TupleGetItem, Var
from relay.ir.type import FuncType, TensorType, TupleType

Test = Callable[[Expr], bool]


class Replaced:
    """The reads that take what references hold, and the writes that replace it."""

    def __init__(self) -> None:
        """None so far."""
        self.statements: set[Statement] = set()
        self.early: dict[Var, list[tuple[RefWrite, int]]] = {}
        """Variables that are written, once they are there, to fields of what a later statement writes."""

    def add(self, block: Block, is_plain: Test, may_fail: Test) -> None:
        """Find those of a block; `is_plain` says of a statement that all it does is to compute, `may_fail`
        that it may end the call so that somebody sees what references hold.
        """
        reads: dict[Var, tuple[int, Var, RefRead]] = {}
        for j, (var, s) in enumerate(block.statements):
            if isinstance(s, RefWrite) and isinstance(s.ref, Var) and s.ref in reads:
                i, x, read = reads[s.ref]
                early = self.fields(block, i, j, x, may_fail)
                if early is not None:
                    self.statements |= {read, s}
                    for y, k in early.items():
                        self.early.setdefault(y, []).append((s, k))
            if isinstance(s, RefRead) and isinstance(s.ref, Var) and var is not None:
                is_known = isinstance(var.type_annotation, TensorType | TupleType | FuncType)
                reads = {s.ref: (j, var, s)} if is_known else {}
            elif not is_plain(s):
                reads = {}

    def fields(self, block: Block, i: int, j: int, x: Var, may_fail: Test) -> Mapping[Var, int] | None:
        """The variables that are written early, and to which fields, where statement `j` replaces what `x` is
        from statement `i` on; None where it does not.
        """
        statements = block.statements
        between = statements[i + 1 : j]
        if isinstance(x.type_annotation, TensorType | FuncType):
            last = block.last.get(x, j)
            return {} if last < j and only_moves(statements[last + 1 : j]) else None
        own = {e.index: v for v, e in between if isinstance(e, TupleGetItem) and e.tuple_value is x}
        parts = [e for _, e in between if x in e.children]
        if len(parts) != len(own) or block.last.get(x, j) >= j:
            return None
        early: dict[Var, int] = {}
        assert isinstance(x.type_annotation, TupleType)
        for k, t in enumerate(x.type_annotation.fields):
            if isinstance(t, TensorType) and t.shape == ():
                continue
            v = own.get(k)
            if v is None or v not in block.last or not isinstance(t, TensorType):
                return None
            last = block.last[v]
            if last >= j or only_moves(statements[last + 1 : j]):
                continue
            y = statements[last][0]
            fails = any(may_fail(e) for _, e in statements[last + 1 : j])
            if fails or y is None or y is not written(statements, j, k) or y.type_annotation is not t:
                return None
            early[y] = k
        return early


def only_moves(statements: Sequence[tuple[Var | None, Expr]]) -> bool:
    """Whether statements compute nothing."""
    return all(isinstance(e, Tuple | TupleGetItem | Var) for _, e in statements)


def written(statements: Sequence[tuple[Var | None, Expr]], j: int, k: int) -> Expr | None:
    """What statement `j` writes to a field."""
    write = statements[j][1]
    assert isinstance(write, RefWrite)
    values = [e for v, e in statements[:j] if v is write.value]
    return values[0].fields[k] if values and isinstance(values[0], Tuple) else None
