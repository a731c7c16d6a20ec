"""Profiling instrumentation: code that records when each group of operators begins and ends, and which large
objects it has made.

Only programs that are compiled for profiling contain it.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from relay.analysis.cost import multiplications
from relay.backend.native.llvm.builder import CONTEXT, Code, Value
from relay.backend.native.memory.layout import (
    BLOCK_GROUP_OFFSET,
    LARGE_OFFSET,
    PEAK_BYTES_OFFSET,
    WATCHED_MAX,
)
from relay.backend.native.memory.representation import parts_of
from relay.diagnostic import Span
from relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, Op, Var
from relay.ir.type import TensorType, Type
from relay.ir.walk import post_order
from relay.op.kind import Fusion

MAX_EVENTS = 1 << 16
"""Events that are recorded at most."""
EVENT_WORDS = 4
LARGE_BYTES_OFFSET = PEAK_BYTES_OFFSET - 16
"""Where a context counts the bytes of tensors: two words before the most that there were (`runtime.h`)."""
EVENTS_SYMBOL, COUNT_SYMBOL, PEAK_SYMBOL = "relay.watch.events", "relay.watch.count", "relay.watch.peak"
PEAK_WORDS = 3 + 2 * WATCHED_MAX
"""Of what is known about the peak: `struct watch` (`runtime.h`)."""
BETWEEN_GROUPS = -1
"""What large objects are said to be of that no group has made."""
MAX_NAMED_OPERATORS = 3
"""Operators that the name of a group mentions at most."""
DEFINITIONS = f"""
@{EVENTS_SYMBOL} = weak global [{MAX_EVENTS} x [{EVENT_WORDS} x i64]] zeroinitializer, align 64
@{COUNT_SYMBOL} = weak global i64 0, align 64
@{PEAK_SYMBOL} = weak global [{PEAK_WORDS} x i64] zeroinitializer, align 64
declare i32 @clock_gettime(i32, ptr)

define internal i64 @relay.watch.now() nounwind {{
  %at = alloca [2 x i64], align 16
  %failed = call i32 @clock_gettime(i32 {getattr(time, "CLOCK_MONOTONIC", 1)}, ptr %at)
  %seconds = load i64, ptr %at
  %rest_at = getelementptr i8, ptr %at, i64 8
  %rest = load i64, ptr %rest_at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}}

define internal void @relay.watch.made(ptr %ctx, i64 %group) nounwind {{
  %large_at = getelementptr i8, ptr %ctx, i64 {LARGE_OFFSET}
  br label %next
next:
  %block_at = phi ptr [ %large_at, %0 ], [ %block, %new ]
  %block = load ptr, ptr %block_at
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %look
look:
  %group_at = getelementptr i8, ptr %block, i64 {BLOCK_GROUP_OFFSET}
  %known = load i64, ptr %group_at
  %is_new = icmp eq i64 %known, 0
  br i1 %is_new, label %new, label %done
new:
  store i64 %group, ptr %group_at
  br label %next
done:
  ret void
}}

define internal i64 @relay.watch.begin(ptr %ctx, i64 %number) nounwind {{
  call void @relay.watch.made(ptr %ctx, i64 {BETWEEN_GROUPS})
  store i64 %number, ptr @{PEAK_SYMBOL}
  %now = call i64 @relay.watch.now()
  ret i64 %now
}}

define internal void @relay.watch.note(ptr %ctx, i64 %group, i64 %begin) nounwind {{
  %end = call i64 @relay.watch.now()
  %number = add i64 %group, 1
  call void @relay.watch.made(ptr %ctx, i64 %number)
  store i64 0, ptr @{PEAK_SYMBOL}
  %i = atomicrmw add ptr @{COUNT_SYMBOL}, i64 1 monotonic
  %fits = icmp ult i64 %i, {MAX_EVENTS}
  br i1 %fits, label %keep, label %full
keep:
  %bytes_at = getelementptr i8, ptr %ctx, i64 {LARGE_BYTES_OFFSET}
  %bytes = load i64, ptr %bytes_at
  %at = getelementptr [{EVENT_WORDS} x i64], ptr @{EVENTS_SYMBOL}, i64 %i
  store i64 %group, ptr %at
  %begin_at = getelementptr i8, ptr %at, i64 8
  store i64 %begin, ptr %begin_at
  %end_at = getelementptr i8, ptr %at, i64 16
  store i64 %end, ptr %end_at
  %kept_at = getelementptr i8, ptr %at, i64 24
  store i64 %bytes, ptr %kept_at
  br label %full
full:
  ret void
}}
"""
"""An event: the number of a group, when it began and ended in nanoseconds, and the bytes of tensors then.

