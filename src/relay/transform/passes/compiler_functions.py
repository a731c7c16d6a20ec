"""Functions that other compilers take: made definitions, given back to this one, or inlined."""

from collections.abc import Sequence

from relay.analysis.annotated_regions import compiler_of
from relay.ir.expr import Call, Expr, Function, GlobalVar, replace
from relay.ir.module import IRModule
from relay.ir.supply import GlobalVarSupply
from relay.ir.vars import free_vars
from relay.ir.walk import post_order, rewrite
from relay.transform.rewriting.definitions import annotated, with_definitions, without_definitions
from relay.transform.rewriting.defusion import Unfolding
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.purity import Purity
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.types import Types


def has_compiler_functions(mod: IRModule) -> bool:
    """Whether there are functions that another compiler takes."""
    return any(compiler_of(e) for f in mod.functions.values() for e in post_order(f))


@module_pass(
    "outline_compiler_functions",
    opt_level=0,
    public="OutlineCompilerFunctionsWithExistingGlobalSymbols",
)
def outline_compiler_functions(mod: IRModule, *, compiler_filter: str = "") -> IRModule:
    """Make definitions of functions inside of others that another compiler takes.

    A function with the attribute `Compiler` becomes a definition named by its `global_symbol`, or `region`,
    and is marked `Primitive`, so that no pass looks into it.  With `compiler_filter`, only functions for that
    compiler do.  One that reads variables of the function around it stays.

    >>> region = 'fn(%y: float32, Compiler="other", global_symbol="twice") { %y + %y }'
    >>> show(outline_compiler_functions, f"def @main(%x: float32) {{ {region}(%x) }}")
    def @main(%x: float32) -> float32 {
      @twice(%x)
    }
    <BLANKLINE>
    def @twice(%y: float32, Compiler="other", global_symbol="twice", Primitive=1) -> float32 {
      %y + %y
    }
    """

    def is_wanted(e: Expr) -> bool:
        return compiler_of(e) != "" and compiler_filter in ("", compiler_of(e))

    supply = GlobalVarSupply(mod)
    made: dict[GlobalVar, Expr] = {}

    def rule(e: Expr) -> Expr | None:
        if (
            not isinstance(e, Call)
            or not isinstance(e.op, Function)
            or not is_wanted(e.op)
            or free_vars(e.op)
        ):
            return None
        v = supply.fresh_global(str(e.op.attrs.get("global_symbol", "region")))
        made[v] = named(e.op.without_attr("global_symbol"), v)
        return replace(e, op=v)

    new = {v: named(e, v) if is_wanted(e) else rewrite(e, rule) for v, e in mod.functions.items()}
    out = with_definitions(mod, {**new, **made})
    return annotated(out) if made else out


def named(e: Expr, v: GlobalVar) -> Expr:
    """A function of another compiler as a definition, which no pass looks into."""
    assert isinstance(e, Function)
    more = {k: x for k, x in (("global_symbol", v.name_hint), ("Primitive", 1)) if k not in e.attrs}
    return e.with_attr(more) if more else e


@module_pass("mark_compiler_functions_as_extern", opt_level=0, public="MarkCompilerFunctionsAsExtern")
def mark_compiler_functions_as_extern(mod: IRModule, *, compiler_filter: str = "") -> IRModule:
    """Give definitions that another compiler takes back to this one, which goes by their bodies.

    They have the attribute `Extern` in the place of `Compiler`.  With `compiler_filter`, only definitions for
    that compiler are given back.

    >>> text = 'def @twice(%y: float32, Compiler="other", Primitive=1) { %y + %y }'
    >>> show(mark_compiler_functions_as_extern, text)
    def @twice(%y: float32, Extern=1) -> float32 {
      %y + %y
    }
    """
    return with_definitions(
        mod,
        {
            v: e.without_attr("Compiler").without_attr("Primitive").with_attr("Extern", 1)
            for v, e in mod.functions.items()
            if isinstance(e, Function) and compiler_of(e) and compiler_filter in ("", compiler_of(e))
        },
    )


@module_pass("inline_compiler_functions", opt_level=0, public="InlineCompilerFunctionsBoundTo")
def inline_compiler_functions(mod: IRModule, *, global_vars: Sequence[GlobalVar | str] = ()) -> IRModule:
    """Replace calls of these definitions, which another compiler takes, by their bodies.

    Definitions that nothing else mentions are removed.

    >>> text = 'def @twice(%y: float32, Compiler="other", Primitive=1) { %y + %y } '
    >>> text += "def @main(%x: float32) { @twice(tanh(%x)) }"
    >>> show(inline_compiler_functions, text, global_vars=["twice"])
    def @main(%x: float32) -> float32 {
      %0 = tanh(%x);
      %0 + %0
    }
    """
    wanted = [mod.get_global_var(v) if isinstance(v, str) else v for v in global_vars]
    chosen = {v: fn for v in wanted if isinstance(fn := mod[v], Function) and compiler_of(fn)}
    types, purity = Types(mod), Purity(mod)

    def inlined(root: Expr) -> Expr:
        new: dict[Expr, Expr] = {}
        for e in post_order(root):
            children = tuple([new[c] for c in e.children])
            if isinstance(e, Call) and isinstance(e.op, GlobalVar) and e.op in chosen:
                fn = chosen[e.op]
                new[e] = Unfolding(e, fn, types, purity).run(fn, children[1:])
            else:
                new[e] = e if children == e.children else e.rebuild(children)
        return new[root]

    out = with_definitions(mod, {v: inlined(e) for v, e in mod.functions.items() if v not in chosen})
    used = {e for f in out.functions.values() for e in post_order(f) if isinstance(e, GlobalVar)}
    return without_definitions(out, [v for v in chosen if v not in used])
