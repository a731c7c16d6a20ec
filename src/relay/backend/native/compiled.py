"""A program compiled: its definitions, called with values of Python."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from relay.backend.native.calls import DECLARATIONS, Entry, builtin, is_direct, is_supported
from relay.backend.native.code import POINTER, Code, Value
from relay.backend.native.context import Context, get, put
from relay.backend.native.control import define
from relay.backend.native.jit import Compiled
from relay.backend.native.lowering import lowered
from relay.backend.native.memory import BOX, RUNTIME, read_leaf
from relay.backend.native.program import Program, received, result_type
from relay.backend.native.representation import memory
from relay.backend.native.tensors import ALLOCATE_BYTES, TENSOR, image
from relay.backend.native.values import Conversion
from relay.diagnostic import fail
from relay.interpreter.arguments import arrange, convert_argument
from relay.interpreter.code import Code as Interpreted
from relay.ir.expr import Function, Tuple, Var
from relay.ir.module import IRModule
from relay.ir.type import FuncType, GlobalTypeVar, RefType, TupleType, Type, TypeCall

DOORS = """
declare i32 @relay_enter(ptr, ptr)
define i32 @enter(ptr %ctx, ptr %start) {
  %r = call i32 @relay_enter(ptr %ctx, ptr %start)
  ret i32 %r
}
define ptr @new(ptr %ctx, i64 %size) {
  %p = call ptr @relay.allocate(ptr %ctx, i64 %size)
  ret ptr %p
}
define ptr @new_bytes(ptr %ctx, i64 %size) {
  %p = call ptr @relay.allocate_bytes(ptr %ctx, i64 %size)
  ret ptr %p
}
define void @keep(ptr %ctx, ptr %p) {
  call void @relay.retain(ptr %p)
  ret void
}
define void @drop(ptr %ctx, ptr %p) {
  call void @relay.release(ptr %ctx, ptr %p)
  ret void
}
"""
"""What Python calls."""


class NativeProgram:
    """A module as machine code."""

    def __init__(self, mod: IRModule, entries: Sequence[str] = ("main",)) -> None:
        """Compile what some definitions need, which can be called then (`no-native-code`)."""
        self.program = Program(lowered(mod))
        self.program.layouts.number(TENSOR)
        self.slots = 0
        self.kept: list[Any] = []
        self.starts: dict[FuncType | str, str] = {}
        """Code that calls a closure of each type, and each entry, with what is in the box."""
        self.entries: dict[str, Function] = {}
        for name in entries:
            fn = self.program.mod.functions[self.program.mod.get_global_var(name)]
            assert isinstance(fn, Function)
            self.entries[name] = fn
        for v, e in self.program.mod.functions.items():
            if isinstance(e, Function):
                define(self.program, v)
        pieces: list[str] = []
        for name, fn in self.entries.items():
            target = f"@{self.program.symbol(self.program.mod.get_global_var(name))}"
            pieces.append(self.start(name, target, [p.type_annotation for p in fn.params], fn.ret_type))
        pieces += [self.start(t, None, t.arg_types, t.ret_type) for t in self.functions_out()]
        self.context = Context(self.program.results, self.slots)
        direct = self.direct_entries()
        self.code = Compiled("\n".join([self.text(), DOORS, DECLARATIONS, *pieces, *direct.values()]))
        self.images = self.fill_constants()
        self.conversion = Conversion(self.program, self.door("new"), self.door("new_bytes"))
        self.conversion.function = lambda p, t: NativeFunction(self, p, t)
        self.drop, self.keep = self.door("drop"), self.door("keep")
        enter = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self.enter = enter(self.code.address("enter"))

    def direct_entries(self) -> dict[str, str]:
        """The code of the entries that CPython calls directly, where numbers and arrays go in and one comes
        out.
        """
        found: dict[str, str] = {}
        for name, fn in self.entries.items():
            params = [p.type_annotation for p in fn.params]
            if is_supported() and all(map(is_direct, [*params, fn.ret_type])):
                number = self.program.layouts.number(TENSOR)
                entry = Entry(
                    f"call.{self.starts[name]}", self.starts[name], self.context.address, params, fn.ret_type
                )
                found[name] = entry.text(number)
        return found

    def function(self, name: str) -> Callable[..., Any]:
        """An entry as a function; a builtin one where numbers and arrays go in, and one comes out."""

        def slow(*args: Any) -> Any:
            return self.evaluate(name, *args)

        code = f"call.{self.starts[name]}"
        if not self.code.has(code):
            return slow
        made, definition = builtin(name, self.code.address(code), slow, self.fail)
        self.kept.append(definition)
        return made

    def fail(self, site: int) -> Any:
        """Raise the diagnostic of a place where the program has failed."""
        found = self.program.sites[site - 1]
        fail(found.code, found.message, found.at.span, hint=found.hint)

    def door(self, name: str) -> Callable[[int], int]:
        """A function of the compiled code that takes the context and a number."""
        kind = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        function = kind(self.code.address(name))

        def call(x: int) -> int:
            return function(self.context.address, x) or 0

        return call

    def text(self) -> str:
        """All that has been made, as LLVM IR."""
        p = self.program
        constants = f"@relay.constants = global [{max(1, len(p.constants))} x ptr] zeroinitializer"
        parts = [RUNTIME, ALLOCATE_BYTES, constants, p.layouts.text(), *p.singletons.values()]
        return "\n".join([*parts, *p.declared, *p.pieces])

    def functions_out(self) -> list[FuncType]:
        """The types of the functions that Python may get from a call, and what these give in turn."""
        for p in [p for fn in self.entries.values() for p in fn.params]:
            self.program.note_layouts(p.type_annotation)
        found: list[FuncType] = []
        seen: set[Type] = set()
        pending = [fn.ret_type for fn in self.entries.values()]
        while pending:
            t = pending.pop()
            if t is None or t in seen:
                continue
            seen.add(t)
            if isinstance(t, TupleType):
                pending += t.fields
            elif isinstance(t, RefType):
                pending.append(t.value)
            elif isinstance(t, FuncType):
                found.append(t)
                for a in t.arg_types:
                    self.program.note_layouts(a)
                pending.append(t.ret_type)
            elif isinstance(t, TypeCall | GlobalTypeVar):
                pending += self.program.field_types(t)
        return found

    def start(
        self, key: FuncType | str, target: str | None, params: Sequence[Type | None], result: Type | None
    ) -> str:
        """Code that takes arguments from the box, makes a call, and leaves the result there."""
        p = self.program
        self.starts[key] = f"start.{len(self.starts)}"
        code = Code(self.starts[key], "void", [], "")
        box = code.load(POINTER, code.at(Value(POINTER, "%ctx"), BOX))
        kinds = [x for t in params for x in p.leaves(t)]
        kinds = kinds if target else [POINTER, *kinds]
        args = [read_leaf(code, code.at(box, 8 * i), x) for i, x in enumerate(kinds)]
        if target is None:
            target = code.load(POINTER, code.at(args[0], 8)).ref
        leaves = p.leaves(result)
        found = received(p, code, code.call(result_type(leaves), target, args), leaves)
        for i, v in enumerate(found):
            code.store(code.cast("zext", v, memory(v.type)), code.at(box, 8 * i))
        code.do("ret void")
        self.slots = max(self.slots, len(kinds), len(leaves))
        return code.text()

    def fill_constants(self) -> list[Any]:
        """Put constant tensors where the code looks for them."""
        number = self.program.layouts.number(TENSOR)
        images = [image(e.value, number) for e in self.program.constants]
        table = self.code.global_address("relay.constants")
        for i, whole in enumerate(images):
            put(table + 8 * i, POINTER, whole.ctypes.data)
        return images

    def __call__(self, *args: Any) -> Any:
        """The value of the first entry on arguments."""
        return self.evaluate(next(iter(self.entries)), *args)

    def evaluate(self, entry: str, *args: Any) -> Any:
        """The value of an entry on arguments (`argument-count`, `argument-type`)."""
        fn = self.entries[entry]
        values = converted(f"@{entry}", fn, args, self.program.mod)
        return self.call(entry, (), values, [p.type_annotation for p in fn.params], fn.ret_type)

    def call(
        self,
        key: FuncType | str,
        first: Sequence[Any],
        args: Sequence[Any],
        params: Sequence[Type | None],
        result: Type | None,
    ) -> Any:
        """Run a start; `first` are leaves that go before the arguments."""
        leaves, kinds = list(first), [POINTER] * len(first)
        for a, t in zip(args, params, strict=True):
            assert t is not None
            leaves += self.conversion.leaves(a, t)
            kinds += self.program.leaves(t)
        for i, (v, kind) in enumerate(zip(leaves, kinds, strict=True)):
            put(self.context.slot(i), kind, v)
        if self.enter(self.context.address, self.code.address(self.starts[key])):
            self.fail(self.context.site)
        assert result is not None
        out = self.program.leaves(result)
        found = [get(self.context.slot(i), kind) for i, kind in enumerate(out)]
        value = self.conversion.value(found, result)
        for p, kind in zip(found, out, strict=True):
            if kind == POINTER:
                self.drop(p)
        return value


class NativeFunction:
    """A closure of compiled code; it lives as long as this object does."""

    def __init__(self, owner: NativeProgram, address: int, t: FuncType) -> None:
        """Takes a reference of its own."""
        owner.keep(address)
        self.owner = owner
        self.address = address
        self.type = t

    def __call__(self, *args: Any) -> Any:
        """The value on arguments (`argument-count`, `argument-type`)."""
        types, owner = self.type.arg_types, self.owner
        params = tuple([Var(f"x{i}", t) for i, t in enumerate(types)])
        values = converted("fn", Function(params, Tuple(())), args, owner.program.mod)
        owner.keep(self.address)
        return owner.call(self.type, (self.address,), values, types, self.type.ret_type)

    def retained_for(self, program: Program) -> int:
        """The closure as an argument of the program that made it (`argument-type` for others)."""
        if program is not self.owner.program:
            hint = "call it from Python instead"
            fail("argument-type", "a function of another compiled program cannot come in", hint=hint)
        self.owner.keep(self.address)
        return self.address

    def __del__(self) -> None:
        self.owner.drop(self.address)


def converted(name: str, fn: Function, args: Sequence[Any], mod: IRModule) -> list[Any]:
    """Arguments as the parameters of a function want them (`argument-count`, `argument-type`)."""
    env: dict[Any, Any] = {}
    given = arrange(Interpreted(name, fn, len(fn.params)), args, {})
    return [
        x if isinstance(p.type_annotation, FuncType) else convert_argument(name, p, x, env, mod)
        for p, x in zip(fn.params, given, strict=True)
    ]
