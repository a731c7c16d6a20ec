"""Calls of blocks that are recorded and made later, many at once (`batch="dynamic"`).

A call makes its results without their elements, and a record of what it takes (`runtime/batches.c`).  The
code of a block's rows stacks the operands of many records, calls the definition of many calls of the block
(`outline_blocks`), and makes the results of the records rows of what that gives.
"""

from collections.abc import Sequence
from math import prod
from typing import cast

from relay.backend.native.llvm.builder import CONTEXT, POINTER, Code, Value, integer, quoted
from relay.backend.native.memory.layout import (
    OBJECT_GRAIN_BYTES,
    RECORD_VALUES_OFFSET,
    TENSOR_BYTES_OFFSET,
    TENSOR_DATA_OFFSET,
    TENSOR_SIZES_OFFSET,
)
from relay.backend.native.memory.objects import Layout, header, read_leaf, release, retain
from relay.backend.native.memory.representation import is_scalar, memory, parts_of
from relay.backend.native.memory.tensors import TENSOR, element_size
from relay.backend.native.program.instrumentation import names_of
from relay.backend.native.program.program import Program, call_leaves, result_type
from relay.ir.expr import Call, Expr, Function, GlobalVar, Op
from relay.ir.module import IRModule
from relay.ir.type import TensorType, TupleType, Type
from relay.ir.walk import post_order
from relay.transform.passes.outline_blocks import ROWS, SHARED, SUM

SLOT = "{ i32, i32, i32 }"
LAUNCHES = "relay.launches"
"""The table that counts, for each block, its calls and the launches that they became."""


def is_block(fn: Expr | None) -> bool:
    """Whether calls of a definition are recorded."""
    return isinstance(fn, Function) and ROWS in fn.attrs


def emitted(mod: IRModule, entries: Sequence[GlobalVar]) -> set[GlobalVar]:
    """The definitions that have code: of blocks those of their rows, in place of themselves."""
    found: set[GlobalVar] = set()
    pending = list(entries)
    while pending:
        v = pending.pop()
        if v in found:
            continue
        found.add(v)
        fn = mod.functions[v]
        if is_block(fn):
            assert isinstance(fn, Function)
            pending += [mod.get_global_var(str(fn.attrs[k])) for k in (ROWS, SUM) if k in fn.attrs]
        else:
            pending += [x for x in post_order(fn) if isinstance(x, GlobalVar)]
    return {v for v in found if not is_block(mod.functions[v])}


def operators_of(program: Program, v: GlobalVar) -> str:
    """The operators of a block, for people."""
    calls: list[Call] = []
    order = [v]
    for x in order:
        nodes = [e for e in post_order(program.mod.functions[x]) if isinstance(e, Call)]
        calls += [e for e in nodes if isinstance(e.op, Op)]
        order += [e.op for e in nodes if isinstance(e.op, GlobalVar)]
    return names_of(calls)


def results_of(fn: Function) -> tuple[TensorType, ...]:
    """The tensors that a block makes."""
    t = fn.ret_type
    return cast("tuple[TensorType, ...]", t.fields if isinstance(t, TupleType) else (t,))


def record_call(program: Program, code: Code, v: GlobalVar, operands: Sequence[Value]) -> list[Value]:
    """The results of a call that is recorded, which takes the operands with references of their own."""
    fn = program.mod.functions[v]
    assert isinstance(fn, Function)
    block = code.refer(describe_block(program, v, fn))
    record = code.set(POINTER, f"call ptr @relay_record({CONTEXT}, ptr {block})")
    at = RECORD_VALUES_OFFSET
    for x in operands:
        code.store(code.cast("zext", x, memory(x.type)), code.at(record, at))
        at += 8
    made: list[Value] = []
    for t in results_of(fn):
        x = new_row(program, code, t)
        code.store(record, code.at(x, owner_offset(t)))
        code.store(x, code.at(record, at))
        at += 8
        made.append(x)
    return made


