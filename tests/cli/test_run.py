"""`relay run`: inputs by position and name from every kind of file, weights, outputs, and signs of life."""

import io
import re
import subprocess
import sys
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import relay
from relay.cli import progress
from support import Ran, cli

NETWORK = "def @main(%x: Tensor[(n, 3), float32], %w: Tensor[(m, 3), float32]) { nn.dense(%x, %w) }"
X = np.arange(6, dtype="float32").reshape(2, 3)
W = np.ones((1, 3), "float32")
RELAY = [sys.executable, "-m", "relay"]


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.relay").write_text(NETWORK)
    np.save("x.npy", X)
    np.save("w.npy", W)
    np.savez("w.npz", w=W, unused=X)
    np.savez("xw.npz", x=X, w=W)
    np.savez("only.npz", anything=X)
    save_file({"w": W}, "w.safetensors")


def stdin_of(name: str) -> bytes:
    return Path(name).read_bytes()


@pytest.mark.parametrize(
    "args",
    [
        ["x.npy", "w.npy"],
        ["x.npy", "[[1.0, 1.0, 1.0]]"],
        ["[[0, 1, 2], [3, 4, 5]]", "w.npy"],
        ["w=w.npy", "x.npy"],
        ["w=w.npy", "x=x.npy"],
        ["%x=x.npy", '"w"=w.npy'],
        ["x = x.npy", "w = [[1, 1, 1]]"],
        ["xw.npz"],
        ["x.npy", "w.npz"],
        ["w.npz", "x.npy"],
        ["x.npy", "w=w.npz"],
        ["x=only.npz", "w.npy"],
        ["x.npy", "w.safetensors"],
        ["x.npy", "--weights", "w.safetensors"],
        ["x.npy", "--weights", "w.npz"],
        ["--weights", "w.npz", "x.npy"],
        ["--weights", "xw.npz"],
    ],
    ids=" ".join,
)
def test_inputs_go_to_the_parameters(args: list[str]) -> None:
    assert cli("run", "net.relay", *args).output == "[[3.0],\n [12.0]]\n"


@pytest.mark.parametrize(
    ("name", "args"),
    [("x.npy", ["-", "w.npy"]), ("x.npy", ["w.npy", "x=-"]), ("w.npz", ["-", "x.npy"]), ("xw.npz", ["-"])],
)
def test_standard_input_may_be_an_array_or_several(name: str, args: list[str]) -> None:
    ran = cli("run", "net.relay", *args, stdin=stdin_of(name))
    assert ran.output == "[[3.0],\n [12.0]]\n"


def test_standard_input_may_be_a_literal() -> None:
    assert cli("run", "net.relay", "-", "w.npy", stdin=b"[[1.0, 2.0, 3.0]]\n").output == "[[6.0]]\n"


def test_argument_by_name_goes_before_weights() -> None:
    ran = cli("run", "net.relay", "x.npy", "--weights", "w.npz", "w=[[0, 0, 1]]")
    assert ran.output == "[[2.0],\n [5.0]]\n"


def test_program_of_the_older_json_format_runs() -> None:
    Path("old.json").write_text(relay.save_json(relay.parse(NETWORK)))
    assert cli("run", "old.json", "xw.npz").output == "[[3.0],\n [12.0]]\n"
    assert cli("check", "old.json").output == "old.json: no errors\n"


def test_program_with_weights_beside_it_runs() -> None:
    x = relay.var("x", shape=(2, 20))
    weight = relay.const(np.ones((10, 20), "float32"))
    relay.save(
        relay.IRModule.from_expr(relay.Function([x], relay.sum(relay.nn.dense(x, weight)))), "big.relay"
    )
    np.save("ones.npy", np.ones((2, 20), "float32"))
    assert cli("run", "big.relay", "ones.npy").output == "400.0\n"


# --- results


def test_tensors_go_to_an_npz_file() -> None:
    Path("several.relay").write_text(
        '(1, (True, [1.5bf16, 2.5bf16]), "text", Constant(3, (2, 2), int4), 2.0f16)'
    )
    ran = cli("run", "several.relay", "--output", "out.npz")
    assert (ran.status, ran.output) == (0, "")
    with np.load("out.npz") as found:
        assert {k: (a.dtype.name, a.tolist()) for k, a in found.items()} == {
            "result.0": ("int32", 1),
            "result.1.0": ("bool", True),
            "result.1.1": ("float32", [1.5, 2.5]),
            "result.2": ("str128", "text"),
            "result.3": ("int8", [[3, 3], [3, 3]]),
            "result.4": ("float16", 2.0),
        }


