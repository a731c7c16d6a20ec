"""Regions for other compilers that are next to each other, as one."""

from collections.abc import Iterator, Mapping, Sequence, Set

from relay.analysis.annotated_regions import AnnotatedRegion, AnnotatedRegionSet, is_end
from relay.ir.ancestry import ancestor
from relay.ir.expr import Call, Expr, Function, Let, LetRec
from relay.ir.module import IRModule
from relay.ir.scope import Places, Scope, places
from relay.ir.walk import post_order
from relay.transform.passes.annotate_target import marked_graphs
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass

Unit = AnnotatedRegion | Expr
Place = tuple[str, Scope | None]
"""A region, or a node that is in none; and who evaluates it where."""


@module_pass("merge_compiler_regions", opt_level=0, public="MergeCompilerRegions")
def merge_compiler_regions(mod: IRModule) -> IRModule:
    """Make one region of those for the same compiler, where a value leaves one and enters the other.

    Two regions stay apart if a value goes from one to the other through what is in neither: as one, each
    would have to wait for the other.  So do regions in different branches and functions.

    >>> show(merge_compiler_regions, '''
    ... def @main(%x: float32) {
    ...   let %y = tanh(annotation.compiler_begin(%x, compiler="other"));
    ...   let %z = annotation.compiler_end(%y, compiler="other");
    ...   annotation.compiler_end(exp(annotation.compiler_begin(%z, compiler="other")), compiler="other")
    ... }''')
    def @main(%x: float32) -> float32 {
      %0 = exp(tanh(annotation.compiler_begin(%x, compiler="other")));
      annotation.compiler_end(%0, compiler="other")
    }
    """
    mod = marked_graphs(mod)
    return with_definitions(mod, {v: merged(e) for v, e in mod.functions.items()})


def merged(root: Expr) -> Expr:
    """A definition without the marks between regions that are one."""
    regions = AnnotatedRegionSet(root)
    if len(regions) < 2:
        return root
    steps = steps_of(root, regions)
    gone: dict[Expr, Call] = {}
    for region in regions:
        for begin in region.ins:
            (value,) = begin.args
            other = regions.get_region(value)
            if is_end(value) and other is not None and steps[other] == steps[region]:
                gone[begin] = value
    new: dict[Expr, Expr] = {}
    for e in post_order(root):
        if e in gone:
            new[e] = new[gone[e].args[0]]
        else:
            children = tuple([new[c] for c in e.children])
            new[e] = e if children == e.children else e.rebuild(children)
    return new[root]


def steps_of(root: Expr, regions: AnnotatedRegionSet) -> Mapping[Unit, tuple[int, Place]]:
    """For each region and other node how often values have gone over from one compiler or scope to another
    on the way there, at most, and where it is.

    Regions of one compiler with the same number have nothing of another between them, for that would count.
    """
    found = places(root)
    where = found.where
    before, bodies = waits(root, found)
    parts: dict[Unit, dict[Unit, None]] = {}

    def unit(e: Expr) -> Unit:
        return regions.get_region(e) or e

    for e in post_order(root):
        needed = parts.setdefault(unit(e), {})
        for c in e.children:
            u = unit(c)
            if u is not unit(e) and not (c in bodies and is_inside(where[e], bodies[c])):
                needed[u] = None
    for var, values in before.items():
        parts.setdefault(var, {}).update(dict.fromkeys(map(unit, values)))
    steps: dict[Unit, tuple[int, Place]] = {}
    for u in in_order(parts):
        here: Place = ("", None)
        if isinstance(u, AnnotatedRegion):
            here = u.target, where[next(iter(u.nodes))]
        count = max([steps[p][0] + (steps[p][1] != here) for p in parts[u]], default=0)
        steps[u] = count, here
    return steps


def is_inside(scope: Scope, bodies: Set[Scope]) -> bool:
    """Whether a scope is in one of several, which are at one depth."""
    return ancestor(scope, next(iter(bodies)).depth) in bodies


def waits(root: Expr, found: Places) -> tuple[Mapping[Expr, Sequence[Expr]], Mapping[Expr, Set[Scope]]]:
    """For each variable of a `let` what is evaluated before it has its value: this, and the `let` around.

    And the bodies of its functions, if these are that: inside of them, it waits for nothing more.
    """
    before: dict[Expr, list[Expr]] = {}
    bodies: dict[Expr, Set[Scope]] = {}
    for e in post_order(root):
        if not isinstance(e, Let | LetRec):
            continue
        own, values = (e.vars, e.values) if isinstance(e, LetRec) else ((e.var,), (e.value,))
        first, *others = own
        before.setdefault(first, []).extend(values)
        before |= {var: [first] for var in others}
        inside = {scope for f in values if isinstance(f, Function) for scope in found.inner[f]}
        if inside:
            bodies |= dict.fromkeys(own, inside)
        if isinstance(e.body, Let | LetRec):
            following = e.body.vars[0] if isinstance(e.body, LetRec) else e.body.var
            before.setdefault(following, []).append(first)
    return before, bodies


def in_order(parts: Mapping[Unit, Mapping[Unit, None]]) -> Iterator[Unit]:
    """Units behind those that they need."""
    seen: set[Unit] = set()
    stack: list[tuple[Unit, bool]] = [(u, False) for u in parts]
    while stack:
        u, ready = stack.pop()
        if ready:
            yield u
        elif u not in seen:
            seen.add(u)
            stack.append((u, True))
            stack += [(p, False) for p in parts[u]]