def new_row(program: Program, code: Code, t: TensorType) -> Value:
    """A tensor that will be a row of another, with two references."""
    size = -(-(owner_offset(t) + 8) // OBJECT_GRAIN_BYTES) * OBJECT_GRAIN_BYTES
    x = code.call(POINTER, "@relay.allocate", [integer(size)], convention="")
    assert x is not None
    code.store(integer(header(row_layout(program, t), count=2)), x)
    code.store(Value(POINTER, "null"), code.at(x, TENSOR_DATA_OFFSET))
    code.store(integer(size), code.at(x, TENSOR_BYTES_OFFSET))
    for i, d in enumerate(t.concrete_shape):
        code.store(integer(d), code.at(x, TENSOR_SIZES_OFFSET + 8 * i))
    return x


def owner_offset(t: TensorType) -> int:
    """Where a tensor that is a row of another, or a part of it, has that other one."""
    assert isinstance(t.shape, tuple)
    return TENSOR_SIZES_OFFSET + 8 * len(t.shape)


def row_layout(program: Program, t: TensorType) -> int:
    """The number of the layout of such tensors, which know how large they are."""
    return program.layouts.number(Layout((), 0, (owner_offset(t),)))


def describe_block(program: Program, v: GlobalVar, fn: Function) -> str:
    """The description of a block, which is added to the program at its first call."""
    name = f"@{quoted(f'block.{v.name_hint}')}"
    if name in program.singletons:
        return name
    number = len(program.blocks)
    program.blocks.append(v)
    shared = int(str(fn.attrs[SHARED]))
    types = [*[cast("TensorType", p.type_annotation) for p in fn.params], *results_of(fn)]
    slots = [slot_of(program, t) for t in types]
    rows, total = (code_of_rows(program, v, fn, str(fn.attrs[k]), k) if k in fn.attrs else "null"
                   for k in (ROWS, SUM))  # fmt: skip
    counts = f"getelementptr (i8, ptr @{LAUNCHES}, i64 {16 * number})"
    numbers = f"i64 {shared}, i64 {len(fn.params)}, i64 {len(results_of(fn))}"
    kind = f"{{ ptr, ptr, i64, i64, i64, ptr, [{len(slots)} x {SLOT}] }}"
    program.singletons[name] = (
        f"{name} = internal constant {kind} {{ ptr {rows}, ptr {total}, {numbers}, ptr {counts}, "
        f"[{len(slots)} x {SLOT}] [{', '.join(slots)}] }}"
    )
    return name


def slot_of(program: Program, t: TensorType) -> str:
    """An operand or result: the bytes of its elements, where its owner is, 0 for a number, and its layout."""
    size = prod(t.concrete_shape) * element_size(t)
    owner, of = (0, 0) if is_scalar(t) else (owner_offset(t), row_layout(program, t))
    return f"{SLOT} {{ i32 {size}, i32 {owner}, i32 {of} }}"


def code_of_rows(program: Program, v: GlobalVar, fn: Function, target: str, kind: str) -> str:
    """The code that makes many calls of a block by the definition `target`; its name."""
    name = f"{kind.lower()}.{v.name_hint}"
    records, count = Value(POINTER, "%records"), Value("i64", "%count")
    code = Code(quoted(name), "void", [records, count], "internal")
    first = code.load(POINTER, records)
    shared = int(str(fn.attrs[SHARED]))
    alone = shared + (kind == SUM)
    args: list[Value] = []
    for i, p in enumerate(fn.params):
        t = p.type_annotation
        assert isinstance(t, TensorType)
        if i < alone:
            leaf = program.leaves(t)[0]
            found = read_leaf(code, code.at(first, RECORD_VALUES_OFFSET + 8 * i), leaf)
            retain(code, [found])
        else:
            found = stacked(program, code, records, count, i, t)
        args.append(found)
    rows = program.mod.get_global_var(target)
    made = program.mod.functions[rows]
    assert isinstance(made, Function)
    leaves = program.leaves(made.ret_type)
    symbol, before = program.callee(code, rows)
    found = call_leaves(program, code, code.call(result_type(leaves), symbol, [*before, *args]), leaves)
    to, size = records, count
    if kind == SUM:
        last = code.op("sub", count, integer(1))
        to, size = code.set(POINTER, f"getelementptr ptr, {records}, {last}"), integer(1)
    for j, x in enumerate(found):
        code.do(f"call void @relay_unstack({to}, {size}, i64 {len(fn.params) + j}, {x})")
        release(code, [x])
    code.do("ret void")
    program.pieces.append(code.piece())
    return f"@{code.name}"


def stacked(program: Program, code: Code, records: Value, count: Value, i: int, t: TensorType) -> Value:
    """An operand of many records as one tensor."""
    dims = [count, *[integer(d) for d in t.concrete_shape]]
    whole = TensorType((0, *t.concrete_shape), t.dtype)
    heads = header(program.layouts.number(TENSOR)), header(row_layout(program, whole))
    said = ", ".join([f"i64 {n}" for n in (i, len(dims), *heads)])
    found = code.set(POINTER, f"call ptr @relay_stack({CONTEXT}, {records}, {count}, {said})")
    for k, d in enumerate(dims):
        code.store(d, code.at(found, TENSOR_SIZES_OFFSET + 8 * k))
    return found


def force(program: Program, code: Code, t: Type, row: Sequence[Value]) -> None:
    """See to it that tensors have their elements, before they are read."""
    if not program.records:
        return
    for f, x in zip(parts_of(t), row, strict=True):
        if x.type == POINTER and isinstance(f, TensorType) and not is_scalar(f) and f.is_closed:
            code.do(f"call void @relay.force({CONTEXT}, {x})")


def flush(program: Program, code: Code) -> None:
    """Make all calls that were recorded, before values leave the program."""
    if program.records:
        code.do(f"call void @relay_flush({CONTEXT})")
