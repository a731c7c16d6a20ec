"""Calls of Python in compiled code: leaves go to Python in a row on the stack of the caller, and those of the
result come back in it.

Operators without native code are computed so, by their references.
"""

from collections.abc import Sequence
from typing import Any

from relay.backend.native.llvm.builder import CONTEXT, POINTER, Code, Value, integer
from relay.backend.native.memory.layout import CALLBACK_OFFSET, RAISED
from relay.backend.native.memory.objects import REFERENCES, read_leaf
from relay.backend.native.memory.representation import memory
from relay.backend.native.program.program import Program, call_leaves, emit_return, result_type
from relay.ir.expr import Call, Function, Var, replace
from relay.ir.type import UNIT


def python_call(code: Code, given: Sequence[Value], target: Value, result: Sequence[str]) -> list[Value]:
    """The leaves of the result of a function that Python has, which keeps nothing of what it is given; it is
    at the address `target`, and fails with what it has raised.
    """
    row = code.set(POINTER, f"alloca [{max(1, len(given), len(result))} x i64]")
    for i, v in enumerate(given):
        code.store(code.cast("zext", v, memory(v.type)), code.at(row, 8 * i))
    code.store(row, code.at(CONTEXT, CALLBACK_OFFSET))
    why = code.set("i64", f"call i64 @relay_outside({CONTEXT}, {target})")
    code.branch(code.compare("icmp eq", why, integer(0)), "on", "raised", likely=True)
    code.block("raised")
    code.do(f"call void @relay.fail({CONTEXT}, i64 {RAISED})")
    code.do("unreachable")
    code.block("on")
    return [read_leaf(code, code.at(row, 8 * i), x) for i, x in enumerate(result)]


def reference_called(program: Program, code: Code, call: Call, given: Sequence[Value]) -> list[Value]:
    """The leaves of the result of an operator that its reference computes."""
    return called(program, code, as_function(program, call), given)


def effect_called(program: Program, code: Code, call: Call, given: Sequence[Value]) -> None:
    """Let Python do what an operator with an effect does."""
    done = replace(as_function(program, call), ret_type=UNIT)
    called(program, code, done, given)


def called(program: Program, code: Code, fn: Function, given: Sequence[Value]) -> list[Value]:
    """The leaves of the result of a function that Python computes."""
    kinds = program.leaves(fn.ret_type)
    name = f"reference.{len(program.references)}"
    made = Code(name, result_type(kinds), [Value(v.type, f"%p{i}") for i, v in enumerate(given)])
    table = made.refer(f"@{REFERENCES}")
    place = Value(POINTER, f"getelementptr (i8, ptr {table}, i64 {8 * len(program.references)})")
    found = python_call(made, made.params, made.load(POINTER, place), kinds)
    emit_return(program, made, kinds, found)
    program.pieces.append(made.piece())
    program.references.append(fn)
    return call_leaves(program, code, code.call(result_type(kinds), f"@{name}", given), kinds)


def as_function(program: Program, call: Call) -> Function:
    """A function of the operands alone that makes the call, for Python to know it by."""
    params = tuple([Var(f"x{i}", program.types(a), span=None) for i, a in enumerate(call.args)])
    op: Any = call.attrs
    return Function(params, Call(call.op, params, op, span=call.span), program.types(call), span=call.span)
