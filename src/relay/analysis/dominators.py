"""Post-dominators: where all that is made of a value comes together again."""

from collections.abc import Iterable, Mapping, Sequence

from relay.ir.ancestry import Descendant, common
from relay.ir.expr import Expr


class _Step(Descendant):
    """A node in the tree in which each node hangs below its post-dominator; the root is outside."""

    __slots__ = ("node",)

    def __init__(self, parent: "_Step | None", node: Expr | None) -> None:
        Descendant.__init__(self, parent)
        self.node = node


def post_dominators(
    order: Iterable[Expr], users: Mapping[Expr, Sequence[Expr | None]]
) -> dict[Expr, Expr | None]:
    """For each node the first one that every use of its value leads to; None where uses lead outside.

    `order` has users before what they use; None among the users of a node is a use outside, as is a user that
    is not in `order`, and a node that nobody uses.  Since the graph has no cycle, the node is the nearest
    common ancestor of the users in the tree made so far (Cooper, Harvey and Kennedy, 2001).  Takes
    O(uses x log depth).
    """
    outside = _Step(None, None)
    steps: dict[Expr | None, _Step] = {}
    found: dict[Expr, Expr | None] = {}
    for e in order:
        above: _Step | None = None
        for u in users.get(e, ()):
            step = steps.get(u, outside)
            above = step if above is None or above is step else common(above, step)
            if above is outside:
                break
        above = above or outside
        steps[e] = _Step(above, e)
        found[e] = above.node
    return found
