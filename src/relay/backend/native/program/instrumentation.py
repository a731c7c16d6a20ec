"""What a program notes of itself while it is profiled: when each group of operators began and ended.

Only programs that are compiled for it do so; all others have none of this in their code.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from relay.analysis.cost import multiplications
from relay.backend.native.llvm.builder import Code, Value
from relay.backend.native.memory.representation import parts_of
from relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, Op, Var
from relay.ir.type import TensorType, Type
from relay.ir.walk import post_order
from relay.op.base import Fusion

MOST = 1 << 16
"""Events of a call that are kept."""
EVENTS, COUNT = "relay.watch.events", "relay.watch.count"
SAID = 3
"""Operators that a group is named after at most."""
TEXT = f"""
@{EVENTS} = weak global [{MOST} x [3 x i64]] zeroinitializer, align 64
@{COUNT} = weak global i64 0, align 64
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

define internal void @relay.watch.note(i64 %group, i64 %begin) nounwind {{
  %end = call i64 @relay.watch.now()
  %i = atomicrmw add ptr @{COUNT}, i64 1 monotonic
  %fits = icmp ult i64 %i, {MOST}
  br i1 %fits, label %keep, label %full
keep:
  %at = getelementptr [3 x i64], ptr @{EVENTS}, i64 %i
  store i64 %group, ptr %at
  %begin_at = getelementptr i8, ptr %at, i64 8
  store i64 %begin, ptr %begin_at
  %end_at = getelementptr i8, ptr %at, i64 16
  store i64 %end, ptr %end_at
  br label %full
full:
  ret void
}}
"""
"""Events are the number of a group, and nanoseconds."""


@dataclass(frozen=True, slots=True)
class Group:
    """Operators that are computed in one go."""

    name: str
    operations: float | None
    """Of floating point, in a call; None where sizes are open."""
    bytes: float | None
    """Of operands and results."""


class Watch:
    """The groups of a program that are watched."""

    def __init__(self, program: Any) -> None:
        """`program` is on its way to LLVM IR."""
        self.program = program
        self.groups: list[Group] = []
        program.declare(TEXT)

    def watches(self, e: Expr) -> bool:
        """Whether the time of a node is noted: that of groups, and of operators on tensors."""
        if not isinstance(e, Call):
            return False
        if isinstance(e.op, GlobalVar):
            return bool(getattr(self.program.mod.functions[e.op], "attrs", {}).get("Primitive"))
        return isinstance(e.op, Op) and any(tensors(self.program.types(x)) for x in (e, *e.args))

    def begin(self, code: Code) -> Value:
        """Look at the clock."""
        return code.set("i64", "call i64 @relay.watch.now()")

    def end(self, code: Code, e: Call, begin: Value) -> None:
        """Note what has passed since."""
        self.groups.append(self.group(e))
        code.do(f"call void @relay.watch.note(i64 {len(self.groups) - 1}, {begin})")

    def group(self, e: Call) -> Group:
        """What is computed."""
        types = self.program.types
        fn = self.program.mod.functions[e.op] if isinstance(e.op, GlobalVar) else None
        calls = [x for x in (post_order(fn.body) if isinstance(fn, Function) else [e]) if isinstance(x, Call)]
        names = [x.attrs.name.removeprefix("nn.") for x in calls]
        label = " ".join(names[:SAID]) + (f" … ({len(names)})" if len(names) > SAID else "")
        where = f"@{e.op.name_hint} " if isinstance(e.op, GlobalVar) else ""
        if not all(t.is_closed for x in calls for y in (x, *x.args) for t in tensors(types(y))):
            return Group(where + label, None, None)
        moved = sum(map(size, tensors(types(e)))) + read(calls, types)
        return Group(where + label, sum([operations(x, types) for x in calls]), moved)


def read(calls: Sequence[Call], types: Any) -> float:
    """Bytes that operators read of what none of them computes; those that pick elements read what they
    give.
    """
    found: dict[Expr, float] = {}
    for x in calls:
        given = sum(map(size, tensors(types(x))))
        for y in x.args:
            if isinstance(y, Var | Constant):
                whole = sum(map(size, tensors(types(y))))
                part = min(whole, given) if x.attrs.fusion is Fusion.INJECTIVE else whole
                found[y] = max(found.get(y, 0), part)
    return sum(found.values())


def tensors(t: Type) -> Sequence[TensorType]:
    """The tensors of a value."""
    return [x for x in parts_of(t) if isinstance(x, TensorType) and x.shape]


def size(t: TensorType) -> float:
    """Bytes in memory."""
    from relay.backend.native.memory.tensors import element_size

    return element_size(t) * prod(t.concrete_shape)


def operations(e: Call, types: Any) -> float:
    """Operations of floating point: two for each product that is added, else one for each element of the
    larger of result and operands, if elements are computed and not only moved.
    """
    products = multiplications(e, types)
    if products:
        return 2.0 * products
    if e.attrs.fusion not in (Fusion.ELEMENTWISE, Fusion.BROADCAST, Fusion.REDUCTION):
        return 0.0
    return max([prod(t.concrete_shape) for x in (e, *e.args) for t in tensors(types(x))], default=1)
