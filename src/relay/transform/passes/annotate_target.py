"""Calls that other compilers take, marked where values enter and leave them."""

from collections.abc import Sequence

from relay.analysis.annotated_regions import compiler_of, is_begin, is_end
from relay.ir.expr import Call, Expr, Function, Op, Tuple, TupleGetItem
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.op.annotation import CompilerBegin, CompilerEnd, marked
from relay.op.op_attributes import OpAttributes
from relay.transform.passes.composite_functions import inside_composites
from relay.transform.passes.graph_form import to_graph_normal_form
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.query import Types


@module_pass("annotate_target", opt_level=0, public="AnnotateTarget")
def annotate_target(mod: IRModule, *, targets: str | Sequence[str] = ()) -> IRModule:
    """Mark the calls that other compilers take: values enter by `annotation.compiler_begin`, and leave by
    `annotation.compiler_end`.

    `targets` names the compilers, the preferred one first.  A compiler takes a call of an operator that has
    the attribute `target.NAME` (`relay.register_op_attr`), a function of the call that says so, and a call of
    a function that stands for a pattern of its table: one whose `Composite` begins with the name and a dot.
    Tuples are taken apart on the way, and `let`-bound values are nodes of the graph afterwards, so that
    neither is the end of a region.  `MergeCompilerRegions` joins what is next to each other, and
    `PartitionGraph` sets it apart.

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
        mod, {v: with_marks(e, names, types) for v, e in mod.functions.items() if not compiler_of(e)}
    )


def marked_graphs(mod: IRModule) -> IRModule:
    """A module in graph form, if there are marks in it."""
    has_marks = any(is_begin(e) or is_end(e) for f in mod.functions.values() for e in post_order(f))
    return to_graph_normal_form(mod) if has_marks else mod


def with_marks(root: Expr, targets: Sequence[str], types: Types) -> Expr:
    """A definition with marks around what compilers take."""
    inside = inside_composites(root)
    new: dict[Expr, Expr] = {}
    for e in post_order(root):
        children = tuple([new[c] for c in e.children])
        target = taker(e, targets) if isinstance(e, Call) and e not in inside else ""
        if isinstance(e, Call) and target:
            begin, end = CompilerBegin(compiler=target), CompilerEnd(compiler=target)
            args = [marked(begin, new[a], types(a), a.span) for a in e.args]
            new[e] = marked(end, e.rebuild((children[0], *args)), types(e), e.span)
        elif isinstance(e, TupleGetItem) and isinstance(children[0], Tuple):
            new[e] = children[0].fields[e.index]
        else:
            new[e] = e if children == e.children else e.rebuild(children)
    return new[root]


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
