"""Segments of a function's instructions, on a machine that computes them with NumPy."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import relay
from relay.backend.xla.arranged import arrange
from relay.backend.xla.host_operators import HostOperator
from relay.backend.xla.segment import Compiled, Segment, StepRefusedError
from relay.backend.xla.segments import Step
from relay.interpreter.machine import Interpreter
from relay.interpreter.operators import operator_function
from relay.interpreter.unit import Unit
from relay.ir.expr import Call

X = np.linspace(-1, 1, 100).astype("float32")


class Machine(Interpreter):
    """The interpreter with segments, which it computes step by step."""

    def __init__(self, mod: relay.IRModule, hosted: Sequence[str] = (), *, moves: bool = False) -> None:
        self.moves = moves
        self.hosted = hosted
        self.lengths: list[int] = []
        """How many steps each program has."""
        self.refused: list[str] = []
        super().__init__(mod)

    def operator(self, e: Call) -> HostOperator:
        is_small = getattr(self.type_of(e), "shape", None) == ()
        return HostOperator(e.attrs, operator_function(self, e), is_small=is_small)

    def arrange(self, unit: Unit) -> None:
        arrange(unit.draft, lambda *parts: Segment(self, *parts), moves=self.moves)

    def compiled(self, steps: Sequence[Step], outs: Sequence[int], constants: Any) -> Compiled:
        made = {s.out for s in steps}
        reads = tuple(dict.fromkeys([r for s in steps for r in s.reads if r not in made]))

        def function(inputs: Sequence[Any]) -> tuple[Any, Any]:
            for at, s in enumerate(steps):
                if isinstance(s.does, HostOperator) and s.does.op.name in self.hosted:
                    raise StepRefusedError(at, "it is for the host")
            self.lengths.append(len(steps))
            segment = Segment(self, steps, outs, {})
            values = dict(zip(reads, inputs, strict=True))
            for s in steps:
                segment.do(s, values)
            return None, [values[r] for r in outs]

        return Compiled(function, reads, tuple(outs))

    def refuse(self, step: Step, reason: str) -> None:
        self.refused.append(step.does.op.name)


def run(text: str, *args: Any, hosted: Sequence[str] = (), moves: bool = False) -> Machine:
    """The machine that has given the value of the interpreter."""
    mod = relay.parse(text)
    machine = Machine(mod, hosted, moves=moves)
    found = machine.evaluate("main", *args)
    wanted = Interpreter(mod).evaluate("main", *args)
    for a, b in zip(*[x if isinstance(x, tuple) else (x,) for x in (found, wanted)], strict=True):
        np.testing.assert_array_equal(a, b)
    return machine


def test_operators_between_jumps_are_one_segment() -> None:
    text = """def @main(%x: Tensor[(100,), float32], %n: int32) {
      let %y = concatenate((tanh(%x), %x * 2f));
      let %z = if (%n > 1) { split(exp(%y), indices_or_sections=2).1 } else { -%x };
      %z + %x
    }"""
    assert run(text, X, 2).lengths == [4, 3, 1]
    assert run(text, X, 0).lengths == [4, 1, 1]


def test_the_host_computes_small_numbers_and_what_has_no_form() -> None:
    text = """def @main(%x: Tensor[(100,), float32], %k: float32) {
      let %c = %k * 2f + 1f;
      tanh(exp(%x) * %c) + sqrt(cos(%x) * cos(%x))
    }"""
    assert run(text, X, 2.0).lengths == [8]
    machine = run(text, X, 2.0, hosted=["tanh"])
    assert machine.refused == ["tanh"]
    assert sum(machine.lengths) == 7
    assert run("def @main(%k: float32) { %k * 2f + 1f }", 2.0).lengths == []


def test_loops_and_clauses_keep_their_jumps() -> None:
    text = """
    type List { Nil, Cons(Tensor[(100,), float32], List) }
    def @go(%l: List, %x: Tensor[(100,), float32]) -> Tensor[(100,), float32] {
      match (%l) { Nil => tanh(%x), Cons(%h, %t) => @go(%t, exp(%h) + %x) }
    }
    def @main(%x: Tensor[(100,), float32]) { @go(Cons(%x, Cons(-%x, Nil)), %x) }"""
    assert run(text, X).lengths == [1, 2, 2, 1]


def test_a_long_run_is_cut() -> None:
    body = "%x"
    for _ in range(600):
        body = f"-({body})"
    assert run(f"def @main(%x: Tensor[(100,), float32]) {{ {body} }}", X).lengths == [256, 256, 88]


def test_operators_move_past_references_where_nobody_sees_them() -> None:
    text = """def @main(%x: Tensor[(100,), float32]) {
      let %r = ref(%x);
      let %a = tanh(%x) * 2f;
      ref_write(%r, ref_read(%r) + %a);
      let %b = exp(%a) - %x;
      ref_write(%r, ref_read(%r) * %b);
      let %c = cos(%b) * %a;
      (ref_read(%r), %c)
    }"""
    assert run(text, X).lengths == [2, 1, 2, 1, 2]
    assert run(text, X, moves=True).lengths == [7, 1]
