"""Memory for objects, as LLVM IR of the runtime.

Small objects come from free lists, one a size, in the context of the call, and these from chunks.  Large ones
are blocks of sizes that go up by an eighth or less; a context keeps those that it does not need any more, as
long as there are not more than twice as many bytes as calls have needed at once, so that a program that runs
again finds all of its memory where it was.  A block that went out with a result comes back when Python has
forgotten the array, to any context.
"""

from relay.backend.native.memory.objects import (
    BUMP,
    BUMP_END,
    CHUNKS,
    CLASSES,
    FREE,
    GRAIN,
    HELD,
    IDLE,
    LARGE,
    LARGEST,
    LEAST,
    MOST,
    OUT_OF_MEMORY,
    PEAK,
    RESULTS,
    SITE,
    SPARE,
    TAKEN,
)
from relay.backend.native.memory.tensors import BYTES
from relay.backend.native.runtime.idioms import expanded

CHUNK = 1 << 20
LINKS = 64
"""Bytes before a large object: the block that comes next in its list, the address of what points to this one,
the list of its size as an offset in the context, and its bytes."""
FROM, LIST, WHOLE = 8, 16, 24
KEPT = 64 << 20
"""Bytes that a context may keep beyond twice of what it has needed."""
PLACES, COMING_BACK = 16, 256 << 20
"""Blocks that have come back from Python and wait to be taken again: how many, and their bytes at most."""
HUGE, HUGE_PAGE, ADVICE = 4 << 20, 2 << 20, 14
"""Blocks from the one size on begin at a multiple of the other, and are taken in pages of it: C may refuse
parts of these.
"""

SMALL = expanded(f"""
define void @relay_fail_at(ptr %ctx, i64 %site) noinline noreturn nounwind {{
  put i64 %site, %ctx, {SITE}
  call void @relay_fail(ptr %ctx)
  unreachable
}}

define noalias ptr @relay_allocate(ptr %ctx, i64 %size) noinline nounwind {{
entry:
  %small = icmp ule i64 %size, {LARGEST}
  br i1 %small, label %bump, label %large
large:
  %m = call ptr @relay_allocate_large(ptr %ctx, i64 %size)
  ret ptr %m
bump:
  %old = field ptr, %ctx, {BUMP}
  %end = field ptr, %ctx, {BUMP_END}
  %new = getelementptr i8, ptr %old, i64 %size
  %fits = icmp ule ptr %new, %end
  br i1 %fits, label %here, label %chunk
here:
  put ptr %new, %ctx, {BUMP}
  ret ptr %old
chunk:
  put i64 1, %ctx, {TAKEN}
  %spare = field ptr, %ctx, {SPARE}
  %none = icmp eq ptr %spare, null
  br i1 %none, label %ask, label %again
again:
  %rest = load ptr, ptr %spare
  put ptr %rest, %ctx, {SPARE}
  br label %got
ask:
  %asked = call ptr @malloc(i64 {CHUNK})
  %refused = icmp eq ptr %asked, null
  br i1 %refused, label %fail, label %got
fail:
  call void @relay_fail_at(ptr %ctx, i64 {OUT_OF_MEMORY})
  unreachable
got:
  %c = phi ptr [ %spare, %again ], [ %asked, %ask ]
  %before = field ptr, %ctx, {CHUNKS}
  store ptr %before, ptr %c
  put ptr %c, %ctx, {CHUNKS}
  %first = getelementptr i8, ptr %c, i64 {GRAIN}
  %after = getelementptr i8, ptr %first, i64 %size
  %last = getelementptr i8, ptr %c, i64 {CHUNK}
  put ptr %after, %ctx, {BUMP}
  put ptr %last, %ctx, {BUMP_END}
  ret ptr %first
}}

define noalias ptr @relay_allocate_bytes(ptr %ctx, i64 %exact) noinline nounwind {{
entry:
  %up = add i64 %exact, 63
  %size = and i64 %up, -64
  %small = icmp ule i64 %size, {LARGEST}
  br i1 %small, label %list, label %large
list:
  %p = call ptr @relay.allocate(ptr %ctx, i64 %size)
  br label %done
large:
  %q = call ptr @relay_allocate_large(ptr %ctx, i64 %size)
  br label %done
done:
  %r = phi ptr [ %p, %list ], [ %q, %large ]
  put i64 %size, %r, {BYTES}
  ret ptr %r
}}
""")

