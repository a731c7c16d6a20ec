"""The code of closures that call functions of Python: it puts itself and the arguments in a row, goes to
Python on the stack of the caller, and finds the result in the same row.
"""

from relay.backend.native.host.callbacks import CLOSURE, TABLE
from relay.backend.native.llvm.builder import CONTEXT, POINTER, Code, Value, integer
from relay.backend.native.memory.layout import CALLBACK_OFFSET, RAISED
from relay.backend.native.memory.objects import read_leaf, release
from relay.backend.native.memory.representation import memory
from relay.backend.native.program.program import Program, give, result_type
from relay.ir.type import FuncType


def table(count: int) -> str:
    """Where Python finds the code of closures of each type."""
    rows = ", ".join([f"ptr @callback.{i}" for i in range(count)]) or "ptr null"
    return f"@{TABLE} = global [{max(1, count)} x ptr] [{rows}]"


def callback(program: Program, number: int, t: FuncType) -> str:
    """The code of closures of a type that call Python."""
    params = [Value(x, f"%p{i}") for i, x in enumerate([x for a in t.arg_types for x in program.leaves(a)])]
    me = Value(POINTER, "%me")
    result = program.leaves(t.ret_type)
    code = Code(f"callback.{number}", result_type(result), [me, *params])
    row = code.set(POINTER, f"alloca [{max(1 + len(params), len(result))} x i64]")
    for i, v in enumerate([me, *params]):
        code.store(code.cast("zext", v, memory(v.type)), code.at(row, 8 * i))
    code.store(row, code.at(CONTEXT, CALLBACK_OFFSET))
    target = code.load(POINTER, code.at(me, CLOSURE.offsets[1]))
    why = code.set("i64", f"call i64 @relay_outside({CONTEXT}, {target})")
    code.branch(code.compare("icmp eq", why, integer(0)), "on", "raised", likely=True)
    code.block("raised")
    code.do(f"call void @relay.fail({CONTEXT}, i64 {RAISED})")
    code.do("unreachable")
    code.block("on")
    found = [read_leaf(code, code.at(row, 8 * i), x) for i, x in enumerate(result)]
    release(code, [me, *params])
    give(program, code, result, found)
    return code.text()
