"""A program compiled: its definitions, called with values of Python."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from relay.backend.native.host.artefact import Artefact
from relay.backend.native.host.backtraces import with_backtrace
from relay.backend.native.host.builtin_functions import builtin
from relay.backend.native.host.context import Row, write_leaf
from relay.backend.native.host.context_pool import Contexts
from relay.backend.native.host.donation import Donation
from relay.backend.native.host.lapack import routine_addresses
from relay.backend.native.host.outputs import OUT, Outputs
from relay.backend.native.host.python_objects import TABLE, address_of
from relay.backend.native.host.values import lack_of_memory
from relay.backend.native.llvm.builder import POINTER
from relay.backend.native.llvm.jit import LoadedCode
from relay.backend.native.memory.layout import OUT_OF_MEMORY, RAISED, TOO_DEEP
from relay.backend.native.memory.objects import ROUTINES
from relay.backend.native.memory.tensors import relocate
from relay.backend.native.runtime.runtime_library import runtime_library
from relay.backend.native.runtime.threads import thread_count
from relay.diagnostic import Diagnostic, RelayError, fail, hide_own_frames
from relay.interpreter.arguments import arrange, check_constraints, convert_argument, inputs
from relay.interpreter.array_kinds import in_kind, kind_of_arguments
from relay.interpreter.code import Code as Interpreted
from relay.interpreter.machine import evaluate
from relay.interpreter.show import Form
from relay.interpreter.value import FunctionValue
from relay.ir.expr import Function, Tuple, Var
from relay.ir.module import IRModule
from relay.ir.type import FuncType, Type


class FailedError(Exception):
    """LoadedCode code has failed."""

    def __init__(self, site: int, has_changed: bool) -> None:
        """`site` is the number of the place; references that were given may have changed."""
        super().__init__(site)
        self.site = site
        self.has_changed = has_changed


class NativeProgram:
    """A module as machine code in memory."""

    def __init__(
        self,
        mod: IRModule,
        entries: Sequence[str] = ("main",),
        threads: int | None = None,
        direct: bool = False,
    ) -> None:
        """Compile what some definitions need, which can be called then (`no-native-code`); `threads` is how
        many its loops take, None leaves it to the process (`thread-count`).  A program that is not `direct`
        compiles sooner, but `function` goes through `evaluate`, which takes longer for each call.
        """
        from relay.backend.native.host.compiler import Compiler

        self.load(Compiler(mod, entries, direct=direct).artefact(), threads, mod)

    @classmethod
    def of(
        cls, artefact: Artefact, threads: int | None = None, source: IRModule | None = None
    ) -> "NativeProgram":
        """Load what has been compiled, of `source` if it is at hand: failures show its calls."""
        made = cls.__new__(cls)
        made.load(artefact, threads, source)
        return made

    def load(self, artefact: Artefact, threads: int | None, source: IRModule | None) -> None:
        """Bring code and constants into memory."""
        self.signature = artefact.signature
        self.source = source
        self.entries = self.signature.entries
        self.rows: dict[str, Row] = {}
        self.runtime = runtime_library()
        self.code = LoadedCode(artefact.codes)
        self.fill_constants(artefact.constants)
        self.fill_objects()
        self.fill_routines()
        count = 0 if threads is None else thread_count(threads, "threads")
        self.contexts = Contexts(self.signature, self.code, count, lambda p, t: NativeFunction(self, p, t))
        regions = self.contexts.callbacks.regions.values()
        self.calls_python = self.lacks_routines or not all(r.address for r in regions)

    def fill_constants(self, images: Sequence[np.ndarray[Any, Any]]) -> None:
        """Put constant tensors where the code looks for them."""
        self.images = images
        addresses = [relocate(whole) for whole in images]
        table = self.code.global_address("relay.constants")
        for i, number in enumerate(self.signature.parts.constants):
            write_leaf(table + 8 * i, POINTER, addresses[number])

    def fill_objects(self) -> None:
        """Put the addresses of Python's objects where the code looks for them."""
        table = self.code.global_address(TABLE)
        for i, name in enumerate(self.signature.parts.objects):
            write_leaf(table + 8 * i, POINTER, address_of(name))

    def fill_routines(self) -> None:
        """Put the addresses of LAPACK's routines where the code looks for them: without SciPy, none."""
        names = self.signature.parts.routines
        addresses = routine_addresses(names) if names else []
        self.lacks_routines = 0 in addresses
        table = self.code.global_address(ROUTINES)
        for i, address in enumerate(addresses):
            write_leaf(table + 8 * i, POINTER, address)

    def function(self, name: str) -> Callable[..., Any]:
        """An entry as a function; a builtin one where numbers and arrays go in, and one or tuples of them
        come out.
        """
        entry = self.entries[name]

        def slow(*args: Any, **named: Any) -> Any:
            kind = kind_of_arguments(args, named)
            try:
                result: Any = self.evaluate(name, *args, **named)
            except RelayError as error:
                hide_own_frames(error)
                raise
            return result if kind is None else in_kind(result, kind)

        header = entry.header
        params = ", ".join([f"%{p.name}: {p.type_annotation}" for p in header.params])
        doc = f"Compiled `@{name}({params}) -> {header.ret_type}`."
        if not entry.direct or self.calls_python:
            slow.__name__ = slow.__qualname__ = name
            slow.__doc__ = doc
            return slow

        def failed(site: int, *args: Any) -> Any:
            self.fail(site, None if entry.donated else self.again(name, args, {}))

        return builtin(name, self.code.address(entry.direct), slow, failed, doc)

    def again(self, entry: str, args: Sequence[Any], named: Mapping[str, Any]) -> Callable[[], Any] | None:
        """A function that repeats the call in the interpreter; None without the program's source."""
        source = self.source
        return None if source is None else lambda: evaluate(source, f"@{entry}", *args, **named)

    def fail(self, site: int, again: Callable[[], Any] | None = None) -> NoReturn:
        """Raise the diagnostic of a place where a call has failed, which can be made `again`."""
        if site == TOO_DEEP:
            hint = "let the recursion end sooner, or make the call the last thing its function does"
            fail(
                "recursion-limit",
                "stack overflow: the call stack exceeds half of the available memory",
                hint=hint,
            )
        if site == OUT_OF_MEMORY:
            found = lack_of_memory()
        else:
            place = self.signature.sites[site - 1]
            found = RelayError(Diagnostic(place.code, place.message, place.span, hint=place.hint))
        raise found if again is None else with_backtrace(found, again)

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        """The value of the first entry on arguments."""
        return self.evaluate(next(iter(self.entries)), *args, **named)

    def evaluate(self, entry: str, /, *args: Any, **named: Any) -> Any:
        """The value of an entry on arguments, in the arrays that `out=` gives for it unless that is the name
        of a parameter (`argument-count`, `argument-type`, `output-array`).
        """
        found = self.entries[entry]
        fn = found.header
        out = named.pop(OUT, None) if OUT in named and all(p.name != OUT for p in fn.params) else None
        env: dict[Any, Any] = {}
        values = convert_arguments(f"@{entry}", fn, args, named, self.signature.mod, env)
        try:
            types = [p.type_annotation for p in fn.params]
            outputs = None if out is None else Outputs(fn, out, env, found.slots)
            donation = Donation(fn, found.donated) if found.donated or outputs else None
            made = self.call(found.start, (), values, types, fn.ret_type, donation, outputs)
            return made if outputs is None else outputs.finish(made)
        except FailedError as failed:
            site = failed.site
            can_repeat = not failed.has_changed and not found.donated and not self.signature.parts.callbacks
        self.fail(site, self.again(entry, args, named) if can_repeat else None)

    def call(
        self,
        start: str,
        first: Sequence[int],
        args: Sequence[Any],
        params: Sequence[Type | None],
        result: Type | None,
        donation: Donation | None = None,
        outputs: Outputs | None = None,
    ) -> Any:
        """Run a start; `first` are closures that go before the arguments, and stay; `donation` says which of
        the arrays may be overwritten, and `outputs` which are to be (`FailedError`, `donated`).
        """
        assert result is not None
        row = self.rows.get(start)
        if row is None:
            kinds = [POINTER] * len(first) + [x for t in params for x in self.signature.leaves(t)]
            row = self.rows[start] = Row.of(kinds, self.signature.leaves(result))
        with self.contexts.one() as context:
            leaves = list(first)
            lent: list[Any] | None = None if self.contexts.is_shared else []
            context.conversion.begin()
            context.conversion.donation = donation
            for i, (a, t) in enumerate(zip(args, params, strict=True)):
                assert t is not None
                if donation is not None:
                    donation.param = i
                leaves += context.conversion.leaves(a, t, lent)
            if donation is not None:
                if outputs is not None and lent is not None:
                    outputs.make(donation, context.conversion.around)
                donation.settle(context.conversion.keep)
            if outputs is not None and donation is not None:
                outputs.lend(donation, context.address)
            row.given.pack_into(context.room, 0, *leaves)
            for p in first:
                self.runtime.retain(p)
            try:
                failed = self.runtime.call(context.address, self.code.address(start))
            finally:
                left = [] if outputs is None else outputs.take_back(context.address)
            written = context.conversion.written_back()
            if failed and context.site == RAISED:
                raise self.contexts.callbacks.raised.pop(context.address)
            if failed:
                raise FailedError(context.site, bool(written))
            found = row.found.unpack_from(context.room)
            given: set[int] = set()
            value = context.conversion.value(found, result, given)
            for i in row.pointers:
                if found[i] not in given:
                    self.runtime.release(context.address, found[i])
            for p in (*written, *left):
                self.runtime.release(context.address, p)
            return value


