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


class compiled_program(tuple[Any, ...]):  # noqa: N801 - `repr` of an entry shows it beside Python's own types
    """What a builtin function goes to where it cannot go on: the long way, and the failure."""

    __slots__ = ()


def builtin(
    name: str, code: int, slow: Callable[..., Any], fail: Callable[..., Any], doc: str
) -> tuple[Any, MethodDef]:
    """A builtin function of Python at an address; what comes second has to live as long."""
    definition = MethodDef(name.encode(), code, FASTCALL, doc.encode())
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    return make(ctypes.addressof(definition), compiled_program((slow, fail)), None), definition
