"""The threads of the process: one pool, which the parallel loops of all compiled programs share.

A loop of many iterations is cut into one part a thread, and each part into a few chunks.  A thread takes the
chunks of its own part first, so that the same data come back to the same core from loop to loop, and then
what is left of the others': a thread that wakes up late, or has its core taken away, holds nobody up.
Threads wait for work by looking for a moment, then asleep.  A loop inside of another, or beside that of
another thread of Python, runs where it is.

Bounds of chunks never change what is computed.  If iterations fail, the first one's failure is the loop's.
"""

import ctypes
import os
import platform
import signal
import sys
import threading
from functools import cache

from relay.backend.native.entry import assembly
from relay.backend.native.interrupts import INTERRUPTS
from relay.backend.native.jit import Compiled, binding, triple
from relay.backend.native.memory import LIMIT, SITE
from relay.backend.native.threads import MOST, default_threads

CHUNKS = 4
"""Chunks of a part."""
LOOKS = 600
"""How often a thread looks for work before it sleeps: about 20 µs."""
SLICE = 1000
"""Chunks that a thread runs by itself before it looks whether it should stop."""
STACK_BYTES = 1 << 23
CLOSED, ASLEEP, INSIDE = 1 << 32, 1 << 33, (1 << 32) - 1
"""The gate of a loop: whether it is closed, whether who closed it sleeps, and how many are inside."""
NEXT, END, FAILED_AT, FAILED_SITE = 0, 8, 16, 24
"""Offsets in a part: the next iteration, the end, where its thread has failed first, and the site."""
NEVER = (1 << 63) - 1
PART, CONTEXT_BYTES = 64, 1024
PAUSE = {"x86_64": "pause", "aarch64": "yield"}
DETACHED = 2 if sys.platform == "darwin" else 1

