"""Calls that other compilers take, marked where values enter and leave them."""

from collections.abc import Callable, Mapping, Sequence

from relay.analysis.annotated_regions import compiler_of, is_begin, is_end, target_of
from relay.ir.expr import Call, Expr, Function, Op, Tuple, TupleGetItem
from relay.ir.module import IRModule
from relay.ir.type import TupleType
from relay.ir.walk import post_order
from relay.op.annotation import CompilerBegin, CompilerEnd, marked
from relay.op.op_attributes import OpAttributes
from relay.pattern.partition import inside_functions
from relay.transform.passes.graph_form import to_graph_normal_form
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.query import Types


@module_pass("annotate_target", opt_level=0, public="AnnotateTarget")
def annotate_target(
    mod: IRModule, *, targets: str | Sequence[str] = (), include_non_call_ops: bool = True
) -> IRModule:
    """Mark the calls that other compilers take: values enter by `annotation.compiler_begin`, and leave by
    `annotation.compiler_end`.

    `targets` names the compilers, the preferred one first.  A compiler takes a call of an operator that has
    the attribute `target.NAME` (`relay.register_op_attr`), a function of the call that says so, and a call of
    a function that stands for a pattern of its table: one whose `Composite` begins with the name and a dot.
    `let`-bound values are nodes of the graph afterwards.  A tuple of tensors that all come from one compiler
    is that compiler's too, and so are its fields where it is read, so that regions go through tuples; with
    `include_non_call_ops=False` regions end where a tuple is made or taken apart.  What chooses between
    branches, calls functions or keeps references is outside, and bodies and branches have regions of their
    own.  `MergeCompilerRegions` joins what is next to each other, and `PartitionGraph` sets it apart.

    >>> own = 'fn (%y: float32, Composite="other.tanh") { tanh(%y) }'
    >>> show(annotate_target, f"def @main(%x: float32) {{ exp({own}(%x)) }}", targets="other")
    def @main(%x: float32) -> float32 {
      %0 = fn (
        %y: float32, Composite="other.tanh"
      ) -> float32 {
        tanh(%y)
      };
      %1 = annotation.compiler_end(
        %0(annotation.compiler_begin(%x, compiler="other")), compiler="other"
      );
      exp(%1)
    }
    """
    names = (targets,) if isinstance(targets, str) else tuple(targets)
    mod = to_graph_normal_form(mod)
    types = Types(mod)
    return with_definitions(
        mod,
        {
            v: with_marks(e, lambda call: taker(call, names), types, include_non_call_ops)
            for v, e in mod.functions.items()
            if not compiler_of(e)
        },
    )


def marked_graphs(mod: IRModule) -> IRModule:
    """A module in graph form, if there are marks in it."""
    has_marks = any(is_begin(e) or is_end(e) for f in mod.functions.values() for e in post_order(f))
    return to_graph_normal_form(mod) if has_marks else mod


def with_marks(root: Expr, takes: Callable[[Call], str], types: Types, through_tuples: bool = True) -> Expr:
    """A definition with marks around what compilers take; `takes` names the one of a call, or none."""
    inside = inside_functions(root, "Composite")
    new: dict[Expr, Expr] = {}
    for e in post_order(root):
        children = tuple([new[c] for c in e.children])
        target = takes(e) if isinstance(e, Call) and e not in inside else ""
        if isinstance(e, Call) and target:
            new[e] = marked_call(e, children[0], target, new, types, through_tuples)
        elif through_tuples and isinstance(e, Tuple) and e not in inside and (target := maker(children)):
            new[e] = marked_tuple(e, children, target)
        elif through_tuples and isinstance(e, TupleGetItem) and isinstance(children[0], Tuple):
            new[e] = children[0].fields[e.index]
        else:
            new[e] = e if children == e.children else e.rebuild(children)
    return new[root]


def marked_call(
    e: Call, op: Expr, target: str, new: Mapping[Expr, Expr], types: Types, through_tuples: bool
) -> Expr:
    """A call that a compiler takes, between marks."""
    begin, end = CompilerBegin(compiler=target), CompilerEnd(compiler=target)
    args: list[Expr] = []
    for a in e.args:
        t, value = types(a), new[a]
        if isinstance(t, TupleType) and not through_tuples:
            fields = [TupleGetItem(value, i, span=a.span) for i in range(len(t.fields))]
            value = Tuple(fields, span=a.span)
        args.append(marked(begin, value, t, a.span))
    return marked(end, e.rebuild((op, *args)), types(e), e.span)


def maker(fields: Sequence[Expr]) -> str:
    """The compiler that all these come from; empty if there is none."""
    found = {target_of(f) if is_end(f) else "" for f in fields}
    return found.pop() if len(found) == 1 else ""


def marked_tuple(e: Tuple, fields: Sequence[Expr], target: str) -> Tuple:
    """A tuple that a compiler makes, of which each field is marked."""
    begin, end = CompilerBegin(compiler=target), CompilerEnd(compiler=target)
    made = Tuple([begin(f) for f in fields], span=e.span)
    return Tuple([end(TupleGetItem(made, i, span=e.span)) for i in range(len(fields))], span=e.span)


def taker(e: Call, targets: Sequence[str]) -> str:
    """The compiler that takes a call; empty if none does."""
    match e.op:
        case Op(name=name):
            attributes = OpAttributes(name)
            takes = {t: attributes.get(f"target.{t}") for t in targets}
            return next((t for t, f in takes.items() if (f(e) if callable(f) else f)), "")
        case Function(attrs=attrs):
            composite = str(attrs.get("Composite", ""))
            return next((t for t in targets if composite.startswith(f"{t}.")), "")
        case _:
            return ""
