"""Objects of Python that machine code refers to: a table of addresses, filled when the code is loaded."""

import ctypes
import sys
import sysconfig
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from relay.backend.native.llvm.builder import POINTER, Code, Value
from relay.ir.dtype import to_numpy

TABLE = "relay.python"
PLAIN = {"True": True, "False": False, "float": float, "int": int, "ndarray": np.ndarray}


class Objects:
    """The objects that a program refers to, by name; never freed as long as Python runs."""

    def __init__(self) -> None:
        """None so far."""
        self.numbers: dict[str, int] = {}

    def load(self, code: Code, name: str) -> Value:
        """Load the address of an object: `float`, `dtype:int32`, `scalar:int32` (a class), `numpy:94`."""
        i = self.numbers.setdefault(name, len(self.numbers))
        return code.load(POINTER, Value(POINTER, f"getelementptr (i8, ptr @{TABLE}, i64 {8 * i})"))

    def text(self) -> str:
        """The table."""
        return f"@{TABLE} = global [{max(1, len(self.numbers))} x ptr] zeroinitializer"


def address_of(name: str) -> int:
    """Where an object is in this process."""
    kind, _, what = name.partition(":")
    if kind == "dtype":
        return id(to_numpy(what))
    if kind == "scalar":
        return id(to_numpy(what).type)
    if kind == "numpy":
        return numpy_functions()[int(what)]
    return id(capsule_type() if name == "capsule" else PLAIN[name])


@cache
def capsule_type() -> type[object]:
    """The class of CPython's capsules: of what an array is based on that a compiled program has made."""
    table: object = import_module("numpy._core._multiarray_umath")._ARRAY_API
    return type(table)


TYPE_AT, FLOAT_AT, ITEMS_AT = 8, 16, 24
"""Offsets in Python's objects: the type, the number of a float, the items of a tuple."""
SCALAR_AT = 16
"""Offset of the number in NumPy's scalars."""
ARRAY_DATA, ARRAY_RANK, ARRAY_DIMS, ARRAY_BASE, ARRAY_DESCR, ARRAY_FLAGS = 16, 24, 32, 48, 56, 64
"""Offsets in NumPy's arrays."""
READABLE, OWNS, WRITEABLE = 0x1 | 0x100, 0x4, 0x400
"""Flags of an array: in C order with aligned elements; that frees its memory; that may be written to."""


def elements_of(x: np.ndarray[Any, Any]) -> int:
    """The address of an array's elements: `x.ctypes.data` takes ten times as long."""
    if not is_supported():
        return x.ctypes.data
    return ctypes.c_size_t.from_address(id(x) + ARRAY_DATA).value


@cache
def numpy_functions() -> Any:
    """The table of NumPy's functions for C."""
    functions = import_module("numpy._core._multiarray_umath")._ARRAY_API
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = get(functions, None)
    return ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))


@cache
def is_supported() -> bool:
    """Whether Python's objects are laid out as `direct_calls` knows them."""
    return sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
