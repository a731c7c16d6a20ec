"""Loops that threads share, as LLVM IR of the runtime.

A loop of many iterations is cut into one part a thread, and each part into a few chunks.  A thread takes the
chunks of its own part first, so that the same data come back to the same core from loop to loop, and then
what is left of the others': a thread that wakes up late, or has its core taken away, holds nobody up.  A loop
inside of another, or beside that of another thread of Python, runs where it is.

Bounds of chunks never change what is computed.  If iterations fail, the first one's failure is the loop's.
"""

from relay.backend.native.memory.objects import LIMIT, SITE
from relay.backend.native.runtime.idioms import expanded
from relay.backend.native.runtime.thread_pool import CONTEXT_BYTES, INSIDE
from relay.backend.native.runtime.threads import MOST

CHUNKS = 4
"""Chunks of a part."""
SLICE = 1000
"""Chunks that a thread runs by itself before it looks whether it should stop."""
PART = 64
"""Bytes of a part."""
END, FAILED_AT, FAILED_SITE = 8, 16, 24
"""Offsets in a part, which begins with the next iteration: the end, where its thread has failed first, and
the site."""
NEVER = (1 << 63) - 1

SHARED_OUT = expanded(f"""
@pool.busy = internal global i32 0, align 64
@pool.failed = internal global i64 {NEVER}, align 64
@pool.body = internal global ptr null
@pool.env = internal global ptr null
@pool.chunk = internal global i64 0
@pool.threads = internal global i64 0
@pool.parts = internal global [{MOST} x [{PART} x i8]] zeroinitializer, align 64
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)

; Take chunks and run them, until there are none.
define internal void @pool.share(i64 %lane, ptr %caller) {{
entry:
  %limit_at = place %caller, {LIMIT}
  %threads = load i64, ptr @pool.threads
  %chunk = load i64, ptr @pool.chunk
  %body = load ptr, ptr @pool.body
  %env = load ptr, ptr @pool.env
  %context = getelementptr [{CONTEXT_BYTES} x i8], ptr @pool.contexts, i64 %lane
  %own = getelementptr [{PART} x i8], ptr @pool.parts, i64 %lane
  br label %part
part:
  %k = phi i64 [ 0, %entry ], [ %k1, %next ]
  %there = add i64 %lane, %k
  %over = icmp sge i64 %there, %threads
  %wrapped = sub i64 %there, %threads
  %which = select i1 %over, i64 %wrapped, i64 %there
  %p = getelementptr [{PART} x i8], ptr @pool.parts, i64 %which
  %end = field i64, %p, {END}
  br label %look
look:
  %seen = load atomic i64, ptr %p monotonic, align 8
  %some = icmp slt i64 %seen, %end
  br i1 %some, label %take, label %next
take:
  %begin = atomicrmw add ptr %p, i64 %chunk monotonic
  %mine = icmp slt i64 %begin, %end
  br i1 %mine, label %check, label %next
check:
  %failed = load atomic i64, ptr @pool.failed monotonic, align 8
  %late = icmp sgt i64 %begin, %failed
  br i1 %late, label %next, label %run
run:
  %far = add i64 %begin, %chunk
  %to = call i64 @llvm.smin.i64(i64 %far, i64 %end)
  %bad = call i32 @relay_try(ptr %context, ptr %body, ptr %env, i64 %begin, i64 %to, i64 %lane)
  %fine = icmp eq i32 %bad, 0
  br i1 %fine, label %poll, label %note
poll:
  %limit = load atomic i64, ptr %limit_at monotonic, align 8
  %poked = icmp eq i64 %limit, -1
  br i1 %poked, label %stopped, label %look
stopped:
  %why = call i64 @relay_outside(ptr %caller, ptr @relay_poll)
  %on = icmp eq i64 %why, 0
  br i1 %on, label %look, label %stop
stop:
  put i64 -1, %own, {FAILED_AT}
  put i64 %why, %own, {FAILED_SITE}
  atomicrmw min ptr @pool.failed, i64 -1 monotonic
  br label %look
note:
  %first = field i64, %own, {FAILED_AT}
  %earlier = icmp slt i64 %begin, %first
  br i1 %earlier, label %keep, label %look
keep:
  put i64 %begin, %own, {FAILED_AT}
  %from = place %context, {SITE}
  %site = load i64, ptr %from
  put i64 %site, %own, {FAILED_SITE}
  atomicrmw min ptr @pool.failed, i64 %begin monotonic
  br label %look
next:
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, %threads
  br i1 %more, label %part, label %all
all:
  ret void
}}

; How many threads a loop takes whose program has asked for some; 0 leaves it to the process.
define i64 @relay_threads(i64 %asked) {{
  %unsaid = icmp eq i64 %asked, 0
  %default = load i64, ptr @pool.default
  %wanted = select i1 %unsaid, i64 %default, i64 %asked
  ret i64 %wanted
}}

; body(context, env, begin, end, lane) for all iterations from 0 to count; parts are cut no further if the
; grain is 0.
define void @relay_parallel(ptr %ctx, ptr %body, ptr %env, i64 %count, i64 %least, i64 %asked) {{
entry:
  %uncut = icmp eq i64 %least, 0
  %grain = call i64 @llvm.smax.i64(i64 %least, i64 1)
  %wanted = call i64 @relay_threads(i64 %asked)
  %single = icmp sle i64 %wanted, 1
  br i1 %single, label %serial, label %size
size:
  %pieces = sdiv i64 %count, %grain
  %worth = call i64 @llvm.smin.i64(i64 %pieces, i64 %wanted)
  %few = icmp slt i64 %worth, 2
  br i1 %few, label %serial, label %own
own:
  %pair = cmpxchg ptr @pool.busy, i32 0, i32 1 seq_cst monotonic
  %free = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %free, label %staff, label %serial
serial:
  %slice = mul i64 %grain, {SLICE}
  %limit_at = place %ctx, {LIMIT}
  br label %next
next:
  %at = phi i64 [ 0, %serial ], [ %until, %more ], [ %until, %polled ]
  %far = add i64 %at, %slice
  %until = call i64 @llvm.smin.i64(i64 %far, i64 %count)
  call void %body(ptr %ctx, ptr %env, i64 %at, i64 %until, i64 0)
  %rest = icmp slt i64 %until, %count
  br i1 %rest, label %more, label %over
more:
  %limit = load atomic i64, ptr %limit_at monotonic, align 8
  %poked = icmp eq i64 %limit, -1
  br i1 %poked, label %poll, label %next
poll:
  %why = call i64 @relay_outside(ptr %ctx, ptr @relay_poll)
  %on = icmp eq i64 %why, 0
  br i1 %on, label %polled, label %stop
polled:
  br label %next
stop:
  call void @relay_fail_at(ptr %ctx, i64 %why)
  unreachable
over:
  ret void
staff:
  %others = sub i64 %worth, 1
  %have = load i64, ptr @pool.workers
  %short = icmp slt i64 %have, %others
  br i1 %short, label %hire, label %staffed
hire:
  call void @pool.hire(i64 %others)
  br label %staffed
staffed:
  %crew = load i64, ptr @pool.workers
  %all = add i64 %crew, 1
  %n = call i64 @llvm.smin.i64(i64 %all, i64 %worth)
  store i64 %n, ptr @pool.threads
  store ptr %body, ptr @pool.body
  store ptr %env, ptr @pool.env
  %share = sdiv i64 %count, %n
  %extra = srem i64 %count, %n
  %quarter = sdiv i64 %share, {CHUNKS}
  %part_or_quarter = select i1 %uncut, i64 %share, i64 %quarter
  %up = add i64 %part_or_quarter, 1
  %chunk = call i64 @llvm.smax.i64(i64 %up, i64 %grain)
  store i64 %chunk, ptr @pool.chunk
  store atomic i64 {NEVER}, ptr @pool.failed monotonic, align 8
  br label %cut
cut:
  %i = phi i64 [ 0, %staffed ], [ %i1, %cut ]
  %from = phi i64 [ 0, %staffed ], [ %to, %cut ]
  %longer = icmp slt i64 %i, %extra
  %one = zext i1 %longer to i64
  %length = add i64 %share, %one
  %to = add i64 %from, %length
  %p = getelementptr [{PART} x i8], ptr @pool.parts, i64 %i
  store atomic i64 %from, ptr %p monotonic, align 8
  put i64 %to, %p, {END}
  put i64 {NEVER}, %p, {FAILED_AT}
  %i1 = add i64 %i, 1
  %cuts = icmp slt i64 %i1, %n
  br i1 %cuts, label %cut, label %open
open:
  atomicrmw and ptr @pool.gate, i64 {INSIDE} seq_cst
  atomicrmw add ptr @pool.generation, i64 1 seq_cst
  %sleepers = load atomic i64, ptr @pool.sleepers seq_cst, align 8
  %sleeping = icmp sgt i64 %sleepers, 0
  br i1 %sleeping, label %wake, label %work
wake:
  lock @pool.mutex
  call i32 @pthread_cond_broadcast(ptr @pool.work)
  unlock @pool.mutex
  br label %work
work:
  call void @pool.share(i64 0, ptr %ctx)
  call void @pool.close()
  br label %look
look:
  %j = phi i64 [ 0, %work ], [ %j1, %look ]
  %first = phi i64 [ {NEVER}, %work ], [ %first1, %look ]
  %site = phi i64 [ 0, %work ], [ %site1, %look ]
  %q = getelementptr [{PART} x i8], ptr @pool.parts, i64 %j
  %its = field i64, %q, {FAILED_AT}
  %earlier = icmp slt i64 %its, %first
  %its_site = field i64, %q, {FAILED_SITE}
  %first1 = select i1 %earlier, i64 %its, i64 %first
  %site1 = select i1 %earlier, i64 %its_site, i64 %site
  %j1 = add i64 %j, 1
  %looks = icmp slt i64 %j1, %n
  br i1 %looks, label %look, label %end
end:
  store atomic i32 0, ptr @pool.busy release, align 4
  %fine = icmp eq i64 %first1, {NEVER}
  br i1 %fine, label %done, label %fail
fail:
  call void @relay_fail_at(ptr %ctx, i64 %site1)
  unreachable
done:
  ret void
}}
""")
"""`relay_parallel(context, body, env, count, grain, threads)`, and `relay_threads(threads)`, the lanes."""
