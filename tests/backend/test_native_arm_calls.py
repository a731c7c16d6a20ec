"""Calls on AArch64 whose arguments do not fit into registers: what is spilled is read from where it is."""

import re

import pytest

import relay
from relay.backend.native.host.compiler import Compiler
from relay.backend.native.library.targets import target_named
from relay.backend.native.llvm.builder import Value, fits_registers
from relay.backend.native.llvm.codegen import emit_text
from relay.backend.native.llvm.jit import compiling_for
from relay.pipelines import optimize_for_native

PROGRAM = """
def @sums(%n: int32, %a: int32, %b: int32, %c: int32, %d: int32, %e: int32, %f: int32, %g: int32, %h: int32)
    -> int32 {
  if (%n == 0) { %a - %b + %c - %d + %e - %f + %g - %h } else {
    let %left = @sums(%n - 1, %b, %c, %d, %e, %f, %g, %h, %a);
    let %right = @sums(%n - 1, %h, %g, %f, %e, %d, %c, %b, %n);
    %left * 3 - %right + %a - %b * %c + %d * %e - %f + %g * %h
  }
}
def @main(%x: Tensor[(1, 64, 16, 16), float32], %w: Tensor[(128, 64, 1, 1), float32]) {
  nn.conv2d(%x, %w, strides=(2, 2)) * cast(@sums(9, 1, 2, 3, 4, 5, 6, 7, 8), "float32")
}
"""


def test_nothing_is_read_by_a_stack_pointer_that_is_still_to_be_put_back() -> None:
    mod = relay.infer(relay.parse(PROGRAM))
    with compiling_for(target_named("aarch64-linux-gnu").processor):
        made = Compiler(optimize_for_native(mod, ["main"], None, None), ["main"], for_python=False)
        text = emit_text(made.modules(), "asm")
    calls, since = 0, ""
    for line in text.splitlines():
        if re.match(r"\s+blr?\s", line):
            calls, since = calls + 1, line
        elif re.match(r"\s+(ret|b)\b|\S+:", line):
            since = ""
        elif re.match(r"\s+sub\s+sp, sp, ", line):
            assert "[sp" not in since, f"{since}\n{line}"
            since = ""
        elif since:
            since += f"\n{line}"
    assert calls > 3, "the program calls functions"


@pytest.mark.parametrize(
    ("kinds", "fits"),
    [
        (["ptr"] * 8, True),
        (["ptr"] * 8 + ["float"] * 8, True),
        (["ptr"] * 5 + ["i1", "i64", "i32", "i8"], False),
        (["double"] * 9, False),
        (["<4 x float>"] * 8, True),
        (["<16 x float>"] * 3, False),
    ],
)
def test_which_arguments_registers_hold(kinds: list[str], fits: bool) -> None:
    assert fits_registers([Value(kind, "%x") for kind in kinds]) == fits
