"""Partitioning: each match of a pattern becomes a function of its own, which is called where it stood."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from relay.diagnostic import RelayError
from relay.ir.expr import Call, Expr, Function, Op, Tuple, TupleGetItem, Var
from relay.ir.type import Type
from relay.ir.walk import post_order
from relay.pattern.matcher import Graph, Matcher
from relay.typecheck.query import Types

if TYPE_CHECKING:
    from relay.pattern.patterns import DFPattern, NodeMap

PARTITIONED = "PartitionedFromPattern"
"""The attribute of the functions that are made here."""


def partition(
    pattern: "DFPattern",
    expr: Expr,
    attrs: Mapping[str, Any] | None = None,
    check: Callable[[Expr], bool] = lambda _: True,
    types: Types | None = None,
) -> Expr:
    """`expr` with each match of `pattern` that `check` accepts as a call of a function.

    What wildcards and variables matched becomes the function's parameters, the rest its body.  The function
    has `attrs`, and `PartitionedFromPattern` names its operators; functions that have it already are not
    searched.  A match whose inside is used elsewhere stays, and matches do not overlap, except in constants:
    the one nearest to the result wins.  `types` knows what `expr` mentions.
    """
    known = Types() if types is None else types
    graph = Graph(expr)
    done = inside_functions(expr, PARTITIONED)

    def accepts(e: Expr, inside: set[Expr]) -> bool:
        computed = [n for n in inside if n is not e and n.children]
        return e not in done and all(u in inside for n in computed for u in graph.users[n]) and check(e)

    groups = {
        e: _outlined(graph, e, inside, dict(attrs or {}), known)
        for e, inside, _ in separate_matches(pattern, graph, accepts)
    }
    return _replaced(expr, groups)


def inside_functions(root: Expr, attribute: str) -> set[Expr]:
    """Return what the functions with an attribute are made of."""
    inside: set[Expr] = set()
    for e in reversed(list(post_order(root))):
        if isinstance(e, Function) and attribute in e.attrs and e.body not in inside:
            inside.update(post_order(e.body))
    return inside


def separate_matches(
    pattern: "DFPattern", graph: Graph, accepts: Callable[[Expr, set[Expr]], bool]
) -> "Iterator[tuple[Expr, set[Expr], NodeMap]]":
    """Matches of `pattern` that share no node but leaves such as constants, which may be copied: what
    matched, the nodes inside, and what each pattern matched.

    Of matches that overlap, the one nearest to the result is taken.  `accepts` is asked about the node that
    matched and the nodes inside.
    """
    taken: set[Expr] = set()
    for e in reversed(list(post_order(graph.root))):
        matcher = Matcher(graph, pattern)
        if e in taken or not matcher.matches(pattern, e):
            continue
        inside = _inside(matcher.node_map, e)
        if taken.isdisjoint(inside) and accepts(e, inside):
            taken.update([n for n in inside if n.children or isinstance(n, Var)])
            yield e, inside, matcher.node_map


def _inside(node_map: "NodeMap", root: Expr) -> set[Expr]:
    """The nodes of a match that are computed by it, and the variables that are bound inside."""
    found = {root}
    for p, nodes in node_map.items():
        if not p.is_wildcard:
            found |= {n for n in nodes if not isinstance(n, Op | Var)}
    for p, nodes in node_map.items():
        if p.is_wildcard and p.redirection is None:
            found -= {n for n in nodes if n is not root}
    return found.union(*[p.interior(node_map) for p in node_map])


def _outlined(
    graph: Graph, root: Expr, inside: set[Expr], attrs: dict[str, Any], types: Types
) -> tuple[list[Expr], Function]:
    """The function that computes `root` from what is around `inside`, and its arguments."""
    new: dict[Expr, Expr] = {}
    args: list[Expr] = []
    params: list[Var] = []
    names: list[str] = []
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        e, ready = stack.pop()
        if e in new:
            continue
        node = graph.behind(e)
        if isinstance(e, Op) or (isinstance(e, Var) and e in inside):
            new[e] = e
        elif node not in inside:
            args.append(e)
            params.append(Var(f"x{len(params)}", _known_type(e, types)))
            new[e] = params[-1]
        elif node is not e:
            if ready:
                new[e] = new[node]
            else:
                stack += [(e, True), (node, False)]
        elif ready:
            children = tuple([new[c] for c in e.children])
            new[e] = e if children == e.children else e.rebuild(children)
            names += _name(e)
        else:
            stack.append((e, True))
            stack += [(c, False) for c in reversed(e.children)]
    label = {PARTITIONED: "".join([f"{n}_" for n in names])}
    return args, Function(
        tuple(params), new[root], _known_type(root, types), attrs={**label, **attrs}, span=root.span
    )


def _known_type(e: Expr, types: Types) -> Type | None:
    """The type of an expression of an annotated program; None if it is not annotated."""
    try:
        return types(e)
    except RelayError:
        return None


def _name(e: Expr) -> list[str]:
    match e:
        case Call(op=Op(name=name)):
            return [name]
        case Call():
            return ["FunctionCall"]
        case Tuple():
            return ["Tuple"]
        case TupleGetItem(index=i):
            return [f"TupleGetItem{i}"]
        case _:
            return []


def _replaced(root: Expr, groups: dict[Expr, tuple[list[Expr], Function]]) -> Expr:
    """`root` with groups as calls."""
    new: dict[Expr, Expr] = {}
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        e, ready = stack.pop()
        if e in new:
            continue
        needed = tuple(groups[e][0]) if e in groups else e.children
        if not ready:
            stack.append((e, True))
            stack += [(c, False) for c in reversed(needed)]
            continue
        now = tuple([new[c] for c in needed])
        if e in groups:
            new[e] = Call(groups[e][1], now, span=e.span)
        else:
            new[e] = e if now == e.children else e.rebuild(now)
    return new[root]
