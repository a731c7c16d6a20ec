"""What composes the rest: infer, then evaluate.  Executors as people know them, and `run`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relay.diagnostic import did_you_mean, fail
from relay.interpreter.arguments import convert_argument
from relay.interpreter.machine import Interpreter, evaluate
from relay.ir.bind import bind_params_by_name
from relay.ir.expr import Constant, Expr, Function, GlobalVar, Var, as_expr, constant
from relay.ir.module import IRModule, expect_module
from relay.ir.vars import free_vars
from relay.tracing import TracedFunction, function

__all__ = [
    "Executor", "Interpreter", "TracedFunction", "bind_params_by_name", "create_executor", "evaluate",
    "function", "optimize", "run",
]  # fmt: skip

INTERPRETERS = ("debug", "interpreter")
EXECUTORS = ("native", "graph", "vm", "aot", *INTERPRETERS)
PLACES = ("cpu", "llvm", "native", "c", "interpreter")


class Executor:
    """Evaluates expressions over a module; everything that is learned of it is kept between calls."""

    def __init__(self, mod: IRModule) -> None:
        """`mod` has the definitions; `@main` is what is evaluated when no expression is given."""
        self.mod = mod
        self.interpreter = Interpreter(mod)

    def evaluate(self, expr: Expr | str | None = None, binds: Mapping[Var | str, Any] | None = None) -> Any:
        """A function as something to call with arrays; the value of any other expression.

        Without `expr`, `@main`.  `binds` gives free variables of `expr` their values.  Arguments may be given
        by the names of the parameters; results are NumPy arrays and scalars, tuples, and `ConstructorValue`s.
        """
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

    def apply(self, fn: Function, args: tuple[Any, ...]) -> Any:
        """The value of a function on arguments."""
        return self.interpreter.apply(self.interpreter.value_of(fn), args)

    def value(self, e: Expr) -> Any:
        """The value of an expression."""
        return self.interpreter.value_of(e)

    def caller(self, name: GlobalVar) -> Callable[..., Any]:
        """A definition as a function of Python."""

        def call(*args: Any, **named: Any) -> Any:
            return self.interpreter.apply(self.interpreter.value_of(name), args, named)

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


def create_executor(
    kind: str = "native",
    mod: IRModule | None = None,
    device: Any = None,
    target: Any = None,
    params: Mapping[str, Any] | None = None,
) -> Executor:
    """An executor over `mod`, whose `evaluate` gives values and functions to call.

    `native` compiles programs to machine code, and so do the other names that people know (`graph`, `vm`,
    `aot`).  `debug`, or `interpreter`, is the reference interpreter, which gives the same values.  `params`
    binds parameters of `@main` by name.

    Raises `unknown-executor`, `unknown-target`, `unknown-input`, `argument-type`.
    """
    if kind not in EXECUTORS:
        fail(
            "unknown-executor",
            f"there is no executor `{kind}`",
            hint=did_you_mean(str(kind), EXECUTORS) or f"there are {', '.join(EXECUTORS)}",
        )
    for where in (device, target):
        if where is not None and first_word(where) not in PLACES:
            fail(
                "unknown-target",
                f"programs cannot run on `{where}`",
                hint=f"leave it out, or say `{PLACES[0]}`",
            )
    mod = IRModule() if mod is None else expect_module(mod)
    mod = with_params(mod, params) if params else mod
    if kind in INTERPRETERS:
        return Executor(mod)
    from relay.building import NativeExecutor

    return NativeExecutor(mod)


def first_word(target: object) -> str:
    """What a target or a device is called, without its options: `llvm` of `llvm -mcpu=native`."""
    return str(target).partition("(")[0].strip().partition(" ")[0]


def with_params(mod: IRModule, params: Mapping[str, Any]) -> IRModule:
    """The module with parameters of `@main` bound by name, as their types want them.

    Raises `unknown-input`, `argument-type`.
    """
    bound = mod.copy()
    name = bound.get_global_var("main")
    bound[name] = bind_params_by_name(bound[name], param_values(mod, params))
    return bound


def param_values(mod: IRModule, params: Mapping[str, Any]) -> dict[str, Constant]:
    """Values of parameters of `@main` by name, as their types want them.

    Raises `unknown-input`, `argument-type`.
    """
    main = mod["main"]
    known = {p.name_hint: p for p in main.params} if isinstance(main, Function) else {}
    for n in params:
        if n not in known:
            names = ", ".join([f"`{k}`" for k in list(known)[:8]])
            hint = did_you_mean(n, known) or (f"its parameters are {names}" if known else "it has none")
            fail("unknown-input", f"the program has no parameter `{n}`", hint=hint)
    env: dict[Any, Any] = {}
    return {
        n: constant(convert_argument("@main", known[n], x, env, mod), span=known[n].span)
        for n, x in params.items()
    }


def optimize(
    mod: IRModule, target: Any = None, params: Mapping[str, Any] | None = None
) -> tuple[IRModule, Any]:
    """The module with `params` bound to `@main`, as the passes that programs go through by default leave it,
    and the parameters left over: none.

    `PassContext` says which of the passes run.
    """
    from relay import pipelines
    from relay.typecheck.infer import infer

    del target
    return pipelines.optimize(infer(with_params(mod, params) if params else mod)), {}


def run(
    mod: IRModule, entry: str = "main", args: Sequence[Any] = (), named: Mapping[str, Any] | None = None
) -> Any:
    """The value of the definition `entry`: of a function on `args` and `named` ones, of a constant itself."""
    return evaluate(mod, entry, *args, **(named or {}))
