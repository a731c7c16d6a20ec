"""Post-dominators against their definition: the node without which no use leads outside."""

import random

from relay.analysis.dominators import post_dominators
from relay.ir.expr import Expr, Tuple


def graph(seed: int) -> tuple[list[Expr], dict[Expr, list[Expr | None]]]:
    """Nodes, users before what they use, and a few users of each."""
    chosen = random.Random(seed)
    order: list[Expr] = [Tuple((), span=None) for _ in range(chosen.randint(1, 14))]
    users: dict[Expr, list[Expr | None]] = {}
    for i, e in enumerate(order):
        several = chosen.sample(order[:i], min(i, chosen.randint(0, 3)))
        users[e] = [*several, *([None] if chosen.random() < 0.1 else [])]
    return order, users


def leads_outside(e: Expr, users: dict[Expr, list[Expr | None]], without: Expr) -> bool:
    """Whether uses of `e` lead outside on a way that does not meet `without`."""
    pending: list[Expr | None] = [e]
    while pending:
        n = pending.pop()
        if n is None or (n is not without and not users[n]):
            return True
        if n is not without:
            pending += users[n]
    return False


def test_no_use_leads_outside_without_it_and_it_is_the_first() -> None:
    for seed in range(300):
        order, users = graph(seed)
        found = post_dominators(order, users)
        for e in order:
            every = [d for d in order if d is not e and not leads_outside(e, users, d)]
            nearest = [d for d in every if all(o is d or not leads_outside(d, users, o) for o in every)]
            assert found[e] is (nearest[0] if nearest else None), f"seed {seed}"
            assert (found[e] is None) == (not every), f"seed {seed}"


def test_what_nobody_uses_leads_outside() -> None:
    e: Expr = Tuple((), span=None)
    assert post_dominators([e], {}) == {e: None}


def test_a_chain_of_a_hundred_thousand() -> None:
    order: list[Expr] = [Tuple((), span=None) for _ in range(100_000)]
    users = {e: [order[i]] for i, e in enumerate(order[1:])}
    found = post_dominators(order, users)
    assert found[order[0]] is None
    assert all(found[e] is order[i] for i, e in enumerate(order[1:]))
