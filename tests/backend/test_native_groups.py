"""Operators that run as one nest of loops, against the interpreter."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host.compiler import Compiler
from relay.backend.native.host.native_program import NativeProgram

CHAIN = "".join(["let %x = %x * 0.99f + 0.01f; "] * 300)
PROGRAMS = {
    "a kernel and what follows it": """def @main(%x: Tensor[(4, 8), float32], %y: Tensor[(8,), float32]) {
        let %z = nn.dense(%x * 2.0, %x);
        nn.relu(%z + nn.dense(%x, expand_dims(%y, axis=0)))
    }""",
    "softmax": "def @main(%x: Tensor[(4, 8), float32], %y: Tensor[(8,), float32]) { nn.softmax(%x + %y) }",
    "layer_norm": """def @main(%x: Tensor[(4, 8), float32], %y: Tensor[(8,), float32]) {
        nn.layer_norm(%x, %y, %y)
    }""",
    "several results": """def @main(%x: Tensor[(4, 8), float32], %y: Tensor[(8,), float32]) {
        let %a = exp(%x);
        let %c = %a + %a * %y;
        (%c, transpose(%c * %x), sum(%a, axis=1), %c)
    }""",
    "sizes known at run time": """def @main(%x: Tensor[(n, m), float32], %y: Tensor[(m,), float32]) {
        let %a = (%x * 0.5f + %y) * %x;
        (%a - sum(%a, axis=1, keepdims=True)) * %a
    }""",
    "parts of what is computed": """def @main(%x: Tensor[(4, 8), float32], %y: Tensor[(8,), float32]) {
        split(exp(%x) + %y, indices_or_sections=2)
    }""",
    "read in another order": """def @main(%x: Tensor[(4, 8), float32], %y: Tensor[(8,), float32]) {
        let %a = reshape(%x * %y, newshape=(8, 4));
        concatenate((%a, reverse(%a + 1f, axis=0)), axis=1) * 2f
    }""",
    "a column and a row": """def @main(%x: Tensor[(4, 8), float32], %y: Tensor[(8,), float32]) {
        let %a = expand_dims(sum(%x, axis=1), axis=1, num_newaxis=2);
        %a - %y + expand_dims(%y, axis=1)
    }""",
    "one number": """def @main(%x: Tensor[(4, 8), float32], %y: Tensor[(8,), float32]) {
        sum(%x * %y) * 0.5f + 1f
    }""",
    "a long chain": f"""def @main(%x: Tensor[(4, 8), float32], %y: Tensor[(8,), float32]) {{
        {CHAIN} %x + %y
    }}""",
}


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_groups_compute_what_the_interpreter_does(name: str) -> None:
    mod = relay.infer(relay.parse(PROGRAMS[name]))
    numbers = np.random.default_rng(0)
    args = [numbers.standard_normal(s).astype("float32") for s in ((4, 8), (8,))]
    wanted, program = mod.evaluate("main", *args), NativeProgram(mod)
    for _ in range(3):
        for x, y in zip(fields(program(*args)), fields(wanted), strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-5)


def test_a_group_is_one_function() -> None:
    mod = relay.parse("def @main(%x: Tensor[(4, 8), float32]) { exp(%x * 2f) + %x }")
    text = "\n".join([p.text for p in Compiler(mod).program.pieces])
    assert text.count("@relay.allocate_bytes") == 1


def fields(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)
