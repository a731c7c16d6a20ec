"""Registered passes: functions from module to module, with what they rely on and establish."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial, wraps
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ParamSpec, get_type_hints

from relay.diagnostic import Span, caller_span, did_you_mean, fail
from relay.ir import import_home
from relay.ir.collector import paused
from relay.ir.module import IRModule
from relay.op.registry import clear_arguments
from relay.transform.rewriting.definitions import annotated, with_regions_of
from relay.transform.rewriting.forms import TYPED, Form

P = ParamSpec("P")


@dataclass(frozen=True, eq=False)
class Rule:
    """A registered pass.  `run` takes a module and options; `public` is the name that users know it by."""

    name: str
    run: Callable[..., IRModule]
    needs: tuple[Form, ...]
    gives: tuple[Form, ...]
    keeps: tuple[Form, ...]
    opt_level: int
    public: str

    @property
    def options(self) -> dict[str, inspect.Parameter]:
        """The keyword-only parameters, with their defaults."""
        several = inspect.signature(self.run).parameters
        return {name: p for name, p in several.items() if p.kind is p.KEYWORD_ONLY}

    @property
    def option_types(self) -> dict[str, Any]:
        """What each option is annotated with."""
        hints = get_type_hints(inspect.unwrap(self.run))
        return {name: hints[name] for name in self.options}


registry: dict[str, Rule] = {}
"""The passes that have been imported, by name."""
public_names: dict[str, str] = {}
"""The names of passes by those that users know: `FuseOps`."""
PACKAGES = ["relay.transform.passes", "relay.pipelines"]
"""Where passes are looked for by name: packages, whose modules are all imported, and modules."""
rules: dict[Callable[..., IRModule], Rule] = {}
"""The same passes, by their functions."""


def module_pass(
    name: str,
    *,
    needs: Sequence[Form] = (),
    gives: Sequence[Form] = (),
    keeps: Sequence[Form] = (),
    unless: str = "",
    opt_level: int = 1,
    public: str = "",
) -> Callable[[Callable[P, IRModule]], Callable[P, IRModule]]:
    """Register a function from module to module as a pass.

    The function gets an annotated module in the forms that it `needs`, and returns an annotated one in the
    forms that it `gives`; definitions in a form that it `keeps` are in it afterwards, `unless` the option of
    that name is set.  It returns the same object when nothing changed.  Its keyword-only parameters are the
    options.  Definitions that another compiler takes stay as they are.
    """

    def register(function: Callable[P, IRModule]) -> Callable[P, IRModule]:
        change: Callable[..., IRModule] = function

        @partial(clear_arguments, name=f"transform.{name}")
        @wraps(function)
        def run(*args: P.args, **options: P.kwargs) -> IRModule:
            if not args:
                message = f"`transform.{name}` takes a module, its first argument, by position"
                fail("argument-count", message, caller_span(), hint="relay.parse(text) gives a module")
            first, *rest = args
            if not isinstance(first, IRModule):
                message = f"`transform.{name}` takes a module, found a {type(first).__name__}"
                fail("argument-type", message, caller_span(), hint="relay.parse(text) gives a module")
            mod = annotated(first)
            for form in needs:
                mod = mod if form.is_known(mod) else find(form.by).run(mod)
            stays = () if options.get(unless) else keeps
            kept = {form: [v for v in mod.functions if form.is_known_of(mod, v)] for form in stays}
            with paused():
                out = with_regions_of(mod, change(mod, *rest, **options))
            for form in (TYPED, *gives):
                form.note(out)
            for form, names in kept.items():
                form.note(out, [v for v in names if v in out.functions])
            return out

        registry[name] = rules[run] = Rule(
            name, run, tuple(needs), tuple(gives), tuple(keeps), opt_level, public
        )
        if public:
            public_names[public] = name
        return run

    return register


def load_all() -> None:
    """Import every pass."""
    for home in PACKAGES:
        load(home)


@cache
def load(home: str) -> None:
    """Import the passes of a package or a module, once: looking for the files takes milliseconds."""
    for found in iter_modules(getattr(import_module(home), "__path__", ()), f"{home}."):
        import_home(found.name)


def find(name: str, span: Span | None = None) -> Rule:
    """The pass of that name, either spelling (`unknown-pass` with near names)."""
    for home in PACKAGES:
        if name not in registry and name not in public_names:
            load(home)
    rule = registry.get(public_names.get(name, name))
    if rule is None:
        hint = did_you_mean(name, [*registry, *public_names]) or "`relay passes` lists them all"
        fail("unknown-pass", f"there is no pass `{name}`", span, hint=hint)
    return rule
