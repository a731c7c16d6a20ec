"""Results that can be made in arrays of the caller's, `f(x, out=array)`: which groups make them.

A context has a slot for each result of each entry function.  The code of the group that makes a result takes
the tensor that it finds in the slot, in place of a new one, and leaves none there for others.  Whether that
was the right call of the group need not be known: a tensor that is taken is one like any other, and a result
that came to lie elsewhere is copied at the end.
"""

from collections.abc import Mapping, Sequence

from relay.backend.native.loops.reuse import Output
from relay.backend.native.memory.layout import OUTPUTS_MAX
from relay.backend.native.memory.representation import parts_of
from relay.backend.native.program.groups import is_fused
from relay.backend.native.program.program import Program
from relay.backend.native.program.recording import is_block
from relay.ir.expr import Call, Expr, Function, GlobalVar, If, Let, Match, Tuple, TupleGetItem, Var
from relay.ir.type import TensorType, TupleType
from relay.ir.walk import post_order


def slots_of(entries: Mapping[str, Function]) -> dict[str, range]:
    """The slots of the results of each entry function, given by its header; none where a result is not made
    of tensors alone, or where there are no slots left.
    """
    found: dict[str, range] = {}
    first = 0
    for name, fn in entries.items():
        assert fn.ret_type is not None
        parts = parts_of(fn.ret_type)
        fits = all(isinstance(t, TensorType) for t in parts) and first + len(parts) <= OUTPUTS_MAX
        found[name] = range(first, first + len(parts) if fits else first)
        first = found[name].stop
    return found


def outputs_of(program: Program, slots: Mapping[str, Sequence[int]]) -> dict[GlobalVar, dict[int, Output]]:
    """For each group that makes results of entry functions, these by the numbers of its own results."""
    makers = Makers(program)
    for name, own in slots.items():
        v = program.mod.get_global_var(name)
        fn = program.mod.functions[v]
        assert isinstance(fn, Function)
        assert fn.ret_type is not None
        for i, (t, slot) in enumerate(zip(parts_of(fn.ret_type), own, strict=False)):
            if isinstance(t, TensorType) and t.shape != ():
                makers.find(v, i, Output(slot, t))
    return makers.found


class Makers:
    """The groups that make results, as they are found."""

    def __init__(self, program: Program) -> None:
        """None so far."""
        self.program = program
        self.found: dict[GlobalVar, dict[int, Output]] = {}
        self.bound: dict[GlobalVar, dict[Expr, Expr]] = {}
        """The values of the variables of each definition."""

    def values(self, v: GlobalVar) -> dict[Expr, Expr]:
        """The values of the variables of a definition."""
        if v not in self.bound:
            nodes = post_order(self.program.mod.functions[v])
            self.bound[v] = {e.var: e.value for e in nodes if isinstance(e, Let)}
        return self.bound[v]

    def find(self, entry: GlobalVar, number: int, output: Output) -> None:
        """Find the groups that make one of the leaves of an entry's result."""
        seen: set[tuple[GlobalVar, Expr, int]] = set()
        pending = [(entry, self.body(entry), number)]
        while pending:
            at = pending.pop()
            if at in seen:
                continue
            seen.add(at)
            v, e, i = at
            match e:
                case Let():
                    pending.append((v, e.body, i))
                case Var() if e in self.values(v):
                    pending.append((v, self.values(v)[e], i))
                case If():
                    pending += [(v, e.true_branch, i), (v, e.false_branch, i)]
                case Match():
                    pending += [(v, c.rhs, i) for c in e.clauses]
                case TupleGetItem():
                    t = self.program.types(e.tuple_value)
                    assert isinstance(t, TupleType)
                    first = self.program.leaves.field(t, e.index).start
                    pending.append((v, e.tuple_value, first + i))
                case Tuple():
                    pending.append((v, *self.field(e, i)))
                case Call(op=GlobalVar() as callee):
                    self.call(callee, i, output, pending)
                case _:
                    pass

    def field(self, e: Tuple, i: int) -> tuple[Expr, int]:
        """The field that has one of the leaves of a tuple, and which of its leaves that is."""
        for f in e.fields:
            n = len(self.program.leaves(self.program.types(f)))
            if i < n:
                return f, i
            i -= n
        raise AssertionError("a tuple has as many leaves as its fields")

    def call(
        self, callee: GlobalVar, i: int, output: Output, pending: list[tuple[GlobalVar, Expr, int]]
    ) -> None:
        """Go on in a definition that is called; a group makes what is looked for."""
        fn = self.program.mod.functions[callee]
        if not isinstance(fn, Function) or is_block(fn):
            return
        if is_fused(fn):
            self.found.setdefault(callee, {}).setdefault(i, output)
        else:
            pending.append((callee, fn.body, i))

    def body(self, v: GlobalVar) -> Expr:
        """The body of a definition."""
        fn = self.program.mod.functions[v]
        assert isinstance(fn, Function)
        return fn.body
