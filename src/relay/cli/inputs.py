"""What a program is run on: literals, files of arrays, standard input."""

import io
import json
import math
import re
import zipfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, partial
from typing import Any, BinaryIO, NoReturn, cast

import click
import numpy as np

from relay.cli.files import STDIN, display_name, mapped_bytes, read_bytes, read_text
from relay.diagnostic import Diagnostic, RelayError, Span, did_you_mean, fail
from relay.ir.dtype import canonical, to_numpy
from relay.ir.expr import Function, Var
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.text.param_dict import unread_params

NAMED = re.compile(r'%?("(?P<quoted>[^"]+)"|(?P<plain>[A-Za-z_][\w./]*))\s*=(?!=)\s*(?P<value>.*)', re.DOTALL)
ARRAY_FILES = (".npy", ".npz", ".safetensors", ".params")
HEADER_BYTES = 1 << 16
"""Bytes of an `.npy` file that are read for its header."""
NPY_MAGIC, ZIP_MAGIC = b"\x93NUMPY", b"PK"


@dataclass(frozen=True, slots=True)
class Unread:
    """An array in a file, of which only the header was read."""

    shape: tuple[int, ...]
    read: Callable[[], np.ndarray[Any, Any]]


@dataclass(frozen=True, slots=True)
class Input:
    """A value for one parameter: an array, or a text; `origin` is how the user named it."""

    origin: str
    stored: np.ndarray[Any, Any] | Unread | None = None
    text: str = ""
    is_json: bool = False

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of the array, which need not be read for it; None for a text."""
        return None if self.stored is None else self.stored.shape

    @property
    def array(self) -> np.ndarray[Any, Any] | None:
        """The array, read now if it is in a file."""
        return self.stored.read() if isinstance(self.stored, Unread) else self.stored

    def array_for(self, p: Var, span: Span | None = None) -> np.ndarray[Any, Any] | None:
        """The array for a parameter, which is read only if it is not larger than that (`shape-mismatch`)."""
        if self.shape is not None:
            check_size(self.shape, p, self.origin, span)
        return self.array


def check_size(shape: tuple[int, ...], p: Var, origin: str, span: Span | None = None) -> None:
    """Demand that an array, yet to be read, is not larger than the parameter it is for (`shape-mismatch`)."""
    t = p.type_annotation
    if not isinstance(t, TensorType) or not isinstance(t.shape, tuple):
        return
    sizes = [d for d in t.shape if isinstance(d, int)]
    if len(sizes) == len(t.shape) and math.prod(shape) > math.prod(sizes):
        message = f"`{origin}` has the shape {shape}, and the parameter `%{p.name_hint}` the type {t}"
        fail("shape-mismatch", message, span or p.span, hint="it is not read: give an array of that shape")


Given = Input | dict[str, Input]
"""One positional argument: a value, or (an `.npz`, `.safetensors` or `.params` file) values by name."""


def arrange(params: Sequence[str], args: Sequence[str], weights: Mapping[str, Input]) -> list[Input]:
    """One input for each parameter: by name first, then the positional ones in order.

    Raises `unknown-input`, `duplicate-input`, `missing-input`, `too-many-inputs`.
    """
    by_name: dict[str, Input] = {}
    positional: list[Input] = []
    spare = dict(weights)
    for arg in args:
        named = NAMED.fullmatch(arg)
        if named:
            name = named["quoted"] or named["plain"]
            if name not in params:
                fail("unknown-input", f"the program has no parameter `{name}`", hint=_name_hint(name, params))
            _put(by_name, name, one(read(named["value"]), named["value"], name))
            continue
        given = read(arg)
        if isinstance(given, Input):
            positional.append(given)
            continue
        for name, value in given.items():
            if name in params:
                _put(by_name, name, value)
            else:
                spare[name] = value
    for name in params:
        if name in spare and name not in by_name:
            by_name[name] = spare[name]
    open_params = [p for p in params if p not in by_name]
    if len(positional) > len(open_params):
        _too_many(params, open_params, positional)
    by_name.update(zip(open_params, positional, strict=False))
    missing = [p for p in params if p not in by_name]
    if missing:
        unused = [n for n in spare if n not in params]
        hint = did_you_mean(missing[0], unused).replace("did you mean", "is it the array") if unused else ""
        if unused and not hint:
            hint = f"the files have {_listing(unused)}, which are not names of parameters"
        names = ", ".join(f"`{p}`" for p in missing)
        fail(
            "missing-input",
            f"no value for {'parameter' if len(missing) == 1 else 'parameters'} {names}",
            hint=hint or f"write it after the file: a literal, `{missing[0]}=…`, or a .npy or .npz file",
        )
    if weights and not any(n in params for n in weights):
        _no_weights_used(params, weights)
    return [by_name[p] for p in params]


def _no_weights_used(params: Sequence[str], weights: Mapping[str, Input]) -> NoReturn:
    fail(
        "unknown-input",
        "no array of the weights has the name of a parameter",
        hint=f"the file has {_listing(list(weights))}; {_parameters(params)}",
    )


def _parameters(names: Sequence[str]) -> str:
    return f"the parameters are {_listing(names)}" if names else "the program has no parameters"


def _put(by_name: dict[str, Input], name: str, value: Input) -> None:
    if name in by_name:
        fail(
            "duplicate-input",
            f"parameter `{name}` is given twice",
            hint=f"by {by_name[name].origin} and by {value.origin}",
        )
    by_name[name] = value


def _too_many(params: Sequence[str], open_params: Sequence[str], positional: Sequence[Input]) -> None:
    extra = positional[len(open_params)]
    takes = f"takes {len(params) or 'no'} input{'' if len(params) == 1 else 's'}"
    fail(
        "too-many-inputs",
        f"the program {takes}: `{extra.origin}` is one too many",
        hint=f"its parameters are {_listing(params)}" if params else "leave it out",
    )


def _name_hint(name: str, params: Sequence[str]) -> str:
    return did_you_mean(name, params) or (
        f"its parameters are {_listing(params)}" if params else "it has none"
    )


def _listing(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(f"`{n}`" for n in names[:most]) + (", …" if len(names) > most else "")


def one(given: Given, source: str, name: str) -> Input:
    """The array called `name` of a file, or its only one (`unknown-input`)."""
    if isinstance(given, Input):
        return given
    if name in given:
        return given[name]
    if len(given) == 1:
        return next(iter(given.values()))
    fail(
        "unknown-input",
        f"`{source}` has no array `{name}`",
        hint=f"it has {_listing(list(given))}" if given else "it is empty",
    )


def read(arg: str) -> Given:
    """What one argument of the command line stands for."""
    if arg == STDIN:
        start = read_bytes(STDIN, HEADER_BYTES)
        if start.startswith(NPY_MAGIC):
            return Input("<stdin>", unread_npy(STDIN, start))
        data = start + read_bytes(STDIN)
        if data.startswith(ZIP_MAGIC):
            return read_npz(data, STDIN)
        try:
            return Input("<stdin>", text=data.decode())
        except UnicodeDecodeError:
            fail("bad-array-file", "standard input is neither text nor a .npy or .npz file")
    if arg.endswith(".npy"):
        return Input(arg, unread_npy(arg, read_bytes(arg, HEADER_BYTES)))
    if arg.endswith((".npz", ".safetensors", ".params")):
        return read_weights(arg)
    if arg.endswith(".json"):
        return Input(arg, text=read_text(arg), is_json=True)
    return Input(arg, text=arg)


def read_weights(name: str) -> dict[str, Input]:
    """The tensors of a `.safetensors`, `.npz` or `.params` file by name (`bad-array-file`, `bad-array`)."""
    if name.endswith(".npz"):
        return read_npz(None, name)
    if name.endswith(".params"):
        return {
            key: Input(f"{name}:{key}", Unread(shape, partial(_copy_of, read)))
            for key, (shape, read) in unread_params(mapped_bytes(name), name).items()
        }
    return read_safetensors(name)


def weights_of_main(mod: IRModule, name: str) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of a file that have the names of parameters of `@main`; none at all is `unknown-input`.

    Warns of arrays that seem to be for a parameter that has none (`unused-weight`).
    """
    main = mod["main"]
    params = {p.name_hint: p for p in main.params} if isinstance(main, Function) else {}
    names = list(params)
    weights = read_weights(name)
    arrays = {n: x.array_for(params[n]) for n, x in weights.items() if n in params}
    found = {n: array for n, array in arrays.items() if array is not None}
    if not found:
        message = f"`{name}` has no array with the name of a parameter of `@main`"
        holds = f"it has {_listing(list(weights))}" if weights else "it is empty"
        fail("unknown-input", message, hint=f"{holds}; {_parameters(names)}")
    warn_of_near_names(name, [n for n in weights if n not in names], [n for n in names if n not in found])
    return found


