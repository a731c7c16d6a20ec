"""The modules by their names there, and what each of their names is here.

A module is answered by the homes that the table has for it, in order: `.graphs` is a module of this package,
whose `__all__` counts, and the others are modules of Relay, of which every name is there, also those that are
added later.  What is not in the table is the module of Relay with the same name.
"""

import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from relay.compat.tvm.arrays import with_arrays
from relay.compat.tvm.refusals import REFUSED, refuse, subject_of

PACKAGE = "relay.compat.tvm"
HOMES = {
    "": ".devices .functions .errors .dtypes relay.ir",
    "_ffi": ".functions",
    "_ffi.base": ".errors relay.error",
    "nd": ".arrays .devices",
    "error": ".errors relay.error",
    "target": ".targets",
    "target.target": ".targets",
    "testing": ".checks",
    "testing.utils": ".checks",
    "parser": "relay.text.api",
    "runtime": ".arrays .devices .dtypes .parameters .programs .functions .containers .values relay.runtime",
    "runtime.ndarray": ".arrays .devices",
    "runtime.vm": ".machines",
    "runtime.container": ".containers .values",
    "runtime.module": ".programs relay.backend.native.host.timing",
    "runtime.params": ".parameters",
    "runtime.object": ".containers",
    "runtime.packed_func": ".functions",
    "runtime.profiler_vm": ".machines",
    "ir": ".comparison .containers .functions .attributes .options .expressions relay.ir relay.base relay",
    "ir.base": ".comparison .attributes relay.base relay.ir",
    "ir.attrs": ".attributes",
    "ir.container": ".containers",
    "ir.transform": ".options relay.transform",
    "ir.instrument": ".instruments relay.instrument",
    "ir.module": "relay.ir",
    "ir.op": ".operators relay.ir",
    "ir.expr": ".expressions relay.expr",
    "ir.type": "relay.ty",
    "ir.adt": "relay.adt",
    "ir.function": ".expressions relay.expr",
    "ir.tensor_type": "relay.ty",
    "ir.type_relation": "relay.ty",
    "ir.diagnostics": ".errors relay.error",
    "instrument": ".instruments relay.instrument",
    "transform": ".options relay.transform",
    "tir": ".symbols relay.ty",
    "tir.expr": ".symbols relay.ty",
    "te": ".symbols",
    "topi": "",
    "topi.utils": ".shapes",
    "topi.util": ".shapes",
    "contrib": "",
    "contrib.graph_executor": ".graphs",
    "contrib.graph_runtime": ".graphs",
    "contrib.debugger": "",
    "contrib.debugger.debug_executor": ".graphs",
    "contrib.debugger.debug_runtime": ".graphs",
    "contrib.utils": ".files",
    "contrib.util": ".files",
    "contrib.download": ".files",
    "relay": ".expressions .parameters .programs .executors .options .operators relay",
    "relay.build_module": ".build_module .programs .executors .options relay.build_module",
    "relay.backend": ".options .programs",
    "relay.backend.executor": ".options",
    "relay.backend.runtime": ".options",
    "relay.backend.vm": ".machines",
    "relay.backend.interpreter": ".values .executors relay.backend.interpreter",
    "relay.backend.executor_factory": ".programs",
    "relay.vm": ".machines",
    "relay.container": ".containers",
    "relay.param_dict": ".parameters",
    "relay.transform": ".options .passes .span_passes .weight_passes relay.transform",
    "relay.transform.transform": ".options .passes .span_passes .weight_passes relay.transform",
    "relay.transform.recast": "relay.transform",
    "relay.transform.mixed_precision": ".precision relay.transform",
    "relay.transform.fake_quantization_to_integer": "relay.transform",
    "relay.analysis": ".analyses .calibration relay.analysis",
    "relay.analysis.analysis": ".analyses .calibration relay.analysis",
    "relay.analysis.operations_distribution": "relay.analysis",
    "relay.expr": ".expressions relay.expr",
    "relay.function": ".expressions",
    "relay.expr_functor": "relay",
    "relay.type_functor": "relay",
    "relay.testing": ".workloads .tensor_arrays relay.testing",
    "relay.testing.byoc": ".annotators",
    "relay.frontend": ".importers relay.frontend",
    "relay.frontend.common": ".analyses .importing",
    "relay.prelude": ".tensor_arrays relay.prelude",
    "relay.quantize": ".quantization relay.quantize",
    "relay.qnn": "relay.qnn",
    "relay.qnn.op": ".requantization relay.op.qnn",
    "relay.op": ".operators .new_operators relay.op",
    "relay.op.op": ".operators .new_operators relay.op.op",
    "relay.annotation": ".operators relay.op.annotation",
    "relay.op.annotation": ".operators relay.op.annotation",
    "relay.op.contrib": "relay.backend",
    "relay.op.contrib.register": "relay.backend",
    "relay.op.annotation.annotation": ".operators relay.op.annotation",
    "relay.nn": ".dropout relay.op.nn",
    "relay.op.nn": ".dropout relay.op.nn",
    "relay.op.nn.nn": ".dropout relay.op.nn",
    "relay.qnn.op.qnn": ".requantization relay.op.qnn",
    "relay.op.algorithm": "relay.op",
    "relay.op.tensor": ".operators relay.op",
    "relay.op.transform": ".operators relay.op",
    "relay.op.reduce": ".operators relay.op",
}
"""The homes of modules, by their names below `tvm`."""
GIVES_PARAMETERS = frozenset({"create_workload", "from_onnx", "from_pytorch", "get_workload"})
"""Functions that give `mod, params`."""


