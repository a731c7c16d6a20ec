"""What users get wrong, and the one clear diagnostic they get for it: its code, and the exit status.

`bad_programs.txt` holds a program a line behind the code it is rejected with (`\\n` is a new line).
"""

import json
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import relay
from support import ROOT, cli

PROGRAMS = [line.partition(": ") for line in (ROOT / "tests" / "bad_programs.txt").read_text().splitlines()]


@pytest.mark.parametrize(("code", "program"), [(code, text) for code, _, text in PROGRAMS])
def test_bad_program_is_rejected_by(code: str, program: str) -> None:
    ran = cli("check", "-", stdin=program.replace("\\n", "\n").encode())
    assert ran.status == 1
    assert ran.output.count("error[") == 1, ran.output
    assert f"error[{code}]: " in ran.output, ran.output


SUM = "def @main(%x: Tensor[(n,), float32]) -> float32 { sum(%x) }"
TWO = "def @main(%a: float32, %b: float32) -> float32 { %a + %b }"
DIVIDE = "def @main(%a: int32, %b: int32) -> int32 { %a / %b }"
CHOOSE = 'import "std/list"\ndef @main(%xs: List[int32]) -> int32 { @hd(%xs) }'
THREE = "def @main(%x: Tensor[(?,), float32]) { %x + [1.0, 2.0, 3.0] }"
HUGE = "1000000000000"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of every kind, most of them broken."""
    d = tmp_path_factory.mktemp("bad")
    for name, text in (
        ("sum", SUM),
        ("two", TWO),
        ("divide", DIVIDE),
        ("choose", CHOOSE),
        ("three", THREE),
        ("wrong", "def @main() { 1 +"),
        ("ill", "def @main() -> float32 { True }"),
        ("empty", ""),
        ("comment", "// nothing here"),
        ("half", "def @f(%x: int32) { %x }"),
        ("function", "def @main() { fn (%x: int32) { %x } }"),
        ("forever", "def @main(%n: int32) -> int32 { 1 + @main(%n + 1) }"),
        ("huge", f"ones(shape=({HUGE},), dtype=float32)"),
        ("huger", f"ones(shape=({HUGE}, {HUGE}), dtype=float32)"),
        ("view", f"Constant(1, ({HUGE},), float32) + 1.0"),
        ("wide", f"def @main(%x: Tensor[({HUGE},), float32]) {{ sum(%x) }}"),
        ("spread", f"broadcast_to([1.0], shape=({HUGE},))"),
        ("fixed", "def @main(%x: Tensor[(3,), float32]) -> float32 { sum(%x) }"),
        ("square", "def @main(%x: Tensor[(n, n), float32]) { %x }"),
        ("same", "def @main(%x: Tensor[(n,), float32], %y: Tensor[(n,), float32]) { %x + %y }"),
        ("nat", "def @main(%n: int32) { if (%n == 0) { 1 } else { 2 } }"),
        ("text", "def @main(%s: string) { %s }"),
        ("weights", "def @main(%x: Tensor[(n,), float32], %w: Tensor[(n,), float32]) { %x * %w }"),
        ("imports", 'import "sum.relay"\n1'),
        ("loop", 'import "loop.relay"\n1'),
        ("bad-import", 'import "wrong.relay"\n1'),
    ):
        (d / f"{name}.relay").write_text(text)
    (d / "binary.relay").write_bytes(bytes(range(256)))
    (d / "nul.relay").write_bytes(b"1 + \x001")
    (d / "utf16.relay").write_bytes("1 + 1".encode("utf-16"))
    (d / "cut.json").write_text(relay.save_json(relay.parse("def @main() { 1 }"))[:-20])
    (d / "other.json").write_text('{"nodes": [{"type_key": "Nothing"}], "root": 0}')
    (d / "list.json").write_text("[1, 2]")
    (d / "notes.txt").write_text("1.0")
    (d / "lost.relay").write_text("def @main() { meta[relay.Constant][0] }")
    (d / "latin1.relay").write_bytes("// ü\n1".encode("latin-1"))
    (d / "zip.relay").write_bytes(b"PK\x03\x04\xff\xfe")
    (d / "directory").mkdir()
    (d / "directory.npy").mkdir()
    (d / "directory.npz").mkdir()
    np.save(d / "x.npy", np.ones(3, np.float32))
    np.save(d / "four.npy", np.ones(4, np.float32))
    np.save(d / "scalar.npy", np.float32(1))
    np.save(d / "doubles.npy", np.ones(3))
    np.save(d / "ints.npy", np.ones(3, np.int32))
    np.save(d / "matrix.npy", np.ones((2, 3), np.float32))
    np.save(d / "complex.npy", np.ones(3, np.complex64))
    np.save(d / "dates.npy", np.array(["2020-01-01"], "datetime64[D]"))
    np.save(d / "bytes.npy", np.array([b"ab"]))
    np.save(d / "records.npy", np.zeros(3, [("a", "f4")]))
    np.save(d / "objects.npy", np.array([{}, None], object), allow_pickle=True)
    whole = (d / "x.npy").read_bytes()
    (d / "cut.npy").write_bytes(whole[:-4])
    (d / "headless.npy").write_bytes(whole[:9])
    (d / "nothing.npy").write_bytes(b"")
    (d / "garbage.npy").write_bytes(b"garbage")
    (d / "version.npy").write_bytes(whole[:6] + b"\x09\x09" + whole[8:])
    (d / "header.npy").write_bytes(whole.replace(b"'descr'", b"'desc!'"))
    (d / "evil.npy").write_bytes(whole.replace(b"'<f4'", b"f(4) "))
    (d / "promise.npy").write_bytes(whole.replace(b"(3,), }" + b" " * 12, b"(3000000000000,), }"))
    np.savez(d / "x.npz", x=np.ones(3, np.float32))
    np.savez(d / "other.npz", points=np.ones(3, np.float32))
    np.savez(d / "xs.npz", xs=np.ones(3, np.float32), ys=np.ones(3, np.float32))
    np.savez(d / "objects.npz", x=np.array([{}], object), allow_pickle=True)
    np.savez(d / "empty.npz")
    (d / "cut.npz").write_bytes((d / "x.npz").read_bytes()[:60])
    (d / "text.npz").write_text("x = 1")
    (d / "flipped.npz").write_bytes(flipped((d / "xs.npz").read_bytes()))
    with zipfile.ZipFile(d / "locked.npz", "w") as archive:
        archive.writestr("x.npy", whole)
    (d / "locked.npz").write_bytes(locked((d / "locked.npz").read_bytes()))
    with zipfile.ZipFile(d / "texts.npz", "w") as archive:
        archive.writestr("x.npy", "not an array")
    safe = json.dumps({"x": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}}).encode()
    tensors = struct.pack("<Q", len(safe)) + safe + np.ones(3, np.float32).tobytes()
    (d / "x.safetensors").write_bytes(tensors)
    (d / "cut.safetensors").write_bytes(tensors[:-4])
    (d / "tiny.safetensors").write_bytes(b"ab")
    (d / "header.safetensors").write_bytes(struct.pack("<Q", 2**62) + b"{}")
    (d / "text.safetensors").write_bytes(struct.pack("<Q", 8) + b"not json")
    for name, header in (
        ("dtype", {"x": {"dtype": "F33", "shape": [3], "data_offsets": [0, 12]}}),
        ("overlap", {"x": {"dtype": "F32", "shape": [4], "data_offsets": [0, 12]}}),
        ("beyond", {"x": {"dtype": "F32", "shape": [3], "data_offsets": [0, 999]}}),
        ("exotic", {"x": {"dtype": "F8_E8M0", "shape": [12], "data_offsets": [0, 12]}}),
    ):
        text = json.dumps(header).encode()
        (d / f"{name}.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(12))
    (d / "directory.safetensors").mkdir()
    return d


def flipped(data: bytes) -> bytes:
    """An archive with a bit wrong in the data of its first member."""
    at = data.index(b"NUMPY") + 130
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def locked(data: bytes) -> bytes:
    """An archive that says its members are encrypted."""
    at = data.index(b"PK\x01\x02") + 8
    return data[:6] + b"\x01" + data[7:at] + b"\x01" + data[at + 1 :]


COMMANDS: list[tuple[str, int, str]] = [
    # the program
    ("run missing.relay", 1, "cannot-read"),
    ("run summ.relay", 1, "cannot-read"),
    ("run missing/sum.relay", 1, "cannot-read"),
    ("run sum.relay/sum.relay", 1, "cannot-read"),
    ("run directory", 1, "cannot-read"),
    ("run .", 1, "cannot-read"),
    ("run binary.relay", 1, "not-text"),
    ("run latin1.relay", 1, "not-text"),
    ("run zip.relay", 1, "not-text"),
    ("run x.npy", 1, "not-text"),
    ("run nul.relay", 1, "unexpected-character"),
    ("run utf16.relay", 1, "not-text"),
    ("run cut.json", 1, "bad-json"),
    ("run other.json", 1, "bad-json"),
    ("run list.json", 1, "bad-json"),
    ("run missing.json", 1, "cannot-read"),
    ("run lost.relay", 1, "missing-weights"),
    ("run wrong.relay", 1, "unexpected-token"),
    ("run ill.relay", 1, "dtype-mismatch"),
    ("run empty.relay", 1, "unknown-global"),
    ("run comment.relay", 1, "unknown-global"),
    ("run half.relay 1", 1, "unknown-global"),
    ("run bad-import.relay", 1, "unexpected-token"),
    ("check missing.relay", 1, "cannot-read"),
    ("check directory", 1, "cannot-read"),
    ("check binary.relay", 1, "not-text"),
    ("fmt missing.relay", 1, "cannot-read"),
    ("fmt directory", 1, "cannot-read"),
    ("fmt binary.relay", 1, "not-text"),
    ("fmt wrong.relay", 1, "unexpected-token"),
    # the entry
    ("run sum.relay --entry missing x.npy", 1, "unknown-global"),
    ("run half.relay --entry F 1", 1, "unknown-global"),
    ("run sum.relay --entry '' x.npy", 1, "unknown-global"),
    # how many inputs, and their names
    ("run sum.relay", 1, "missing-input"),
    ("run two.relay 1.0", 1, "missing-input"),
    ("run two.relay b=1.0", 1, "missing-input"),
    ("run two.relay 1.0 2.0 3.0", 1, "too-many-inputs"),
    ("run huge.relay 1", 1, "too-many-inputs"),
    ("run two.relay a=1.0 a=2.0", 1, "duplicate-input"),
    ("run two.relay 1.0 2.0 a=2.0", 1, "too-many-inputs"),
    ("run two.relay c=1.0", 1, "unknown-input"),
    ("run sum.relay x.npz x.npz", 1, "duplicate-input"),
    ("run sum.relay x.npz x=x.npy", 1, "duplicate-input"),
    ("run sum.relay other.npz", 1, "missing-input"),
    ("run sum.relay empty.npz", 1, "missing-input"),
    ("run sum.relay x=empty.npz", 1, "unknown-input"),
    ("run sum.relay x=xs.npz", 1, "unknown-input"),
    ("run weights.relay --weights x.safetensors", 1, "missing-input"),
    ("run two.relay = 1.0", 1, "unexpected-token"),
    ("run two.relay a= 1.0", 1, "unexpected-token"),
    ("run two.relay 1.0 b==1.0", 1, "unknown-variable"),
    ("run two.relay 1.0 '\"c\"=2.0'", 1, "unknown-input"),
    ("run huge.relay x=1", 1, "unknown-input"),
    ("run sum.relay notes.txt", 1, "unknown-variable"),
    ("run sum.relay directory", 1, "unknown-variable"),
    # literals
    ("run sum.relay [1.0", 1, "unexpected-token"),
    ("run sum.relay '[1.0], [2.0]'", 1, "unexpected-token"),
    ("run sum.relay [1e400]", 1, "literal-out-of-range"),
    ("run sum.relay [inff,nanf,1i32]", 1, "dtype-mismatch"),
    ("run sum.relay [True]", 1, "dtype-mismatch"),
    ("run nat.relay -nanf", 1, "dtype-mismatch"),
    ("run two.relay 1.0 1.0f16", 1, "dtype-mismatch"),
    ("run two.relay 1.0 'def @f() { 1 }'", 1, "unexpected-token"),
    ("run two.relay 1.0 add", 1, "type-mismatch"),
    ("run sum.relay 'Constant(1, (1000000000000,), float32)'", 1, "out-of-memory"),
    ("run sum.relay 1.0,", 1, "unexpected-token"),
    ("run sum.relay ''", 1, "unexpected-token"),
    ("run sum.relay 'a b'", 1, "unexpected-token"),
    ("run two.relay 1.0 %y", 1, "unknown-variable"),
    ("run two.relay 1.0 y", 1, "unknown-variable"),
    ("run two.relay 1.0 @y", 1, "unknown-global"),
    ("run two.relay 1.0 Nothing", 1, "unknown-variable"),
    ("run two.relay 1.0 True", 1, "dtype-mismatch"),
    ("run two.relay 1.0 [1.0]", 1, "rank-mismatch"),
    ("run two.relay 1.0 (1.0,)", 1, "type-mismatch"),
    ("run two.relay 1.0 '\"one\"'", 1, "dtype-mismatch"),
    ("run two.relay 1.0 2i32", 1, "dtype-mismatch"),
    ("run nat.relay 1.5", 1, "literal-kind"),
    ("run nat.relay nanf", 1, "dtype-mismatch"),
    ("run nat.relay 3000000000", 1, "literal-out-of-range"),
    ("run text.relay hello", 1, "unknown-variable"),
    ("run text.relay 1", 1, "literal-kind"),
    ("run sum.relay [1.0,[2.0]]", 1, "ragged-literal"),
    ("run sum.relay []", 1, "empty-literal"),
    ("run fixed.relay [1.0,2.0]", 1, "shape-mismatch"),
    ("run square.relay [[1.0,2.0]]", 1, "shape-mismatch"),
    ("run same.relay [1.0] [1.0,2.0]", 1, "shape-mismatch"),
    ("run choose.relay 1", 1, "type-mismatch"),
    ("run choose.relay Cons(1.5,Nil)", 1, "literal-kind"),
    ("run choose.relay Cons(1)", 1, "arity"),
    # array files
    ("run sum.relay missing.npy", 1, "cannot-read"),
    ("run sum.relay missing.npz", 1, "cannot-read"),
    ("run sum.relay directory.npy", 1, "cannot-read"),
    ("run sum.relay directory.npz", 1, "cannot-read"),
    ("run sum.relay cut.npy", 1, "bad-array-file"),
    ("run sum.relay headless.npy", 1, "bad-array-file"),
    ("run sum.relay nothing.npy", 1, "bad-array-file"),
    ("run sum.relay garbage.npy", 1, "bad-array-file"),
    ("run sum.relay version.npy", 1, "bad-array-file"),
    ("run sum.relay header.npy", 1, "bad-array-file"),
    ("run sum.relay evil.npy", 1, "bad-array-file"),
    ("run sum.relay promise.npy", 1, "bad-array-file"),
    ("run sum.relay cut.npz", 1, "bad-array-file"),
    ("run sum.relay text.npz", 1, "bad-array-file"),
    ("run sum.relay texts.npz", 1, "bad-array-file"),
    ("run sum.relay flipped.npz", 1, "bad-array-file"),
    ("run sum.relay locked.npz", 1, "bad-array-file"),
    ("run sum.relay objects.npy", 1, "input-dtype"),
    ("run sum.relay objects.npz", 1, "input-dtype"),
    ("run sum.relay complex.npy", 1, "input-dtype"),
    ("run sum.relay dates.npy", 1, "input-dtype"),
    ("run sum.relay bytes.npy", 1, "input-dtype"),
    ("run sum.relay records.npy", 1, "input-dtype"),
    ("run sum.relay doubles.npy", 1, "dtype-mismatch"),
    ("run sum.relay ints.npy", 1, "dtype-mismatch"),
    ("run sum.relay matrix.npy", 1, "rank-mismatch"),
    ("run sum.relay scalar.npy", 1, "rank-mismatch"),
    ("run fixed.relay four.npy", 1, "shape-mismatch"),
    ("run wide.relay x.npy", 1, "shape-mismatch"),
    ("run same.relay x.npy four.npy", 1, "shape-mismatch"),
    ("run sum.relay x.npy --weights missing.safetensors", 1, "cannot-read"),
    ("run sum.relay --weights cut.safetensors", 1, "bad-array-file"),
    ("run sum.relay --weights tiny.safetensors", 1, "bad-array-file"),
    ("run sum.relay --weights header.safetensors", 1, "bad-array-file"),
    ("run sum.relay --weights text.safetensors", 1, "bad-array-file"),
    ("run sum.relay --weights x.npy", 1, "bad-array-file"),
    ("run sum.relay --weights cut.npz", 1, "bad-array-file"),
    ("run sum.relay --weights notes.txt", 1, "bad-array-file"),
    ("run sum.relay --weights dtype.safetensors", 1, "bad-array-file"),
    ("run sum.relay --weights overlap.safetensors", 1, "bad-array-file"),
    ("run sum.relay --weights beyond.safetensors", 1, "bad-array-file"),
    ("run sum.relay --weights exotic.safetensors", 1, "input-dtype"),
    ("run sum.relay cut.safetensors", 1, "bad-array-file"),
    ("run sum.relay --weights directory.safetensors", 1, "cannot-read"),
    # while it runs
    ("run divide.relay 1 0", 1, "divide-by-zero"),
    ("run choose.relay Nil", 1, "match-failure"),
    ("run three.relay [1.0,2.0]", 1, "shape-check"),
    ("run huge.relay", 1, "out-of-memory"),
    ("run huger.relay", 1, "out-of-memory"),
    ("run view.relay", 1, "out-of-memory"),
    ("run spread.relay", 1, "out-of-memory"),
    # the output
    ("run sum.relay x.npy --output missing/out.npz", 1, "cannot-write"),
    ("run sum.relay x.npy --output directory.npz", 1, "cannot-write"),
    ("run sum.relay x.npy --output sum.relay/out.npz", 1, "cannot-write"),
    ("run function.relay --output out.npz", 1, "not-tensors"),
    ("run sum.relay x.npy --output out.txt", 2, "Usage"),
    ("run sum.relay x.npy --output out", 2, "Usage"),
    # the command line itself
    ("", 2, "Usage"),
    ("rum sum.relay", 2, "Usage"),
    ("run", 2, "Usage"),
    ("run --bogus sum.relay", 2, "Usage"),
    ("run sum.relay --bogus x.npy", 2, "Usage"),
    ("run sum.relay -x", 2, "Usage"),
    ("run - -", 2, "Usage"),
    ("run sum.relay --entry", 2, "Usage"),
    ("check", 2, "Usage"),
    ("check --bogus sum.relay", 2, "Usage"),
    ("fmt", 2, "Usage"),
    ("fmt --dialect cobol sum.relay", 2, "Usage"),
    ("fmt --width 3 sum.relay", 2, "Usage"),
    ("fmt --width wide sum.relay", 2, "Usage"),
    ("ops a b", 2, "Usage"),
    ("ops nn.conv2", 1, "unknown-operator"),
    ("ops ''", 1, "unknown-operator"),
    ("ops pool", 1, "unknown-operator"),
    ("ops nn.", 1, "unknown-operator"),
    ("ops --all", 2, "Usage"),
    ("explain nonsense", 1, "unknown-code"),
    ("explain ''", 1, "unknown-code"),
    ("explain --all", 2, "Usage"),
    ("chekc sum.relay", 2, "Usage"),
    ("--bogus", 2, "Usage"),
    ("check --types --types=1 sum.relay", 2, "Usage"),
    ("explain ../../LICENSE", 1, "unknown-code"),
    ("explain a b", 2, "Usage"),
]


@pytest.mark.parametrize(("command", "status", "code"), COMMANDS)
def test_bad_command_ends_with(
    command: str, status: int, code: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shlex

    monkeypatch.chdir(folder)
    ran = cli(*shlex.split(command))
    assert ran.status == status, ran.output
    assert "Traceback" not in ran.output
    if status == 1:
        assert ran.output.count("error[") == 1, ran.output
        assert f"error[{code}]: " in ran.output, ran.output
    elif status == 2:
        assert ran.output.startswith("Usage: relay"), ran.output
        assert "Error: " in ran.output or not command, ran.output


@pytest.mark.parametrize(
    "stdin", [b"", b"\xff\xfe", b"\x93NUMPY", b"PK\x03\x04", b"[1.0", b"nonsense", b"\x00"]
)
def test_bad_standard_input_is_one_diagnostic(
    stdin: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    ran = cli("run", "sum.relay", "-", stdin=stdin)
    assert ran.status == 1
    assert ran.output.count("error[") == 1, ran.output


def test_there_are_at_least_two_hundred_bad_inputs() -> None:
    assert len(PROGRAMS) + len(COMMANDS) >= 200


def test_a_closed_pipe_is_no_error(folder: Path) -> None:
    command = [
        sys.executable,
        "-c",
        "import sys; from relay.cli.main import main; sys.exit(main(sys.argv[1:]))",
        "ops",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
