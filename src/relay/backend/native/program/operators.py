"""Calls of operators as loop nests, by the rules that operators have for it."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from relay.backend.native.kernels.choice import sums_of, weight_of
from relay.backend.native.llvm.builder import Code, Value
from relay.backend.native.loops.elements import one
from relay.backend.native.loops.indices import Index
from relay.backend.native.loops.lazy import Lazy
from relay.backend.native.loops.loops import Loops
from relay.backend.native.loops.rows import written
from relay.backend.native.loops.shapes import has_rule_of_types, shapes_of
from relay.backend.native.loops.views import View, new_output, operand, views_in
from relay.backend.native.memory.representation import is_scalar
from relay.ir.expr import Call, Expr
from relay.ir.type import Dim, TensorType, TupleType
from relay.op.kind import NativeRule


def computed(
    program: Any, code: Code, call: Call, operand_of: Callable[[Expr], Sequence[Value]]
) -> list[Value]:
    """The leaves of an operator's result: numbers, and new tensors (`no-native-code`)."""
    b = Loops(program, code, call)
    views = [
        weight_of(program, call, i, a) or operand(b, program.types(a), operand_of(a))
        for i, a in enumerate(call.args)
    ]
    shapes = prepared(b, call, views)
    if is_scalar(program.types(call)) and call.attrs.native_rule is not NativeRule.WHOLE:
        return [one(b, call.attrs, views, ()).value]
    return [out.leaf() for out in whole(b, call, views, shapes)]


def prepared(b: Loops, call: Call, views: Sequence[Any]) -> list[list[Index]]:
    """The shapes of an operator's results, once what it demands of sizes is checked (`no-native-code`)."""
    op: Any = call.attrs
    if op.native_rule is NativeRule.REFERENCE:
        b.missing(op.name)
    shapes = extents(b, op, fields_of(b, call), views)
    b.sizes = shapes[0] if shapes else ()
    return shapes


def fields_of(b: Loops, call: Call) -> tuple[TensorType, ...]:
    """The types of an operator's results."""
    t = b.program.types(call)
    return cast("tuple[TensorType, ...]", t.fields if isinstance(t, TupleType) else (t,))


def whole(b: Loops, call: Call, views: Sequence[Any], shapes: Sequence[Sequence[Index]]) -> list[View]:
    """New tensors with an operator's results."""
    op: Any = call.attrs
    matrices = sums_of(b, call, views, shapes)
    if matrices is not None:
        return [matrices.whole(fields_of(b, call)[0])]
    outs = [new_output(b, f, sizes) for f, sizes in zip(fields_of(b, call), shapes, strict=True)]
    if op.native_rule is NativeRule.WHOLE:
        b.program.has_loops = True
        is_tuple = isinstance(b.program.types(call), TupleType)
        op.compute(b, tuple(outs) if is_tuple else outs[0], *views)
    else:
        written(b, {Lazy(b, call, views, shapes[0]): outs[0]})
    b.done()
    return outs


def extents(b: Loops, op: Any, fields: Sequence[TensorType], views: Sequence[Any]) -> list[list[Index]]:
    """The shapes of the results: as their types say, as the operator finds out, or by its rule of types."""
    if all(f.is_closed for f in fields) and all(is_static(x) for x in views):
        return [list(f.concrete_shape) for f in fields]
    found = shapes_of(b, op, views) if has_rule_of_types(op) else []
    given = op.extent(b, *views)
    if given is not None:
        return [list(sizes) for sizes in ([given] if len(fields) == 1 else given)]
    known = [[d for d in sizes if d is not None] for sizes in found]
    if not found or list(map(len, known)) != list(map(len, found)):
        b.missing(op.name)
    dims = [cast("tuple[Dim, ...]", f.shape) for f in fields]
    return [
        [b.named.get(d, size) for d, size in zip(*both, strict=True)]
        for both in zip(dims, known, strict=True)
    ]


def is_static(x: Any) -> bool:
    """Whether all sizes of an operand are known."""
    return all(isinstance(d, int) for view in views_in(x) for d in view.sizes)
