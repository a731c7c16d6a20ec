"""What evaluates expressions over a module: executors as people know them, and `run`."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from relay.diagnostic import did_you_mean, fail
from relay.driver.arguments import XLA, first_word, with_params
from relay.driver.devices import devices_of
from relay.interpreter.arguments import arrange, convert_argument, inputs
from relay.interpreter.array_kinds import ArrayLibrary, in_kind, kind_of_arguments
from relay.interpreter.code import Code
from relay.interpreter.machine import Interpreter, evaluate
from relay.ir.expr import Call, Expr, Function, GlobalVar, Var, as_expr
from relay.ir.module import IRModule, expect_module
from relay.ir.subst import substitute_type
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import Kind, Type
from relay.ir.vars import free_vars
from relay.tracing.function import TracedFunction, as_function, is_python
from relay.typecheck.infer import infer

if TYPE_CHECKING:
    from relay.backend.native.host.compiled_module import CompiledModule

INTERPRETERS = ("debug", "interpreter")
EXECUTORS = ("native", "graph", "vm", "aot", XLA, *INTERPRETERS)
PLACES = ("cpu", "llvm", "native", "c", "interpreter")
ACCELERATORS = ("gpu", "tpu")
"""Where programs for XLA run beside those."""


def checks(mod: IRModule) -> IRModule:
    """An annotated module with checks for NaN and infinity."""
    from relay.transform.passes.check_nan import check_nan

    return check_nan(mod)


class Executor:
    """Evaluates expressions over a module; everything that is learned of it is kept between calls."""

    def __init__(self, mod: IRModule, *, check_nan: bool = False) -> None:
        """`mod` has the definitions; `@main` is what is evaluated when no expression is given."""
        self.mod = mod
        self.check_nan = check_nan
        self.main: TracedFunction | None = None
        self.interpreter = Interpreter(mod, prepare=checks if check_nan else None)

    def evaluate(
        self,
        expr: Expr | Callable[..., Any] | str | None = None,
        binds: Mapping[Var | str, Any] | None = None,
    ) -> Any:
        """A function, of Relay or of Python, as something to call with arrays; the value of any other
        expression.

        Without `expr`, `@main`.  `binds` gives free variables of `expr` their values.  Arguments may be given
        by the names of the parameters, also in one dict; results are NumPy arrays and scalars, tuples, and
        `ConstructorValue`s, or arrays of PyTorch or JAX where an argument is one.
        """
        expr = self.main if expr is None and self.main is not None else expr
        if is_python(expr):
            return self.traced(as_function(expr))
        what = (
            self.mod.get_global_var("main" if expr is None else expr)
            if expr is None or isinstance(expr, str)
            else as_expr(expr)
        )
        if binds:
            if isinstance(what, Function):
                what = what.body if not what.params else what
            names = tuple([_variable(k, what) for k in binds])
            return self.apply(Function(names, what), tuple(binds.values()))
        if isinstance(what, GlobalVar) and isinstance(self.mod.functions.get(what), Function):
            return self.caller(what)
        return self.value(what)

    def kind_of_result(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> ArrayLibrary | None:
        """The library whose arrays a call on these arguments gives; None for NumPy."""
        return kind_of_arguments(args, named)

    def traced(self, fn: TracedFunction) -> Callable[..., Any]:
        """A Python function as one that is evaluated here, for the structures and types of its arguments."""

        def call(*args: Any, **named: Any) -> Any:
            kind = self.kind_of_result(args, named)
            made, values = fn.for_arguments(args, named)
            return made.restored(in_kind(self.apply(made.function, tuple(values)), kind))

        call.__name__ = call.__qualname__ = fn.__name__
        return call

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.main or self.mod!r}>"

    def apply(self, fn: Function, args: tuple[Any, ...]) -> Any:
        """The value of a function on arguments."""
        return self.interpreter.apply(self.interpreter.value_of(fn), args)

    def value(self, e: Expr) -> Any:
        """The value of an expression."""
        return self.interpreter.value_of(e)

    def caller(self, name: GlobalVar) -> Callable[..., Any]:
        """A definition as a function of Python."""

        def call(*args: Any, **named: Any) -> Any:
            found = self.interpreter.apply(self.interpreter.value_of(name), args, named)
            return in_kind(found, self.kind_of_result(args, named))

        call.__name__ = call.__qualname__ = name.name
        return call


def _variable(key: Var | str, e: Expr) -> Var:
    """A free variable of `e`, itself or its name (`unknown-variable`)."""
    if isinstance(key, Var):
        return key
    free = {v.name_hint: v for v in free_vars(e)}
    if key not in free:
        fail("unknown-variable", f"no free variable is called `%{key}`", e.span, hint=did_you_mean(key, free))
    return free[key]


def typed_arguments(
    mod: IRModule, name: GlobalVar, fn: Function, args: Sequence[Any], named: Mapping[str, Any]
) -> tuple[tuple[Type, ...], list[Any]]:
    """Arguments of a function of an annotated module, and the types that they give its parameters.

    Raises `argument-count`, `argument-type`.
    """
    from relay.backend.native.program.unresolved_type_params import DEFAULT_TYPE_ARGS

    known: dict[Any, Any] = {}
    given = arrange(Code(f"@{name.name_hint}", fn, len(fn.params)), *inputs(args, named))
    pairs = list(zip(fn.params, given, strict=True))
    values = [convert_argument(f"@{name.name_hint}", p, x, known, mod) for p, x in pairs]
    by = {v: known.get(v, DEFAULT_TYPE_ARGS[v.kind]) for v in fn.type_params if v.kind is not Kind.Dim}
    return tuple([substitute_type(p.type_annotation, by) for p in fn.params]), values


class CompilingExecutor(Executor):
    """Evaluates expressions over a module by compiling them for a target."""

    def __init__(
        self, mod: IRModule, *, target: Any, check_nan: bool = False, batch: str | None = None
    ) -> None:
        """`mod` has the definitions; `target` is one that `relay.build` takes."""
        super().__init__(mod, check_nan=check_nan)
        self.target = target
        self.batch = batch
        self.known: dict[Expr, tuple[dict[GlobalVar, Expr], Any]] = {}
        """What has been compiled, and the definitions as they were then."""

    def kind_of_result(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> ArrayLibrary | None:
        """XLA leaves arrays on devices where that is asked for, and else gives NumPy's."""
        return None if first_word(self.target) == XLA else super().kind_of_result(args, named)

    def build(self, mod: IRModule, entry: str) -> Any:
        """An entry of a module, compiled."""
        from relay.driver.compilation import build

        compile_for: Callable[..., Any] = build
        return compile_for(mod, self.target, entries=[entry], check_nan=self.check_nan, batch=self.batch)

    def result(self, built: Any, args: Sequence[Any]) -> Any:
        """The value of a compiled program on arguments."""
        return built(*args)

    def apply(self, fn: Function, args: tuple[Any, ...]) -> Any:
        """The value of a function on arguments."""
        return self.result(self.compiled(fn), args)

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
            return self.build(self.mod, name.name_hint)[name.name_hint]
        instances: dict[tuple[Any, ...], Any] = {}

        def call(*args: Any, **named: Any) -> Any:
            types, values = typed_arguments(mod, name, fn, args, named)
            if types not in instances:
                params = tuple([Var(p.name_hint, t) for p, t in zip(fn.params, types, strict=True)])
                instances[types] = self.compiled(Function(params, Call(name, params)))
            return in_kind(self.result(instances[types], values), self.kind_of_result(args, named))

        return call

    def compiled(self, fn: Function) -> Any:
        """A function over the module, compiled."""
        before, built = self.known.get(fn, (None, None))
        if built is None or before != self.mod.functions:
            whole = self.mod.copy()
            name = GlobalVarSupply(whole).fresh_global("expression")
            whole[name] = fn
            built = self.build(whole, name.name_hint)
            self.known = {fn: (dict(self.mod.functions), built)}
        return built


