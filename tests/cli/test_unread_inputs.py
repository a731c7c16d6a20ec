"""Inputs of the command line that are larger than they may be are refused before they are read."""

import io
import json
import math
import zipfile
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from safetensors.numpy import save_file

import relay
from relay.cli import inputs
from relay.cli.inputs import read, read_weights, weights_of_main
from relay.cli.main import main
from relay.cli.quantize import examples_of
from relay.diagnostic import RelayError
from relay.ir.dtype import to_numpy

PROGRAM = "def @main(%x: Tensor[(3,), float32]) { %x + 1.0f }"


@pytest.fixture
def program(tmp_path: Path) -> str:
    (tmp_path / "program.relay").write_text(PROGRAM)
    return str(tmp_path / "program.relay")


def header(shape: tuple[int, ...]) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f4", "fortran_order": False, "shape": shape})
    return out.getvalue()


def refuse(*_: object) -> NoReturn:
    raise AssertionError("an array is read")


FORMS = ["{}.npy", "{}.npz", "x={}.npy", "x={}.npz", "{}.safetensors", "x={}.params", "-"]


def files_of(folder: Path, name: str, x: Any) -> None:
    """The array `x` in a file of each kind, beside one that no parameter wants where the kind has many."""
    np.save(folder / f"{name}.npy", x)
    np.savez_compressed(folder / f"{name}.npz", x=x, spare=x)
    save_file({"spare": x, "x": x}, folder / f"{name}.safetensors")
    (folder / f"{name}.params").write_bytes(relay.save_param_dict({"spare": x, "x": x}))


def sparse_files_of(folder: Path, shape: tuple[int, ...]) -> None:
    """Files whose headers say a large array; the data is a hole."""
    size = 4 * math.prod(shape)
    said = {"x": {"dtype": "F32", "shape": shape, "data_offsets": [0, size]}}
    text = json.dumps(said).encode()
    small = relay.save_param_dict({"x": np.empty((0,) * len(shape), "float32")})
    start = small[: -8 * (len(shape) + 1)] + np.array([*shape, size], "<i8").tobytes()
    for name, head in (
        ("big.npy", header(shape)),
        ("big.safetensors", len(text).to_bytes(8, "little") + text),
        ("big.params", start),
    ):
        with (folder / name).open("wb") as file:
            file.write(head)
            file.truncate(len(head) + size)


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as done:
        raise SystemExit(main(["run", "--backend", "interpreter", *args]))
    out, error = capsys.readouterr()
    return int(done.value.code or 0), out + error


class Stream(io.BytesIO):
    """Standard input that counts what is read of it."""

    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.taken += len(data)
        return data


def standard_input(monkeypatch: pytest.MonkeyPatch, data: bytes) -> Stream:
    stream = Stream(data)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
    return stream


@pytest.mark.parametrize("form", FORMS)
def test_an_array_larger_than_the_parameter_is_not_read(
    form: str,
    program: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files_of(tmp_path, "big", np.zeros(1000, "float32"))
    standard_input(monkeypatch, (tmp_path / "big.npy").read_bytes())
    for reader in ("read_npy", "_tensor", "_copy_of"):
        monkeypatch.setattr(inputs, reader, refuse)
    status, text = run(capsys, program, form.format(tmp_path / "big"))
    assert status == 1
    assert "shape-mismatch" in text
    assert "has the shape (1000,), and the parameter `%x` the type Tensor[(3,), float32]" in text


@pytest.mark.parametrize("kind", ["npy", "safetensors", "params"])
def test_of_a_large_file_the_header_is_read(
    kind: str, program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sparse_files_of(tmp_path, (1 << 20, 1 << 20))  # 4 TiB: more than there is memory for
    status, text = run(capsys, program, str(tmp_path / f"big.{kind}"))
    assert (status, "shape-mismatch" in text) == (1, True)
    assert "has the shape (1048576, 1048576)" in text


@pytest.mark.parametrize("kind", ["npz", "safetensors", "params"])
def test_weights_larger_than_the_parameter_are_not_read(kind: str, program: str, tmp_path: Path) -> None:
    files_of(tmp_path, "big", np.zeros(1000, "float32"))
    mod = relay.parse(PROGRAM)
    with pytest.raises(RelayError, match=r"has the shape \(1000,\), and the parameter `%x`"):
        weights_of_main(mod, str(tmp_path / f"big.{kind}"))
    with pytest.raises(RelayError, match=r"calibration-input.*has the shape \(1000,\), and the parameter"):
        examples_of(mod, str(tmp_path / f"big.{kind}"), {})


@pytest.mark.parametrize("spare", [0, 1, 1_000_000])
def test_of_standard_input_only_the_array_is_read(
    spare: int, program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = header((3,)) + np.arange(3, dtype="float32").tobytes() + bytes(spare)
    stream = standard_input(monkeypatch, data)
    assert run(capsys, program, "-") == (0, "[1.0, 2.0, 3.0]\n")
    assert stream.taken <= inputs.HEADER_BYTES


@pytest.mark.parametrize("form", FORMS)
def test_an_array_that_fits_is_read(
    form: str,
    program: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files_of(tmp_path, "right", np.arange(3, dtype="float32"))
    standard_input(monkeypatch, (tmp_path / "right.npy").read_bytes())
    assert run(capsys, program, form.format(tmp_path / "right")) == (0, "[1.0, 2.0, 3.0]\n")


@pytest.mark.parametrize("size", [0, 1, 50_000])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int4", "bfloat16", "float64"])
def test_what_is_read_later_is_what_was_written(
    size: int, dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = (np.arange(size) % 5).astype(to_numpy(dtype)).reshape(1, -1)
    files = [tmp_path / "a.params"]
    files[0].write_bytes(relay.save_param_dict({"x": x}))
    if dtype != "int4":
        files.append(tmp_path / "a.safetensors")
        save_file({"x": x}, files[-1])
    read_back = [read_weights(str(file))["x"].array for file in files]
    if dtype not in ("int4", "bfloat16"):
        np.save(tmp_path / "a.npy", x)
        standard_input(monkeypatch, (tmp_path / "a.npy").read_bytes())
        for name in ("-", str(tmp_path / "a.npy")):
            value = read(name)
            assert isinstance(value, inputs.Input)
            read_back += [value.array, value.array]
    for array in read_back:
        assert array is not None
        assert (array.dtype, array.shape, array.tolist()) == (x.dtype, x.shape, x.tolist())


def zipped(path: Path, data: bytes) -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", data)
    return str(path)


@pytest.mark.parametrize("spare", [1, 100_000_000, -4])
def test_members_of_another_length_than_their_header_says_are_refused_unread(
    spare: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = zipped(tmp_path / "a.npz", header((3,)) + bytes(12 + spare))
    monkeypatch.setattr(zipfile.ZipFile, "read", None)
    for reader in (read, read_weights):
        with pytest.raises(RelayError, match=f"12 bytes of data and has {12 + spare}"):
            reader(name)


def test_what_is_no_array_is_still_named(tmp_path: Path) -> None:
    name = zipped(tmp_path / "a.npz", b"text")
    with pytest.raises(RelayError, match="bad-array-file"):
        read(name)
    (tmp_path / "a.npy").write_bytes(b"text")
    with pytest.raises(RelayError, match=r"is not an \.npy file"):
        read(str(tmp_path / "a.npy"))
