"""Which recorded calls are made, and which of them together: those of one signature whose operands are there.

After Looks et al., 2017 (Fold), Neubig et al., 2017 (DyNet), and Fegade et al., 2024 (ACRoBat).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from relay.backend.xla.banks import power_of_two
from relay.backend.xla.later import Later
from relay.backend.xla.records import Record, Signature, maker

SPLIT_BYTES = 1 << 18
"""From how many bytes of copies on calls are parted by an array that some of them have in common."""


@dataclass(frozen=True, slots=True)
class Group:
    """Calls that are made together.  Where these are sums, `terms` are what each adds up."""

    signature: Signature
    records: Sequence[Record]
    terms: Sequence[Sequence[Any]] = ()

    @property
    def rows(self) -> int:
        """For how many calls there is room."""
        return power_of_two(len(self.records))


@dataclass(frozen=True, slots=True)
class Needed:
    """The calls that are to be made: `groups` in order, `records` in the order of the program."""

    groups: Sequence[Group]
    records: Sequence[Record]


def needed(targets: Iterable[Record]) -> Needed:
    """What is to be made for the results of some calls."""
    uses = dict.fromkeys(targets, 2)  # who asked, and perhaps who takes it
    pending = list(uses)
    while pending:
        leaves = pending.pop().leaves
        for i, x in enumerate(leaves):
            if type(x) is Later and x.value is not None:
                leaves[i] = x.value
            made_by = maker(x)
            if made_by is None:
                continue
            if made_by not in uses:
                pending.append(made_by)
            uses[made_by] = uses.get(made_by, 0) + 1
    records = sorted(uses, key=lambda r: r.number)
    sums, within = sums_of(records, uses)
    groups: list[Group] = []
    for several in scheduled([(r, sums.get(r, r.leaves)) for r in records if r not in within]):
        first = several[0]
        if first.signature.is_sum:
            terms = [sums.get(r, r.leaves) for r in several]
            groups.append(Group(first.signature, several, terms))
        else:
            groups += [Group(first.signature, part) for part in parted(several)]
    return Needed(groups, records)


def scheduled(calls: Sequence[tuple[Record, Sequence[Any]]]) -> Iterator[list[Record]]:
    """Calls that can be made together, of which each has the tensors that it takes.

    Of the signatures that could be next, one comes whose calls are all there, else that whose calls are on
    the lowest level on average.  After Neubig et al., 2017: "On-the-fly operation batching".
    """
    takers: dict[Record, list[Record]] = {}
    waits: dict[Record, int] = {}
    level: dict[Record, int] = {}
    ready: dict[Any, list[Record]] = {}
    left: Counter[Any] = Counter()
    height: Counter[Any] = Counter()
    for r, operands in calls:
        makers = [m for x in operands if (m := maker(x)) is not None]
        level[r] = 1 + max([level[m] for m in makers], default=-1)
        kind = kind_of_call(r)
        left[kind] += 1
        height[kind] += level[r]
        waits[r] = len(makers)
        for m in makers:
            takers.setdefault(m, []).append(r)
        if not makers:
            ready.setdefault(kind, []).append(r)
    while ready:
        kind = min(ready, key=lambda k: (len(ready[k]) < left[k], height[k] / left[k]))
        several = ready.pop(kind)
        yield several
        for r in several:
            left[kind] -= 1
            height[kind] -= level[r]
            for taker in takers.get(r, ()):
                waits[taker] -= 1
                if not waits[taker]:
                    ready.setdefault(kind_of_call(taker), []).append(taker)


def kind_of_call(r: Record) -> Any:
    """What calls have in common that can be made together: a signature, or the type of sums."""
    return r.signature.out_types if r.signature.is_sum else r.signature


def sums_of(
    records: Sequence[Record], uses: dict[Record, int]
) -> tuple[dict[Record, list[Any]], set[Record]]:
    """The terms of sums, and the sums within these that nobody else asks for."""
    found: dict[Record, list[Any]] = {}
    within: set[Record] = set()
    for r in reversed(records):
        if r in within or not r.signature.is_sum:
            continue
        terms: list[Any] = []
        stack = list(r.leaves)
        while stack:
            x = stack.pop()
            m = maker(x)
            if m is not None and m.signature.is_sum and uses[m] == 1:
                within.add(m)
                stack += m.leaves
            else:
                terms.append(x)
        found[r] = terms
    return found, within


def parted(records: Sequence[Record]) -> list[Sequence[Record]]:
    """Calls of one signature by the large arrays that some have in common, where it would take longer to copy
    these for each call.
    """
    done: list[Sequence[Record]] = []
    pending = [records]
    while pending:
        several = pending.pop()
        parts = divided(several)
        if len(parts) == 1:
            done.append(several)
        else:
            pending += parts
    return done


def divided(records: Sequence[Record]) -> list[Sequence[Record]]:
    """Calls by an operand that is a large array of some of them."""
    count = len(records)
    for i, t in enumerate(records[0].signature.types):
        if count * t.bytes < SPLIT_BYTES:
            continue
        by: dict[int, list[Record]] = {}
        for r in records:
            by.setdefault(id(r.leaves[i]), []).append(r)
        if 1 < len(by) <= count // 2 and count * t.bytes >= SPLIT_BYTES * len(by):
            return list(by.values())
    return [records]
