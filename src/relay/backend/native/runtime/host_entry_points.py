"""The functions of the runtime that Python calls: they take a context and a number; as LLVM IR."""

from relay.backend.native.memory.objects import BOTTOM, DEEP, GUARD, HOME, LARGE, LIMIT, NEXT, SHALLOW, TAKEN
from relay.backend.native.runtime.idioms import expanded

DONTNEED = 4
"""The advice that nobody needs what pages hold."""

DOORS = expanded(f"""
define void @relay_give(ptr %ctx, i1 %empty) nounwind {{
entry:
  %taken = field i64, %ctx, {TAKEN}
  %large = field i64, %ctx, {LARGE}
  %either = or i64 %taken, %large
  %some = icmp ne i64 %either, 0
  %unclean = and i1 %some, %empty
  br i1 %unclean, label %clear, label %back
clear:
  call void @relay_clear(ptr %ctx)
  br label %back
back:
  %deep = field i64, %ctx, {DEEP}
  %grown = icmp ne i64 %deep, 0
  br i1 %grown, label %shrink, label %free, !prof !1
shrink:
  call void @stack.shrink(ptr %ctx)
  br label %free
free:
  %home = field ptr, %ctx, {HOME}
  %first = load ptr, ptr %home
  put ptr %first, %ctx, {NEXT}
  store ptr %ctx, ptr %home
  ret void
}}
; Give back what a deep call has used of the stack.
define internal void @stack.shrink(ptr %ctx) noinline cold nounwind {{
  put i64 0, %ctx, {DEEP}
  %shallow = field i64, %ctx, {SHALLOW}
  put i64 %shallow, %ctx, {LIMIT}
  %bottom = field i64, %ctx, {BOTTOM}
  %from = sub i64 %bottom, {GUARD}
  %size = sub i64 %shallow, %from
  %p = inttoptr i64 %from to ptr
  call i32 @madvise(ptr %p, i64 %size, i32 {DONTNEED})
  ret void
}}
define i32 @door.enter(ptr %ctx, ptr %start) {{
  call void @relay_begin(ptr %ctx)
  %r = call i32 @relay_enter(ptr %ctx, ptr %start)
  call void @relay_end(ptr %ctx)
  ret i32 %r
}}
define ptr @door.take(ptr %home, i64 %none) {{
entry:
  %ctx = load ptr, ptr %home
  %all = icmp eq ptr %ctx, null
  br i1 %all, label %done, label %one
one:
  %next = field ptr, %ctx, {NEXT}
  store ptr %next, ptr %home
  br label %done
done:
  ret ptr %ctx
}}
define void @door.give(ptr %ctx, i64 %empty) {{
  %is_empty = icmp ne i64 %empty, 0
  call void @relay_give(ptr %ctx, i1 %is_empty)
  ret void
}}
define void @door.clear(ptr %ctx, i64 %none) {{
  call void @relay_clear(ptr %ctx)
  ret void
}}
define internal void @new.object(ptr %ctx, ptr %to, i64 %size, i64 %end, i64 %lane) {{
  %p = call ptr @relay.allocate(ptr %ctx, i64 %size)
  store ptr %p, ptr %to
  ret void
}}
define internal void @new.bytes(ptr %ctx, ptr %to, i64 %size, i64 %end, i64 %lane) {{
  %p = call ptr @relay.allocate_bytes(ptr %ctx, i64 %size)
  store ptr %p, ptr %to
  ret void
}}
define ptr @door.new(ptr %ctx, i64 %size) {{
  %to = alloca ptr
  store ptr null, ptr %to
  call i32 @relay_try(ptr %ctx, ptr @new.object, ptr %to, i64 %size, i64 0, i64 0)
  %p = load ptr, ptr %to
  ret ptr %p
}}
define ptr @door.new_bytes(ptr %ctx, i64 %size) {{
  %to = alloca ptr
  store ptr null, ptr %to
  call i32 @relay_try(ptr %ctx, ptr @new.bytes, ptr %to, i64 %size, i64 0, i64 0)
  %p = load ptr, ptr %to
  ret ptr %p
}}
define ptr @door.away(ptr %ctx, ptr %p) {{
  %m = call ptr @relay_give_away(ptr %ctx, ptr %p)
  ret ptr %m
}}
define void @door.keep(ptr %ctx, ptr %p) {{
  call void @relay.retain(ptr %p)
  ret void
}}
define void @door.drop(ptr %ctx, ptr %p) {{
  call void @relay.release(ptr %ctx, ptr %p)
  ret void
}}
""")
"""`enter` runs a start in a context, `take` and `give` are for contexts, `clear` frees what one has, `new`
and `new_bytes` make objects, `away` gives the memory of a tensor away, `keep` and `drop` count references;
`relay_give` is `give` for compiled code.
"""
