"""The functions of compiled code that Python calls: they take a context and a number."""

from relay.backend.native.memory import NEXT

DOORS = f"""
declare i32 @relay_enter(ptr, ptr)
declare i32 @relay_try(ptr, ptr, ptr, i64, i64, i64)
define i32 @enter(ptr %ctx, ptr %start) {{
  call void @relay_begin(ptr %ctx)
  %r = call i32 @relay_enter(ptr %ctx, ptr %start)
  call void @relay_end(ptr %ctx)
  ret i32 %r
}}
define ptr @take(ptr %none) {{
entry:
  %ctx = load ptr, ptr @relay.contexts
  %all = icmp eq ptr %ctx, null
  br i1 %all, label %done, label %one
one:
  %at = getelementptr i8, ptr %ctx, i64 {NEXT}
  %next = load ptr, ptr %at
  store ptr %next, ptr @relay.contexts
  br label %done
done:
  ret ptr %ctx
}}
define void @give(ptr %ctx, i64 %empty) {{
  %is_empty = icmp ne i64 %empty, 0
  call void @relay.give(ptr %ctx, i1 %is_empty)
  ret void
}}
define void @clear(ptr %ctx) {{
  call void @relay.clear(ptr %ctx)
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
define ptr @new(ptr %ctx, i64 %size) {{
  %to = alloca ptr
  store ptr null, ptr %to
  call i32 @relay_try(ptr %ctx, ptr @new.object, ptr %to, i64 %size, i64 0, i64 0)
  %p = load ptr, ptr %to
  ret ptr %p
}}
define ptr @new_bytes(ptr %ctx, i64 %size) {{
  %to = alloca ptr
  store ptr null, ptr %to
  call i32 @relay_try(ptr %ctx, ptr @new.bytes, ptr %to, i64 %size, i64 0, i64 0)
  %p = load ptr, ptr %to
  ret ptr %p
}}
define void @keep(ptr %ctx, ptr %p) {{
  call void @relay.retain(ptr %p)
  ret void
}}
define void @drop(ptr %ctx, ptr %p) {{
  call void @relay.release(ptr %ctx, ptr %p)
  ret void
}}
"""
"""What Python calls."""
