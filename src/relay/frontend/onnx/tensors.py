"""Tensors and types of ONNX as arrays and types of Relay."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from relay.diagnostic import fail
from relay.frontend.support import without_sizes
from relay.ir.dtype import bits, to_numpy
from relay.ir.type import ANY, Dim, GlobalTypeVar, Kind, TensorType, Type, TypeCall, TypeVar

NAMES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string",
    9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 16: "bfloat16",
    17: "float8_e4m3fn", 18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz", 21: "uint4",
    22: "int4", 23: "float4_e2m1fn", 24: "uint8", 25: "uint2", 26: "int2",
}  # fmt: skip
"""Dtypes by their numbers in ONNX; scales (24) are bytes."""
NUMBERS = {name: number for number, name in NAMES.items() if number != 24}
MISSING = {14: "complex64", 15: "complex128", 27: "float6e2m3", 28: "float6e3m2"}
EXTERNAL = 1
OPEN_SIZE = -1
"""The size that converters from other formats write for an open one."""
MAX_TENSOR_BYTES = 1 << 36
"""A tensor that claims more bytes than this is taken as damage."""


def dtype_of(number: int) -> str:
    """The name of a dtype (`onnx-type`)."""
    found = NAMES.get(number)
    if found is None:
        name = MISSING.get(number, f"number {number}")
        fail("onnx-type", f"there is no dtype for ONNX's {name}", hint="convert the model's tensors first")
    return found


def array_of(tensor: Any, folder: Path | None) -> np.ndarray[Any, Any]:
    """The elements of a `TensorProto`; those in other files only from inside `folder`.

    Raises `onnx-model`, `onnx-external-data`, `onnx-type`.
    """
    dtype = dtype_of(tensor.data_type)
    shape = tuple(tensor.dims)
    width = 64 if dtype == "string" else bits(dtype)
    if any(d < 0 for d in shape) or math.prod(shape) * width > MAX_TENSOR_BYTES * 8:
        fail("onnx-model", f"the tensor `{tensor.name}` cannot have the shape {shape}")
    if tensor.data_location == EXTERNAL:
        return _from_bytes(_external(tensor, folder), dtype, shape, tensor.name)
    if dtype == "string":
        words = [_text(b) for b in tensor.string_data]
        return _shaped(np.array([*words, ""], object)[:-1], shape, tensor.name)
    if tensor.HasField("raw_data"):
        return _from_bytes(tensor.raw_data, dtype, shape, tensor.name)
    return _from_numbers(tensor, dtype, shape)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _shaped(array: np.ndarray[Any, Any], shape: tuple[int, ...], name: str) -> np.ndarray[Any, Any]:
    if array.size != math.prod(shape):
        message = f"the tensor `{name}` has {array.size} elements, where its shape is {shape}"
        fail("onnx-model", message)
    return array.reshape(shape)


def _from_bytes(data: bytes, dtype: str, shape: tuple[int, ...], name: str) -> np.ndarray[Any, Any]:
    width, kind = bits(dtype), to_numpy(dtype)
    count = math.prod(shape)
    if width >= 8 or dtype == "bool":
        if len(data) != count * kind.itemsize:
            message = f"the tensor `{name}` has {len(data)} bytes, where its shape {shape} needs"
            fail("onnx-model", f"{message} {count * kind.itemsize}")
        array = np.frombuffer(
            data, "uint8" if dtype == "bool" else kind.newbyteorder("<") if kind.isbuiltin else kind
        )
        return (array != 0 if dtype == "bool" else array.astype(kind, copy=False)).reshape(shape)
    return _shaped(_unpacked(np.frombuffer(data, "uint8"), width, kind)[:count], shape, name)


def _unpacked(packed: np.ndarray[Any, Any], width: int, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The elements of less than a byte, the lowest bits first."""
    shifts = np.arange(0, 8, width, dtype="uint8")
    parts = ((packed[:, None] >> shifts) & ((1 << width) - 1)).reshape(-1).astype("uint8")
    if kind.name.startswith("float"):
        return parts.view(kind)
    if kind.name.startswith("uint"):
        return parts.astype(kind)
    signed = parts.astype("int8")
    return np.where(signed >= 1 << (width - 1), signed - (1 << width), signed).astype("int8").astype(kind)