LARGER = expanded(f"""
define noalias ptr @relay_allocate_large(ptr %ctx, i64 %size) noinline nounwind {{
entry:
  %need = add i64 %size, {LINKS}
  %least = call i64 @llvm.umax.i64(i64 %need, i64 {2 << LEAST})
  %below = sub i64 %least, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %below, i1 true)
  %power = sub i64 63, %zeros
  %shift = sub i64 %power, 3
  %eighths = lshr i64 %below, %shift
  %more = add i64 %eighths, 1
  %whole = shl i64 %more, %shift
  %octave = sub i64 %power, {LEAST}
  %first = shl i64 %octave, 3
  %step = sub i64 %eighths, 8
  %class = add i64 %first, %step
  %place = shl i64 %class, 3
  %list = add i64 %place, {CLASSES}
  %too_large = icmp ugt i64 %power, {MOST}
  br i1 %too_large, label %fail, label %look
look:
  %list_at = getelementptr inbounds i8, ptr %ctx, i64 %list
  %kept = load ptr, ptr %list_at
  %none = icmp eq ptr %kept, null
  br i1 %none, label %miss, label %hit
hit:
  %rest = load ptr, ptr %kept
  store ptr %rest, ptr %list_at
  %idle = field i64, %ctx, {IDLE}
  %less = sub i64 %idle, %whole
  put i64 %less, %ctx, {IDLE}
  br label %link
miss:
  %back = call ptr @relay.remembered(i64 %whole)
  %has = icmp ne ptr %back, null
  br i1 %has, label %link, label %room
room:
  %idle2 = field i64, %ctx, {IDLE}
  %held2 = field i64, %ctx, {HELD}
  %peak2 = field i64, %ctx, {PEAK}
  %both = add i64 %idle2, %held2
  %all = add i64 %both, %whole
  %twice = shl i64 %peak2, 1
  %bound = add i64 %twice, {KEPT}
  %over = icmp ugt i64 %all, %bound
  br i1 %over, label %trim, label %ask
trim:
  call void @relay.trim(ptr %ctx)
  br label %ask
ask:
  %asked = call ptr @relay.block(i64 %whole)
  %refused = icmp eq ptr %asked, null
  br i1 %refused, label %again, label %link
again:
  call void @relay.trim(ptr %ctx)
  %asked2 = call ptr @relay.block(i64 %whole)
  %refused2 = icmp eq ptr %asked2, null
  br i1 %refused2, label %fail, label %link
fail:
  call void @relay_fail_at(ptr %ctx, i64 {OUT_OF_MEMORY})
  unreachable
link:
  %m = phi ptr [ %kept, %hit ], [ %back, %miss ], [ %asked, %ask ], [ %asked2, %again ]
  put i64 %list, %m, {LIST}
  put i64 %whole, %m, {WHOLE}
  %large_at = place %ctx, {LARGE}
  %next = load ptr, ptr %large_at
  store ptr %next, ptr %m
  put ptr %large_at, %m, {FROM}
  store ptr %m, ptr %large_at
  %held = field i64, %ctx, {HELD}
  %now = add i64 %held, %whole
  put i64 %now, %ctx, {HELD}
  %peak = field i64, %ctx, {PEAK}
  %most = call i64 @llvm.umax.i64(i64 %peak, i64 %now)
  put i64 %most, %ctx, {PEAK}
  %last = icmp eq ptr %next, null
  br i1 %last, label %done, label %tie
tie:
  put ptr %m, %next, {FROM}
  br label %done
done:
  %p = place %m, {LINKS}
  ret ptr %p
}}

; The block of a large object, which is the context's no more.
define ptr @relay_give_away(ptr %ctx, ptr %p) nounwind {{
entry:
  %m = place %p, -{LINKS}
  %next = load ptr, ptr %m
  %from = field ptr, %m, {FROM}
  store ptr %next, ptr %from
  %whole = field i64, %m, {WHOLE}
  %held = field i64, %ctx, {HELD}
  %now = sub i64 %held, %whole
  put i64 %now, %ctx, {HELD}
  %last = icmp eq ptr %next, null
  br i1 %last, label %done, label %tie
tie:
  put ptr %from, %next, {FROM}
  br label %done
done:
  ret ptr %m
}}

define void @relay_free_large(ptr %ctx, ptr %p) nounwind {{
  %m = call ptr @relay_give_away(ptr %ctx, ptr %p)
  %list = field i64, %m, {LIST}
  %whole = field i64, %m, {WHOLE}
  %list_at = getelementptr inbounds i8, ptr %ctx, i64 %list
  %next = load ptr, ptr %list_at
  store ptr %next, ptr %m
  store ptr %m, ptr %list_at
  %idle = field i64, %ctx, {IDLE}
  %now = add i64 %idle, %whole
  put i64 %now, %ctx, {IDLE}
  ret void
}}

define internal ptr @relay.block(i64 %whole) nounwind {{
entry:
  %huge = icmp uge i64 %whole, {HUGE}
  br i1 %huge, label %large, label %usual
usual:
  %p = call ptr @aligned_alloc(i64 64, i64 %whole)
  ret ptr %p
large:
  %up = add i64 %whole, {HUGE_PAGE - 1}
  %pages = and i64 %up, -{HUGE_PAGE}
  %q = call ptr @aligned_alloc(i64 {HUGE_PAGE}, i64 %pages)
  %refused = icmp eq ptr %q, null
  br i1 %refused, label %done, label %advise
advise:
  call i32 @madvise(ptr %q, i64 %whole, i32 {ADVICE})
  br label %done
done:
  ret ptr %q
}}

; Give back what a context keeps.
define internal void @relay.trim(ptr %ctx) noinline nounwind {{
entry:
  br label %list
list:
  %at = phi i64 [ {CLASSES}, %entry ], [ %after, %next ]
  %list_at = getelementptr inbounds i8, ptr %ctx, i64 %at
  br label %look
look:
  %m = load ptr, ptr %list_at
  %none = icmp eq ptr %m, null
  br i1 %none, label %next, label %one
one:
  %rest = load ptr, ptr %m
  store ptr %rest, ptr %list_at
  call void @free(ptr %m)
  br label %look
next:
  %after = add i64 %at, 8
  %more = icmp ult i64 %after, {RESULTS}
  br i1 %more, label %list, label %done
done:
  put i64 0, %ctx, {IDLE}
  ret void
}}

; Free all objects of a context.
define void @relay_clear(ptr %ctx) noinline nounwind {{
entry:
  br label %look
look:
  %m = field ptr, %ctx, {LARGE}
  %none = icmp eq ptr %m, null
  br i1 %none, label %chunk, label %one
one:
  %p = place %m, {LINKS}
  call void @relay_free_large(ptr %ctx, ptr %p)
  br label %look
chunk:
  %c = field ptr, %ctx, {CHUNKS}
  %no_more = icmp eq ptr %c, null
  br i1 %no_more, label %done, label %move
move:
  %rest = load ptr, ptr %c
  %spare = field ptr, %ctx, {SPARE}
  store ptr %spare, ptr %c
  put ptr %c, %ctx, {SPARE}
  put ptr %rest, %ctx, {CHUNKS}
  br label %chunk
done:
  put i64 0, %ctx, {TAKEN}
  %bump_at = place %ctx, {BUMP}
  call void @llvm.memset.p0.i64(ptr %bump_at, i8 0, i64 16, i1 false)
  %lists = place %ctx, {FREE}
  call void @llvm.memset.p0.i64(ptr %lists, i8 0, i64 {CLASSES - FREE}, i1 false)
  ret void
}}
""")

