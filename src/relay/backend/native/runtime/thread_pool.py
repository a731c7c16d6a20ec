"""The threads of the process, as LLVM IR of the runtime: made when they are first needed, and between two
loops waiting, first by looking for work for a moment, then asleep.
"""

import platform
import signal
import sys

from relay.backend.native.runtime.idioms import expanded
from relay.backend.native.runtime.threads import MOST

LOOKS = 10_000
"""How often a thread looks for work before it sleeps: about 0.5 ms, what a virtual machine may take to wake a
core that sleeps, and longer than what programs do on one thread between two loops.
"""
STACK_BYTES = 1 << 23
CLOSED, ASLEEP, INSIDE = 1 << 32, 1 << 33, (1 << 32) - 1
"""The gate of a loop: whether it is closed, whether who closed it sleeps, and how many are inside."""
CONTEXT_BYTES = 1024
PAUSE = {"x86_64": "pause", "aarch64": "yield"}.get(platform.machine(), "")
DETACHED = 2 if sys.platform == "darwin" else 1

CREW = expanded(f"""
@pool.default = global i64 1
@pool.generation = internal global i64 0, align 64
@pool.sleepers = internal global i64 0, align 64
@pool.gate = internal global i64 {CLOSED}, align 64
@pool.workers = internal global i64 0, align 64
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
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define void @pool.reset() {{
  store atomic i32 0, ptr @pool.busy seq_cst, align 4
  store atomic i64 {CLOSED}, ptr @pool.gate seq_cst, align 8
  store atomic i64 0, ptr @pool.sleepers seq_cst, align 8
  store i64 0, ptr @pool.workers
  call i32 @pthread_mutex_init(ptr @pool.mutex, ptr null)
  call i32 @pthread_cond_init(ptr @pool.work, ptr null)
  call i32 @pthread_cond_init(ptr @pool.done, ptr null)
  call void @heap.reset()
  call void @watch.reset()
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
  call void asm sideeffect "{PAUSE}", ""()
  %i1 = add i64 %i, 1
  %looks = icmp slt i64 %i1, {LOOKS}
  br i1 %looks, label %spin, label %sleep
sleep:
  atomicrmw add ptr @pool.sleepers, i64 1 seq_cst
  lock @pool.mutex
  br label %asleep
asleep:
  %g2 = load atomic i64, ptr @pool.generation seq_cst, align 8
  %new2 = icmp ne i64 %g2, %known
  br i1 %new2, label %up, label %doze
doze:
  call i32 @pthread_cond_wait(ptr @pool.work, ptr @pool.mutex)
  br label %asleep
up:
  unlock @pool.mutex
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
  lock @pool.mutex
  call i32 @pthread_cond_signal(ptr @pool.done)
  unlock @pool.mutex
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
  call void asm sideeffect "{PAUSE}", ""()
  %i1 = add i64 %i, 1
  %looks = icmp slt i64 %i1, {LOOKS}
  br i1 %looks, label %spin, label %sleep
sleep:
  atomicrmw or ptr @pool.gate, i64 {ASLEEP} seq_cst
  lock @pool.mutex
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
  unlock @pool.mutex
  br label %done
done:
  ret void
}}
""")
"""`pool.spawn(function, argument)` makes a thread, `pool.hire(n)` sees to it that there are so many workers,
`pool.close()` waits until none is in the loop that was opened; `pool.reset()` begins anew in a child process.
"""