def test_tensors_go_to_a_safetensors_file() -> None:
    Path("several.relay").write_text("([1, 2], [1.5bf16])")
    assert cli("run", "several.relay", "--output", "out.safetensors").status == 0
    found = load_file("out.safetensors")
    assert found["result.0"].tolist() == [1, 2]
    assert found["result.1"].dtype == ml_dtypes.bfloat16


def test_strings_cannot_go_to_a_safetensors_file() -> None:
    Path("text.relay").write_text('"text"')
    ran = cli("run", "text.relay", "--output", "out.safetensors")
    assert (ran.status, "error[not-tensors]" in ran.output) == (1, True)
    assert not Path("out.safetensors").exists()


def test_output_is_an_input_of_the_next_run() -> None:
    assert cli("run", "net.relay", "xw.npz", "--output", "y.npz").status == 0
    Path("next.relay").write_text("def @main(%result: Tensor[(n, m), float32]) { sum(%result) }")
    assert cli("run", "next.relay", "y.npz").output == "15.0\n"


def test_what_was_there_stays_when_the_program_fails() -> None:
    Path("out.npz").write_bytes(b"precious")
    Path("bad.relay").write_text("1 / 0")
    assert cli("run", "bad.relay", "--output", "out.npz").status == 1
    assert Path("out.npz").read_bytes() == b"precious"
    assert [p.name for p in Path().iterdir() if p.name.startswith(".")] == []


def test_warnings_of_the_program_do_not_mix_with_its_value() -> None:
    Path("draft.relay").write_text("def main(x: int32) { return x }")
    ran = subprocess.run([*RELAY, "run", "draft.relay", "3"], capture_output=True, text=True, check=True)
    assert ran.stdout == "3\n"
    assert ran.stderr.count("warning[") == 4


# --- what is around it


def test_entry_that_is_not_there_is_answered_by_those_that_are() -> None:
    Path("two.relay").write_text('import "std/list"\ndef @f() { 1 }\ndef @g() { 2 }')
    assert "hint: it has `--entry f`, `--entry g`\n" in cli("run", "two.relay").output
    assert "hint: did you mean `map`?" in cli("run", "two.relay", "--entry", "mapp").output


@pytest.mark.parametrize("kind", ["txt", "csv"])
def test_file_of_another_kind_is_told_from_a_literal(kind: str) -> None:
    Path(f"x.{kind}").write_text("1")
    ran = cli("run", "net.relay", f"x.{kind}", "w.npy")
    assert "only files that end in .npy, .npz, .safetensors, .params are read" in ran.output


class Terminal(io.StringIO):
    """A terminal that remembers what it showed."""

    def isatty(self) -> bool:
        return True


def test_long_run_shows_that_it_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(progress, "SPINNER_DELAY_SECONDS", 0.05)
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with progress.progress("running"):
        deadline = time.monotonic() + 30
        while "running" not in screen.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert re.search(r"running.*0:00:0\d", screen.getvalue())


def test_short_run_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with progress.progress("running"):
        pass
    assert screen.getvalue() == ""


