"""`relay run --device NAME=TARGET`, `relay compile --device NAME=TARGET`."""

from pathlib import Path

import pytest

from support import cli

PLACED = """
def @main(%x: Tensor[(2,), float32]) { on_device(exp(%x), virtual_device="gpu") + 1f }
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "placed.relay"
    path.write_text(PLACED)
    return str(path)


HERE = ("--device", "cpu=native", "--device", "gpu=native")


def test_a_program_over_devices(file: str, tmp_path: Path) -> None:
    assert cli("run", file, "[0.0, 0.0]", *HERE).output == "[2.0, 2.0]\n"
    made = str(tmp_path / "placed.rlo")
    assert cli("compile", file, "-o", made, *HERE).status == 0
    assert cli("run", made, "[0.0, 0.0]").output == "[2.0, 2.0]\n"


def test_a_device_that_has_no_target(file: str) -> None:
    ran = cli("run", file, "[0.0, 0.0]", "--device", "cpu=native")
    assert ran.status == 1
    assert "error[unknown-device]: no target is given for the device `gpu`, only for `cpu`" in ran.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--device", "gpu"), "`gpu` is not NAME=TARGET, such as gpu='xla gpu'"),
        (("--device", "=native"), "`=native` is not NAME=TARGET"),
        ((*HERE, "--device", "cpu=llvm"), "`cpu` is given twice"),
        ((*HERE, "--backend", "interpreter"), "--device is for programs that are compiled here"),
        ((*HERE, "--profile"), "--device is for programs that are compiled here"),
    ],
    ids=["target", "name", "twice", "backend", "profile"],
)
def test_wrong_usage(file: str, options: tuple[str, ...], said: str) -> None:
    ran = cli("run", file, "[0.0, 0.0]", *options)
    assert ran.status == 2
    assert said in ran.output


def test_targets_of_devices_are_the_only_ones(file: str) -> None:
    ran = cli("compile", file, *HERE, "--target", "native")
    assert ran.status == 2
    assert "--device says what targets there are: omit --target and --emit" in ran.output
