"""Closures over definitions: objects with the address of code that passes on what they hold."""

from collections.abc import Sequence

from relay.backend.native.llvm.builder import POINTER, Code, Value, quoted
from relay.backend.native.memory.objects import Layout, header, layout, read_object, take_apart
from relay.backend.native.program.program import Program, emit_return, emit_tail_call, result_type
from relay.backend.native.program.recording import force, is_block, record_call
from relay.ir.expr import GlobalVar
from relay.ir.type import FuncType, Type


def closure_layout(held: Sequence[str]) -> Layout:
    """A closure: the address of its code, then what it holds."""
    return layout(["i64", *held])


def static_closure(program: Program, code: Code, v: GlobalVar, t: FuncType) -> Value:
    """A closure over a definition that takes nothing along."""
    name = f"@{quoted(f'closure.{v.name_hint}')}"
    if name not in program.singletons:
        inside = wrapper(program, v, (), t)
        program.held_symbols[f"@{inside.name}"] = inside.declaration()
        word = header(program.layouts.number(layout(["i64"])), count=0)
        program.singletons[name] = (
            f"{name} = internal global {{ i64, ptr }} {{ i64 {word}, ptr @{inside.name} }}, align 16"
        )
    return Value(POINTER, code.refer(name))


def wrapper(program: Program, v: GlobalVar, captured: Sequence[Type], t: FuncType) -> Code:
    """Code for a closure: it takes itself, then the arguments, and calls a definition with what it holds."""
    program.wrappers += 1
    name = quoted(f"partial.{program.wrappers}.{v.name_hint}")
    leaves = [x for a in t.arg_types for x in program.leaves(a)]
    me = Value(POINTER, "%me")
    params = [Value(x, f"%p{i}") for i, x in enumerate(leaves)]
    result = program.leaves(t.ret_type)
    code = Code(name, result_type(result), [me, *params])
    held = [x for c in captured for x in program.leaves(c)]
    of = closure_layout(held)
    values = read_object(code, of, me, ["i64", *held])[1:]
    take_apart(code, of, me, values)
    row = [*values, *params]
    if is_block(program.mod.functions[v]):
        emit_return(program, code, result, record_call(program, code, v, row))
    else:
        if v in program.callees:
            force_arguments(program, code, [*captured, *t.arg_types], row)
        target, first = program.callee(code, v)
        emit_tail_call(code, result_type(result), target, [*first, *row])
    program.pieces.append(code.piece())
    return code


def force_arguments(program: Program, code: Code, types: Sequence[Type], row: Sequence[Value]) -> None:
    """See to it that tensors among arguments have their elements."""
    at = 0
    for t in types:
        end = at + len(program.leaves(t))
        force(program, code, t, row[at:end])
        at = end