Large objects come first in their list as they are made, so that those which a group has made are those up to
the first one that is known.  They know the number of their group and 1.
"""


@dataclass(frozen=True, slots=True)
class Group:
    """Operators that are computed together, and what they cost."""

    name: str
    operations: float | None
    """Floating-point operations of a call; None where sizes are open."""
    bytes: float | None
    """Bytes of operands and results of a call."""
    span: Span | None = None
    """The place of what it computes last."""


class Instrumentation:
    """Adds clocks around the groups of a program."""

    def __init__(self, program: Any) -> None:
        """`program` is on its way to LLVM IR."""
        self.program = program
        self.groups: list[Group] = []

    def is_timed(self, e: Expr) -> bool:
        """Whether a node is timed: groups and operators on tensors are."""
        if not isinstance(e, Call):
            return False
        if isinstance(e.op, GlobalVar):
            return bool(getattr(self.program.mod.functions[e.op], "attrs", {}).get("Primitive"))
        return isinstance(e.op, Op) and any(tensor_types(self.program.types(x)) for x in (e, *e.args))

    def begin(self, code: Code, e: Call) -> tuple[int, Value]:
        """Read the clock before a group; its number, and the time."""
        code.declare(DEFINITIONS)
        self.groups.append(self.group(e))
        number = len(self.groups)
        return number - 1, code.set("i64", f"call i64 @relay.watch.begin({CONTEXT}, i64 {number})")

    def end(self, code: Code, number: int, begin: Value) -> None:
        """Record the event."""
        code.do(f"call void @relay.watch.note({CONTEXT}, i64 {number}, {begin})")

    def group(self, e: Call) -> Group:
        """The description of a group."""
        types = self.program.types
        fn = self.program.mod.functions[e.op] if isinstance(e.op, GlobalVar) else None
        calls = [x for x in (post_order(fn.body) if isinstance(fn, Function) else [e]) if isinstance(x, Call)]
        label = names_of(calls)
        place = e.span if fn is None or calls[-1].span is None else calls[-1].span
        where = f"@{e.op.name_hint} " if isinstance(e.op, GlobalVar) else ""
        if not all(t.is_closed for x in calls for y in (x, *x.args) for t in tensor_types(types(y))):
            return Group(where + label, None, None, place)
        made = sum(map(tensor_bytes, tensor_types(types(e))))
        flops = sum([flop_count(x, types) for x in calls])
        return Group(where + label, flops, made + bytes_read(calls, types), place)


def names_of(calls: Sequence[Call]) -> str:
    """Some operators by their names."""
    names = [x.attrs.name.removeprefix("nn.") for x in calls]
    more = f" … ({len(names)})" if len(names) > MAX_NAMED_OPERATORS else ""
    return " ".join(names[:MAX_NAMED_OPERATORS]) + more


def bytes_read(calls: Sequence[Call], types: Any) -> float:
    """Bytes that operators read from outside of the group; those that select elements read as many as they
    return.
    """
    found: dict[Expr, float] = {}
    for x in calls:
        given = sum(map(tensor_bytes, tensor_types(types(x))))
        for y in x.args:
            if isinstance(y, Var | Constant):
                whole = sum(map(tensor_bytes, tensor_types(types(y))))
                part = min(whole, given) if x.attrs.fusion is Fusion.INJECTIVE else whole
                found[y] = max(found.get(y, 0), part)
    return sum(found.values())


def tensor_types(t: Type) -> Sequence[TensorType]:
    """The tensors of a value."""
    return [x for x in parts_of(t) if isinstance(x, TensorType) and x.shape]


def tensor_bytes(t: TensorType) -> float:
    """Bytes in memory."""
    from relay.backend.native.memory.tensors import element_size

    return element_size(t) * prod(t.concrete_shape)


def flop_count(e: Call, types: Any) -> float:
    """Floating-point operations: two for each multiply-add, else one for each element of the larger of result
    and operands, unless elements are only moved.
    """
    products = multiplications(e, types)
    if products:
        return 2.0 * products
    if e.attrs.fusion not in (Fusion.ELEMENTWISE, Fusion.BROADCAST, Fusion.REDUCTION):
        return 0.0
    return max([prod(t.concrete_shape) for x in (e, *e.args) for t in tensor_types(types(x))], default=1)
