"""The reference of the Python API: every public name, on the page of the module it is imported from."""

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np

import relay
from website.docstrings import restructured
from website.navigation import contents

FOLDER = "api/"
MODULES = (
    "relay", "relay.transform", "relay.analysis", "relay.backend", "relay.dataflow_pattern", "relay.frontend",
    "relay.numpy", "relay.numpy.linalg", "relay.numpy.fft", "relay.optim", "relay.training", "relay.quantize",
    "relay.models", "relay.decoding", "relay.testing", "relay.loops", "relay.prelude", "relay.instrument",
    "relay.data_dep_optimization",
    "relay.driver", "relay.expr", "relay.ty", "relay.adt", "relay.base", "relay.build_module", "relay.error",
    "relay.op", "relay.runtime", "relay.scope_builder", "relay.vm",
)  # fmt: skip
ABOUT = """\
# Python API

Every public name of the package. What several modules have stands on the first of these pages, and the
others lead there. The builders of operators, such as `relay.nn.dense`, are on the pages of
[operators](operators.md); passes, such as `relay.transform.FuseOps`, are on the page of
[passes](passes.md).

"""
SECTIONS = {
    "relay.diagnostic": "Diagnostics",
    "relay.ir.type": "Types",
    "relay.ir.expr": "Expressions",
    "relay.ir.pattern": "Patterns",
    "relay.ir.module": "Modules",
    "relay.ir": "Walking, building and comparing programs",
    "relay.op": "Operators of one's own",
    "relay.text": "Text and files",
    "relay.typecheck": "Types of a program",
    "relay.analysis": "Types of a program",
    "relay.interpreter": "Values",
    "relay.driver": "Compiling and running",
    "relay.backend": "Compiling and running",
    "relay.tracing": "Python functions",
    "relay.notebook": "Notebooks",
}
"""Titles of the parts of the page of `relay`, by where a name is defined."""
CONSTANTS = {
    "e": "Euler's number.",
    "inf": "Positive infinity.",
    "nan": "Not a number.",
    "pi": "The ratio of a circle's circumference to its diameter.",
}
"""What the constants of Python's `math` are."""


def reference_pages() -> Iterator[tuple[str, str]]:
    """The pages, by their paths in the site."""
    documented: dict[int, str] = {}
    text = ABOUT
    for module in MODULES:
        text += f"- [`{module}`]({FOLDER}{module}.rst): {first_sentence(import_module(module))}\n"
        yield f"{FOLDER}{module}.rst", module_page(module, documented)
    yield "api.md", f"{text}\n{contents([FOLDER + m for m in MODULES])}"


def value_of(module: str, name: str) -> Any:
    """A public value; a function may have the name of the module inside that defines it."""
    found = getattr(import_module(module), name)
    return getattr(found, name, found) if inspect.ismodule(found) else found


def public_names(module: str) -> list[str]:
    """The public names of a module, also of those that are resolved on first use; not its submodules."""
    mod = import_module(module)
    if mod is relay:
        return [*relay._HOME, *relay._RENAMED]
    if module == "relay.frontend":
        return sorted(mod.PLACES)
    stated = getattr(mod, "__all__", None)
    names = stated or [n for n in dir(mod) if not n.startswith("_") and is_own(module, getattr(mod, n))]
    return sorted([n for n in names if not inspect.ismodule(value_of(module, n))], key=str.lower)


def is_own(module: str, value: Any) -> bool:
    """Whether a module without `__all__` defines a value, or brings it from a module inside."""
    if isinstance(value, float | np.dtype) or value is None:
        return True
    return callable(value) and getattr(value, "__module__", "").startswith(module)


def module_page(module: str, documented: dict[int, str]) -> str:
    """The page of a module; `documented` has the names that are described, and gets these."""
    parts = [heading(module, "="), "\n".join(docstring(import_module(module))), f".. py:module:: {module}"]
    names = public_names(module)
    groups = {section(name): "" for name in names} if module == "relay" else {"": ""}
    for name in names:
        groups[section(name) if module == "relay" else ""] += entry(module, name, documented)
    for title, text in groups.items():
        parts += [heading(title, "-"), text] if title else [text]
    return "\n\n".join(parts) + "\n"


def section(name: str) -> str:
    """The part of the page of `relay` that a name stands in."""
    home = relay._HOME.get(name) or relay._RENAMED[name][0]
    return next((SECTIONS[h] for h in (home, *prefixes(home)) if h in SECTIONS), "More")


def prefixes(path: str) -> Iterator[str]:
    """The packages around a module, from within."""
    while path := path.rpartition(".")[0]:
        yield path


def entry(module: str, name: str, documented: dict[int, str]) -> str:
    """A name: described, or where it is described."""
    full = f"{module}.{name}"
    value = value_of(module, name)
    is_shared = inspect.isclass(value) or inspect.isroutine(value)
    if is_shared and id(value) in documented:
        role = "class" if inspect.isclass(value) else "func"
        return (
            f".. py:data:: {full}\n   :no-index:\n\n   The same as :py:{role}:`{documented[id(value)]}`.\n\n"
        )
    if is_shared:
        documented[id(value)] = full
    if inspect.isclass(value):
        return f".. autoclass:: {full}\n   :members:\n\n"
    if inspect.isroutine(value):
        return f".. autofunction:: {full}\n\n"
    lines = "\n".join([f"   {line}" for line in restructured(data_docstring(module, name))])
    return f".. py:data:: {full}\n   :value: {value!r}\n\n{lines}\n\n"


def data_docstring(module: str, name: str) -> list[str]:
    """What is said below the assignment of a value, in the module that defines it."""
    if isinstance(value_of(module, name), np.dtype):
        return ["A dtype."]
    if module == "math":
        return [CONSTANTS[name]]
    if module == "relay":
        module = relay._HOME.get(name) or relay._RENAMED[name][0]
    body = ast.parse(inspect.getsource(import_module(module))).body
    for statement, after in pairwise(body):
        match statement, after:
            case ast.ImportFrom(module=str(home), names=names), _ if name in [n.name for n in names]:
                return data_docstring(home, name)
            case (
                ast.Assign(targets=[ast.Name(id=found)]) | ast.AnnAssign(target=ast.Name(id=found)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ) if found == name:
                return inspect.cleandoc(text).splitlines()
    return []


def docstring(value: Any) -> list[str]:
    """A docstring as reStructuredText."""
    return restructured((inspect.getdoc(value) or "").splitlines())


def first_sentence(value: Any) -> str:
    """The first sentence of a docstring."""
    paragraph = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].rstrip(".") + "."


def heading(title: str, line: str) -> str:
    """A title, underlined."""
    return f"{title}\n{line * len(title)}"
