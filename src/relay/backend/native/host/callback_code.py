"""The code of closures that call functions of Python: it gives itself and the arguments to Python."""

from relay.backend.native.host.callbacks import CLOSURE, TABLE
from relay.backend.native.llvm.builder import POINTER, Code, Value
from relay.backend.native.llvm.modules import Piece
from relay.backend.native.memory.objects import release
from relay.backend.native.program.program import Program, emit_return, result_type
from relay.backend.native.program.python_calls import python_call
from relay.backend.native.program.recording import flush
from relay.ir.type import FuncType


def callback_table(count: int) -> str:
    """Where Python finds the code of closures of each type."""
    rows = ", ".join([f"ptr @callback.{i}" for i in range(count)]) or "ptr null"
    return f"@{TABLE} = global [{max(1, count)} x ptr] [{rows}]"


def callback(program: Program, number: int, t: FuncType) -> Piece:
    """The code of closures of a type that call Python."""
    params = [Value(x, f"%p{i}") for i, x in enumerate([x for a in t.arg_types for x in program.leaves(a)])]
    me = Value(POINTER, "%me")
    result = program.leaves(t.ret_type)
    code = Code(f"callback.{number}", result_type(result), [me, *params])
    flush(program, code)
    target = code.load(POINTER, code.at(me, CLOSURE.offsets[1]))
    found = python_call(code, [me, *params], target, result)
    release(code, [me, *params])
    emit_return(program, code, result, found)
    return code.piece()