_POOL = f"""
@pool.default = global i64 1
@pool.busy = internal global i32 0, align 64
@pool.generation = internal global i64 0, align 64
@pool.sleepers = internal global i64 0, align 64
@pool.gate = internal global i64 {CLOSED}, align 64
@pool.failed = internal global i64 {NEVER}, align 64
@pool.workers = internal global i64 0, align 64
@pool.body = internal global ptr null
@pool.env = internal global ptr null
@pool.count = internal global i64 0
@pool.chunk = internal global i64 0
@pool.threads = internal global i64 0
@pool.parts = internal global [{MOST} x [{PART} x i8]] zeroinitializer, align 64
@pool.contexts = internal global [{MOST} x [{CONTEXT_BYTES} x i8]] zeroinitializer, align 64
@pool.mutex = internal global [128 x i8] zeroinitializer, align 64
@pool.work = internal global [128 x i8] zeroinitializer, align 64
@pool.done = internal global [128 x i8] zeroinitializer, align 64
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_attr_setdetachstate(ptr, i32)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @relay_try(ptr, ptr, ptr, i64, i64, i64)
declare void @relay_fail(ptr) noreturn nounwind
declare i64 @relay_outside(ptr, ptr)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define void @pool.reset() {{
  store atomic i32 0, ptr @pool.busy seq_cst, align 4
  store atomic i64 {CLOSED}, ptr @pool.gate seq_cst, align 8
  store atomic i64 0, ptr @pool.sleepers seq_cst, align 8
  store i64 0, ptr @pool.workers
  call i32 @pthread_mutex_init(ptr @pool.mutex, ptr null)
  call i32 @pthread_cond_init(ptr @pool.work, ptr null)
  call i32 @pthread_cond_init(ptr @pool.done, ptr null)
  call void @watch.reset()
  ret void
}}

; Where the elements of an array come from that a program has given away.
declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare void @free(ptr)
define void @relay_forget(ptr %capsule) {{
  %p = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr null)
  call void @free(ptr %p)
  ret void
}}

define i64 @pool.size() {{
  %n = load i64, ptr @pool.workers
  ret i64 %n
}}

; A thread that runs a function; signals are for others.
define internal i32 @pool.spawn(ptr %run, ptr %arg) noinline {{
  %attributes = alloca [128 x i8], align 16
  %mask = alloca [128 x i8], align 16
  %before = alloca [128 x i8], align 16
  %id = alloca i64
  call void @llvm.memset.p0.i64(ptr %mask, i8 -1, i64 128, i1 false)
  call i32 @pthread_attr_init(ptr %attributes)
  call i32 @pthread_attr_setdetachstate(ptr %attributes, i32 {DETACHED})
  call i32 @pthread_attr_setstacksize(ptr %attributes, i64 {STACK_BYTES})
  call i32 @pthread_sigmask(i32 {int(signal.SIG_SETMASK)}, ptr %mask, ptr %before)
  %failed = call i32 @pthread_create(ptr %id, ptr %attributes, ptr %run, ptr %arg)
  call i32 @pthread_sigmask(i32 {int(signal.SIG_SETMASK)}, ptr %before, ptr null)
  call i32 @pthread_attr_destroy(ptr %attributes)
  ret i32 %failed
}}

; Make workers until there are so many.
define internal void @pool.hire(i64 %wanted) noinline {{
entry:
  br label %look
look:
  %n = load i64, ptr @pool.workers
  %more = icmp slt i64 %n, %wanted
  br i1 %more, label %make, label %end
make:
  %lane = add i64 %n, 1
  %arg = inttoptr i64 %lane to ptr
  %failed = call i32 @pool.spawn(ptr @pool.worker, ptr %arg)
  %made = icmp eq i32 %failed, 0
  br i1 %made, label %count, label %end
count:
  store i64 %lane, ptr @pool.workers
  br label %look
end:
  ret void
}}

; Take chunks and run them, until there are none.
define internal void @pool.share(i64 %lane, ptr %caller) {{
entry:
  %limit_at = getelementptr i8, ptr %caller, i64 {LIMIT}
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
  %end_at = getelementptr i8, ptr %p, i64 {END}
  %end = load i64, ptr %end_at
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
  %stop_at = getelementptr i8, ptr %own, i64 {FAILED_AT}
  store i64 -1, ptr %stop_at
  %stop_site_at = getelementptr i8, ptr %own, i64 {FAILED_SITE}
  store i64 %why, ptr %stop_site_at
  atomicrmw min ptr @pool.failed, i64 -1 monotonic
  br label %look
note:
  %first_at = getelementptr i8, ptr %own, i64 {FAILED_AT}
  %first = load i64, ptr %first_at
  %earlier = icmp slt i64 %begin, %first
  br i1 %earlier, label %keep, label %look
keep:
  store i64 %begin, ptr %first_at
  %from = getelementptr i8, ptr %context, i64 {SITE}
  %site = load i64, ptr %from
  %site_at = getelementptr i8, ptr %own, i64 {FAILED_SITE}
  store i64 %site, ptr %site_at
  atomicrmw min ptr @pool.failed, i64 %begin monotonic
  br label %look
next:
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, %threads
  br i1 %more, label %part, label %all
all:
  ret void
}}

define internal ptr @pool.worker(ptr %arg) {{
entry:
  %lane = ptrtoint ptr %arg to i64
  br label %wait
wait:
  %known = phi i64 [ 0, %entry ], [ %now, %leave ], [ %now, %wake ]
  br label %spin
spin:
  %i = phi i64 [ 0, %wait ], [ %i1, %again ]
  %g = load atomic i64, ptr @pool.generation acquire, align 8
  %new = icmp ne i64 %g, %known
  br i1 %new, label %enter, label %again
again:
  call void asm sideeffect "{PAUSE.get(platform.machine(), "")}", ""()
  %i1 = add i64 %i, 1
  %looks = icmp slt i64 %i1, {LOOKS}
  br i1 %looks, label %spin, label %sleep
sleep:
  atomicrmw add ptr @pool.sleepers, i64 1 seq_cst
  call i32 @pthread_mutex_lock(ptr @pool.mutex)
  br label %asleep
asleep:
  %g2 = load atomic i64, ptr @pool.generation seq_cst, align 8
  %new2 = icmp ne i64 %g2, %known
  br i1 %new2, label %up, label %doze
doze:
  call i32 @pthread_cond_wait(ptr @pool.work, ptr @pool.mutex)
  br label %asleep
up:
  call i32 @pthread_mutex_unlock(ptr @pool.mutex)
  atomicrmw sub ptr @pool.sleepers, i64 1 seq_cst
  br label %enter
enter:
  %now = phi i64 [ %g, %spin ], [ %g2, %up ]
  %gate = atomicrmw add ptr @pool.gate, i64 1 seq_cst
  %bit = and i64 %gate, {CLOSED}
  %open = icmp eq i64 %bit, 0
  br i1 %open, label %inside, label %leave
inside:
  %threads = load i64, ptr @pool.threads
  %asked = icmp slt i64 %lane, %threads
  br i1 %asked, label %share, label %leave
share:
  %context = getelementptr [{CONTEXT_BYTES} x i8], ptr @pool.contexts, i64 %lane
  call void @pool.share(i64 %lane, ptr %context)
  br label %leave
leave:
  %was = atomicrmw sub ptr @pool.gate, i64 1 seq_cst
  %last = icmp eq i64 %was, {CLOSED + ASLEEP + 1}
  br i1 %last, label %wake, label %wait
wake:
  call i32 @pthread_mutex_lock(ptr @pool.mutex)
  call i32 @pthread_cond_signal(ptr @pool.done)
  call i32 @pthread_mutex_unlock(ptr @pool.mutex)
  br label %wait
}}

; Wait until nobody is inside.
define internal void @pool.close() {{
entry:
  atomicrmw or ptr @pool.gate, i64 {CLOSED} seq_cst
  br label %spin
spin:
  %i = phi i64 [ 0, %entry ], [ %i1, %again ]
  %g = load atomic i64, ptr @pool.gate acquire, align 8
  %inside = and i64 %g, {INSIDE}
  %none = icmp eq i64 %inside, 0
  br i1 %none, label %done, label %again
again:
  call void asm sideeffect "{PAUSE.get(platform.machine(), "")}", ""()
  %i1 = add i64 %i, 1
  %looks = icmp slt i64 %i1, {LOOKS}
  br i1 %looks, label %spin, label %sleep
sleep:
  atomicrmw or ptr @pool.gate, i64 {ASLEEP} seq_cst
  call i32 @pthread_mutex_lock(ptr @pool.mutex)
  br label %asleep
asleep:
  %g2 = load atomic i64, ptr @pool.gate seq_cst, align 8
  %inside2 = and i64 %g2, {INSIDE}
  %none2 = icmp eq i64 %inside2, 0
  br i1 %none2, label %up, label %doze
doze:
  call i32 @pthread_cond_wait(ptr @pool.done, ptr @pool.mutex)
  br label %asleep
up:
  call i32 @pthread_mutex_unlock(ptr @pool.mutex)
  br label %done
done:
  ret void
}}

; body(context, env, begin, end, lane) for all iterations from 0 to count.
define void @relay_parallel(ptr %ctx, ptr %body, ptr %env, i64 %count, i64 %grain, i64 %asked) {{
entry:
  %unsaid = icmp eq i64 %asked, 0
  %default = load i64, ptr @pool.default
  %wanted = select i1 %unsaid, i64 %default, i64 %asked
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
  %limit_at = getelementptr i8, ptr %ctx, i64 {LIMIT}
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
  %why_at = getelementptr i8, ptr %ctx, i64 {SITE}
  store i64 %why, ptr %why_at
  call void @relay_fail(ptr %ctx)
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
  %up = add i64 %quarter, 1
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
  %end_at = getelementptr i8, ptr %p, i64 {END}
  store i64 %to, ptr %end_at
  %failed_at = getelementptr i8, ptr %p, i64 {FAILED_AT}
  store i64 {NEVER}, ptr %failed_at
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
  call i32 @pthread_mutex_lock(ptr @pool.mutex)
  call i32 @pthread_cond_broadcast(ptr @pool.work)
  call i32 @pthread_mutex_unlock(ptr @pool.mutex)
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
  %its_at = getelementptr i8, ptr %q, i64 {FAILED_AT}
  %its = load i64, ptr %its_at
  %earlier = icmp slt i64 %its, %first
  %its_site_at = getelementptr i8, ptr %q, i64 {FAILED_SITE}
  %its_site = load i64, ptr %its_site_at
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
  %site_at = getelementptr i8, ptr %ctx, i64 {SITE}
  store i64 %site1, ptr %site_at
  call void @relay_fail(ptr %ctx)
  unreachable
done:
  ret void
}}
"""


