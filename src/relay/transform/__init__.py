"""Passes: module to module, each in a file of `passes/`; `rewriting/` is the engine that they share.

`relay.transform.to_anf` is the function, `relay.transform.ToANormalForm()` the pass object that people know.
"""

from importlib import import_module
from typing import Any

from relay.ir import import_home

_NAMES = {
    "relay.transform.rewriting.context": "PassContext PassInfo PassInstrument",
    "relay.transform.rewriting.instruments": "PassTimingInstrument PrintAfter PrintIR Verify pass_instrument",
    "relay.transform.rewriting.pipeline": "Pass RulePass Sequential parse_pipeline",
    "relay.expansion.gradient": "gradient",
    "relay.transform.rewriting.user_passes": "FunctionPass ModulePass function_pass"
    " module_pass=user_module_pass",
    "relay.transform.expression_passes": "Defunctionalization FoldConstantExpr InferTypeLocal"
    " ToANormalFormExpr to_cps=convert_to_cps un_cps=convert_from_cps",
    "relay.transform.passes.layout_config": "LayoutConfig",
    "relay.transform.passes.recasting": "recast",
    "relay.transform.rewriting.example": "show",
}
"""Public names by the module that defines them; `module_pass=user_module_pass` gives one another name."""
_HOME = {
    public: (home, name or public)
    for home, names in _NAMES.items()
    for public, _, name in [entry.partition("=") for entry in names.split()]
}

__all__ = [*_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """A public name, a pass function (`fuse_ops`), or what makes a pass object (`FuseOps`), on first use."""
    if name.startswith("__"):
        raise AttributeError(name)
    globals()[name] = _import_public(name, *_HOME[name]) if name in _HOME else _pass(name)
    return globals()[name]


def _import_public(name: str, home: str, inner: str) -> Any:
    """Import a function or class of another module."""
    value = getattr(import_home(home), inner)
    return import_module("relay.op.namespace").public_function(value, f"transform.{name}")


def _pass(name: str) -> Any:
    """A registered pass under either of its names."""
    registry = import_home("relay.transform.rewriting.registry")
    registry.load_all()
    if name in registry.public_names:
        from relay.transform.rewriting.pass_objects import spelling

        return spelling(registry.registry[registry.public_names[name]])
    if name in registry.registry:
        return registry.registry[name].run
    raise AttributeError(import_module("relay.op.namespace").missing_attribute(__name__, name, __dir__()))


def __dir__() -> list[str]:
    """Everything public, every pass included."""
    registry = import_home("relay.transform.rewriting.registry")
    registry.load_all()
    return sorted({*__all__, *registry.registry, *registry.public_names})