class Facade(ModuleType):
    """A module by its name there."""

    def __init__(self, where: str) -> None:
        """`where` is its name below `tvm`."""
        super().__init__(f"{PACKAGE}.{where}", f"`tvm.{where}`, answered by Relay.")
        self.__below__ = where  # no name of a script's, such as `relay.where`
        self.__path__ = []

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return names(self.__below__)
        return answer(self.__below__, name)

    def __dir__(self) -> list[str]:
        return names(self.__below__)


def homes(where: str) -> list[str]:
    """The modules that answer for one, by their full names."""
    said = HOMES.get(where, "" if subject_of(where) else f"relay.{where.removeprefix('relay.')}")
    return [PACKAGE + home if home.startswith(".") else home for home in said.split()]


@cache
def module(where: str) -> ModuleType | None:
    """The module of that name below `tvm`, or None if nothing is known of it."""
    if where == "":
        return sys.modules[PACKAGE]
    if where in HOMES or subject_of(where):
        return Facade(where)
    within = where.removeprefix("relay.")
    if is_module(f"relay.{within}"):
        return Facade(where) if within.startswith("testing.") else import_module(f"relay.{within}")
    parent, _, name = where.rpartition(".")
    above = module(parent)
    found = None if above is None else above.__dict__.get(name) or _attribute(parent, name)
    return found if isinstance(found, ModuleType) else None


def is_module(name: str) -> bool:
    """Whether there is a module of that name."""
    try:
        return name in sys.modules or find_spec(name) is not None
    except (ModuleNotFoundError, ValueError):
        return False


def answer(where: str, name: str) -> Any:
    """What a name of a module is (`AttributeError`; `tensor-program` for one of a refused module)."""
    if name.startswith("__"):
        raise AttributeError(name)
    inner = f"{where}.{name}" if where else name
    found = module(inner) if inner in HOMES or inner in REFUSED else _attribute(where, name)
    if found is None and subject_of(where):
        refuse(where, name)
    if found is None or isinstance(found, ModuleType):
        found = module(inner) or found
    if found is None:
        raise AttributeError(f"module 'tvm{where and '.'}{where}' has no attribute {name!r}")
    return found


def _attribute(where: str, name: str) -> Any:
    for home in homes(where):
        source = import_module(home)
        is_own = home.startswith(PACKAGE)
        found = getattr(source, name, None) if not is_own or name in source.__all__ else None
        if found is not None:
            return with_arrays(found) if name in GIVES_PARAMETERS else found
    return None


def names(where: str) -> list[str]:
    """Every name of a module that is known."""
    prefix = f"{where}." if where else ""
    found = {key.removeprefix(prefix).partition(".")[0] for key in HOMES if key.startswith(prefix)}
    for home in homes(where):
        source = import_module(home)
        found |= {*source.__all__} if home.startswith(PACKAGE) else {*dir(source), *public(source)}
    return sorted([name for name in found if name and not name.startswith("_")])


def public(source: ModuleType) -> list[str]:
    """The names that a module offers, also those that are resolved on first use."""
    return getattr(source, "__all__", [])
