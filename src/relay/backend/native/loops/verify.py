"""Whether a block is well-formed: values are defined before they are read, and what is decided is legal."""

import os
from collections.abc import Iterable

from relay.backend.native.loops import nodes as ir
from relay.backend.native.loops.vectorize import along, may_combine

VERIFIES = bool(os.environ.get("RELAY_VERIFY_LOOPS"))
"""Whether blocks are verified when they are ready to be written: as the tests have it."""
ON_INDICES = frozenset({"plus", "minus", "times", "quotient", "rest", "less", "same", "within"})
"""Functions of two indices."""


def verify(block: ir.Block, given: Iterable[ir.Value] = ()) -> None:
    """Assert that a function's block is well-formed; `given` are the values that the function has before."""
    _block(block, set(given), is_shared=False)


def _block(block: ir.Block, known: set[ir.Value], is_shared: bool) -> None:
    """A block, given what is known before it; what it defines is not known after it."""
    own: list[ir.Value] = []
    for s in block.statements:
        for x in ir.operands(s):
            _defined(x, known, s)
        _statement(s)
        assert not is_shared or not isinstance(s, ir.NewTensor | ir.Release), (
            "threads neither make nor free objects"
        )
        own += ir.bound(s)
        known.update(ir.bound(s))
        for inner in ir.blocks(s):
            _block(inner, known, is_shared or isinstance(s, ir.Parallel))
        own += ir.results(s)
        known.update(ir.results(s))
    for x in block.yields:
        _defined(x, known, block)
    known.difference_update(own)


def _defined(x: ir.Operand, known: set[ir.Value], where: object) -> None:
    is_known = isinstance(x, int | ir.Const) or x in known
    assert is_known, f"{x} is read by {where} before it is defined"


def _statement(s: ir.Statement) -> None:
    """What holds for a statement on its own."""
    match s:
        case ir.Apply():
            if s.op in ON_INDICES:
                assert all(map(_is_index, s.args)), f"`{s.op}` is a function of indices"
        case ir.Load() | ir.Store() | ir.Prefetch():
            assert len(s.index) == len(s.buffer.sizes), "an access has an index for each axis"
            assert all(map(_is_index, s.index)), "an access is by indices"
            assert s.buffer.data.dtype == ir.ADDRESS, "elements are at an address"
            if isinstance(s, ir.Store):
                assert s.value.dtype == s.buffer.dtype, (
                    f"a {s.value.dtype} is stored as {s.buffer.dtype} in `{s.buffer.name}`"
                )
        case ir.Let():
            assert isinstance(s.value, int) or s.result.dtype == s.value.dtype, "another dtype"
        case ir.For():
            _loops(s)
        case ir.Branch():
            assert len(s.blocks) == len(s.conditions) + 1, "a block for each condition, and one more"
            assert all(len(x.yields) == len(s.results) for x in s.blocks), "each block yields the results"
            assert all(c.dtype == "bool" for c in s.conditions), "conditions are truth values"
        case ir.Check():
            assert s.condition.dtype == "bool", "a condition is a truth value"
        case ir.NewTensor():
            assert s.result.dtype == ir.OBJECT, "a tensor is an object"
        case ir.Transpose():
            assert isinstance(s.buffer.data, ir.Registers), "what is transposed is in registers"
        case ir.Alternate():
            assert s.result.dtype == "bool", "an alternation is a truth value"
        case ir.CallRoutine():
            assert all(isinstance(x, ir.Value) and x.dtype == ir.ADDRESS for x in s.args), (
                "routines take addresses"
            )
        case ir.Invoke() | _:
            pass


def _loops(s: ir.For) -> None:
    assert len(s.indices) == len(s.extents) > 0, "an extent for each index"
    assert all(map(_is_index, s.extents)), "extents are indices"
    carried = [x.dtype for x in s.carried]
    for row in (s.inits, s.results, s.body.yields):
        assert [x.dtype for x in row] == carried, "what is carried keeps its dtype"
    n = s.extents[-1]
    if s.unroll and not s.lanes:
        assert s.extents == (s.unroll,), "what is unrolled has so many iterations"
    elif s.unroll:
        assert not s.carried, "unrolled vectors carry nothing"
        known = s.unroll * s.lanes
        assert n == known if s.is_whole else not isinstance(n, int) or n <= known, "the vectors hold all"
    if s.lanes:
        assert not s.carried or (s.reduction is not None and may_combine(s)), "lanes combine only reductions"
        assert along(s).is_legal, "a statement has no form for several lanes"
        assert s.unroll or not any(map(_writes_registers, ir.statements(s.body))), (
            "vectors that write registers are unrolled"
        )


def _writes_registers(s: ir.Statement) -> bool:
    return isinstance(s, ir.Store | ir.Transpose) and isinstance(s.buffer.data, ir.Registers)


def _is_index(x: ir.Operand) -> bool:
    return isinstance(x, int) or x.dtype == ir.INDEX