class NativeExecutor(CompilingExecutor):
    """Evaluates expressions over a module by compiling them to machine code."""

    def __init__(
        self,
        mod: IRModule,
        *,
        devices: Mapping[str, Any] | None = None,
        check_nan: bool = False,
        batch: str | None = None,
    ) -> None:
        """`mod` has the definitions; `devices` are targets by the names that the program places values by."""
        super().__init__(mod, target=devices or "native", check_nan=check_nan, batch=batch)

    def result(self, built: "CompiledModule", args: Sequence[Any]) -> Any:
        """The value of a compiled program on arguments."""
        return built.program.evaluate(built.default(), *args)


def create_executor(
    kind: str = "native",
    mod: IRModule | Callable[..., Any] | None = None,
    device: Any = None,
    target: Any = None,
    params: Mapping[str, Any] | None = None,
    *,
    check_nan: bool = False,
    batch: str | None = None,
) -> Executor:
    """An executor over `mod`, whose `evaluate` gives values and functions to call; of a Python function, one
    whose `evaluate()` is that function.

    `native` compiles programs to machine code, and so do the other names that people know (`graph`, `vm`,
    `aot`).  `xla` compiles them by XLA for the `device` "cpu", "gpu" or "tpu", or what JAX finds.  With
    targets by names of devices, machine code and XLA compute together, as in `relay.build`.  `debug`, or
    `interpreter`, is the reference interpreter, which gives the same values.  `params` binds parameters of
    `@main` by name.  With `check_nan`, the first operator that makes a NaN or an infinity
    fails with `not-finite`, derivatives included.  With `batch="dynamic"`, programs that are compiled
    compute operators of many calls of a function together.

    Raises `attribute-value`, `unknown-executor`, `unknown-target`, `unknown-device`, `unknown-input`,
    `argument-type`, `no-xla`.
    """
    if kind not in EXECUTORS:
        fail(
            "unknown-executor",
            f"there is no executor `{kind}`",
            hint=did_you_mean(str(kind), EXECUTORS) or f"there are {', '.join(EXECUTORS)}",
        )
    places = ("cpu", *ACCELERATORS, XLA) if kind == XLA else PLACES
    devices = devices_of(target)
    if devices is not None and (kind == XLA or kind in INTERPRETERS):
        hint = 'machine code runs such programs: the executor "native"'
        fail("unknown-target", f"the executor `{kind}` runs on one device", hint=hint)
    for where in (device, None if devices is not None else target):
        if where is not None and first_word(where) not in places:
            known = "`cpu`, `gpu` or `tpu`" if kind == XLA else "`cpu`"
            fail("unknown-target", f"programs cannot run on `{where}`", hint=f"omit it, or use {known}")
    if batch is not None:
        from relay.pipelines import check_batch

        check_batch(batch)
    main = as_function(mod) if is_python(mod) else None
    if main is not None:
        mod = main.mod if params else IRModule()
        main = None if params else main
    whole = IRModule() if mod is None else expect_module(mod)
    whole = with_params(whole, params) if params else whole
    if kind == XLA:
        made: Executor = CompilingExecutor(
            whole, target=target_of(device, target), check_nan=check_nan, batch=batch
        )
    elif kind in INTERPRETERS:
        made = Executor(whole, check_nan=check_nan)
    else:
        made = NativeExecutor(whole, devices=devices, check_nan=check_nan, batch=batch)
    made.main = main
    return made


def target_of(device: object, target: object) -> str:
    """The target of a program for XLA on a device, which either may name: `xla gpu` of `gpu`."""
    where = str(device if target is None else target) if (device, target) != (None, None) else XLA
    return where if first_word(where) == XLA else f"{XLA} {where}"


def run(
    mod: IRModule,
    entry: str = "main",
    args: Sequence[Any] | Mapping[str, Any] = (),
    named: Mapping[str, Any] | None = None,
    *,
    check_nan: bool = False,
) -> Any:
    """The value of the definition `entry`: of a function on `args` and `named` ones, of a constant itself.

    `args` may be a dict of arguments by name.  With `check_nan`, the first operator that makes a NaN or an
    infinity fails with `not-finite`.
    """
    by_position = (args,) if isinstance(args, Mapping) else args
    if check_nan:
        return Interpreter(mod, prepare=checks).evaluate(entry, *by_position, **(named or {}))
    return evaluate(mod, entry, *by_position, **(named or {}))
