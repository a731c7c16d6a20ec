"""From a module to object code, with what is needed to load and call it."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from relay.analysis.call_graph import CallGraph
from relay.analysis.donation import donated_params
from relay.backend.native.host.artefact import Artefact
from relay.backend.native.host.callback_code import callback, callback_table
from relay.backend.native.host.callbacks import CLOSURE
from relay.backend.native.host.direct_calls import DECLARATIONS, Entry
from relay.backend.native.host.direct_donation import MAX_PAIRS
from relay.backend.native.host.direct_types import is_direct, is_readable, is_returned
from relay.backend.native.host.python_objects import Objects, is_supported
from relay.backend.native.host.signature import EntryPoint, Parts, Signature
from relay.backend.native.kernels.packed_constants import Packed
from relay.backend.native.llvm.builder import METADATA, POINTER, Code, Value
from relay.backend.native.llvm.codegen import compile_tasks, object_code
from relay.backend.native.llvm.jit import target_processor
from relay.backend.native.llvm.modules import Module, Piece, lone_module, split_modules
from relay.backend.native.memory.layout import BOX_OFFSET
from relay.backend.native.memory.objects import REFERENCES, REGIONS, ROUTINES, read_leaf
from relay.backend.native.memory.representation import memory
from relay.backend.native.memory.tensors import TENSOR, image
from relay.backend.native.program.definitions import emit_definition
from relay.backend.native.program.durations import is_long
from relay.backend.native.program.global_thunks import ONCE
from relay.backend.native.program.group_code import define_group
from relay.backend.native.program.groups import is_fused
from relay.backend.native.program.instrumentation import Instrumentation
from relay.backend.native.program.outputs import outputs_of, slots_of
from relay.backend.native.program.program import Program, call_leaves, result_type
from relay.backend.native.program.recording import LAUNCHES, emitted, flush, operators_of
from relay.backend.native.runtime.kept_kernels import KeptKernels
from relay.backend.native.runtime.parallel_map import parallel_map
from relay.backend.native.runtime.source import inline_bodies
from relay.backend.stored import Site
from relay.diagnostic import fail
from relay.ir.expr import Constant, Function, Tuple, replace
from relay.ir.module import IRModule
from relay.ir.type import FuncType, GlobalTypeVar, Kind, RefType, TupleType, Type, TypeCall
from relay.ir.walk import type_post_order
from relay.pipelines import lower_to_native
from relay.transform.rewriting.pipeline import RulePass
from relay.transform.rewriting.registry import rules


class Compiler:
    """A module on its way to object code."""

    def __init__(
        self,
        mod: IRModule,
        entries: Sequence[str] = ("main",),
        *,
        with_clocks: bool = False,
        folder: Path | None = None,
        for_python: bool = True,
        direct: bool = True,
    ) -> None:
        """Make the code of what some definitions need, which can be called then (`no-native-code`); with
        clocks, it notes when each group of operators begins and ends.  Kernels that a folder has are taken
        from there, and others kept there.  A program that is not for Python finds its constants in a table
        that is defined elsewhere, and has no code for CPython's calls, as one that is not `direct`.
        """
        self.for_python = for_python
        self.direct = direct and for_python
        lower = RulePass(rules[lower_to_native], {"entry_functions": tuple(entries)})
        self.program = Program(lower.run(mod), KeptKernels(folder))
        if with_clocks:
            self.program.watch = Instrumentation(self.program)
        self.program.layouts.number(TENSOR)
        self.objects = Objects()
        self.slots = 0
        self.pieces: list[Piece] = []
        """Code that Python calls."""
        graph = CallGraph(self.program.mod)
        functions = {v: e for v, e in self.program.mod.functions.items() if isinstance(e, Function)}
        if self.program.records:
            needed = emitted(self.program.mod, [self.program.mod.get_global_var(name) for name in entries])
            functions = {v: e for v, e in functions.items() if v in needed}
        headers = [self.header(name) for name in entries]
        shows = map(may_show_references, headers)
        self.program.shows_references = any(shows) or any(ONCE in fn.attrs for fn in functions.values())
        self.slots_of = slots_of(dict(zip(entries, headers, strict=True)))
        self.program.outputs = outputs_of(self.program, self.slots_of)
        for v, e in functions.items():
            if is_fused(e):
                define_group(self.program, v, e)
        for v, e in functions.items():
            if not is_fused(e):
                emit_definition(self.program, v, graph)
        for p in [p for fn in self.program.references for p in fn.params]:
            self.program.note_layouts(p.type_annotation)
        out, self.callbacks = self.crossing(headers)
        self.functions = {t: self.start(None, t.arg_types, t.ret_type) for t in out}
        for i, t in enumerate(self.callbacks):
            self.program.layouts.number(CLOSURE)
            self.pieces.append(callback(self.program, i, t))
        self.entries = {name: self.entry(name, fn) for name, fn in zip(entries, headers, strict=True)}

    def header(self, name: str) -> Function:
        """What Python sees of a definition."""
        fn = self.program.mod.functions[self.program.mod.get_global_var(name)]
        assert isinstance(fn, Function)
        if any(v.kind is not Kind.Dim for v in fn.type_params):
            hint = "write the types of its parameters, compile a function that calls it, or have it compiled"
            hint += " for the types of each call: `relay.create_executor(mod=mod).evaluate`"
            fail("no-native-code", f"`@{name}` takes arguments of any type", fn.span, hint=hint)
        return replace(fn, body=Tuple((), span=None), attrs={})

    def entry(self, name: str, fn: Function) -> EntryPoint:
        """A definition that Python calls; where functions come out, such calls go the long way, which keeps
        them apart, and where there are relations of arguments, which checks these.
        """
        v = self.program.mod.get_global_var(name)
        params = [p.type_annotation for p in fn.params]
        start = self.start(f"@{self.program.symbol(v)}", params, fn.ret_type)
        direct, donated = "", donated_params(self.program.mod.functions[v])
        can = is_returned(fn.ret_type) and all(is_direct(t) and is_readable(t) for t in params)
        can = can and not fn.constraints and len(self.program.references) == self.program.fallbacks
        can = can and self.direct and len(donated) * len(params) <= MAX_PAIRS
        if is_supported() and not self.functions and not self.program.keeps and can:
            direct = f"call.{start}"
            number = self.program.layouts.number(TENSOR)
            while_others = is_long(self.program, v)
            made = Entry(direct, start, self.objects, params, fn.ret_type, while_others, donated)
            self.pieces.append(made.piece(number))
        return EntryPoint(fn, start, direct, donated, self.slots_of[name])

    def crossing(self, headers: Sequence[Function]) -> tuple[list[FuncType], list[FuncType]]:
        """The types of the functions that Python may get from a call, and of those that it may give: to
        entries, and to what it has got.
        """
        out: list[FuncType] = []
        into: list[FuncType] = []
        seen: set[tuple[Type, bool]] = set()
        pending = [(fn.ret_type, True) for fn in headers]
        pending += [(p.type_annotation, False) for fn in headers for p in fn.params]
        while pending:
            t, goes_out = pending.pop()
            if t is None or (t, goes_out) in seen:
                continue
            seen.add((t, goes_out))
            if not goes_out:
                self.program.note_layouts(t)
            if isinstance(t, TupleType):
                pending += [(f, goes_out) for f in t.fields]
            elif isinstance(t, RefType):
                pending += [(t.value, True), (t.value, False)]
            elif isinstance(t, FuncType):
                (out if goes_out else into).append(t)
                pending += [(a, not goes_out) for a in t.arg_types]
                pending.append((t.ret_type, goes_out))
            elif isinstance(t, TypeCall | GlobalTypeVar):
                pending += [(f, goes_out) for f in self.program.field_types(t)]
        return out, into

    def start(self, target: str | None, params: Sequence[Type | None], result: Type | None) -> str:
        """Code that takes arguments from the box, makes a call, and leaves the result there; without a
        target, it calls the closure that comes before the arguments.
        """
        p = self.program
        name = f"start.{len(self.pieces)}"
        code = Code(name, "void", [], "")
        box = code.load(POINTER, code.at(Value(POINTER, "%ctx"), BOX_OFFSET))
        kinds = [x for t in params for x in p.leaves(t)]
        kinds = kinds if target else [POINTER, *kinds]
        args = [read_leaf(code, code.at(box, 8 * i), x) for i, x in enumerate(kinds)]
        if target is None:
            target = code.load(POINTER, code.at(args[0], 8)).ref
        leaves = p.leaves(result)
        found = call_leaves(p, code, code.call(result_type(leaves), target, args), leaves)
        flush(p, code)
        for i, v in enumerate(found):
            code.store(code.cast("zext", v, memory(v.type)), code.at(box, 8 * i))
        code.do("ret void")
        self.slots = max(self.slots, len(kinds), len(leaves))
        self.pieces.append(code.piece())
        return name

    def modules(self) -> list[Module]:
        """All of it, as LLVM IR, but for kernels whose object code is there."""
        return [*self.modules_of_program(), *self.modules_of_kernels().values()]

    def modules_of_kernels(self) -> dict[str, Module]:
        """The kernels that are to be compiled, by name."""
        return {
            name: lone_module(METADATA, p) for name, p in self.program.kernels.items() if isinstance(p, Piece)
        }

    def symbols_of_kernels(self) -> list[str]:
        """What the program calls kernels by."""
        return [f"@{name}" for name in self.program.kernels]

    def modules_of_program(self) -> list[Module]:
        """All but kernels."""
        p = self.program
        size = f"[{max(1, len(p.table))} x ptr]"
        constants = f"@relay.constants = global {size} zeroinitializer"
        if not self.for_python:
            constants = f"@relay.constants = external global {size}"
        references = f"@{REFERENCES} = global [{max(1, len(p.references))} x ptr] zeroinitializer"
        regions = f"@{REGIONS} = global [{max(1, len(p.references))} x ptr] zeroinitializer"
        routines = f"@{ROUTINES} = global [{max(1, len(p.routines))} x ptr] zeroinitializer"
        callbacks = callback_table(len(self.callbacks))
        launches = f"@{LAUNCHES} = global [{max(1, 2 * len(p.blocks))} x i64] zeroinitializer"
        tables = [constants, launches, references, regions, routines, callbacks]
        data = [*tables, p.layouts.text(), self.objects.text()]
        first = Piece("\n".join([DECLARATIONS, *data, *p.singletons.values()]), symbols=p.held_symbols)
        return split_modules(
            inline_bodies(), [first, *self.pieces], p.pieces, p.plain, self.symbols_of_kernels()
        )

    def signature(self) -> Signature:
        """What Python has to know of the code."""
        p = self.program
        sites = [Site(s.code, s.message, s.at.span, s.hint) for s in p.sites]
        objects, layouts = list(self.objects.numbers), list(p.layouts.numbers)
        parts = Parts(
            self.entries,
            self.functions,
            sites,
            objects,
            p.table,
            p.results,
            self.slots,
            layouts,
            p.keeps,
            self.callbacks,
            p.references,
            p.routines,
            [operators_of(p, v) for v in p.blocks],
        )
        used = {c.belong_to for c, _ in p.cells}
        return Signature({v: d for v, d in p.definitions.items() if v in used}, parts)

    def artefact(self) -> Artefact:
        """The program, ready to be loaded or stored."""
        number = self.program.layouts.number(TENSOR)
        kernels = self.modules_of_kernels()
        parts = compile_tasks(self.modules_of_program(), self.symbols_of_kernels())
        tasks = [*parts, *[partial(object_code, m) for m in kernels.values()]]
        images = [partial(pack_constant, e, number) for e in self.program.constants]
        made: list[Any] = parallel_map(lambda work: work(), [*tasks, *images])
        new = dict(zip(kernels, made[len(parts) : len(tasks)], strict=True))
        for name, code in new.items():
            self.program.kept.keep(name, code)
        codes = [*made[: len(parts)], *[new.get(name, p) for name, p in self.program.kernels.items()]]
        return Artefact(self.signature(), codes, made[len(tasks) :], target_processor().features)


def may_show_references(fn: Function) -> bool:
    """Whether references may come in or go out with values of an entry."""
    types = [*[p.type_annotation for p in fn.params], fn.ret_type]
    parts = [p for t in types if t is not None for p in type_post_order(t)]
    return any(isinstance(p, RefType | FuncType | TypeCall | GlobalTypeVar) for p in parts)


def pack_constant(e: Constant | Packed, number: int) -> Any:
    """A constant as an object in memory; `number` is that of the layout of tensors."""
    return image(e.value, number)
