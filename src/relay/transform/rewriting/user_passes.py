"""Passes that users write: decorators as people know them, and passes over the functions of a module."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from relay.ir.expr import Function
from relay.ir.module import IRModule
from relay.transform.rewriting.context import PassContext, PassInfo
from relay.transform.rewriting.definitions import annotated, with_definitions
from relay.transform.rewriting.pipeline import Pass
from relay.transform.rewriting.registry import module_pass as registered_pass


class ModulePass(Pass):
    """A pass from `transform(mod, context)`, which gives a module."""

    def __init__(self, transform: Callable[[IRModule, PassContext], IRModule], info: PassInfo) -> None:
        """`transform` gets an annotated module, and what it gives is annotated again."""
        super().__init__(info, lambda mod: annotated(transform(annotated(mod), PassContext.current())))


class FunctionPass(Pass):
    """A pass from `transform(function, mod, context)`, which gives a function."""

    def __init__(
        self, transform: Callable[[Function, IRModule, PassContext], Function], info: PassInfo
    ) -> None:
        """`transform` gets each function of an annotated module; those that it changes are inferred again."""

        def run(given: IRModule) -> IRModule:
            mod, context = annotated(given), PassContext.current()
            changed = {v: transform(f, mod, context) for v, f in mod.items() if isinstance(f, Function)}
            return annotated(with_definitions(mod, changed))

        super().__init__(info, run)


def user_module_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    **more: Any,
) -> Any:
    """Make a pass of a function `(mod, context) -> mod`, or of a class with such a method `transform_module`.

    `@module_pass(opt_level=1)` stands above either; an instance of the class is then the pass.  With a name
    first, `@module_pass("my_pass")` registers a function `mod -> mod`, so that `relay opt` finds it.
    """
    if isinstance(pass_func, str):
        return registered_pass(pass_func, opt_level=1 if opt_level is None else opt_level, **more)
    assert not more, f"{', '.join(more)}: for registered passes alone"
    return _decorated(ModulePass, "transform_module", pass_func, opt_level, name, required)


def function_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
) -> Any:
    """Make a pass of `(function, mod, context) -> function`, or of a class with `transform_function`."""
    return _decorated(FunctionPass, "transform_function", pass_func, opt_level, name, required)


def _decorated(
    kind: Callable[..., Pass],
    method: str,
    pass_func: Any,
    opt_level: int | None,
    name: str | None,
    required: Sequence[str] | None,
) -> Any:
    def decorate(target: Any) -> Any:
        info = PassInfo(name or target.__name__, opt_level or 0, tuple(required or ()))
        if not inspect.isclass(target):
            return kind(target, info)

        def make(*args: Any, **named: Any) -> Pass:
            return kind(getattr(target(*args, **named), method), info)

        make.__name__, make.__doc__ = target.__name__, target.__doc__
        return make

    return decorate if pass_func is None else decorate(pass_func)
