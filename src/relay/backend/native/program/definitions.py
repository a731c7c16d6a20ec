"""Adds the code of definitions to a program."""

from relay.analysis.annotated_regions import compiler_of
from relay.analysis.call_graph import CallGraph
from relay.backend.native.llvm.builder import quoted
from relay.backend.native.program.control import Definition
from relay.backend.native.program.fields_first import fields_first
from relay.backend.native.program.global_thunks import CYCLIC, ONCE
from relay.backend.native.program.lazy_globals import lazy_global
from relay.backend.native.program.open_records import open_records
from relay.backend.native.program.program import Program
from relay.backend.native.program.regions import RegionCall
from relay.backend.native.program.splitting import PIECE
from relay.ir.expr import Call, Constructor, Function, GlobalVar, Op
from relay.ir.walk import post_order


def emit_definition(program: Program, v: GlobalVar, graph: CallGraph) -> None:
    """Add the code of a definition."""
    fn = program.mod.functions[v]
    assert isinstance(fn, Function)
    if compiler_of(fn):
        program.pieces.append(RegionCall(program, program.symbol(v), fn).piece())
        return
    fn = fields_first(open_records(fn, program.cell, program.is_record))
    symbol = program.symbol(v)
    if ONCE in fn.attrs:
        inner = quoted(f"compute.{v.name_hint}")
        program.pieces.append(lazy_global(program, symbol, inner, program.leaves(fn.ret_type)))
        symbol = inner
    made = Definition(program, symbol, fn, graph.is_recursive(v) or calls_closures(fn))
    piece = made.refusal() if CYCLIC in fn.attrs else made.piece()
    if fn.attrs.get(PIECE) == "tensors":
        program.plain.add(len(program.pieces))
    program.pieces.append(piece)


def calls_closures(fn: Function) -> bool:
    """Whether a function calls what it cannot name."""
    named = Op | Constructor | GlobalVar
    return any(isinstance(e, Call) and not isinstance(e.op, named) for e in post_order(fn.body))
