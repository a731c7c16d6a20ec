"""LLVM IR has the form that the oldest llvmlite supported reads too: its LLVM is 20."""

import re

import relay
from relay.backend.native.host.compiler import Compiler

MASKED = """
def @main(%x: Tensor[(n, m), float32], %i: Tensor[(k,), int64]) {
    take(nn.softmax(%x), %i, axis=1)
}
"""


def test_masked_loads_and_stores_say_their_alignment_as_a_number() -> None:
    text = "".join([part.text for part in Compiler(relay.parse(MASKED)).modules()])
    calls = re.findall(r"call .* @llvm\.masked\.(\w+)\.[\w.]+\((.*)\)", text)
    assert {name for name, _ in calls} == {"gather", "load", "store"}
    assert all(re.search(r", i32 \d+, ", what) for _, what in calls), calls
