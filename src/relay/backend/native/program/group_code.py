"""The code of groups: functions that take and give references as definitions do."""

from typing import Any, cast

from relay.backend.native.llvm.builder import CONTEXT, Code, Value
from relay.backend.native.loops.emitter import Env, emit
from relay.backend.native.loops.rules import is_reduction
from relay.backend.native.memory.objects import release, retain
from relay.backend.native.memory.representation import POINTER
from relay.backend.native.program.code_dedup import ROW, Row, Shared, dedup_key
from relay.backend.native.program.groups import NO_OUTPUTS, build_group
from relay.backend.native.program.nests import Nest
from relay.backend.native.program.program import Program, emit_return, result_type
from relay.ir.expr import Call, Function, GlobalVar
from relay.ir.walk import post_order


def define_group(program: Program, v: GlobalVar, fn: Function) -> None:
    """Add the code of a group, unless there is such code; one that may fail says where it does so."""
    of, outputs = dedup_key(fn), program.outputs.get(v, NO_OUTPUTS)
    key = of.key, *outputs.items()
    shared = program.groups.get(key)
    if shared is None:
        sites, pieces = len(program.sites), len(program.pieces)
        program.has_loops = False
        row = Row()
        is_plain = write_group(program, v, fn, row) and not program.has_loops
        if is_plain:
            program.plain.update(range(pieces, len(program.pieces)))
        shared = Shared(f"@{program.symbol(v)}", list(row.places), of.constants)
        if len(program.sites) == sites:
            program.groups[key] = shared
        else:
            program.failing.add(v)
    constants = shared.row_of(of.constants)
    place = program.placed(constants) if constants else None
    program.callees[v] = (shared.symbol, place)


def write_group(program: Program, v: GlobalVar, fn: Function, row: Row) -> bool:
    """Write the code of a group, with the constants that it reads to `row`; whether it stays a function.

    LLVM's time grows faster than a function; numbers alone are better off where they are needed.
    """
    group, block = build_group(program, fn, program.outputs.get(v, NO_OUTPUTS))
    kinds = program.leaves(fn.ret_type)
    calls = [e for e in post_order(fn.body) if isinstance(e, Call)]
    stays_apart = POINTER in kinds or any(is_reduction(e.attrs) for e in calls)
    variables = [x for own in group.params for x in own]
    leaves = [kind for p in fn.params for kind in program.leaves(p.type_annotation)]
    params = [Value(kind, f"%p{i}") for i, kind in enumerate(leaves)]
    traits = "nounwind noinline" if stays_apart else "nounwind"
    code = Code(program.symbol(v), result_type(kinds), params, traits=traits)
    code.runtime = "relay_"
    if POINTER in kinds:
        code.do(f"call void @relay.check({CONTEXT})")
    rows = zip(fn.params, group.params, strict=True)
    named = [(p.name_hint, program.types(p), row) for p, row in rows]
    program.nests.append(Nest(f"@{v.name_hint}", named, program.types(fn.body), fn.body, block))
    program.row = row
    env: Env = dict(zip(variables, params, strict=True))
    found = emit(program, code, cast("Any", group.root), block, env)
    made = [env[x].ref for x in group.made if x in block.yields]
    for x in found:
        if x.type == POINTER and x.ref not in made:
            retain(code, [x])
        elif x.type == POINTER:
            made.remove(x.ref)
    release(code, params)
    emit_return(program, code, kinds, found)
    program.row = None
    if row.places:
        code.params = (ROW, *code.params)
    program.pieces.append(code.piece())
    return stays_apart
