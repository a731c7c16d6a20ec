"""Globals that are evaluated on first use and live as long as the program: constants with references."""

from relay.backend.native.llvm.builder import Code, Value, integer
from relay.backend.native.llvm.modules import Piece
from relay.backend.native.memory.objects import layout, read_object, retain, write_object
from relay.backend.native.program.program import Program, call_leaves, emit_return, result_type
from relay.backend.native.program.recording import flush

FLAG_BYTES = 8
"""Bytes before the value, for the flag that says whether it has been evaluated."""


def lazy_global(program: Program, symbol: str, compute: str, leaves: tuple[str, ...]) -> Piece:
    """Code that calls `compute` the first time and returns its result every time."""
    program.keeps = True
    of = layout(leaves, FLAG_BYTES)
    room = Value("ptr", f"@kept.{len(program.pieces)}")
    code = Code(symbol, result_type(leaves), [])
    is_there = code.compare("icmp ne", code.load("i64", room), integer(0))
    code.branch(is_there, "again", "first")
    code.block("first")
    found = call_leaves(program, code, code.call(result_type(leaves), f"@{compute}", ()), leaves)
    flush(program, code)
    write_object(code, of, room, found)
    code.store(integer(1), room)
    code.jump("again")
    code.block("again")
    values = read_object(code, of, room, leaves)
    retain(code, values)
    emit_return(program, code, leaves, values)
    memory = f"{room.ref} = internal global [{of.size} x i8] zeroinitializer, align 16"
    return code.piece()._replace(text=f"{memory}\n{code.text()}")
