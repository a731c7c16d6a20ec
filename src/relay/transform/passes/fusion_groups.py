"""Which nodes of a definition are fused with each other: the groups.

First the operators with loops of their own (kernels and reductions), from the first to the last, take what
follows them; then everything that works element by element joins those who use it.
"""

from collections.abc import Iterable

from relay.analysis.dominators import post_dominators
from relay.ir.expr import Expr, Tuple
from relay.transform.passes.fusion_graph import Dataflow, Kind
from relay.transform.passes.fusion_rules import (
    Row,
    Sizes,
    computes,
    is_decoded_by,
    is_repeated,
    is_rounded_by,
    is_within,
    keeps_rows,
    row,
    sizes,
)

MAX_FUSED_FIELDS = 16
"""Fields of a concatenated tuple beyond which the concatenation ends its group, and the arithmetic of each
field is a function of its own.
"""


class Group:
    """Nodes that become one function; all uses of their values from outside are uses of the last of them."""

    __slots__ = ("anchor", "members", "root", "row", "shape", "size")

    def __init__(self, root: Expr, kind: Kind) -> None:
        """A group of one node."""
        self.root = root
        self.members = [root]
        self.size = 0 if kind is Kind.TUPLE or kind is Kind.FIELD else 1
        """How many operator calls there are."""
        self.anchor = kind if kind is Kind.KERNEL or kind is Kind.REDUCTION else None
        """What kind of loops it has, if an operator brings its own."""
        self.row: Row | None = None
        """What its reductions go through."""
        self.shape: Sizes | None = None
        """The shape of what its kernel computes."""


