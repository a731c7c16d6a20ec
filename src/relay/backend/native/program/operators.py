"""Calls of operators as loop nests, by the rules that operators have for it."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from relay.backend.native.kernels.choice import sums_of, weight_of
from relay.backend.native.llvm.builder import Code, Value
from relay.backend.native.loops import nodes as ir
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.deferred import Deferred, element
from relay.backend.native.loops.emitter import Env, emit
from relay.backend.native.loops.nodes import Index
from relay.backend.native.loops.rules import writes_whole
from relay.backend.native.loops.schedule import schedule
from relay.backend.native.loops.shapes import has_rule_of_types, shapes_of
from relay.backend.native.loops.value_builder import Scope
from relay.backend.native.loops.views import View, new_output, operand, views_in
from relay.backend.native.memory.representation import is_scalar, parts_of
from relay.backend.native.program.nests import Nest
from relay.backend.native.program.results import build_result
from relay.ir.expr import Call, Expr
from relay.ir.type import Dim, TensorType, TupleType, Type


def emit_call(
    program: Any, code: Code, call: Call, operand_of: Callable[[Expr], Sequence[Value]]
) -> list[Value]:
    """The leaves of an operator's result: numbers, and new tensors (`no-native-code`)."""
    scope, env = Scope(), Env()
    named: list[tuple[str, Type, Sequence[ir.Var]]] = []
    b = Builder(program, scope, call)
    views: list[Any] = []
    for i, a in enumerate(call.args):
        weight = weight_of(program, call, i, a)
        t = program.types(a)
        leaves = [] if weight else leaves_of(t, operand_of(a), env)
        views.append(weight or operand(b, t, leaves))
        named.append((f"p{i}", t, leaves))
    shapes = check_shapes(b, call, views)
    if is_scalar(program.types(call)) and not writes_whole(call.attrs):
        found = [element(b, call.attrs, views, ())]
    else:
        found = [out.leaf() for out in materialize(b, call, views, shapes)]
    given = [v for _, _, row in named for v in row]
    block = schedule(b, ir.Block(scope.built().statements, tuple(found)), given)
    program.nests.append(Nest(f"{code.name}: {call.attrs.name}", named, program.types(call), call, block))
    return emit(program, code, call, block, env)


def leaves_of(t: Type, row: Sequence[Value], env: Env) -> list[ir.Var]:
    """The leaves of an operand, as variables that `env` has."""
    found: list[ir.Var] = []
    for part, v in zip(parts_of(t), row, strict=True):
        dtype = str(part.dtype) if isinstance(part, TensorType) and part.shape == () else ir.OBJECT
        found.append(ir.Var(dtype, "p"))
        env[found[-1]] = v
    return found


def check_shapes(b: Builder, call: Call, views: Sequence[Any]) -> list[list[Index]]:
    """The shapes of an operator's results, once what it demands of sizes is checked (`no-native-code`)."""
    shapes = extents(b, call.attrs, fields_of(b, call), views)
    b.sizes = shapes[0] if shapes else ()
    return shapes


def fields_of(b: Builder, call: Call) -> tuple[TensorType, ...]:
    """The types of an operator's results."""
    t = b.program.types(call)
    return cast("tuple[TensorType, ...]", t.fields if isinstance(t, TupleType) else (t,))


def materialize(
    b: Builder, call: Call, views: Sequence[Any], shapes: Sequence[Sequence[Index]]
) -> list[View]:
    """New tensors with an operator's results."""
    op: Any = call.attrs
    matrices = sums_of(b, call, views, shapes)
    if matrices is not None:
        return [matrices.whole(fields_of(b, call)[0])]
    outs = [new_output(b, f, sizes) for f, sizes in zip(fields_of(b, call), shapes, strict=True)]
    if writes_whole(op):
        b.program.has_loops = True
        is_tuple = isinstance(b.program.types(call), TupleType)
        op.compute(b, tuple(outs) if is_tuple else outs[0], *views)
    else:
        build_result(b, Deferred(b, call, views, shapes[0]), outs[0])
    b.done()
    return outs


def extents(b: Builder, op: Any, fields: Sequence[TensorType], views: Sequence[Any]) -> list[list[Index]]:
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