def test_closed_standard_input_is_a_diagnostic(monkeypatch: pytest.MonkeyPatch) -> None:
    from relay.cli.main import main

    monkeypatch.setattr("sys.stdin", None)
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    assert main(["run", "-"]) == 1
    assert screen.getvalue().startswith("error[cannot-read]: there is no standard input\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_output_that_cannot_be_written_is_a_diagnostic() -> None:
    with open("/dev/full", "w") as full:
        ran = subprocess.run([*RELAY, "ops"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 1
    said = "error[cannot-write]: standard output cannot be written: No space left on device\n"
    assert ran.stderr == f"{said}  = hint: free some space, or write to another place\n"


@pytest.mark.parametrize(("closed", "command"), [(">", '["explain"]'), ("2>", '["run", "-"]')])
def test_closed_output_is_no_error(closed: str, command: str) -> None:
    script = f"{sys.executable} -c 'import sys; from relay.cli.main import main; sys.exit(main({command}))'"
    ran = subprocess.run(
        ["bash", "-c", f"{script} {closed}&-"], input="3", capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0
    assert (ran.stdout, ran.stderr) == ("3\n" if closed == "2>" else "", "")


NARROW = (
    "int2",
    "uint2",
    "int4",
    "uint4",
    "float4_e2m1fn",
    "float8_e5m2fnuz",
    "bfloat16",
    "float16",
    "uint64",
)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("kind", ["npz", "safetensors"])
def test_every_dtype_goes_to_every_kind_of_file(dtype: str, kind: str) -> None:
    Path("one.relay").write_text(f"Constant(1, (2,), {dtype})")
    assert cli("run", "one.relay", "--output", f"one.{kind}") == Ran(0, "")
    text = "def @main<bt: BaseType>(%result: Tensor[(2,), bt]) { cast(%result, float32) }"
    Path("back.relay").write_text(text)
    assert cli("run", "back.relay", f"one.{kind}").output == "[1.0, 1.0]\n"


@pytest.mark.parametrize(
    "array",
    [X.astype(">f4"), np.asfortranarray(X), X[::-1][::-1], X.view(np.ndarray).copy()[:, :]],
    ids=["big endian", "columns first", "backwards", "view"],
)
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_layout_of_array_files_is_read(array: np.ndarray, version: tuple[int, int]) -> None:
    with open("a.npy", "wb") as file:
        np.lib.format.write_array(file, array, version=version)
    assert cli("run", "net.relay", "a.npy", "w.npy").output == "[[3.0],\n [12.0]]\n"


def test_strings_are_read_from_array_files() -> None:
    np.save("s.npy", np.array(["a", "bc"]))
    Path("s.relay").write_text("def @main(%s: Tensor[(n,), string]) { %s }")
    assert cli("run", "s.relay", "s.npy").output == '["a", "bc"]\n'


def test_older_json_may_be_a_module_or_an_expression_and_nothing_else() -> None:
    Path("e.json").write_text(relay.save_json(relay.parse_expr("1 + 2")))
    assert cli("run", "e.json") == Ran(0, "3\n")
    Path("t.json").write_text(relay.save_json(relay.TensorType((2,), "float32")))
    assert "error[bad-json]: `t.json` holds no program\n" in cli("run", "t.json").output


def test_characters_that_no_terminal_shows_are_written_as_the_program_writes_them() -> None:
    Path("s.relay").write_text(r'"\u{1}\u{d800}é\"\n"')
    assert cli("run", "s.relay") == Ran(0, '"\\u{1}\\u{d800}é\\"\\n"\n')


def test_characters_that_do_not_exist_are_refused() -> None:
    np.save("s.npy", np.array(["a"]))
    broken = Path("s.npy").read_bytes()[:-4] + b"\x00\x00\x11\x00"
    Path("s.npy").write_bytes(broken)
    Path("s.relay").write_text("def @main(%s: Tensor[(n,), string]) { %s }")
    assert (
        "error[bad-array-file]: `s.npy` is broken: it has invalid characters"
        in cli("run", "s.relay", "s.npy").output
    )


@pytest.mark.parametrize("command", ["run", "bench"])
def test_option_that_there_is_none_of_is_wrong_usage_and_no_input(command: str) -> None:
    ran = cli(command, "net.relay", "x.npy", "w.npy", "--wieghts", "w.npz")
    assert ran.status == 2
    assert "--weights" in ran.output


@pytest.mark.parametrize("more", [["--output", "y.npz"], ["--backend", "xla"]], ids=" ".join)
def test_profile_takes_no_option_that_it_would_not_heed(more: list[str]) -> None:
    ran = cli("run", "net.relay", "x.npy", "w.npy", "--profile", *more)
    assert (ran.status, more[0] in ran.output, Path("y.npz").exists()) == (2, True, False)


@pytest.mark.parametrize("name", ["net.onnx", "net.pt2", "net.rlo"])
def test_models_and_compiled_programs_are_told_from_text(name: str) -> None:
    Path(name).write_bytes(b"\xff\xfe")
    ran = cli("check", name)
    assert "error[not-text]" in ran.output
    assert "`relay run`" in ran.output


def test_weights_without_a_match_are_refused() -> None:
    np.savez("other.npz", v=np.ones(3, "float32"))
    ran = cli("run", "net.relay", "x.npy", "[[1.0, 1.0, 1.0]]", "--weights", "other.npz")
    assert ran.status == 1
    assert "no array of the weights has the name of a parameter" in ran.output
    assert "the file has `v`; the parameters are `x`, `w`" in ran.output


def test_an_array_of_another_dtype_is_converted_in_numpy() -> None:
    np.save("wide.npy", np.ones((1, 3)))
    ran = cli("run", "net.relay", "x.npy", "wide.npy")
    assert ran.status == 1
    assert "error[dtype-mismatch]: `wide.npy` is float64, and the parameter `%w` float32" in ran.output
    assert 'x.astype("float32")' in ran.output
    assert "cast" not in ran.output
