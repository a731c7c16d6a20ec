"""Inputs of the command line that are larger than they may be are refused before they are read."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from relay.cli import inputs
from relay.cli.inputs import read, read_weights
from relay.cli.main import main
from relay.diagnostic import RelayError

PROGRAM = "def @main(%x: Tensor[(3,), float32]) { %x + 1.0f }"


@pytest.fixture
def program(tmp_path: Path) -> str:
    (tmp_path / "program.relay").write_text(PROGRAM)
    return str(tmp_path / "program.relay")


def header(shape: tuple[int, ...]) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f4", "fortran_order": False, "shape": shape})
    return out.getvalue()


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as done:
        raise SystemExit(main(["run", "--backend", "interpreter", *args]))
    out, error = capsys.readouterr()
    return int(done.value.code or 0), out + error


@pytest.mark.parametrize("form", ["{}.npy", "{}.npz", "x={}.npy", "x={}.npz"])
def test_an_array_larger_than_the_parameter_is_not_read(
    form: str,
    program: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    np.save(tmp_path / "big.npy", np.zeros(1000, "float32"))
    np.savez(tmp_path / "big.npz", x=np.zeros(1000, "float32"))
    monkeypatch.setattr(inputs, "read_npy", None)
    status, text = run(capsys, program, form.format(tmp_path / "big"))
    assert status == 1
    assert "shape-mismatch" in text
    assert "has the shape (1000,), and the parameter `%x` the type Tensor[(3,), float32]" in text


@pytest.mark.parametrize("form", ["{}.npy", "{}.npz", "x={}.npy", "x={}.npz"])
def test_an_array_that_fits_is_read(
    form: str, program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "right.npy", np.arange(3, dtype="float32"))
    np.savez_compressed(tmp_path / "right.npz", x=np.arange(3, dtype="float32"))
    assert run(capsys, program, form.format(tmp_path / "right")) == (0, "[1.0, 2.0, 3.0]\n")


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
