"""Merges neighbouring axes of a nest that all elements are read and written along in the order of memory.

    for i, j in 4, 8 { out[i, j] = x[i, j] + y[i, j] }    =>    for j in 32 { let i = 0; out[i, j] = … }

An index of a merged axis counts through the axes before it, which stay at 0: the place in memory is the same.
"""

from dataclasses import replace
from itertools import pairwise

from relay.backend.native.loops import nodes as ir
from relay.backend.native.loops.index_arithmetic import IndexArithmetic


def merge_axes(s: ir.For, b: IndexArithmetic) -> ir.For:
    """The nest with the axes merged that can be, without those of one iteration."""
    kept = [k for k, n in enumerate(s.extents) if n != 1]
    apart = apart_axes(s, [s.indices[k] for k in kept])
    groups: list[list[int]] = []
    for k in kept:
        if groups and s.indices[k] not in apart:
            groups[-1].append(k)
        else:
            groups.append([k])
    if len(groups) == len(s.indices):
        return s
    lasts = {g[-1] for g in groups}
    zeros = [ir.Let(i, 0) for k, i in enumerate(s.indices) if k not in lasts]
    indices = tuple([s.indices[g[-1]] for g in groups])
    extents = tuple([b.count([s.extents[k] for k in g]) for g in groups])
    if not indices:
        indices, extents = s.indices[-1:], (1,)
        zeros = zeros[:-1]
    return replace(
        s, indices=indices, extents=extents, body=ir.Block((*zeros, *s.body.statements), s.body.yields)
    )


def apart_axes(s: ir.For, indices: list[ir.Var]) -> set[ir.Var]:
    """Those of some indices that cannot be merged with the one before."""
    sizes = dict(zip(s.indices, s.extents, strict=True))
    apart: set[ir.Var] = set()
    own = set(indices)
    pairs = list(pairwise(indices))
    for x in ir.statements(s.body):
        if not isinstance(x, ir.Load | ir.Store | ir.Prefetch):
            for v in ir.operands(x):
                if v in own:
                    apart |= cut(own, pairs, v)
            continue
        if isinstance(x, ir.Store) and x.value in own:
            apart |= cut(own, pairs, x.value)
        places: dict[ir.Index, int] = {}
        for k, (i, d) in enumerate(zip(x.index, x.buffer.sizes, strict=True)):
            if i in own and d != 1:
                apart |= cut(own, pairs, i) if i in places or d != sizes[i] else set()
                places[i] = k
        for i, j in pairs:
            if (
                (i in places) != (j in places)
                or (i in places and any(d != 1 for d in x.buffer.sizes[places[i] + 1 : places[j]]))
                or (i in places and places[i] > places[j])
            ):
                apart.add(j)
    for v in s.body.yields:
        if v in own:
            apart |= cut(own, pairs, v)
    return apart


def cut(own: set[ir.Var], pairs: list[tuple[ir.Var, ir.Var]], v: object) -> set[ir.Var]:
    """What an index that is read as it is keeps apart: itself from the one before, and the next from it."""
    return {j for i, j in pairs if v in (i, j)} if v in own else set()