COMING = expanded(f"""
@heap.mutex = internal global [128 x i8] zeroinitializer, align 64
@heap.places = internal global [{PLACES} x ptr] zeroinitializer, align 64
@heap.bytes = internal global i64 0
@heap.turn = internal global i64 0

define internal void @heap.reset() {{
  call i32 @pthread_mutex_init(ptr @heap.mutex, ptr null)
  ret void
}}

; Python has no array any more that a program has given away.
define void @relay_forget(ptr %capsule) {{
entry:
  %m = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr null)
  %whole = field i64, %m, {WHOLE}
  lock @heap.mutex
  %turn = load i64, ptr @heap.turn
  %next = add i64 %turn, 1
  %wrapped = urem i64 %next, {PLACES}
  store i64 %wrapped, ptr @heap.turn
  %place = getelementptr ptr, ptr @heap.places, i64 %turn
  %old = load ptr, ptr %place
  store ptr null, ptr %place
  %bytes = load i64, ptr @heap.bytes
  %some = icmp ne ptr %old, null
  br i1 %some, label %less, label %room
less:
  %old_whole = field i64, %old, {WHOLE}
  %fewer = sub i64 %bytes, %old_whole
  br label %room
room:
  %now = phi i64 [ %bytes, %entry ], [ %fewer, %less ]
  %sum = add i64 %now, %whole
  %fits = icmp ule i64 %sum, {COMING_BACK}
  br i1 %fits, label %keep, label %drop
keep:
  store ptr %m, ptr %place
  store i64 %sum, ptr @heap.bytes
  unlock @heap.mutex
  call void @free(ptr %old)
  ret void
drop:
  store i64 %now, ptr @heap.bytes
  unlock @heap.mutex
  call void @free(ptr %old)
  call void @free(ptr %m)
  ret void
}}

; A block of so many bytes that has come back, if there is one.
define internal ptr @relay.remembered(i64 %whole) noinline nounwind {{
entry:
  %bytes = load atomic i64, ptr @heap.bytes monotonic, align 8
  %few = icmp ult i64 %bytes, %whole
  br i1 %few, label %nothing, label %search
search:
  lock @heap.mutex
  br label %look
look:
  %i = phi i64 [ 0, %search ], [ %i1, %next ]
  %place = getelementptr ptr, ptr @heap.places, i64 %i
  %m = load ptr, ptr %place
  %some = icmp ne ptr %m, null
  br i1 %some, label %compare, label %next
compare:
  %its = field i64, %m, {WHOLE}
  %same = icmp eq i64 %its, %whole
  br i1 %same, label %found, label %next
next:
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, {PLACES}
  br i1 %more, label %look, label %over
found:
  store ptr null, ptr %place
  %sum = load i64, ptr @heap.bytes
  %less = sub i64 %sum, %whole
  store i64 %less, ptr @heap.bytes
  unlock @heap.mutex
  ret ptr %m
over:
  unlock @heap.mutex
  br label %nothing
nothing:
  ret ptr null
}}
""")

HEAP = f"""
declare ptr @malloc(i64)
declare void @free(ptr)
declare ptr @aligned_alloc(i64, i64)
declare i32 @madvise(ptr, i64, i32)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.ctlz.i64(i64, i1)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
{SMALL}{LARGER}{COMING}"""
"""`relay_allocate(context, bytes)` and `relay_allocate_bytes` for tensors, `relay_allocate_large`,
`relay_free_large(context, object)`, `relay_give_away(context, object)` and `relay_forget(capsule)` for what
Python gets, `relay_clear(context)`, and `relay_fail_at(context, site)`.
"""