class NativeFunction(FunctionValue):
    """A closure of compiled code; it lives as long as this object does."""

    def __init__(self, owner: NativeProgram, address: int, t: FuncType) -> None:
        """Takes a reference of its own."""
        owner.contexts.hold(address)
        self.owner = owner
        self.address = address
        self.type = t

    def __call__(self, *args: Any) -> Any:
        """The value on arguments (`argument-count`, `argument-type`)."""
        types, owner = self.type.arg_types, self.owner
        params = tuple([Var(f"x{i}", t) for i, t in enumerate(types)])
        values = convert_arguments("fn", Function(params, Tuple(())), args, {}, owner.signature.mod, {})
        start = owner.signature.functions[self.type]
        with owner.contexts.lock:
            try:
                return owner.call(start, (self.address,), values, types, self.type.ret_type)
            except FailedError as failed:
                site = failed.site
        owner.fail(site)

    @property
    def shown(self) -> Form:
        """The text to print for it: its type."""
        return Form(str(self.type))

    @property
    def signature(self) -> Any:
        """The program that made it."""
        return self.owner.signature

    def retained(self) -> int:
        """The closure as an argument of the program that made it."""
        self.owner.runtime.retain(self.address)
        return self.address

    def __del__(self) -> None:
        self.owner.contexts.let_go(self.address)


def convert_arguments(
    name: str,
    fn: Function,
    args: Sequence[Any],
    named: Mapping[str, Any],
    mod: IRModule,
    env: dict[Any, Any],
) -> list[Any]:
    """Arguments as the parameters of a function want them, whose type parameters are bound in `env`
    (`argument-count`, `argument-type`).
    """
    args, named = inputs(args, named)
    given = args
    if named or len(args) != len(fn.params):
        given = arrange(Interpreted(name, fn, len(fn.params)), args, named)
    values = [convert_argument(name, p, x, env, mod) for p, x in zip(fn.params, given, strict=True)]
    if fn.constraints and values:
        check_constraints(name, fn, values, mod, mod.facts.setdefault("checked", set()))
    return values
