"""Code in memory as builtin functions of CPython."""

import ctypes
from collections.abc import Callable
from typing import Any

FASTCALL = 0x80 | 0x2
"""A function that gets its arguments as an array, and the names of those that are given by name."""


class MethodDef(ctypes.Structure):
    """`PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


def builtin(
    name: str, code: int, slow: Callable[..., Any], fail: Callable[..., Any]
) -> tuple[Any, MethodDef]:
    """A builtin function of Python at an address; what comes second has to live as long."""
    definition = MethodDef(name.encode(), code, FASTCALL, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    return make(ctypes.addressof(definition), (slow, fail), None), definition