def warn_of_near_names(file: str, spare: Sequence[str], still_open: Sequence[str]) -> None:
    """Warn of arrays that are nobody's, where a parameter without an array has nearly the same name.

    Others are not an error: several programs may share a file.
    """
    by_folded = {n.casefold(): n for n in still_open}
    for name in spare:
        near = get_close_matches(name.casefold(), list(by_folded), n=1)
        if near:
            message = f"the array `{name}` of `{display_name(file)}` is not used: no parameter has its name"
            hint = f"did you mean `{by_folded[near[0]]}`, which stays an input?"
            found = Diagnostic("unused-weight", message, hint=hint, severity="warning")
            click.echo(found.render() + "\n", err=True)


def read_npy(data: bytes, name: str, member: str = "") -> np.ndarray[Any, Any]:
    """The array of an `.npy` file (`bad-array-file`, `input-dtype`); pickled objects are never loaded."""
    where = f"`{display_name(name)}`" + (f" (array `{member}`)" if member else "")
    if not data.startswith(NPY_MAGIC):
        fail("bad-array-file", f"{where} is not an .npy file", hint="numpy.save writes one")
    try:
        _check_size(data)
        array = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    except MemoryError:
        raise
    except Exception as error:  # a header is Python text to NumPy, and fails in as many ways
        if "allow_pickle" in str(error):
            fail(
                "input-dtype",
                f"{where} holds Python objects, which are not tensors",
                hint="save an array of numbers, booleans or strings",
            )
        fail("bad-array-file", f"{where} is broken: {_reason(error)}", hint="write it again with numpy.save")
    return as_tensor(array, where)


