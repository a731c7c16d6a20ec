"""Operators' builders as attributes: `relay.op.add`, `relay.op.nn.dense`, `relay.op.image.resize2d`."""

import sys
from collections.abc import Callable, Iterable
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from relay.diagnostic import did_you_mean
from relay.ir.expr import Expr
from relay.ir.traced import takes_traced
from relay.op.registry import builders, clear_arguments

BUILTIN_MODULES = ("relay.op",)
ELSEWHERE = {
    "jit": "compile", "linear": "nn.dense", "tensor": "const", "array": "const", "no_grad": "stop_gradient",
    "detach": "stop_gradient", "fori_loop": "fori", "jacfwd": "jacobian", "jacrev": "jacobian",
    "remat": "checkpoint", "PRNGKey": "random.threefry_key", "cat": "concatenate", "permute": "transpose",
    "unsqueeze": "expand_dims", "view": "reshape", "randn": "random.normal", "rand": "random.uniform",
}  # fmt: skip
"""The names of our functions in NumPy, PyTorch and JAX, where the spelling is not near enough."""


def root_names() -> list[str]:
    """What `relay.op` offers: builders without a dot, and the families of those with one."""
    return sorted({path.partition(".")[0] for path in builders})


def find(path: str) -> Callable[..., Expr] | ModuleType | None:
    """The builder of that dotted path, or the namespace whose builders begin with it."""
    if path in builders:
        return _public(builders[path])
    return _namespace(path) if any(b.startswith(path + ".") for b in builders) else None


@cache
def _public(build: Callable[..., Expr]) -> Callable[..., Expr]:
    """A builder as people call it, on traced values too."""
    return clear_arguments(takes_traced(build))


def install() -> None:
    """Give `relay.op` and each namespace below it its builders; called when all operators are registered."""
    _serve(sys.modules["relay.op"], "")
    for path in list(builders):
        parent, _, name = path.rpartition(".")
        # Set at once and not on demand: a file such as `op/nn/dense.py` would stand in its builder's place.
        setattr(_namespace(parent) if parent else sys.modules["relay.op"], name, find(path))


_public_functions: dict[FunctionType, FunctionType] = {}


def public_function(value: Any, name: str) -> Any:
    """Return a function as its callers see it, with a near name for an argument that it does not take.

    It takes the function's place in the module that defines it, so that it can be pickled, and all threads
    get the same one; other values stay.
    """
    if not isinstance(value, FunctionType) or hasattr(value, "__wrapped__"):
        return value
    home = sys.modules.get(value.__module__)
    clear = _public_functions.setdefault(value, clear_arguments(value, name))
    if getattr(home, value.__name__, None) is value:
        setattr(home, value.__name__, clear)
    return clear


def near_name(name: str, known: Iterable[str]) -> str:
    """Return a hint to the nearest of the public names, in whatever case."""
    public = {k.lower(): k for k in known if not k.startswith("_")}
    return (
        f"did you mean `{public[name.lower()]}`?"
        if name.lower() in public
        else did_you_mean(name, public.values())
    )


def missing_attribute(module: str, name: str, known: Iterable[str]) -> str:
    """What to say of a name that a module does not have."""
    hint = ""
    if not name.startswith("__"):
        elsewhere = next((path for path in builders if path.rpartition(".")[2] == name), None)
        elsewhere = elsewhere or ELSEWHERE.get(name)
        hint = f"did you mean `relay.{elsewhere}`?" if elsewhere else near_name(name, known)
    return f"module {module!r} has no attribute {name!r}{'; ' + hint if hint else ''}"


def _namespace(path: str) -> ModuleType:
    """The module `relay.op.<path>`, an existing file or package of that name or a new one."""
    full = f"relay.op.{path}"
    module = sys.modules.get(full)
    if module is None:
        module = sys.modules[full] = ModuleType(full, f"The builders of the operators `{path}.*`.")
        parent, _, name = full.rpartition(".")
        setattr(sys.modules.get(parent) or _namespace(path.rpartition(".")[0]), name, module)
    if "__getattr__" not in module.__dict__:
        _serve(module, path + ".")
    return module


def _serve(module: ModuleType, prefix: str) -> None:
    """Let attributes that are not there be found among the builders, those registered later too."""

    def find_attribute(name: str) -> Any:
        found = None if name.startswith("__") else find(prefix + name)
        if found is None:
            known = {b.removeprefix(prefix).partition(".")[0] for b in builders if b.startswith(prefix)}
            raise AttributeError(missing_attribute(module.__name__, name, known))
        return found

    module.__dict__["__getattr__"] = find_attribute
