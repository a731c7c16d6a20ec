"""Values that a reference gives up while they are replaced, so that they can be overwritten.

    let %x = ref_read(%r); let %y = f(%x); ref_write(%r, %y)

Between the two nobody reads the reference, so that `%x` takes over its reference to the tensor, if the write
follows where `%x` ends: a failure before leaves the tensor in its place.
"""

from collections.abc import Callable, Iterator

from relay.backend.native.program.ownership import Block, Statement
from relay.ir.expr import Expr, RefRead, RefWrite, Tuple, TupleGetItem, Var
from relay.ir.type import TensorType


def replaced_values(block: Block, is_plain: Callable[[Expr], bool]) -> Iterator[Statement]:
    """The reads of a block that take the value, and the writes that replace it; `is_plain` says of a
    statement that all it does is to compute.
    """
    reads: dict[Var, tuple[Var, RefRead]] = {}
    for j, (var, s) in enumerate(block.statements):
        if isinstance(s, RefWrite) and isinstance(s.ref, Var) and s.ref in reads:
            x, read = reads[s.ref]
            last = block.last.get(x, j)
            between = [e for _, e in block.statements[last + 1 : j]]
            if last < j and all(isinstance(e, Tuple | TupleGetItem | Var) for e in between):
                yield read
                yield s
        if isinstance(s, RefRead) and isinstance(s.ref, Var) and var is not None:
            reads = {s.ref: (var, s)} if isinstance(var.type_annotation, TensorType) else {}
        elif not is_plain(s):
            reads = {}
