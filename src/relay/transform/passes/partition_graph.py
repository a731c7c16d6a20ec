"""Regions for other compilers as definitions, which say who compiles them."""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from relay.analysis.annotated_regions import (
    AnnotatedRegion,
    AnnotatedRegionSet,
    compiler_of,
    is_begin,
    is_end,
)
from relay.analysis.kinds import free_type_vars
from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    replace,
)
from relay.ir.module import IRModule
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import TupleType, TypeVar
from relay.transform.passes.annotate_target import marked_graphs
from relay.transform.rewriting.copying import Copy
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.query import Types

INSIDE = (Op, GlobalVar, Constructor, Function)
"""What a region mentions, and is not given."""
NO_WORD = r"\W+"
"""What the name of a compiler may have, and that of a definition may not."""


@dataclass(frozen=True, eq=False)
class Region:
    """A region as a function, with the definition that it becomes and what it is given."""

    name: GlobalVar
    function: Function
    type_args: Sequence[TypeVar]
    args: Sequence[Expr]
    results: Sequence[Expr]
    """What is computed inside of it that is used outside; several are fields of its result."""


@module_pass("partition_graph", opt_level=0, public="PartitionGraph")
def partition_graph(mod: IRModule, *, mod_name: str = "default", bind_constants: bool = True) -> IRModule:
    """Make a definition of each region that is marked, to be compiled by the compiler that the marks name.

    The definition has the attributes `Compiler`, `global_symbol`, its own name, `Primitive` and `Inline`,
    and is called where the region was.  Its name begins with `mod_name`, that of the compiler and that of
    the definition that the region was in.  Constants are part of it, unless `bind_constants` is False:
    then they are arguments.

    >>> show(partition_graph, '''
    ... def @main(%x: float32) {
    ...   let %y = annotation.compiler_begin(%x, compiler="other");
    ...   annotation.compiler_end(exp(%y) + 1f, compiler="other") * %x
    ... }''')
    def @main(%x: float32) -> float32 {
      @default_other_main_0(%x) * %x
    }
    <BLANKLINE>
    def @default_other_main_0(
      %x0: float32, Compiler="other", global_symbol="default_other_main_0", Primitive=1, Inline=1
    ) -> float32 {
      exp(%x0) + 1f
    }
    """
    mod = marked_graphs(mod)
    types = Types(mod)
    supply = GlobalVarSupply(mod)
    new: dict[GlobalVar, Expr] = {}
    made: dict[GlobalVar, Expr] = {}
    for v, root in mod.functions.items():
        found: dict[Expr, Region] = {}
        joins: set[Expr] = set()
        for region in () if compiler_of(root) else AnnotatedRegionSet(root):
            if not region.computes:
                joins.update(region.nodes if region.outs else ())
            elif region.outs:
                name = f"{mod_name}_{re.sub(NO_WORD, '_', region.target)}_{v.name_hint}_{region.id}"
                one = outlined(region, supply.fresh_global(name), bind_constants, types)
                made[one.name] = one.function
                found.update(dict.fromkeys(region.outs, one))
        new[v] = with_calls(root, found, joins)
    return with_definitions(mod, {**new, **made})


def outlined(region: AnnotatedRegion, name: GlobalVar, bind_constants: bool, types: Types) -> Region:
    """A region as a function of what comes in."""
    outs = region.outs
    given: dict[Expr, Var] = {}
    new: dict[Expr, Expr] = {}
    stack: list[tuple[Expr, bool]] = [(e, False) for e in reversed(outs)]
    while stack:
        e, ready = stack.pop()
        if e in new:
            continue
        if ready:
            children = tuple([new[c] for c in e.children])
            new[e] = without_marks(e, children)
        elif e in region.nodes and not is_begin(e):
            stack.append((e, True))
            stack += [(c, False) for c in reversed(e.children)]
        else:
            value = e.args[0] if isinstance(e, Call) and is_begin(e) else e
            is_inside = isinstance(value, INSIDE) or (bind_constants and isinstance(value, Constant))
            new[e] = value if is_inside else given.setdefault(value, Var(f"x{len(given)}", types(value)))
    results, kinds = [new[e] for e in outs], [types(e) for e in outs]
    body, t = (results[0], kinds[0]) if len(outs) == 1 else (Tuple(results), TupleType(kinds))
    attrs = {"Compiler": region.target, "global_symbol": name.name_hint, "Primitive": 1, "Inline": 1}
    function = Function(tuple(given.values()), body, t, attrs=attrs, span=outs[0].span)
    free = free_type_vars(function)
    return Region(name, with_type_params(function, free) if free else function, free, list(given), outs)


def without_marks(e: Expr, children: tuple[Expr, ...]) -> Expr:
    """A node of a region with these parts; of a mark its operand, of a tuple's field the field."""
    if is_begin(e) or is_end(e):
        return children[1]
    if isinstance(e, TupleGetItem) and isinstance(children[0], Tuple):
        return children[0].fields[e.index]
    return e.rebuild(children)


def with_type_params(fn: Function, free: Sequence[TypeVar]) -> Function:
    """A function with parameters in the place of the type parameters that are free in it."""
    copy = Copy({p: TypeVar(p.name_hint, p.kind) for p in free})
    params, body, result = copy.function(fn)
    own = tuple([copy.types[p] for p in free])
    return replace(fn, params=params, body=body, ret_type=result, type_params=own)


def with_calls(root: Expr, found: Mapping[Expr, Region], joins: AbstractSet[Expr]) -> Expr:
    """A definition with calls where regions end, and without the marks of those that only join values."""
    if not found and not joins:
        return root
    new: dict[Expr, Expr] = {}
    calls: dict[Region, Call] = {}
    sizes: dict[Expr, int] = {}
    """The numbers of results of the calls."""
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        e, ready = stack.pop()
        if e in new:
            continue
        region = found.get(e)
        needed = e.children if region is None else tuple(region.args)
        if not ready:
            stack.append((e, True))
            stack += [(c, False) for c in reversed(needed)]
            continue
        now = tuple([new[c] for c in needed])
        if region is None:
            new[e] = without_marks(e, now) if e in joins else e if now == needed else e.rebuild(now)
            new[e] = whole(new[e], sizes)
            continue
        call = calls.get(region)
        if call is None:
            call = calls[region] = Call(region.name, now, None, region.type_args, span=e.span)
            sizes[call] = len(region.results)
        several = len(region.results) > 1
        new[e] = TupleGetItem(call, region.results.index(e), span=e.span) if several else call
    return new[root]


def whole(e: Expr, sizes: Mapping[Expr, int]) -> Expr:
    """What is made of all results of a region, in order, is what its call gives; else the expression."""
    match e:
        case Tuple(fields=(TupleGetItem(tuple_value=call), *_) as fields) if sizes.get(call) == len(fields):
            in_order = all(
                isinstance(f, TupleGetItem) and f.tuple_value is call and f.index == i
                for i, f in enumerate(fields)
            )
            return call if in_order else e
        case _:
            return e
