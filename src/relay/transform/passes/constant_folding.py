"""Constant folding: what can be computed now is."""

from typing import Any

from relay.analysis.normal_form import ATOMS
from relay.ir.expr import Call, Constant, Expr, If, Let, Op, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.op.base import Operator
from relay.transform.passes.constant_evaluation import MAX_BYTES, MAX_WORK, evaluated, shape_alone
from relay.transform.rewriting.anf_conversion import anf
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.purity import Purity
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.query import Types

MAX_TUPLE_DEPTH = 8
"""Tuples that nest more deeply are not folded."""


@module_pass("fold_constants", keeps=(ANF,), opt_level=2, public="FoldConstant")
def fold_constants(
    mod: IRModule, *, fold_qnn: bool = True, max_bytes: int = MAX_BYTES, max_work: int = MAX_WORK
) -> IRModule:
    """Evaluate operator calls on constants, select the branch of a known condition, and project known tuples.

    A result may exceed the size of its operands by up to `max_bytes`, and takes at most about `max_work`
    element operations.  An evaluation that fails (a division by zero) is left to fail at run time.  Operators
    without operands, such as `zeros`, count as constants.  Where only the shape of an operand matters, its
    type is enough.  Weights in blocks or groups stay as they are, and without `fold_qnn` the operators of
    `qnn`.

    >>> show(fold_constants, "def @main(%x: int32) { let %k = 2 * 3; if (%k < 9) { %x + %k } else { 0 } }")
    def @main(%x: int32) -> int32 {
      %x + 6i32
    }
    """
    types, purity = Types(mod), Purity(mod)
    new: dict[Any, Expr] = {}
    for v, e in mod.functions.items():
        is_normal = ANF.is_known_of(mod, v)
        folder = _Folder(types, fold_qnn, max_bytes, max_work, may_choose=is_normal or purity.effects is None)
        new[v] = folder.run(e)
        if is_normal and folder.has_chosen:
            new[v] = anf(new[v], types)
    return with_definitions(mod, new)


class _Folder:
    """One pass over a definition."""

    def __init__(self, types: Types, fold_qnn: bool, max_bytes: int, max_work: int, may_choose: bool) -> None:
        """`may_choose` says whether the shared nodes of a branch may be evaluated where the branch is."""
        self.types = types
        self.fold_qnn = fold_qnn
        self.max_bytes = max_bytes
        self.max_work = max_work
        self.may_choose = may_choose
        self.has_chosen = False
        self.new: dict[Expr, Expr] = {}
        self.sources: dict[Expr, Expr] = {}
        """The values of `let`-bound variables, as they were."""
        self.values: dict[Expr, Any] = {}
        """The known values of new nodes."""

    def run(self, root: Expr) -> Expr:
        """The definition with constants folded."""
        nodes = list(post_order(root))
        for e in nodes:
            if type(e) is Let:
                self.sources[e.var] = e.value
        for e in nodes:
            self.new[e] = self.node(e)
        return self.new[root]

    def node(self, e: Expr) -> Expr:
        """What becomes of a node whose parts have been folded."""
        if type(e) is Var:
            return self.variable(e)
        children = e.children
        if not children:
            return e
        now = tuple([self.new[c] for c in children])
        if type(e) is Let and self.variable(e.var) is not e.var:
            return now[1]
        kept = e if now == children else e.rebuild(now)
        match kept:
            case Call(op=Op()):
                return self.call(e, kept)
            case TupleGetItem():
                return self.field(e, kept)
            case If(cond=Constant()) if self.may_choose:
                return self.branch(e, kept)
            case _:
                return kept

    def variable(self, e: Var) -> Expr:
        """A variable, or the constant that it is."""
        made = self.new.get(self.sources.get(e, e))
        return made if type(made) is Constant and made.type == e.type_annotation else e

    # --- control ---

    def branch(self, e: Expr, kept: If) -> Expr:
        """The branch that is taken."""
        assert isinstance(kept.cond, Constant)
        taken = kept.true_branch if kept.cond.value else kept.false_branch
        source = e.children[1 if kept.cond.value else 2]
        self.has_chosen = True
        t = self.types(e)
        if self.types(source) == t:
            return taken
        var = Var("x", t, span=e.span)
        return Let(var, taken, var, span=e.span)

    def field(self, e: Expr, kept: TupleGetItem) -> Expr:
        """The field of a tuple whose fields are atoms."""
        whole = kept.tuple_value
        if type(whole) is Var:
            source = self.new.get(self.sources.get(whole, whole))
            whole = source if source is not None else whole
        if type(whole) is not Tuple or not all(type(f) in ATOMS for f in whole.fields):
            return kept
        made = whole.fields[kept.index]
        return made if self.types(made) == self.types(e) else kept

    # --- operators ---

    def call(self, e: Expr, kept: Call) -> Expr:
        """The value of an operator call, if it is known and not too large."""
        op: Operator = kept.attrs
        if not kept.args or op.impure or op.decodes or (op.name.startswith("qnn.") and not self.fold_qnn):
            return kept
        operands: list[Any] = []
        for i, a in enumerate(kept.args):
            value = self.value(a)
            if value is None and op.carried and op.operands[min(i, len(op.operands) - 1)] in op.carried:
                value = shape_alone(self.types(e.children[i + 1]))
            if value is None:
                return kept
            operands.append(value)
        made = evaluated(op, operands, self.types(e), e, self.max_bytes, self.max_work)
        return kept if made is None else made

    def value(self, e: Expr, depth: int = 0) -> Any:
        """An array, or a tuple of values; None if it is not known, or too deep for an operand."""
        if type(e) is Constant:
            return e.value[()] if e.type is not None and e.type.is_closed else None
        if type(e) is Var:
            source = self.sources.get(e)
            made = None if source is None else self.new.get(source)
            return (
                self.value(made, depth)
                if type(made) is Tuple and self.types(made) == e.type_annotation
                else None
            )
        if type(e) is not Tuple:
            return None
        if e not in self.values:
            parts = [self.value(f, depth + 1) if depth < MAX_TUPLE_DEPTH else None for f in e.fields]
            self.values[e] = None if any(p is None for p in parts) else tuple(parts)
        return self.values[e]
