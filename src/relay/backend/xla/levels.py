"""Which recorded calls are made, and which of them together: those of one signature on one level, which is
one more than that of the calls whose results they take.

After Looks et al., 2017 (Fold), Neubig et al., 2017 (DyNet), and Fegade et al., 2024 (ACRoBat).
"""

from collections.abc import Iterable, Sequence
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
    levels: dict[Record, int] = {}
    by_level: list[dict[Any, list[Record]]] = []
    for r in records:
        if r in within:
            continue
        of = sums.get(r)
        makers = [m for x in (r.leaves if of is None else of) if (m := maker(x)) is not None]
        level = levels[r] = 1 + max([levels[m] for m in makers], default=-1)
        if level == len(by_level):
            by_level.append({})
        key = r.signature if of is None else (r.signature.out_types, power_of_two(len(of)))
        by_level[level].setdefault(key, []).append(r)
    groups: list[Group] = []
    for level in by_level:
        for several in level.values():
            if several[0] in sums:
                groups.append(Group(several[0].signature, several, [sums[r] for r in several]))
            else:
                groups += [Group(several[0].signature, part) for part in parted(several)]
    return Needed(groups, records)


def sums_of(
    records: Sequence[Record], uses: dict[Record, int]
) -> tuple[dict[Record, list[Any]], set[Record]]:
    """The sums of more than two terms with these, and the sums within that nobody else asks for."""
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
        if len(terms) > 2:
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