def _from_numbers(tensor: Any, dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The elements of the fields that hold numbers."""
    kind = to_numpy(dtype)
    if dtype in ("float32", "float64"):
        found = np.array(tensor.float_data if dtype == "float32" else tensor.double_data, kind)
    elif dtype == "int64":
        found = np.array(tensor.int64_data, kind)
    elif dtype in ("uint32", "uint64"):
        found = np.array(tensor.uint64_data, "uint64").astype(kind)
    elif bits(dtype) < 8 and dtype != "bool":
        found = np.array(tensor.int32_data, "int64").astype("uint8")
        found = _unpacked(found, bits(dtype), kind)[: math.prod(shape)]
    elif dtype in ("float16", "bfloat16"):
        found = np.array(tensor.int32_data, "int64").astype("uint16").view(kind)
    elif dtype.startswith("float8"):
        found = np.array(tensor.int32_data, "int64").astype("uint8").view(kind)
    else:
        found = np.array(tensor.int32_data, "int64").astype(kind)
    return _shaped(found, shape, tensor.name)


def _external(tensor: Any, folder: Path | None) -> bytes:
    """The bytes of a tensor in another file of the model's folder."""
    said = {e.key: e.value for e in tensor.external_data}
    where = said.get("location", "")
    if folder is None:
        fail(
            "onnx-external-data",
            f"the tensor `{tensor.name}` is in the file `{where}`, beside a model that has no folder",
            hint="give the path of the model",
        )
    root = folder.resolve()
    path = root if "\0" in where else (root / where).resolve()  # no path of a system has a NUL
    if root not in path.parents:
        fail(
            "onnx-external-data",
            f"the tensor `{tensor.name}` is in `{where}`, which is not in the folder of the model",
            hint="keep the data beside the model",
        )
    try:
        offset, length = int(said.get("offset", 0)), int(said.get("length", -1))
        if offset < 0 or not path.is_file():
            raise ValueError
        rest = max(path.stat().st_size - offset, 0)
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(min(length, rest) if length >= 0 else rest)
    except (OSError, ValueError, OverflowError):
        fail("onnx-external-data", f"the tensor `{tensor.name}` cannot be read from `{where}`")


def type_of(proto: Any, dims: dict[str, TypeVar], shape: Mapping[int, Any] | None = None) -> Type:
    """The type that a `TypeProto` says; `dims` has the symbolic sizes that were named so far."""
    kind = proto.WhichOneof("value")
    match kind:
        case "tensor_type":
            tensor = proto.tensor_type
            if not tensor.HasField("shape"):
                fail(
                    "onnx-type",
                    "a tensor of unknown rank cannot be an input",
                    hint="give its shape: from_onnx(model, shape={name: sizes})",
                )
            return TensorType([_dim(d, dims) for d in tensor.shape.dim], dtype_of(tensor.elem_type))
        case "sequence_type":
            return TypeCall(
                GlobalTypeVar("List"), [without_sizes(type_of(proto.sequence_type.elem_type, dims))]
            )
        case "optional_type":
            return TypeCall(GlobalTypeVar("Option"), [type_of(proto.optional_type.elem_type, dims)])
        case _:
            fail("onnx-type", f"there is no type for ONNX's {kind or 'missing type'}")


def _dim(d: Any, dims: dict[str, TypeVar]) -> Dim:
    if d.HasField("dim_value"):
        if d.dim_value == OPEN_SIZE:
            return ANY
        if d.dim_value < 0 or d.dim_value >= 1 << 40:
            fail("onnx-model", f"a size cannot be {d.dim_value}")
        return d.dim_value
    name = d.dim_param
    if not name:
        return ANY
    if name not in dims:
        dims[name] = TypeVar(readable(name), Kind.Dim)
    return dims[name]


def readable(name: str) -> str:
    """A name of a symbolic size as Relay writes it."""
    found = "".join([c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name])
    return found if found[:1].isalpha() else f"n{found}"
