"""Ctrl-C in a call that takes long, and stacks that grow too far.

Compiled code that may go on for ever compares its stack pointer with the context's limit as it goes round.
While a call of the main thread is under way, another thread sets that limit to the highest address from time
to time: the call then looks whether Python has something to do for a signal, and goes on.
"""

from relay.backend.native.memory.objects import (
    BOTTOM,
    DEEP,
    INTERRUPTED,
    LIMIT,
    OUTER,
    SHALLOW,
    THREAD,
    TOO_DEEP,
)
from relay.backend.native.runtime.idioms import expanded

TICK = 40_000_000
"""Nanoseconds between two looks at a call: it is the second one that interrupts it."""
IDLE = 25
"""Looks without any call after which the thread sleeps until there is one."""
BUSY = 1
"""In the place of the call under way: it is being interrupted."""

INTERRUPTS = expanded(f"""
@watch.main = global i64 0
@watch.call = internal global i64 0, align 64
@watch.count = internal global i64 0
@watch.started = internal global i32 0
@watch.asleep = internal global i32 0
@watch.mutex = internal global [128 x i8] zeroinitializer, align 64
@watch.wake = internal global [128 x i8] zeroinitializer, align 64
@watch.tick = internal global [2 x i64] [i64 0, i64 {TICK}]
declare i64 @pthread_self()
declare i32 @nanosleep(ptr, ptr)
declare i32 @sched_yield()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @PyErr_CheckSignals()

define internal void @watch.reset() {{
  store atomic i64 0, ptr @watch.call seq_cst, align 8
  store i32 0, ptr @watch.started
  store atomic i32 0, ptr @watch.asleep seq_cst, align 4
  call i32 @pthread_mutex_init(ptr @watch.mutex, ptr null)
  call i32 @pthread_cond_init(ptr @watch.wake, ptr null)
  %me = call i64 @pthread_self()
  store i64 %me, ptr @watch.main
  ret void
}}

; Let other threads of Python run, and note what the main thread does.
define void @relay_begin(ptr %ctx) {{
entry:
  %thread = call ptr @PyEval_SaveThread()
  put ptr %thread, %ctx, {THREAD}
  %me = call i64 @pthread_self()
  %main = load i64, ptr @watch.main
  %is_main = icmp eq i64 %me, %main
  br i1 %is_main, label %note, label %done
note:
  %now = ptrtoint ptr %ctx to i64
  %count = load i64, ptr @watch.count
  %more = add i64 %count, 1
  store atomic i64 %more, ptr @watch.count monotonic, align 8
  %before = load atomic i64, ptr @watch.call monotonic, align 8
  %busy = icmp eq i64 %before, {BUSY}
  br i1 %busy, label %wait, label %set
wait:
  call i32 @sched_yield()
  br label %note
set:
  %pair = cmpxchg ptr @watch.call, i64 %before, i64 %now seq_cst monotonic
  %is_set = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %is_set, label %keep, label %note
keep:
  put i64 %before, %ctx, {OUTER}
  %started = load i32, ptr @watch.started
  %new = icmp eq i32 %started, 0
  br i1 %new, label %start, label %look
start:
  call void @watch.start()
  ret void
look:
  %asleep = load atomic i32, ptr @watch.asleep seq_cst, align 4
  %sleeps = icmp ne i32 %asleep, 0
  br i1 %sleeps, label %wake, label %done
wake:
  lock @watch.mutex
  store atomic i32 0, ptr @watch.asleep seq_cst, align 4
  call i32 @pthread_cond_signal(ptr @watch.wake)
  unlock @watch.mutex
  ret void
done:
  ret void
}}

define void @relay_end(ptr %ctx) {{
entry:
  %me = call i64 @pthread_self()
  %main = load i64, ptr @watch.main
  %is_main = icmp eq i64 %me, %main
  br i1 %is_main, label %unset, label %done
unset:
  %now = ptrtoint ptr %ctx to i64
  %outer = field i64, %ctx, {OUTER}
  %pair = cmpxchg ptr @watch.call, i64 %now, i64 %outer seq_cst monotonic
  %is_set = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %is_set, label %restore, label %wait
wait:
  call i32 @sched_yield()
  %held = load atomic i64, ptr @watch.call seq_cst, align 8
  %again = icmp eq i64 %held, {BUSY}
  br i1 %again, label %unset, label %mine
mine:
  %still = icmp eq i64 %held, %now
  br i1 %still, label %unset, label %restore
restore:
  %shallow = field i64, %ctx, {SHALLOW}
  %limit_at = place %ctx, {LIMIT}
  store atomic i64 %shallow, ptr %limit_at monotonic, align 8
  br label %done
done:
  %thread = field ptr, %ctx, {THREAD}
  call void @PyEval_RestoreThread(ptr %thread)
  put ptr null, %ctx, {THREAD}
  ret void
}}

; The site of a failure, or 0: to go on.
define i64 @relay_poll(ptr %ctx) {{
entry:
  %thread = field ptr, %ctx, {THREAD}
  %held = icmp eq ptr %thread, null
  br i1 %held, label %on, label %signals
signals:
  call void @PyEval_RestoreThread(ptr %thread)
  %raised = call i32 @PyErr_CheckSignals()
  %same = call ptr @PyEval_SaveThread()
  put ptr %same, %ctx, {THREAD}
  %bad = icmp ne i32 %raised, 0
  br i1 %bad, label %stop, label %on
stop:
  ret i64 {INTERRUPTED}
on:
  ret i64 0
}}

; The stack pointer is beyond the limit: because the stack is full or deep, or to make the call look up.
define preserve_allcc void @relay_stopped(ptr %ctx) noinline cold nounwind {{
entry:
  %sp = call i64 @llvm.read_register.i64(metadata !2)
  %bottom = field i64, %ctx, {BOTTOM}
  %shallow = field i64, %ctx, {SHALLOW}
  %limit_at = place %ctx, {LIMIT}
  %deep = icmp ult i64 %sp, %shallow
  %limit = select i1 %deep, i64 %bottom, i64 %shallow
  store atomic i64 %limit, ptr %limit_at monotonic, align 8
  %before = field i64, %ctx, {DEEP}
  %now = zext i1 %deep to i64
  %ever = or i64 %before, %now
  put i64 %ever, %ctx, {DEEP}
  %full = icmp ult i64 %sp, %bottom
  br i1 %full, label %fail, label %look
look:
  %why = call i64 @relay_outside(ptr %ctx, ptr @relay_poll)
  %on = icmp eq i64 %why, 0
  br i1 %on, label %go, label %fail
fail:
  %site = phi i64 [ {TOO_DEEP}, %entry ], [ %why, %look ]
  call void @relay_fail_at(ptr %ctx, i64 %site)
  unreachable
go:
  ret void
}}

define internal void @watch.start() noinline {{
  store i32 1, ptr @watch.started
  call i32 @pool.spawn(ptr @watch.run, ptr null)
  ret void
}}

define internal ptr @watch.run(ptr %arg) {{
entry:
  br label %tick
tick:
  %idle = phi i64 [ 0, %entry ], [ 0, %saw ], [ %idle1, %quiet ], [ 0, %awake ], [ 0, %back ]
  %known = phi i64 [ 0, %entry ], [ %count, %saw ], [ %known, %quiet ], [ %known, %awake ], [ %count, %back ]
  call i32 @nanosleep(ptr @watch.tick, ptr null)
  %call = load atomic i64, ptr @watch.call seq_cst, align 8
  %count = load atomic i64, ptr @watch.count monotonic, align 8
  %none = icmp eq i64 %call, 0
  br i1 %none, label %nothing, label %saw
saw:
  %still = icmp eq i64 %count, %known
  br i1 %still, label %poke, label %tick
poke:
  %pair = cmpxchg ptr @watch.call, i64 %call, i64 {BUSY} seq_cst monotonic
  %mine = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %mine, label %set, label %back
set:
  %ctx = inttoptr i64 %call to ptr
  %limit_at = place %ctx, {LIMIT}
  store atomic i64 -1, ptr %limit_at monotonic, align 8
  store atomic i64 %call, ptr @watch.call seq_cst, align 8
  br label %back
back:
  br label %tick
nothing:
  %idle1 = add i64 %idle, 1
  %bored = icmp sgt i64 %idle1, {IDLE}
  br i1 %bored, label %sleep, label %quiet
quiet:
  br label %tick
sleep:
  lock @watch.mutex
  store atomic i32 1, ptr @watch.asleep seq_cst, align 4
  %again = load atomic i64, ptr @watch.call seq_cst, align 8
  %some = icmp ne i64 %again, 0
  br i1 %some, label %rise, label %doze
doze:
  call i32 @pthread_cond_wait(ptr @watch.wake, ptr @watch.mutex)
  %asleep = load atomic i32, ptr @watch.asleep seq_cst, align 4
  %more = icmp ne i32 %asleep, 0
  br i1 %more, label %doze, label %rise
rise:
  store atomic i32 0, ptr @watch.asleep seq_cst, align 4
  unlock @watch.mutex
  br label %awake
awake:
  br label %tick
}}
""")
"""`relay_begin(context)` and `relay_end(context)` around what other threads of Python may run beside."""
