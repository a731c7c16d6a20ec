"""Where LAPACK is: SciPy has the addresses of its routines, for code that calls them without Python."""

import ctypes
from collections.abc import Sequence
from importlib import import_module
from typing import Any


def routine_addresses(names: Sequence[str]) -> list[int]:
    """The addresses of routines; all 0 unless SciPy is installed and has all of them."""
    try:
        capsules: dict[str, Any] = import_module("scipy.linalg.cython_lapack").__pyx_capi__
    except ImportError:
        return [0] * len(names)
    if not all(name in capsules for name in names):
        return [0] * len(names)
    return [address_in(capsules[name]) for name in names]


def address_in(capsule: Any) -> int:
    """The address that a capsule of Python holds."""
    api = ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    return pointer(("PyCapsule_GetPointer", api))(capsule, name_of(capsule)) or 0