class Grouping:
    """The groups of one definition."""

    def __init__(self, flow: Dataflow, max_ops: int) -> None:
        """Looks for groups of at most `max_ops` operator calls."""
        self.flow = flow
        self.max_ops = max_ops
        self.of: dict[Expr | None, Group] = {}
        """The group of each node that is in one."""
        self.repeated: set[Expr] = set()
        """Members of which elements are computed several times."""
        self.apart: set[Expr] = set()
        """Tuples that are not the last node of a group."""
        self.follow_anchors()
        self.join_users(flow.kinds)
        self.part_tuples()
        self.part_fields()

    # --- what follows an operator with loops of its own ---

    def follow_anchors(self) -> None:
        """Let kernels and reductions take what follows them, the first ones first."""
        kinds = self.flow.kinds
        anchors = [e for e, kind in kinds.items() if kind is Kind.KERNEL or kind is Kind.REDUCTION]
        if not anchors:
            return
        meeting = post_dominators(kinds, self.flow.users)
        for e in reversed(anchors):
            if e not in self.of:
                self.follow(self.anchored(e), meeting)

    def anchored(self, e: Expr) -> Group:
        """A group of one kernel or reduction."""
        types, kind = self.flow.types, self.flow.kinds[e]
        group = self.of[e] = Group(e, kind)
        if kind is Kind.KERNEL:
            group.shape = sizes(types(e))
        else:
            group.row = row(e, types)
        return group

    def follow(self, group: Group, meeting: dict[Expr, Expr | None]) -> None:
        """Take everything up to the node where the uses of the last one meet, again and again."""
        while (last := meeting[group.root]) is not None:
            found = self.between(group, last)
            if found is None:
                return
            self.take(group, found, last)

    def between(self, group: Group, last: Expr) -> set[Expr] | None:
        """The nodes on all ways from the root of a group to `last`; None if they do not fit together."""
        of, users = self.of, self.flow.users
        found: set[Expr] = set()
        size = group.size
        pending = list(users[group.root])
        while pending:
            e = pending.pop()
            assert e is not None, "`last` is on all ways"
            if e in found:
                continue
            other = of.get(e)
            if other is not None:
                if other.row is None or other.row != group.row:
                    return None
                found.update(other.members)
                size += other.size
                e = last if last in other.members else other.root
            elif self.fits(group, e):
                found.add(e)
                size += 1
            else:
                return None
            if size > self.max_ops:
                return None
            if e is not last:
                pending += users[e]
        return found

    def fits(self, group: Group, e: Expr) -> bool:
        """Whether the loops of an anchor can go on with `e`."""
        kind, types = self.flow.kinds[e], self.flow.types
        if group.anchor is Kind.KERNEL:
            return kind <= Kind.BROADCAST and group.shape is not None and sizes(types(e)) == group.shape
        if group.row is None:
            return False
        if kind is Kind.REDUCTION:
            return row(e, types) == group.row
        if kind > Kind.INJECTIVE or (kind is Kind.INJECTIVE and not keeps_rows(e, types)):
            return False
        return is_within(sizes(types(e)), group.row[0])

    def take(self, group: Group, found: set[Expr], last: Expr) -> None:
        """Add nodes to a group, other groups as wholes."""
        other = self.of.get(last)
        group.root = last if other is None else other.root
        group.members += found
        group.size += len(found)
        self.of.update(dict.fromkeys(found, group))

    # --- what works element by element ---

    def join_users(self, nodes: Iterable[Expr]) -> None:
        """Let nodes, users first, join the group of all their users, or begin one."""
        kinds, of = self.flow.kinds, self.of
        for e in nodes:
            kind = kinds[e]
            if kind is Kind.KERNEL and (product := self.product_that_rounds(e)) is not None:
                of[e] = product
                product.members.append(e)
                product.size += 1
            if kind > Kind.FIELD or e in of:
                continue
            group = self.group_of_users(e, kind)
            if group is not None:
                of[e] = group
                group.members.append(e)
                group.size += kind <= Kind.INJECTIVE
            elif kind is not Kind.TUPLE or self.may_end(e):
                of[e] = Group(e, kind)

    def product_that_rounds(self, e: Expr) -> Group | None:
        """The group of the product that a node is rounded by, if it is and nothing else reads it."""
        users = self.flow.users.get(e) or [None]
        u = users[0]
        if len(users) > 1 or self.of[e].size > 1 or u is None or self.flow.kinds[u] is not Kind.KERNEL:
            return None
        return self.of.get(u) if is_rounded_by(e, u, self.parts(u)[1:], self.flow.types) else None

    def group_of_users(self, e: Expr, kind: Kind) -> Group | None:
        """The group that a node may join; None if there is none."""
        of, kinds, types = self.of, self.flow.kinds, self.flow.types
        users = self.flow.users.get(e)
        group = of.get(users[0]) if users else None
        if users is None or group is None or (kind <= Kind.INJECTIVE and group.size >= self.max_ops):
            return None
        if kind is Kind.INJECTIVE and any(map(self.is_wide, self.parts(e))):
            return None
        repeated, in_kernel = False, group.anchor is Kind.KERNEL
        for u in users:
            if u is None or of.get(u) is not group:
                return None
            if self.is_wide(u) and u is not group.root and computes(e, kind):
                return None
            if kinds[u] is Kind.KERNEL:
                if not is_decoded_by(e, u, self.parts(u)[1:], types):
                    return None
                continue
            repeated = repeated or u in self.repeated or is_repeated(e, kinds[u], u, types, in_kernel)
        if repeated:
            if computes(e, kind):
                return None
            self.repeated.add(e)
        return group

    def is_wide(self, e: Expr) -> bool:
        """Return whether a node is a tuple of many fields."""
        return type(e) is Tuple and len(e.fields) > MAX_FUSED_FIELDS

    def may_end(self, e: Expr) -> bool:
        """Whether a tuple may be what a function returns: one loop computes all its fields."""
        assert type(e) is Tuple
        kinds, types = self.flow.kinds, self.flow.types
        if e in self.apart:
            return False
        if any(f in self.of or kinds.get(f, Kind.OPAQUE) > Kind.INJECTIVE for f in self.parts(e)):
            return False
        shape = sizes(types(e.fields[0]))
        return shape is not None and all(sizes(types(f)) == shape for f in e.fields)

    def parts(self, e: Expr) -> list[Expr]:
        """The nodes that compute the fields of a tuple."""
        return [self.flow.values.get(c, c) for c in e.children]

    # --- tuples that are not made where they are used ---

    def part_tuples(self) -> None:
        """Let a tuple be outside of the group that it ends, unless the group computes all its fields."""
        of = self.of
        tuples = [e for e, kind in self.flow.kinds.items() if kind is Kind.TUPLE]
        for e in tuples:
            group = of.get(e)
            if group is None or group.root is not e or all(of.get(f) is group for f in self.parts(e)):
                continue
            self.apart.add(e)
            for m in group.members:
                del of[m]
                self.repeated.discard(m)
            self.join_users(group.members)

    def part_fields(self) -> None:
        """Let projections be outside of the group unless it makes the tuple."""
        for e in reversed([e for e, kind in self.flow.kinds.items() if kind is Kind.FIELD]):
            group = self.of.get(e)
            if group is not None and self.of.get(self.parts(e)[0]) is not group:
                del self.of[e]
