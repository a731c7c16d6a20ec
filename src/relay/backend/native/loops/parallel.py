"""Loops whose iterations run on several threads.

The body becomes a function over a range of iterations; what it needs of the function around it goes along in
a row of words.  It fails through a context of its own thread, and neither makes objects nor counts
references.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from relay.backend.native.llvm.builder import CONTEXT, POINTER, VOID, Code, Value
from relay.backend.native.loops.indices import Index, value
from relay.backend.native.memory.layout import THREADS_OFFSET
from relay.backend.native.memory.representation import SIZES

WORTH = 10_000
"""Nanoseconds of work that a chunk has at least; a loop of two such chunks is worth a second thread."""
UNCUT = 0
"""The grain of a loop that has one range for each thread."""
NAME = re.compile(r"%[\w.]+")
DEFINED = re.compile(r"\s*(%[\w.]+) = ")
VECTOR = re.compile(r"<(\d+) x (\w+)>")
ENV = Value(POINTER, "%env")
DECLARATIONS = "declare void @relay_parallel(ptr, ptr, ptr, i64, i64, i64)"

Body = Callable[[Value, Value, Value], None]


def parallel(program: Any, code: Code, count: Index, grain: Index, body: Body) -> None:
    """Run `body(begin, end, lane)` on ranges that make up the one from 0 to `count`, on several threads.

    A range has at least `grain` iterations where there are as many; `grain_for` knows how many pay, `UNCUT`
    gives each thread one range.  Ranges that run at the same time have different lanes, from 0 on.  What the
    body computes is not known after it.
    """
    program.declare(DECLARATIONS)
    name, captured = outlined(program, code, body)
    offsets, size = places(captured)
    env = code.room(size) if captured else Value(POINTER, "null")
    for v, offset in zip(captured, offsets, strict=True):
        code.store(v, code.at(env, offset))
    asked = code.load("i64", code.at(CONTEXT, THREADS_OFFSET))
    what = f"ptr @{name}, {env}, {value(count)}, {value(grain)}, {asked}"
    code.do(f"call void @relay_parallel({CONTEXT}, {what})")


def threads(program: Any, code: Code) -> Value:
    """How many lanes there are at most."""
    program.declare("declare i64 @relay_threads(i64)")
    return code.set("i64", f"call i64 @relay_threads({code.load('i64', code.at(CONTEXT, THREADS_OFFSET))})")


def outlined(program: Any, code: Code, body: Body) -> tuple[str, list[Value]]:
    """A body as a function, and what it takes along."""
    params = [code.later("i64") for _ in range(3)]
    outer = code.lines, code.rooms, code.here
    code.lines, code.rooms, code.here = [], [], "entry"
    try:
        body(*params)
        code.do("ret void")
        inner, rooms = code.lines, code.rooms
    finally:
        code.lines, code.rooms, code.here = outer
    used = dict.fromkeys([n for line in inner for n in NAME.findall(line)])
    made = {m[1] for line in [*rooms, *inner] if (m := DEFINED.match(line))} | {v.ref for v in params}
    captured = [Value(code.types[n], n) for n in used if n in code.types and n not in made]
    function = Code(f"loop.{len(program.pieces)}", VOID, [ENV, *params], "internal")
    for i, (v, offset) in enumerate(zip(captured, places(captured)[0], strict=True)):
        function.do(f"%at.{i} = getelementptr inbounds i8, {ENV}, i64 {offset}")
        function.do(f"{v.ref} = load {v.type}, ptr %at.{i}")
    function.rooms, function.lines = rooms, [*function.lines, *inner]
    program.pieces.append(function.text())
    return function.name, captured


def places(captured: Sequence[Value]) -> tuple[list[int], int]:
    """Where values are in the row, and how long it is."""
    found: list[int] = []
    at = 0
    for v in captured:
        vector = VECTOR.fullmatch(v.type)
        size = int(vector[1]) * SIZES[vector[2]] if vector else SIZES[v.type]
        alignment = 1 << (size - 1).bit_length()
        at = -(-at // alignment) * alignment
        found.append(at)
        at += size
    return found, at


def grain_for(b: Any, nanoseconds: float, inner: Index = 1) -> Index:
    """How many iterations a chunk has, if each is `inner` steps of so many nanoseconds."""
    steps = max(1, round(WORTH / nanoseconds))
    if isinstance(inner, int):
        return max(1, -(-steps // max(1, inner)))
    return b.plus(b.quotient(steps, b.larger(inner, 1)), 1)
