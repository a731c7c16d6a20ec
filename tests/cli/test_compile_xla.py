"""`relay compile --target xla`, as far as it needs no JAX: wrong usage."""

from pathlib import Path

import pytest

from support import cli


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--platform", "cuda"], "--platform goes with --target xla"),
        (["--size", "n=3"], "--size goes with --target xla"),
        (["--emit", "stablehlo"], "--emit stablehlo goes with --target xla"),
        (["--target", "xla", "--target", "native"], '--target "xla" goes alone'),
        (["--target", "xla", "--emit", "llvm"], "--emit llvm shows machine code"),
        (["--target", "xla", "--emit", "stablehlo", *2 * ["--platform", "tpu"]], "is for one --platform"),
        (["--topology", "v5e:2x4"], "--topology goes with --target xla"),
        (["--target", "xla", "--topology", "v5e:2x4"], "--emit collectives goes with --topology"),
        (["--target", "xla tpu", "--emit", "collectives"], "--emit collectives goes with --topology"),
        (["--target", "xla", "--emit", "collectives", "--topology", "v5e:2x4", "--platform", "tpu"],
         "omit --platform"),
        (["--target", "xla", "--report"], "--report is for machine code"),
        (["--target", "xla", "--batch", "dynamic"], "--batch is for machine code"),
        (["--target", "xla", "-o", "p.rlo"], "the name must end in .rlx"),
        (["-o", "p.rlx"], "the name must end in .rlo"),
    ],
)  # fmt: skip
def test_wrong_usage(tmp_path: Path, options: list[str], said: str) -> None:
    path = tmp_path / "p.relay"
    path.write_text("def @main(%x: Tensor[(n,), float32]) { tanh(%x) }")
    ran = cli("compile", *options, str(path))
    assert ran.status == 2
    assert said in " ".join(ran.output.split())


def test_a_program_in_a_file_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "p.rlx"
    path.write_bytes(b"RELAYRLX\xff\xff")
    assert "a compiled program is run by `relay run`" in cli("check", str(path)).output
