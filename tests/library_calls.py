"""A library of a compiled program, called through its C interface by ctypes."""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import relay
from relay.backend.native.library.c_library import compile_library
from relay.backend.native.library.interface import DLPACK
from relay.backend.native.library.targets import SHARED, target_named
from relay.ir.dtype import to_numpy

CPU = 1
NAMES = {said: name for name, said in DLPACK.items()}


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class DLManagedTensor(ctypes.Structure):
    _fields_ = [
        ("dl_tensor", DLTensor),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ]


class TensorInfo(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("ndim", ctypes.c_int32), ("shape", ctypes.POINTER(ctypes.c_int64)),
    ]  # fmt: skip


class CallError(Exception):
    """A function of a library has not returned 0."""

    def __init__(self, status: int, code: str, text: str) -> None:
        super().__init__(text)
        self.status, self.code, self.text = status, code, text


def as_dltensor(array: Any) -> DLTensor:
    """What C sees of an array, which has to outlive it."""
    code, bits = DLPACK[relay.ir.dtype.dtype_name(array.dtype)]
    sizes = (ctypes.c_int64 * array.ndim)(*array.shape)
    strides = (ctypes.c_int64 * array.ndim)(*[s // array.itemsize for s in array.strides])
    made = DLTensor(array.ctypes.data, CPU, 0, array.ndim, code, bits, 1, sizes, strides, 0)
    made.kept = (array, sizes, strides)
    return made


def as_array(x: DLTensor) -> Any:
    """A copy of the elements."""
    kind = to_numpy(NAMES[x.code, x.bits])
    shape = [x.shape[i] for i in range(x.ndim)]
    made = np.empty(shape, kind)
    if made.nbytes:
        ctypes.memmove(made.ctypes.data, x.data + x.byte_offset, made.nbytes)
    return made


class Library:
    """A shared library and one handle of it."""

    def __init__(self, path: Path, prefix: str, threads: int = 0) -> None:
        self.functions = ctypes.CDLL(str(path))
        self.prefix = prefix
        self.handle = ctypes.c_void_p()
        self.check(self.function("create")(threads, ctypes.byref(self.handle)))

    def function(self, name: str, result: Any = ctypes.c_int) -> Any:
        found = self.functions[f"{self.prefix}_{name}"]
        found.restype = result
        return found

    def text(self, name: str, *args: int) -> str:
        return self.function(name, ctypes.c_char_p)(*args).decode()

    def check(self, status: int) -> None:
        if status:
            raise CallError(status, self.text("error_code"), self.text("error_text"))

    def info(self, kind: str, entry: int = 0) -> list[tuple[str, str, tuple[int, ...]]]:
        """Name, dtype and sizes of the inputs or outputs."""
        ask = self.function(kind, ctypes.POINTER(TensorInfo))
        several = [ask(entry, i).contents for i in range(self.function(f"{kind}_count")(entry))]
        return [
            (x.name.decode(), NAMES[x.code, x.bits], tuple([x.shape[i] for i in range(x.ndim)]))
            for x in several
        ]

    def run(self, *arrays: Any, entry: int = 0, outputs: int | None = None) -> list[Any]:
        """The outputs of an entry on arrays."""
        inputs = rows([as_dltensor(np.asarray(a)) for a in arrays])
        count = self.function("output_count")(entry) if outputs is None else outputs
        found = (ctypes.POINTER(DLManagedTensor) * max(1, count))()
        self.check(self.function("run")(self.handle, entry, inputs, len(arrays), found, count))
        made = [as_array(found[i].contents.dl_tensor) for i in range(count)]
        for i in range(count):
            found[i].contents.deleter(ctypes.addressof(found[i].contents))
        return made

    def run_into(self, arrays: Sequence[Any], outputs: Sequence[Any], entry: int = 0) -> None:
        """Write the outputs of an entry on arrays to other arrays."""
        inputs, places = rows(list(map(as_dltensor, arrays))), rows(list(map(as_dltensor, outputs)))
        self.check(self.function("run_into")(self.handle, entry, inputs, len(arrays), places, len(outputs)))

    def close(self) -> None:
        self.function("destroy", None)(self.handle)
        self.handle = None


def rows(tensors: Sequence[DLTensor]) -> Any:
    """Their addresses."""
    made = (ctypes.POINTER(DLTensor) * max(1, len(tensors)))(*map(ctypes.pointer, tensors))
    made.kept = tensors
    return made


def library_of(
    text: str, folder: Path, entries: Sequence[str] = ("main",), target: str = "native", prefix: str = "model"
) -> Library:
    """A program compiled to a shared library and opened."""
    mod = relay.infer(relay.parse(text, "model.relay"))
    path = folder / f"lib{prefix}.so"
    compile_library(mod, entries, target_named(target), prefix).write(SHARED, str(path))
    return Library(path, prefix)
