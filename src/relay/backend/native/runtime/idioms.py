"""What LLVM IR that is written by hand says again and again, in a line each.

`%x = field T, %p, 8` is what memory holds 8 bytes from `%p`, `%x = place %p, 8` its address, `put T x, %p, 8`
writes there; `lock @m` and `unlock @m` are those of a mutex.
"""

import re

FIELD = re.compile(r"^ *(%[\w.]+) = field (.+), (%[\w.]+), (-?\d+)$", re.MULTILINE)
PLACE = re.compile(r"^ *(%[\w.]+) = place (%[\w.]+), (-?\d+)$", re.MULTILINE)
PUT = re.compile(r"^ *put (\S+) (\S+), (%[\w.]+), (-?\d+)$", re.MULTILINE)
LOCK = re.compile(r"^ *(lock|unlock) (@[\w.]+)$", re.MULTILINE)


def expanded(text: str) -> str:
    """LLVM IR with all that written out."""
    count = 0

    def put(m: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"  %to.{count} = place {m[3]}, {m[4]}\n  store {m[1]} {m[2]}, ptr %to.{count}"

    text = PUT.sub(put, text)
    text = FIELD.sub(r"  \1.at = place \3, \4\n  \1 = load \2, ptr \1.at", text)
    text = PLACE.sub(r"  \1 = getelementptr inbounds i8, ptr \2, i64 \3", text)
    return LOCK.sub(r"  call i32 @pthread_mutex_\1(ptr \2)", text)
