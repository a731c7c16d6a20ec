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
    """The objects that a builtin function needs: the long way and the failure, and its definition."""

    __slots__ = ()


def builtin(name: str, code: int, slow: Callable[..., Any], fail: Callable[..., Any], doc: str) -> Any:
    """Return a builtin function of Python at an address.

    CPython reads its definition even while it frees it.  So the function holds that itself, as `bytes`: in a
    cycle, the collector empties structures of `ctypes` in any order, even where others still refer to them.
    """
    texts = name.encode(), doc.encode()
    definition = bytes(MethodDef(texts[0], code, FASTCALL, texts[1]))
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_char_p, ctypes.py_object, ctypes.py_object]
    return make(definition, compiled_program((slow, fail, definition, *texts)), None)
