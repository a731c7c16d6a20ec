"""Groups of nodes as functions: each is called where its last node was."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence, Set

from relay.ir.expr import Call, Constant, Expr, Function, Let, Op, Var
from relay.op.arithmetic import Add, Maximum, Minimum, Multiply, Subtract
from relay.op.division import Divide
from relay.transform.passes.fusion_graph import Dataflow, is_register_constant
from relay.transform.passes.fusion_groups import Group

MAX_INLINED_COPIES = 8
"""Groups of the same operators beyond which their numbers are operands, so that they can be one function."""
ARITHMETIC = (Add, Subtract, Multiply, Divide, Maximum, Minimum)
"""Operators whose code is the same for any number."""


def with_functions(flow: Dataflow, groups: Mapping[Expr, Group], link_params: bool) -> Expr:
    """The definition with a call of a function in the place of the last node of each group; with
    `link_params` constants of any size are in the functions.
    """
    values = flow.values
    new: dict[Expr, Expr] = {}
    inside: dict[Group, list[Expr]] = {}
    numbers = numbers_of_copies(flow, groups)
    for e in reversed(flow.all):
        if not e.children:
            continue
        group = groups.get(e)
        if group is not None:
            nodes = inside.setdefault(group, [])
            nodes.append(e)
            if e is group.root:
                new[e] = call_fused(nodes, flow, new, link_params, numbers)
        elif type(e) is Let and e.var in values and is_inner(values.get(e.value, e.value), groups):
            new[e] = new.get(e.body, e.body)
        else:
            children = tuple([new.get(c, c) for c in e.children])
            new[e] = e if children == e.children else e.rebuild(children)
    return new[flow.all[0]]


def is_inner(e: Expr, groups: Mapping[Expr, Group]) -> bool:
    """Whether a node is inside of a function that is made."""
    group = groups.get(e)
    return group is not None and group.root is not e


def numbers_of_copies(flow: Dataflow, groups: Mapping[Expr, Group]) -> set[Expr]:
    """Return the scalar constants in arithmetic of groups that more than `MAX_INLINED_COPIES` resemble."""
    types = flow.types
    kinds: dict[Group, Hashable] = {
        g: (types(g.root), *sorted([e.attrs.name for e in g.members if isinstance(e, Call)]))
        for g in dict.fromkeys(groups.values())
    }
    counts = Counter(kinds.values())
    return {
        a
        for g, kind in kinds.items()
        if counts[kind] > MAX_INLINED_COPIES
        for e in g.members
        if isinstance(e, Call) and isinstance(e.attrs, ARITHMETIC)
        for a in e.args
        if is_register_constant(a)
    }


def call_fused(
    nodes: Sequence[Expr], flow: Dataflow, new: dict[Expr, Expr], link_params: bool, numbers: Set[Expr]
) -> Expr:
    """Return a call of the function that computes the last of `nodes`, in which operands come first, and
    which takes those constants as arguments that are in `numbers`.
    """
    root, types, values = nodes[-1], flow.types, flow.values
    outside = [a for a in operands(nodes, values, numbers) if not (link_params and isinstance(a, Constant))]
    params = [Var(f"p{i}", types(a), span=a.span or root.span) for i, a in enumerate(outside)]
    made: dict[Expr, Expr] = dict(zip(outside, params, strict=True))
    for e in nodes:
        before = e.children
        children = tuple([made[c] if c in made else made.get(values.get(c, c), c) for c in before])
        made[e] = e if children == before else e.rebuild(children)
    fn = Function(tuple(params), made[root], types(root), attrs={"Primitive": 1}, span=root.span)
    return Call(fn, tuple([new.get(a, a) for a in outside]), None, span=root.span)


def operands(nodes: Sequence[Expr], values: Mapping[Expr, Expr], numbers: Set[Expr]) -> list[Expr]:
    """Return the nodes outside of `nodes` that these use, in evaluation order; of constants in registers
    those in `numbers`.
    """
    own, found = set(nodes), dict[Expr, None]()
    seen: set[Expr] = set()
    pending = [nodes[-1]]
    while pending:
        e = pending.pop()
        node = values.get(e, e)
        if node in own:
            if node not in seen:
                seen.add(node)
                pending += reversed(node.children)
        elif type(e) is not Op and (e in numbers or not is_register_constant(e)):
            found.setdefault(e)
    return list(found)
