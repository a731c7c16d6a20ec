"""Derivatives where a value passes as one of another type: sizes known to one of them alone."""

from typing import Any

import numpy as np
import pytest

import relay

PROGRAMS = {
    "branches": """
        def @f(%x: Tensor[(?,), float64], %c: bool) {
          if (%c) { %x * %x } else { sum(%x, [0], true) * 3.0 }
        }""",
    "a branch that is shorter": """
        def @f(%x: Tensor[(3,), float64], %c: bool) {
          let %y: Tensor[(?,), float64] = if (%c) { %x * 2.0 } else { %x[:2] };
          exp(%y) * %y
        }""",
    "a clause": """
        type T { A(Tensor[(?,), float64]) B(Tensor[(2,), float64]) }
        def @g(%t: T) -> Tensor[(?,), float64] { match (%t) { A(%y) => sin(%y), B(%y) => %y * %y } }
        def @f(%x: Tensor[(2,), float64], %c: bool) { @g(if (%c) { A(%x) } else { B(%x) }) }""",
    "a result and an argument": """
        def @g(%x: Tensor[(?,), float64]) -> Tensor[(?,), float64] { tanh(%x) }
        def @h(%x: Tensor[(2,), float64]) -> Tensor[(2,), float64] { @g(%x) }
        def @f(%x: Tensor[(?,), float64], %c: bool) -> Tensor[(?,), float64] { @h(%x) + @g(%x) }""",
    "an annotation": """
        def @f(%x: Tensor[(?,), float64], %c: bool) {
          let %y: Tensor[(2,), float64] = %x;
          let %t: (Tensor[(?,), float64], (bool, Tensor[(?,), float64])) = (%y, (%c, exp(%x)));
          %t.0 * %t.1.1 + %y
        }""",
    "recursion": """
        def @g(%x: Tensor[(?,), float64], %n: int32) -> Tensor[(?,), float64] {
          if (%n == 0) { %x } else { @g(strided_slice(%x, begin=(0,), end=(1,)) * %x, %n - 1) }
        }
        def @f(%x: Tensor[(2,), float64], %c: bool) { @g(%x, 2) }""",
    "a composite operator that knows more": """
        def @f(%x: Tensor[(n,), float64], %c: bool) {
          let %y: Tensor[(2 * n,), float64] = dyn.tile(%x, [2]);
          if (%c) { %y * %y } else { %y }
        }""",
}


def evaluated(text: str, kind: str, *inputs: Any) -> Any:
    return relay.create_executor(kind, mod=relay.parse(text)).evaluate()(*inputs)


@pytest.mark.parametrize(
    ("name", "kind"),
    [*[(name, "interpreter") for name in PROGRAMS], ("branches", "native"), ("recursion", "native")],
)
def test_gradients_are_those_of_finite_differences(name: str, kind: str) -> None:
    program = PROGRAMS[name]
    params = program[program.index("@f(") + 3 : program.index(")", program.index("%c"))]
    x = np.linspace(0.3, 0.9, 3 if "(3,)" in params else 2)
    t = params.split(": ", 1)[1].split("]")[0] + "]"
    for c in (True, False):
        sums = f"{program}\ndef @main({params}) {{ sum(@f(%x, %c)) }}"
        text = f"{program}\ndef @main({params}) {{ grad(fn (%y: {t}) {{ @f(%y, %c) }})(%x) }}"
        _, (found,) = evaluated(text, kind, x, np.bool_(c))
        step = 1e-6
        for i in range(len(x)):
            higher, lower = (
                float(evaluated(sums, "interpreter", x + d * np.eye(len(x))[i], np.bool_(c)))
                for d in (step, -step)
            )
            assert np.isclose(np.asarray(found)[i], (higher - lower) / (2 * step), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_mode_agrees(name: str) -> None:
    program = PROGRAMS[name]
    params = program[program.index("@f(") + 3 : program.index(")", program.index("%c"))]
    x = np.linspace(0.3, 0.9, 3 if "(3,)" in params else 2)
    t = params.split(": ", 1)[1].split("]")[0] + "]"
    for c in (True, False):
        start = f"{program}\ndef @main({params}) {{ let %g = fn (%y: {t}) {{ @f(%y, %c) }};"
        _, dy = evaluated(f"{start} jvp(%g)((%x,), (%x,)) }}", "interpreter", x, np.bool_(c))
        _, (g,) = evaluated(f"{start} grad(%g)(%x) }}", "interpreter", x, np.bool_(c))
        assert np.isclose(np.sum(np.asarray(dy)), np.sum(np.asarray(g) * x))
