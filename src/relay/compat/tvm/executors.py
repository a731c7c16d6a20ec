"""`create_executor`: executors whose results are arrays and tuples as scripts take them apart."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relay.compat.tvm.devices import checked
from relay.compat.tvm.targets import target_for
from relay.compat.tvm.values import given, shown
from relay.driver.arguments import with_params
from relay.driver.executor import Executor as Inner
from relay.driver.executor import create_executor as create
from relay.ir.expr import Expr, Function, GlobalVar
from relay.ir.module import IRModule

__all__ = ["Executor", "bound_module", "create_executor"]


class Executor:
    """Evaluates expressions over a module."""

    def __init__(self, inner: Inner) -> None:
        """`inner` gives NumPy's arrays."""
        self.inner = inner

    @property
    def mod(self) -> IRModule:
        """The definitions."""
        return self.inner.mod

    def evaluate(self, expr: Expr | None = None, binds: Mapping[Any, Any] | None = None) -> Any:
        """A function as something to call with arrays; the value of any other expression; `@main` without."""
        what = self.mod.get_global_var("main") if expr is None else expr
        if binds:
            return shown(self.inner.evaluate(expr, {k: given(x) for k, x in binds.items()}))
        fn = self.mod.functions.get(what, what) if isinstance(what, GlobalVar) else what
        return self.caller(fn) if isinstance(fn, Function) else shown(self.inner.evaluate(what))

    def caller(self, fn: Function) -> Callable[..., Any]:
        """A function of the module as one of Python."""

        def call(*args: Any, **named: Any) -> Any:
            values = [given(x) for x in args]
            values += [given(named[p.name_hint]) for p in fn.params[len(args) :] if p.name_hint in named]
            return shown(self.inner.apply(fn, tuple(values)))

        return call


def create_executor(
    kind: str = "debug",
    mod: IRModule | None = None,
    device: Any = None,
    target: Any = "llvm",
    params: Mapping[str, Any] | None = None,
) -> Executor:
    """An executor over a module: the interpreter (`debug`, `interpreter`), or machine code.

    Raises what `relay.create_executor` does, and `unknown-target` for devices and targets that are not here.
    """
    checked(device)
    whole = bound_module(IRModule() if mod is None else mod, params)
    return Executor(create(kind, whole, target=target_for(target)))


def bound_module(mod: IRModule | Expr, params: Mapping[str, Any] | None) -> IRModule:
    """A module with parameters of `@main` bound by name; names that it does not have are ignored."""
    whole = mod if isinstance(mod, IRModule) else IRModule.from_expr(mod)
    main = whole["main"] if params and "main" in whole else None
    known = {p.name_hint for p in main.params} if isinstance(main, Function) else set[str]()
    chosen = {name: value for name, value in (params or {}).items() if name in known}
    return with_params(whole, chosen) if chosen else whole


def outputs(value: Any) -> Sequence[Any]:
    """The outputs of a graph: the fields of a tuple, inner ones in their places, or the value alone."""
    flat: list[Any] = []
    pending = [value]
    while pending:
        x = pending.pop()
        if isinstance(x, tuple):
            pending += reversed(x)  # pyright: ignore[reportUnknownArgumentType]
        else:
            flat.append(x)
    return [shown(x) for x in flat]
