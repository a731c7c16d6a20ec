"""Objects: how they lie in memory, and the LLVM IR that makes, shares and frees them.

An object begins with eight bytes: its count of references (32 bits; 0 says that it is never freed), the
number of its layout (16 bits) and its tag (16 bits).  Layouts say which of its words are pointers to
objects.  Freeing goes from child to child without recursion: the word from which an object was reached
holds the way back (Schorr and Waite, 1967), and a list, whose tail comes last, needs none.

Small objects come from free lists, one a size, in the context of the thread.
"""

import platform
from collections.abc import Sequence
from dataclasses import dataclass

from relay.backend.native.code import CONTEXT, Code, Value, integer
from relay.backend.native.representation import POINTER, SIZES, memory

HEADER = 8
"""Bytes before the contents of an object."""
GRAIN, LARGEST = 16, 512
"""Sizes of objects are multiples of the one, and from beyond the other they come from the C library."""

SAVED, STACK, SITE, BUMP, BUMP_END, CHUNKS, BOX = 0, 8, 16, 24, 32, 40, 48
"""Offsets in the context: the saved stack pointer, the top of the program's own stack, the site of a failure,
memory for new objects and where it ends, the memory taken so far, and the box of arguments and results."""
SPARE, NEXT, LIMIT, THREAD, LARGE, TAKEN, BOTTOM, OUTER = 56, 64, 72, 80, 88, 96, 104, 112
"""More of them: memory to take again, the next context that is free, how far the stack may grow, the state of
Python's thread while others may run, the list of large objects, whether memory has been taken since the
context was last cleared, the limit when nothing interrupts, and the call that goes on after this one."""
OUT_OF_MEMORY, INTERRUPTED, TOO_DEEP = -1, -2, -3
"""The sites of failures that may be anywhere; Python knows what has interrupted."""
EXTERNAL = 1
"""The tag of a tensor whose elements belong to a Python object, which outlives the call."""
LINKS = 64
"""Bytes before a large object: the next one, and the address of what points to this one."""
FREE = 128
"""Offset of the free lists."""
RESULTS = FREE + 8 * (LARGEST // GRAIN + 1)
"""Offset of the area through which results of more than two leaves come back."""
CHUNK = 1 << 20
STACK_REGISTER = "rsp" if platform.machine() == "x86_64" else "sp"


@dataclass(frozen=True)
class Layout:
    """Where the leaves of an object are: offsets in bytes, the whole size, and which words are pointers."""

    offsets: tuple[int, ...]
    size: int
    pointers: tuple[int, ...]


def layout(leaves: Sequence[str], start: int = HEADER) -> Layout:
    """Leaves one after the other, each at a multiple of its size; pointers last, in their order."""
    offsets = [0] * len(leaves)
    at = start
    order = sorted(range(len(leaves)), key=lambda i: (leaves[i] == POINTER, 0))
    for i in order:
        n = SIZES[leaves[i]]
        at = -(-at // n) * n
        offsets[i] = at
        at += n
    size = max(GRAIN, -(-at // GRAIN) * GRAIN)
    return Layout(
        tuple(offsets), size, tuple([o for o, t in zip(offsets, leaves, strict=True) if t == POINTER])
    )


class Layouts:
    """The layouts of a program's objects, numbered."""

    def __init__(self) -> None:
        """None so far."""
        self.numbers: dict[tuple[int, tuple[int, ...]], int] = {}

    def number(self, of: Layout) -> int:
        """The number of a layout."""
        return self.numbers.setdefault((of.size, of.pointers), len(self.numbers))

    def text(self) -> str:
        """The table of layouts."""
        lines: list[str] = []
        rows: list[str] = []
        for (size, pointers), i in self.numbers.items():
            offsets = ", ".join([f"i32 {p}" for p in pointers])
            lines.append(f"@relay.offsets.{i} = internal constant [{len(pointers)} x i32] [{offsets}]")
            rows.append(f"%relay.layout {{ i32 {size}, i32 {len(pointers)}, ptr @relay.offsets.{i} }}")
        rows = rows or ["%relay.layout zeroinitializer"]
        lines.append(f"@relay.layouts = internal constant [{len(rows)} x %relay.layout] [{', '.join(rows)}]")
        return "\n".join(lines)


def header(number: int, tag: int = 0, count: int = 1) -> int:
    """The first eight bytes of an object."""
    return count | number << 32 | tag << 48


def make(code: Code, layouts: Layouts, of: Layout, leaves: Sequence[Value], tag: int = 0) -> Value:
    """A new object with these leaves."""
    p = code.call("ptr", "@relay.allocate", [integer(of.size)], "call")
    assert p is not None
    code.store(integer(header(layouts.number(of), tag)), p)
    write(code, of, p, leaves)
    return p


def write(code: Code, of: Layout, p: Value, leaves: Sequence[Value]) -> None:
    """Put leaves into an object."""
    for v, offset in zip(leaves, of.offsets, strict=True):
        code.store(code.cast("zext", v, memory(v.type)), code.at(p, offset))


def read(code: Code, of: Layout, p: Value, leaves: Sequence[str]) -> list[Value]:
    """The leaves of an object."""
    return [read_leaf(code, code.at(p, offset), t) for t, offset in zip(leaves, of.offsets, strict=True)]


def read_leaf(code: Code, p: Value, leaf: str) -> Value:
    """One leaf in memory."""
    found = code.load(memory(leaf), p)
    return code.cast("trunc", found, leaf)


def tag_of(code: Code, p: Value) -> Value:
    """The tag of an object, 16 bits."""
    return code.load("i16", code.at(p, 6))


def retain(code: Code, leaves: Sequence[Value]) -> None:
    """One more reference to each object."""
    for v in leaves:
        if v.type == POINTER:
            code.do(f"call void @relay.retain({v})")


def release(code: Code, leaves: Sequence[Value]) -> None:
    """One reference less to each object."""
    for v in leaves:
        if v.type == POINTER:
            code.do(f"call void @relay.release({CONTEXT}, {v})")


RUNTIME = f"""
%relay.layout = type {{ i32, i32, ptr }}
!0 = !{{!"branch_weights", i32 2000, i32 1}}
!1 = !{{!"branch_weights", i32 1, i32 2000}}
!3 = distinct !{{!3, !4}}
!4 = !{{!"llvm.loop.unroll.disable"}}
declare ptr @malloc(i64)
declare void @free(ptr)
declare ptr @aligned_alloc(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @relay_fail(ptr) noreturn nounwind

define internal void @relay.fail(ptr %ctx, i64 %site) noinline noreturn nounwind {{
  %p = getelementptr inbounds i8, ptr %ctx, i64 {SITE}
  store i64 %site, ptr %p
  call void @relay_fail(ptr %ctx)
  unreachable
}}

declare i64 @relay_poll(ptr)
declare i64 @relay_outside(ptr, ptr)
declare i64 @llvm.read_register.i64(metadata)
!2 = !{{!"{STACK_REGISTER}"}}

define internal void @relay.check(ptr %ctx) alwaysinline nounwind {{
entry:
  %sp = call i64 @llvm.read_register.i64(metadata !2)
  %limit_at = getelementptr inbounds i8, ptr %ctx, i64 {LIMIT}
  %limit = load volatile i64, ptr %limit_at
  %over = icmp ult i64 %sp, %limit
  br i1 %over, label %stop, label %go, !prof !1
stop:
  call preserve_allcc void @relay.stopped(ptr %ctx)
  br label %go
go:
  ret void
}}

define internal preserve_allcc void @relay.stopped(ptr %ctx) noinline cold nounwind {{
entry:
  %sp = call i64 @llvm.read_register.i64(metadata !2)
  %limit_at = getelementptr inbounds i8, ptr %ctx, i64 {LIMIT}
  %bottom_at = getelementptr inbounds i8, ptr %ctx, i64 {BOTTOM}
  %bottom = load i64, ptr %bottom_at
  store atomic i64 %bottom, ptr %limit_at monotonic, align 8
  %deep = icmp ult i64 %sp, %bottom
  br i1 %deep, label %fail, label %look
look:
  %why = call i64 @relay_outside(ptr %ctx, ptr @relay_poll)
  %on = icmp eq i64 %why, 0
  br i1 %on, label %go, label %fail
fail:
  %site = phi i64 [ {TOO_DEEP}, %entry ], [ %why, %look ]
  call void @relay.fail(ptr %ctx, i64 %site)
  unreachable
go:
  ret void
}}

define internal void @relay.retain(ptr %p) alwaysinline nounwind {{
  %rc = load i32, ptr %p
  %counts = icmp ne i32 %rc, 0
  %one = zext i1 %counts to i32
  %more = add i32 %rc, %one
  store i32 %more, ptr %p
  ret void
}}

define internal void @relay.release(ptr %ctx, ptr %p) alwaysinline nounwind {{
entry:
  %rc = load i32, ptr %p
  %last = icmp eq i32 %rc, 1
  br i1 %last, label %free, label %keep
free:
  call void @relay.dispose(ptr %ctx, ptr %p)
  br label %done
keep:
  %counts = icmp ne i32 %rc, 0
  %one = zext i1 %counts to i32
  %less = sub i32 %rc, %one
  store i32 %less, ptr %p
  br label %done
done:
  ret void
}}

define internal ptr @relay.allocate(ptr %ctx, i64 %size) alwaysinline nounwind {{
entry:
  %small = icmp ule i64 %size, {LARGEST}
  br i1 %small, label %list, label %more
list:
  %half = lshr i64 %size, 1
  %from = add i64 %half, {FREE}
  %slot = getelementptr inbounds i8, ptr %ctx, i64 %from
  %p = load ptr, ptr %slot
  %none = icmp eq ptr %p, null
  br i1 %none, label %more, label %take, !prof !1
take:
  %next = load ptr, ptr %p
  store ptr %next, ptr %slot
  ret ptr %p
more:
  %q = call ptr @relay.allocate_more(ptr %ctx, i64 %size)
  ret ptr %q
}}

define internal ptr @relay.allocate_more(ptr %ctx, i64 %size) noinline nounwind {{
entry:
  %small = icmp ule i64 %size, {LARGEST}
  br i1 %small, label %bump, label %large
large:
  %m = call ptr @relay.allocate_large(ptr %ctx, i64 %size)
  ret ptr %m
bump:
  %bump_at = getelementptr inbounds i8, ptr %ctx, i64 {BUMP}
  %end_at = getelementptr inbounds i8, ptr %ctx, i64 {BUMP_END}
  %old = load ptr, ptr %bump_at
  %end = load ptr, ptr %end_at
  %new = getelementptr i8, ptr %old, i64 %size
  %fits = icmp ule ptr %new, %end
  br i1 %fits, label %here, label %chunk
here:
  store ptr %new, ptr %bump_at
  ret ptr %old
chunk:
  %taken_at = getelementptr inbounds i8, ptr %ctx, i64 {TAKEN}
  store i64 1, ptr %taken_at
  %spare_at = getelementptr inbounds i8, ptr %ctx, i64 {SPARE}
  %spare = load ptr, ptr %spare_at
  %none = icmp eq ptr %spare, null
  br i1 %none, label %ask, label %again
again:
  %next_spare = load ptr, ptr %spare
  store ptr %next_spare, ptr %spare_at
  br label %got
ask:
  %asked = call ptr @malloc(i64 {CHUNK})
  %refused = icmp eq ptr %asked, null
  br i1 %refused, label %fail, label %got
fail:
  call void @relay.fail(ptr %ctx, i64 {OUT_OF_MEMORY})
  unreachable
got:
  %c = phi ptr [ %spare, %again ], [ %asked, %ask ]
  %chunks_at = getelementptr inbounds i8, ptr %ctx, i64 {CHUNKS}
  %before = load ptr, ptr %chunks_at
  store ptr %before, ptr %c
  store ptr %c, ptr %chunks_at
  %first = getelementptr i8, ptr %c, i64 {GRAIN}
  %rest = getelementptr i8, ptr %first, i64 %size
  %last = getelementptr i8, ptr %c, i64 {CHUNK}
  store ptr %rest, ptr %bump_at
  store ptr %last, ptr %end_at
  ret ptr %first
}}

define internal ptr @relay.allocate_large(ptr %ctx, i64 %size) noinline nounwind {{
entry:
  %up = add i64 %size, {LINKS + 63}
  %whole = and i64 %up, -64
  %m = call ptr @aligned_alloc(i64 64, i64 %whole)
  %refused = icmp eq ptr %m, null
  br i1 %refused, label %fail, label %link
fail:
  call void @relay.fail(ptr %ctx, i64 {OUT_OF_MEMORY})
  unreachable
link:
  %list_at = getelementptr inbounds i8, ptr %ctx, i64 {LARGE}
  %next = load ptr, ptr %list_at
  %from_at = getelementptr inbounds i8, ptr %m, i64 8
  store ptr %next, ptr %m
  store ptr %list_at, ptr %from_at
  store ptr %m, ptr %list_at
  %last = icmp eq ptr %next, null
  br i1 %last, label %done, label %back
back:
  %next_from = getelementptr inbounds i8, ptr %next, i64 8
  store ptr %m, ptr %next_from
  br label %done
done:
  %p = getelementptr inbounds i8, ptr %m, i64 {LINKS}
  ret ptr %p
}}

define internal ptr @relay.unlink(ptr %p) nounwind {{
entry:
  %m = getelementptr inbounds i8, ptr %p, i64 -{LINKS}
  %next = load ptr, ptr %m
  %from_at = getelementptr inbounds i8, ptr %m, i64 8
  %from = load ptr, ptr %from_at
  store ptr %next, ptr %from
  %last = icmp eq ptr %next, null
  br i1 %last, label %done, label %back
back:
  %next_from = getelementptr inbounds i8, ptr %next, i64 8
  store ptr %from, ptr %next_from
  br label %done
done:
  ret ptr %m
}}

define internal void @relay.clear(ptr %ctx) noinline nounwind {{
entry:
  %large_at = getelementptr inbounds i8, ptr %ctx, i64 {LARGE}
  br label %look
look:
  %m = load ptr, ptr %large_at
  %none = icmp eq ptr %m, null
  br i1 %none, label %chunks, label %one
one:
  %next = load ptr, ptr %m
  store ptr %next, ptr %large_at
  call void @free(ptr %m)
  br label %look
chunks:
  %chunks_at = getelementptr inbounds i8, ptr %ctx, i64 {CHUNKS}
  %spare_at = getelementptr inbounds i8, ptr %ctx, i64 {SPARE}
  br label %chunk
chunk:
  %c = load ptr, ptr %chunks_at
  %no_more = icmp eq ptr %c, null
  br i1 %no_more, label %done, label %move
move:
  %rest = load ptr, ptr %c
  %spare = load ptr, ptr %spare_at
  store ptr %spare, ptr %c
  store ptr %c, ptr %spare_at
  store ptr %rest, ptr %chunks_at
  br label %chunk
done:
  %taken_at = getelementptr inbounds i8, ptr %ctx, i64 {TAKEN}
  store i64 0, ptr %taken_at
  %bump_at = getelementptr inbounds i8, ptr %ctx, i64 {BUMP}
  call void @llvm.memset.p0.i64(ptr %bump_at, i8 0, i64 16, i1 false)
  %lists = getelementptr inbounds i8, ptr %ctx, i64 {FREE}
  call void @llvm.memset.p0.i64(ptr %lists, i8 0, i64 {RESULTS - FREE}, i1 false)
  ret void
}}

@relay.contexts = global ptr null

define internal void @relay.give(ptr %ctx, i1 %empty) nounwind {{
entry:
  %taken_at = getelementptr inbounds i8, ptr %ctx, i64 {TAKEN}
  %taken = load i64, ptr %taken_at
  %large_at = getelementptr inbounds i8, ptr %ctx, i64 {LARGE}
  %large = load i64, ptr %large_at
  %either = or i64 %taken, %large
  %some = icmp ne i64 %either, 0
  %unclean = and i1 %some, %empty
  br i1 %unclean, label %clear, label %back
clear:
  call void @relay.clear(ptr %ctx)
  br label %back
back:
  %first = load ptr, ptr @relay.contexts
  %next_at = getelementptr inbounds i8, ptr %ctx, i64 {NEXT}
  store ptr %first, ptr %next_at
  store ptr %ctx, ptr @relay.contexts
  ret void
}}

define internal void @relay.shell(ptr %ctx, ptr %p, i64 %size) alwaysinline nounwind {{
entry:
  %small = icmp ule i64 %size, {LARGEST}
  br i1 %small, label %list, label %large
list:
  %half = lshr i64 %size, 1
  %from = add i64 %half, {FREE}
  %slot = getelementptr inbounds i8, ptr %ctx, i64 %from
  %next = load ptr, ptr %slot
  store ptr %next, ptr %p
  store ptr %p, ptr %slot
  ret void
large:
  %m = call ptr @relay.unlink(ptr %p)
  call void @free(ptr %m)
  ret void
}}

define internal void @relay.dispose(ptr %ctx, ptr %object) noinline nounwind {{
entry:
  br label %start
start:
  %cur = phi ptr [ %object, %entry ], [ %child, %last ], [ %child, %descend ]
  %parent = phi ptr [ null, %entry ], [ %parent2, %last ], [ %cur2, %descend ]
  br label %look
look:
  %cur2 = phi ptr [ %cur, %start ], [ %parent2, %up ]
  %parent2 = phi ptr [ %parent, %start ], [ %above, %up ]
  %i0 = phi i32 [ 0, %start ], [ %i_up, %up ]
  %number_at = getelementptr inbounds i8, ptr %cur2, i64 4
  %number = load i16, ptr %number_at
  %index = zext i16 %number to i64
  %layout = getelementptr inbounds %relay.layout, ptr @relay.layouts, i64 %index
  %size32 = load i32, ptr %layout
  %size_fixed = zext i32 %size32 to i64
  %is_tensor = icmp eq i32 %size32, 0
  %own_at = getelementptr inbounds i8, ptr %cur2, i64 16
  %size_own = load i64, ptr %own_at
  %size = select i1 %is_tensor, i64 %size_own, i64 %size_fixed
  %n_at = getelementptr inbounds i8, ptr %layout, i64 4
  %n = load i32, ptr %n_at
  %offsets_at = getelementptr inbounds i8, ptr %layout, i64 8
  %offsets = load ptr, ptr %offsets_at
  br label %field
field:
  %i = phi i32 [ %i0, %look ], [ %i1, %shared ], [ %i1, %visit ]
  %more = icmp ult i32 %i, %n
  br i1 %more, label %visit, label %finished
visit:
  %i64 = zext i32 %i to i64
  %offset_at = getelementptr inbounds i32, ptr %offsets, i64 %i64
  %offset32 = load i32, ptr %offset_at
  %offset = zext i32 %offset32 to i64
  %place = getelementptr inbounds i8, ptr %cur2, i64 %offset
  %child = load ptr, ptr %place
  %i1 = add i32 %i, 1
  %rc = load i32, ptr %child
  %immortal = icmp eq i32 %rc, 0
  br i1 %immortal, label %field, label %counted
counted:
  %only = icmp eq i32 %rc, 1
  br i1 %only, label %dies, label %shared
shared:
  %less = sub i32 %rc, 1
  store i32 %less, ptr %child
  br label %field
dies:
  %is_last = icmp eq i32 %i1, %n
  br i1 %is_last, label %last, label %descend
last:
  call void @relay.shell(ptr %ctx, ptr %cur2, i64 %size)
  br label %start
descend:
  store i32 %i1, ptr %cur2
  store ptr %parent2, ptr %place
  br label %start
finished:
  call void @relay.shell(ptr %ctx, ptr %cur2, i64 %size)
  %top = icmp eq ptr %parent2, null
  br i1 %top, label %done, label %up
up:
  %i_up = load i32, ptr %parent2
  %p_number_at = getelementptr inbounds i8, ptr %parent2, i64 4
  %p_number = load i16, ptr %p_number_at
  %p_index = zext i16 %p_number to i64
  %p_layout = getelementptr inbounds %relay.layout, ptr @relay.layouts, i64 %p_index
  %p_offsets_at = getelementptr inbounds i8, ptr %p_layout, i64 8
  %p_offsets = load ptr, ptr %p_offsets_at
  %before = sub i32 %i_up, 1
  %before64 = zext i32 %before to i64
  %back_at = getelementptr inbounds i32, ptr %p_offsets, i64 %before64
  %back32 = load i32, ptr %back_at
  %back = zext i32 %back32 to i64
  %above_at = getelementptr inbounds i8, ptr %parent2, i64 %back
  %above = load ptr, ptr %above_at
  br label %look
done:
  ret void
}}
"""
"""What every program needs."""
