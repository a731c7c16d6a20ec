"""Programs compiled for Python: `build`, `compile`, `load_module`, and the executor that compiles."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relay.backend.native.host.artefact import read_artefact
from relay.backend.native.host.cache import compile_cached, compile_instrumented
from relay.backend.native.host.compiled_module import CompiledModule, compiled_module, own_entries
from relay.diagnostic import did_you_mean, fail
from relay.driver import Executor, first_word, with_params
from relay.interpreter.arguments import arrange, convert_argument
from relay.interpreter.code import Code
from relay.ir.expr import Call, Expr, Function, GlobalVar, RelayExpr, Var
from relay.ir.module import IRModule, expect_module
from relay.ir.subst import substitute_type
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import Kind, Type
from relay.tracing import TracedFunction, trace
from relay.transform.rewriting.context import PassContext
from relay.typecheck.infer import infer

if TYPE_CHECKING:
    from relay.backend.native.host.profile import InstrumentedProgram

TARGETS = ("native", "llvm", "cpu")
"""Names that all stand for machine code of this processor."""


def build(
    mod: IRModule | Expr,
    target: Any = "native",
    *,
    params: Mapping[str, Any] | None = None,
    entries: Sequence[str] | str | None = None,
    opt_level: int | None = None,
    threads: int | None = None,
    cache: bool = True,
) -> CompiledModule:
    """The module as machine code of this processor.

    `params` are values of parameters of `@main`, by name, which become part of it.  `entries` are the
    definitions that can be called: `@main`, or where there is none, all that the module defines.
    Passes of at most `opt_level` run before, or those that `PassContext` enables.  `threads` is how many the
    loops take; `RELAY_NUM_THREADS` says it otherwise, or the number of cores.  What was compiled before comes
    from the cache, unless `cache` is False.

    Raises `unknown-target`, `unknown-input`, `argument-type`, `thread-count`, `no-native-code`, and what is
    wrong with the program.
    """
    if first_word(target) not in TARGETS:
        fail(
            "unknown-target",
            f"programs cannot be compiled for `{target}`",
            hint=did_you_mean(str(target), TARGETS) or f"leave it out, or say `{TARGETS[0]}`",
        )
    mod = IRModule.from_expr(mod) if isinstance(mod, RelayExpr) else expect_module(mod)
    if params:
        mod = with_params(mod, params)
    names = named_entries(mod, entries)
    context = PassContext.current()

    def again() -> "InstrumentedProgram":
        with context:
            return compile_instrumented(mod, names, opt_level)

    return compiled_module(compile_cached(mod, names, opt_level, cache), threads, mod, again)


def named_entries(mod: IRModule, chosen: Sequence[str] | str | None = None) -> tuple[str, ...]:
    """What is compiled: what was chosen, else `@main`, else all functions that the module defines itself.

    Raises `unknown-global`, `no-entry`.
    """
    own = [v.name_hint for v, e in mod.functions.items() if isinstance(e, Function)]
    names = own_entries([n for n in own if n not in mod.imported], chosen)
    for name in names:
        mod.get_global_var(name)
    if not names:
        hint = "define `@main`, or name definitions: `entries=[…]`"
        fail("no-entry", "the module has no function of its own to compile", hint=hint)
    return names


def compile(
    what: Any, *, params: Mapping[str, Any] | None = None, threads: int | None = None, cache: bool = True
) -> CompiledModule:
    """A function as machine code: a Relay function, an expression over its free variables, a module with
    `@main`, or a Python function as `relay.function` takes it.
    """
    mod: Any = what
    if isinstance(what, TracedFunction):
        mod = what.mod
    elif callable(what) and not isinstance(what, RelayExpr):
        mod = trace(what).mod
    return build(mod, params=params, threads=threads, cache=cache)


def load_module(path: str | Path, *, threads: int | None = None) -> CompiledModule:
    """A compiled program from a file (`cannot-read`, `bad-artefact`, `other-machine`, `thread-count`)."""
    return compiled_module(read_artefact(path), threads)


def typed_arguments(
    mod: IRModule, name: GlobalVar, fn: Function, args: Sequence[Any], named: Mapping[str, Any]
) -> tuple[tuple[Type, ...], list[Any]]:
    """Arguments of a function of an annotated module, and the types that they give its parameters.

    Raises `argument-count`, `argument-type`.
    """
    from relay.backend.native.program.unresolved_type_params import DEFAULT_TYPE_ARGS

    known: dict[Any, Any] = {}
    given = arrange(Code(f"@{name.name_hint}", fn, len(fn.params)), args, named)
    pairs = list(zip(fn.params, given, strict=True))
    values = [convert_argument(f"@{name.name_hint}", p, x, known, mod) for p, x in pairs]
    by = {v: known.get(v, DEFAULT_TYPE_ARGS[v.kind]) for v in fn.type_params if v.kind is not Kind.Dim}
    return tuple([substitute_type(p.type_annotation, by) for p in fn.params]), values


class NativeExecutor(Executor):
    """Evaluates expressions over a module by compiling them."""

    def __init__(self, mod: IRModule) -> None:
        """`mod` has the definitions."""
        super().__init__(mod)
        self.known: dict[Expr, tuple[dict[GlobalVar, Expr], CompiledModule]] = {}
        """What has been compiled, and the definitions as they were then."""

    def apply(self, fn: Function, args: tuple[Any, ...]) -> Any:
        """The value of a function on arguments."""
        built = self.compiled(fn)
        return built.program.evaluate(built.default(), *args)

    def value(self, e: Expr) -> Any:
        """The value of an expression; a function is something to call."""
        if isinstance(e, Function):
            built = self.compiled(e)
            return built[built.default()]
        return self.apply(Function((), e, span=e.span), ())

    def caller(self, name: GlobalVar) -> Callable[..., Any]:
        """A definition as a function of Python, which is compiled again when the module has changed."""
        before, function = dict(self.mod.functions), self.function(name)

        def call(*args: Any, **named: Any) -> Any:
            nonlocal before, function
            if before != self.mod.functions:
                before, function = dict(self.mod.functions), self.function(name)
            return function(*args, **named)

        call.__name__ = call.__qualname__ = name.name_hint
        return call

    def function(self, name: GlobalVar) -> Callable[..., Any]:
        """A definition, compiled; one that takes any types for those that it gets."""
        mod = infer(self.mod)
        fn = mod[name]
        if not isinstance(fn, Function) or all(v.kind is Kind.Dim for v in fn.type_params):
            return build(self.mod, entries=[name.name_hint])[name.name_hint]
        instances: dict[tuple[Any, ...], CompiledModule] = {}

        def call(*args: Any, **named: Any) -> Any:
            types, values = typed_arguments(mod, name, fn, args, named)
            if types not in instances:
                params = tuple([Var(p.name_hint, t) for p, t in zip(fn.params, types, strict=True)])
                instances[types] = self.compiled(Function(params, Call(name, params)))
            built = instances[types]
            return built.program.evaluate(built.default(), *values)

        return call

    def compiled(self, fn: Function) -> CompiledModule:
        """A function over the module, compiled."""
        before, built = self.known.get(fn, (None, None))
        if built is None or before != self.mod.functions:
            whole = self.mod.copy()
            name = GlobalVarSupply(whole).fresh_global("expression")
            whole[name] = fn
            built = build(whole, entries=[name.name_hint])
            self.known = {fn: (dict(self.mod.functions), built)}
        return built
