"""The part of the runtime that every module of a program has inside: sharing objects, and the usual ways to
make and free them, so that LLVM can work on them; as LLVM IR.
"""

import platform

from relay.backend.native.memory.objects import ENDLESS, FREE, LARGEST, LIMIT
from relay.backend.native.runtime.idioms import expanded

STACK_REGISTER = "rsp" if platform.machine() == "x86_64" else "sp"
METADATA = f"""
!0 = !{{!"branch_weights", i32 2000, i32 1}}
!1 = !{{!"branch_weights", i32 1, i32 2000}}
!2 = !{{!"{STACK_REGISTER}"}}
!3 = distinct !{{!3, !4}}
!4 = !{{!"llvm.loop.unroll.disable"}}
"""

OUTSIDE = """
declare void @relay_fail_at(ptr, i64) noreturn nounwind
declare preserve_allcc void @relay_stopped(ptr) cold nounwind
declare noalias ptr @relay_allocate(ptr, i64) nounwind
declare noalias ptr @relay_allocate_bytes(ptr, i64) nounwind
declare void @relay_free_large(ptr, ptr) nounwind
declare void @relay_dispose(ptr, ptr) nounwind
declare void @relay_retain(ptr) nounwind
declare void @relay_release(ptr, ptr) nounwind
"""
"""What the rest of the runtime has of it."""

INLINED = METADATA + expanded(f"""
declare i64 @llvm.read_register.i64(metadata)
declare {{ i64, i1 }} @llvm.umul.with.overflow.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)

define internal void @relay.fail(ptr %ctx, i64 %site) alwaysinline noreturn nounwind {{
  call void @relay_fail_at(ptr %ctx, i64 %site)
  unreachable
}}

define internal void @relay.check(ptr %ctx) alwaysinline nounwind {{
entry:
  %sp = call i64 @llvm.read_register.i64(metadata !2)
  %limit_at = place %ctx, {LIMIT}
  %limit = load volatile i64, ptr %limit_at
  %over = icmp ult i64 %sp, %limit
  br i1 %over, label %stop, label %go, !prof !1
stop:
  call preserve_allcc void @relay_stopped(ptr %ctx)
  br label %go
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
  call void @relay_dispose(ptr %ctx, ptr %p)
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
  %q = call ptr @relay_allocate(ptr %ctx, i64 %size)
  ret ptr %q
}}

define internal ptr @relay.allocate_bytes(ptr %ctx, i64 %exact) alwaysinline nounwind {{
  %p = call ptr @relay_allocate_bytes(ptr %ctx, i64 %exact)
  ret ptr %p
}}

define internal i64 @relay.times(i64 %bytes, i64 %size) alwaysinline nounwind {{
  %both = call {{ i64, i1 }} @llvm.umul.with.overflow.i64(i64 %bytes, i64 %size)
  %product = extractvalue {{ i64, i1 }} %both, 0
  %over = extractvalue {{ i64, i1 }} %both, 1
  %some = select i1 %over, i64 {ENDLESS}, i64 %product
  %held = call i64 @llvm.umin.i64(i64 %some, i64 {ENDLESS})
  ret i64 %held
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
  call void @relay_free_large(ptr %ctx, ptr %p)
  ret void
}}
""")
"""`relay.fail(context, site)`, `relay.check(context)` at the start of what may go on for ever,
`relay.retain(object)`, `relay.release(context, object)`, `relay.allocate(context, bytes)` and
`relay.allocate_bytes` for tensors, of `relay.times(bytes, size)` bytes, which never wraps, and
`relay.shell(context, object, bytes)` to free what holds no references.
"""
