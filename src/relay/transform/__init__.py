"""Passes: module to module, each in a file of its own.

`relay.transform.to_anf` is the function, `relay.transform.ToANormalForm()` the pass object that people know.
"""

from importlib import import_module
from typing import Any

_NAMES = {
    "relay.transform.context": "PassContext PassInfo PassInstrument",
    "relay.transform.instruments": "PassTimingInstrument PrintAfter PrintIR Verify pass_instrument",
    "relay.transform.pipeline": "Pass RulePass Sequential parse_pipeline",
    "relay.transform.derivatives": "gradient",
    "relay.transform.user": "FunctionPass ModulePass function_pass module_pass",
    "relay.transform.on_expressions": "Defunctionalization FoldConstantExpr InferTypeLocal ToANormalFormExpr"
    " to_cps un_cps",
    "relay.transform.recasting": "recast",
    "relay.transform.example": "show",
}
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = [*_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """A public name, a pass function (`fuse_ops`), or what makes a pass object (`FuseOps`), on first use."""
    if name.startswith("__"):
        raise AttributeError(name)
    found = getattr(import_module(_HOME[name]), name) if name in _HOME else _pass(name)
    globals()[name] = found
    return found


def _pass(name: str) -> Any:
    """A registered pass under either of its names."""
    base = import_module("relay.transform.base")
    base.load_all()
    if name in base.public_names:
        from relay.transform.spelling import spelling

        return spelling(base.registry[base.public_names[name]])
    if name in base.registry:
        return base.registry[name].run
    raise AttributeError(f"module 'relay.transform' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Everything public, every pass included."""
    base = import_module("relay.transform.base")
    base.load_all()
    return sorted({*__all__, *base.registry, *base.public_names})
