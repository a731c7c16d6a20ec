"""Libraries for 64-bit Arm: under qemu-user they compute what this machine computes."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import relay
from relay.ir.expr import Function
from relay.ir.module import IRModule
from relay.testing.resnet import get_workload
from support import ROOT

COMPILER, EMULATOR, SYSTEM = "aarch64-linux-gnu-gcc", "qemu-aarch64-static", "/usr/aarch64-linux-gnu"
pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(
        shutil.which(COMPILER) is None or shutil.which(EMULATOR) is None,
        reason=f"needs {COMPILER} and {EMULATOR}",
    ),
]
MAX_DIFFERENCE = 1e-6
"""Of the largest element: sums in another order.  docs/deploying.md states it."""
TIME_LIMIT_SECONDS = 1200

IMAGE = "%x: Tensor[(1, 64, 16, 16), float32]"
CONVOLUTIONS = {
    "pointwise": ("(128, 64, 1, 1)", ""),
    "pointwise_strided": ("(128, 64, 1, 1)", ", strides=(2, 2)"),
    "square": ("(48, 64, 3, 3)", ", padding=(1, 1)"),
    "square_strided": ("(128, 64, 3, 3)", ", strides=(2, 2), padding=(1, 1)"),
    "large": ("(24, 64, 7, 7)", ", strides=(2, 2), padding=(3, 3)"),
    "dilated": ("(32, 64, 3, 3)", ", dilation=(2, 2), padding=(2, 2)"),
    "grouped": ("(64, 16, 3, 3)", ", groups=4, padding=(1, 1)"),
    "depthwise": ("(64, 1, 3, 3)", ", groups=64, padding=(1, 1)"),
    "rectified": ("(64, 64, 3, 3)", ", padding=(1, 1)"),
}
OTHERS = """
def @transposed(%x: Tensor[(1, 16, 9, 9), float32], %w: Tensor[(16, 8, 3, 3), float32]) {
  nn.conv2d_transpose(%x, %w, strides=(2, 2))
}
def @dense(%x: Tensor[(37, 100), float32], %w: Tensor[(75, 100), float32]) { nn.dense(%x, %w) }
def @row(%x: Tensor[(1, 512), float32], %w: Tensor[(1000, 512), float32]) { nn.dense(%x, %w) }
def @doubles(%x: Tensor[(37, 100), float64], %w: Tensor[(75, 100), float64]) { nn.dense(%x, %w) }
def @halves(%x: Tensor[(5, 64), bfloat16], %w: Tensor[(32, 64), bfloat16]) {
  cast(nn.dense(%x, %w), "float32")
}
def @stacks(%x: Tensor[(3, 20, 33), float32], %w: Tensor[(3, 45, 33), float32]) { nn.batch_matmul(%x, %w) }
def @bytes(%x: Tensor[(37, 100), int8], %w: Tensor[(75, 100), int8]) { nn.dense(%x, %w, out_dtype="int32") }
def @byte_row(%x: Tensor[(1, 256), int8], %w: Tensor[(130, 256), int8]) {
  nn.dense(%x, %w, out_dtype="int32")
}
def @byte_windows(%x: Tensor[(1, 16, 12, 12), int8], %w: Tensor[(32, 16, 3, 3), int8]) {
  nn.conv2d(%x, %w, padding=(1, 1), out_dtype="int32")
}
def @most(%x: Tensor[(1, 16, 33, 33), float32]) {
  nn.max_pool2d(%x, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
}
def @mean(%x: Tensor[(1, 16, 33, 33), float32]) { nn.avg_pool2d(%x, pool_size=(2, 2), strides=(2, 2)) }
def @channels(%x: Tensor[(2, 64, 5, 5), float32]) { nn.global_avg_pool2d(%x) }
def @reduced(%x: Tensor[(70, 301), float32]) {
  (sum(%x), max(%x, 0), mean(%x, 1), argmax(%x, 1), cumsum(%x, 1))
}
def @softmax(%x: Tensor[(7, 1000), float32]) { (nn.softmax(%x), nn.log_softmax(%x)) }
def @functions(%x: Tensor[(3, 333), float32]) {
  (exp(%x), tanh(%x), sin(%x), nn.gelu(%x), sigmoid(%x), log(abs(%x)), sqrt(abs(%x)))
}
def @batches(%x: Tensor[(2, 32, 8, 8), float32], %g: Tensor[(32,), float32], %b: Tensor[(32,), float32]) {
  nn.batch_norm(%x, %g, %b, %b, abs(%g) + 1.0).0
}
def @layers(%x: Tensor[(9, 96), float32], %g: Tensor[(96,), float32], %b: Tensor[(96,), float32]) {
  nn.layer_norm(%x, %g, %b)
}
def @attended(%q: Tensor[(1, 4, 50, 32), float32], %k: Tensor[(1, 4, 50, 32), float32]) {
  nn.attention(%q, %k, %k + 1.0)
}
def @remembered(%x: Tensor[(3, 48), float32], %h: Tensor[(3, 64), float32], %c: Tensor[(3, 64), float32],
                %w: Tensor[(256, 48), float32], %u: Tensor[(256, 64), float32]) {
  let %gates = split(nn.dense(%x, %w) + nn.dense(%h, %u), 4, axis=1);
  let %kept = sigmoid(%gates.0) * %c + sigmoid(%gates.1) * tanh(%gates.2);
  (sigmoid(%gates.3) * tanh(%kept), %kept)
}
def @moved(%x: Tensor[(30, 40, 50), float32]) { (transpose(%x), concatenate((%x, %x * 2.0), axis=1)) }

def @turn(%n: int32, %a: int32, %b: int32, %c: int32, %d: int32, %e: int32, %f: int32, %g: int32, %h: int32,
          %i: int32, %j: int32, %x: Tensor[(4,), float32], %y: Tensor[(4,), float32])
    -> Tensor[(4,), float32] {
  if (%n == 0) {
    let %sum = %a + 2 * %b + 3 * %c + 4 * %d + 5 * %e + 6 * %f + 7 * %g + 8 * %h + 9 * %i + 10 * %j;
    %x * cast(%sum, "float32") + %y
  } else {
    @turn(%n - 1, %j, %a, %b, %c, %d, %e, %f, %g, %h, %i, %y, %x)
  }
}
def @turns(%x: Tensor[(4,), float32]) {
  @turn(100003, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, %x, 2.0 * %x)
}
def @sums(%n: int32, %a: int32, %b: int32, %c: int32, %d: int32, %e: int32, %f: int32, %g: int32, %h: int32,
          %i: int32) -> int32 {
  if (%n == 0) {
    %a - %b + %c - %d + %e - %f + %g - %h + %i
  } else {
    let %left = @sums(%n - 1, %b, %c, %d, %e, %f, %g, %h, %i, %a);
    let %right = @sums(%n - 1, %i, %h, %g, %f, %e, %d, %c, %b, %n);
    %left * 3 - %right + %a - %b * %c + %d * %e - %f + %g * %h - %i
  }
}
def @tree(%x: Tensor[(3,), int32]) { %x * @sums(12, 1, 2, 3, 4, 5, 6, 7, 8, 9) }
"""


def programs() -> IRModule:
    """Definitions with one kind of operator each, and recursions that pass more than registers hold."""
    lines: list[str] = []
    for name, (shape, attributes) in CONVOLUTIONS.items():
        data = "nn.relu(%x)" if name == "rectified" else "%x"
        lines.append(f"def @{name}({IMAGE}, %w: Tensor[{shape}, float32]) {{")
        lines.append(f"  nn.conv2d({data}, %w{attributes})\n}}")
    return relay.parse("\n".join([*lines, OTHERS]))


def array_for(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> Any:
    """Numbers of a type."""
    if dtype.startswith("int"):
        return rng.integers(-100, 100, shape).astype(dtype)
    return rng.standard_normal(shape).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def emulated(folder: Path, source: str, *arguments: str) -> str:
    """What a program with a library says that calls it, on an emulated processor."""
    path = str(ROOT / "tests" / "runtime" / source)
    flags = ["-std=gnu11", "-O1", "-I.", "-L.", "-l:libmodel.so", "-Wl,-rpath,$ORIGIN", "-lm", "-pthread"]
    run(folder, COMPILER, "-o", "calls", path, *flags)
    return run(folder, EMULATOR, "-L", SYSTEM, "./calls", *arguments)


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        command, cwd=folder, text=True, capture_output=True, check=False, timeout=TIME_LIMIT_SECONDS
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout


def entry_names(mod: IRModule) -> list[str]:
    """The definitions that are called from outside."""
    return [v.name_hint for v in mod.functions if v.name_hint not in ("turn", "sums")]


def write_inputs(mod: IRModule, folder: Path) -> list[tuple[str, Any]]:
    """Write inputs of each definition to a file; what this machine makes of them, by name."""
    rng = np.random.default_rng(0)
    names = entry_names(mod)
    expected: list[tuple[str, Any]] = []
    built = relay.build(mod, entries=names, cache=False)
    with (folder / "inputs").open("wb") as file:
        for name in names:
            fn = mod[name]
            assert isinstance(fn, Function)
            types = [p.type_annotation for p in fn.params]
            args = [array_for(tuple(int(d) for d in t.shape), str(t.dtype), rng) for t in types]
            file.write(b"".join([x.tobytes() for x in args]))
            found = built[name](*args)
            expected += [(name, np.asarray(x)) for x in (found if isinstance(found, tuple) else (found,))]
    return expected


def differences(expected: Sequence[tuple[str, Any]], folder: Path) -> dict[str, float]:
    """By how much of its largest element each output in a file is off, where that is too much."""
    data, at, wrong = (folder / "outputs").read_bytes(), 0, {}
    for name, wanted in expected:
        found = np.frombuffer(data, wanted.dtype, wanted.size, at).reshape(wanted.shape).astype(float)
        at += wanted.nbytes
        difference = np.abs(found - wanted).max() / np.abs(wanted.astype(float)).max()
        if not difference <= (0 if wanted.dtype.kind == "i" else MAX_DIFFERENCE):
            wrong[name] = difference
    assert at == len(data)
    return wrong


@pytest.mark.parametrize("target", ["aarch64-linux-gnu", "aarch64-linux-gnu+neoverse-v1"])
def test_each_operator_is_right_on_arm(target: str, tmp_path: Path) -> None:
    mod = programs()
    relay.write_library(mod, tmp_path / "libmodel.so", entries=entry_names(mod), target=target)
    expected = write_inputs(mod, tmp_path)
    for threads in ("1", "2", "3"):
        emulated(tmp_path, "library_entries.c", "inputs", "outputs", threads)
        assert not differences(expected, tmp_path)


def test_a_network_is_right_on_arm(tmp_path: Path) -> None:
    mod, params = get_workload(num_layers=18, image_shape=(3, 64, 64))
    x = np.random.default_rng(0).random((1, 3, 64, 64), "float32")
    x.tofile(tmp_path / "input")
    relay.build(mod, params=params, cache=False)(x).tofile(tmp_path / "expected")
    relay.write_library(mod, tmp_path / "libmodel.so", params=params, target="aarch64-linux-gnu")
    for threads in ("1", "3"):
        said = emulated(tmp_path, "library_calls.c", "input", "expected", threads, "3", str(MAX_DIFFERENCE))
        assert "3 calls, 0 wrong" in said