class Pool:
    """The code of the pool; it stays until the process ends, since its threads do."""

    def __init__(self) -> None:
        """Compile it; threads are made when they are first needed."""
        code = Compiled(plain(_POOL + INTERRUPTS))
        for name in ("relay_parallel", "relay_forget", "relay_begin", "relay_end", "relay_poll"):
            binding().add_symbol(name, code.address(name))
        self.get_size = ctypes.CFUNCTYPE(ctypes.c_int64)(code.address("pool.size"))
        reset = ctypes.CFUNCTYPE(None)(code.address("pool.reset"))
        reset()
        os.register_at_fork(after_in_child=reset)
        main = ctypes.c_uint64.from_address(code.global_address("watch.main"))
        main.value = threading.main_thread().ident or 0
        default = ctypes.c_int64.from_address(code.global_address("pool.default"))
        default.value = default_threads()
        code.engine.detach()

    @property
    def size(self) -> int:
        """How many threads it has made."""
        return self.get_size()


def plain(text: str) -> bytes:
    """Object code of LLVM IR without any optimisation, which takes a tenth of the time."""
    llvm = binding()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    module = llvm.parse_assembly("\n".join([assembly(platform.machine()), text]))
    return llvm.Target.from_triple(triple()).create_target_machine(opt=0).emit_object(module)


@cache
def pool() -> Pool:
    """The pool of this process; compiled when a program first needs it."""
    return Pool()
