"""Objects that nobody refers to any more, as LLVM IR of the runtime.

Freeing goes from child to child without recursion: the word from which an object was reached holds the way
back (Schorr and Waite, 1967), and a list, whose tail comes last, needs none.
"""

from relay.backend.native.memory.objects import LAYOUT, LAYOUTS
from relay.backend.native.memory.tensors import BYTES
from relay.backend.native.runtime.idioms import expanded

DISPOSAL = expanded(f"""
define void @relay_dispose(ptr %ctx, ptr %object) noinline nounwind {{
entry:
  %layouts = field ptr, %ctx, {LAYOUTS}
  br label %start
start:
  %cur = phi ptr [ %object, %entry ], [ %child, %last ], [ %child, %descend ]
  %parent = phi ptr [ null, %entry ], [ %parent2, %last ], [ %cur2, %descend ]
  br label %look
look:
  %cur2 = phi ptr [ %cur, %start ], [ %parent2, %up ]
  %parent2 = phi ptr [ %parent, %start ], [ %above, %up ]
  %i0 = phi i32 [ 0, %start ], [ %i_up, %up ]
  %number = field i16, %cur2, 4
  %index = zext i16 %number to i64
  %layout = getelementptr inbounds {LAYOUT}, ptr %layouts, i64 %index
  %size32 = load i32, ptr %layout
  %size_fixed = zext i32 %size32 to i64
  %is_tensor = icmp eq i32 %size32, 0
  %size_own = field i64, %cur2, {BYTES}
  %size = select i1 %is_tensor, i64 %size_own, i64 %size_fixed
  %n = field i32, %layout, 4
  %offsets = field ptr, %layout, 8
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
  %p_number = field i16, %parent2, 4
  %p_index = zext i16 %p_number to i64
  %p_layout = getelementptr inbounds {LAYOUT}, ptr %layouts, i64 %p_index
  %p_offsets = field ptr, %p_layout, 8
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

define void @relay_retain(ptr %p) nounwind {{
  call void @relay.retain(ptr %p)
  ret void
}}

define void @relay_release(ptr %ctx, ptr %p) nounwind {{
  call void @relay.release(ptr %ctx, ptr %p)
  ret void
}}
""")
"""`relay_dispose(context, object)`; and `relay_retain(object)`, `relay_release(context, object)` to call."""