def unread_npy(name: str, start: bytes) -> Unread:
    """The array of an `.npy` file, of which the header is in `start` (`bad-array-file`, `input-dtype`)."""
    stream = io.BytesIO(start)
    try:
        shape, promised, has_objects = _header(stream)
    except Exception:  # NumPy says what is wrong
        array = read_npy(start, name)
        return Unread(array.shape, lambda: array)
    end = stream.tell() + (0 if has_objects else promised)

    @cache
    def rest_of_stdin() -> bytes:
        return read_bytes(STDIN, max(0, end - len(start)))

    def read_now() -> np.ndarray[Any, Any]:
        return read_npy(start + rest_of_stdin() if name == STDIN else read_bytes(name, end), name)

    return Unread(shape, read_now)


def _header(stream: BinaryIO) -> tuple[tuple[int, ...], int, bool]:
    """The shape that an `.npy` header says, the bytes of the data, and whether these are objects."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version in ((2, 0), (3, 0)):  # which differ in names of fields alone
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise KeyError(version)
    return shape, math.prod(shape) * dtype.itemsize, dtype.hasobject


def _check_size(data: bytes) -> None:
    """Refuse a header that promises more than the file has, before NumPy makes room for it."""
    stream = io.BytesIO(data)
    with suppress(KeyError):  # a version of the format that NumPy refuses
        _, promised, has_objects = _header(stream)
        there = len(data) - stream.tell()
        if not has_objects and promised > there:
            raise ValueError(f"it should have {promised} bytes of data and has {there}")


def _check_member(archive: zipfile.ZipFile, member: str) -> tuple[int, ...]:
    """Return the shape of a member; one with more or fewer bytes than its header says is refused unread."""
    with archive.open(member) as stream:
        shape, promised, has_objects = _header(cast("BinaryIO", stream))
        there = archive.getinfo(member).file_size - stream.tell()
    if not has_objects and promised != there:
        raise ValueError(f"the array `{member}` should have {promised} bytes of data and has {there}")
    return shape


def _reason(error: Exception) -> str:
    said = error.args[0] if error.args and isinstance(error.args[0], str) else str(error)
    return said.partition("\n")[0].rstrip(". ")


def as_tensor(array: np.ndarray[Any, Any], where: str) -> np.ndarray[Any, Any]:
    """The array in native byte order and in a dtype of the language (`input-dtype`)."""
    if array.dtype.kind == "U":
        try:
            return array.astype(object)
        except (SystemError, ValueError):
            fail("bad-array-file", f"{where} is broken: it has invalid characters")
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if canonical(array.dtype.name) is None or array.dtype.kind in "OSUMmc":
        fail(
            "input-dtype",
            f"{where} is of {array.dtype.name}, which is not a dtype",
            hint="convert it first, as to float32; complex numbers are pairs in a last axis of 2"
            if array.dtype.kind == "c"
            else "convert it first, as to float32",
        )
    return array


def read_npz(data: bytes | None, name: str) -> dict[str, Input]:
    """The arrays of an `.npz` file by name, whose headers are read now; of the file `name` unless its bytes
    are given (`bad-array-file`).
    """
    arrays: dict[str, Input] = {}

    def opened() -> zipfile.ZipFile:
        return zipfile.ZipFile(name if data is None else io.BytesIO(data))

    def read_member(member: str, key: str) -> np.ndarray[Any, Any]:
        with npz_errors(name), opened() as archive:
            return read_npy(archive.read(member), name, key)

    if data is None:
        read_bytes(name, 0)
    with npz_errors(name), opened() as archive:
        for member in archive.namelist():
            key = member.removesuffix(".npy")
            try:
                shape = _check_member(archive, member)
            except (KeyError, EOFError):  # NumPy says what is wrong
                with archive.open(member) as stream:
                    shape = read_npy(stream.read(HEADER_BYTES), name, key).shape
            arrays[key] = Input(
                f"{display_name(name)}:{key}", Unread(shape, partial(read_member, member, key))
            )
    return arrays


@contextmanager
def npz_errors(name: str) -> Generator[None, None, None]:
    """Report what is wrong with an `.npz` file (`bad-array-file`)."""
    try:
        yield
    except (MemoryError, RelayError):
        raise
    except Exception as error:  # of zipfile, of zlib, of the encryption it has not
        fail(
            "bad-array-file",
            f"`{display_name(name)}` is not a valid .npz file: {_reason(error)}",
            hint="numpy.savez writes one",
        )


def read_safetensors(name: str) -> dict[str, Input]:
    """The tensors of a `.safetensors` file by name (`bad-array-file`)."""
    from safetensors import SafetensorError, deserialize, safe_open  # pyright: ignore[reportUnknownVariableType]

    content = mapped_bytes(name)
    try:
        if isinstance(content.obj, bytes):
            deserialize(content.obj)
        else:
            with safe_open(name, "numpy"):
                pass
    except SafetensorError as error:
        fail(
            "bad-array-file",
            f"`{name}` is not a valid .safetensors file: {_reason(error)}",
            hint="safetensors.numpy.save_file writes one",
        )
    start = 8 + int.from_bytes(content[:8], "little")
    entries: dict[str, Any] = json.loads(bytes(content[8:start]))
    entries.pop("__metadata__", None)
    arrays: dict[str, Input] = {}
    for key, entry in entries.items():
        reader = partial(_tensor, content[start:], entry, f"`{name}` (tensor `{key}`)")
        arrays[key] = Input(f"{name}:{key}", Unread(tuple(entry["shape"]), reader))
    return arrays


def _copy_of(read: Callable[[], np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """An array of a file, apart from the file, which may change later."""
    return read().copy()


SAFETENSORS_DTYPES = {
    "BOOL": "bool",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "U8": "uint8",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}


def _tensor(content: memoryview, entry: Mapping[str, Any], where: str) -> np.ndarray[Any, Any]:
    dtype = SAFETENSORS_DTYPES.get(entry["dtype"])
    if dtype is None:
        fail("input-dtype", f"{where} is of {entry['dtype']}, which is not a dtype")
    begin, end = entry["data_offsets"]
    return np.frombuffer(bytes(content[begin:end]), to_numpy(dtype)).reshape(entry["shape"])
