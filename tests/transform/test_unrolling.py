"""How much partial evaluation adds to a program: what is unrolled grows with the rounds, and has a limit."""

import numpy as np
import pytest

import relay
import relay.transform as passes
from relay.expansion.expand import expand_grad
from relay.ir.expr import Call, Function, Op, RefWrite
from relay.ir.module import IRModule
from transform.cases import outcome, program, verified

BODY = "fn (%i: int32, %c: float32) { tanh(%c * %c * 0.5f + sin(%c) - 0.1f) }"


def loop(rounds: int) -> str:
    """A function with a loop of known length."""
    return f"fn (%x: float32) {{ @fori(0, {rounds}, {BODY}, %x) }}"


def derivative(rounds: int, order: int) -> IRModule:
    """The program with a derivative of the loop."""
    text = loop(rounds)
    for _ in range(order):
        text = f"fn (%x: float32) {{ grad({text})(%x).1.0 }}"
    return program(f'import "std/loop"\n def @main(%x: float32) {{ ({text})(%x) }}')


def size(mod: IRModule) -> int:
    """The nodes of a module."""
    return sum(1 for e in mod.functions.values() for _ in relay.post_order(e))


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_of_unrolled_loops_grow_as_the_rounds_do(order: int) -> None:
    """Each step on the tape is a function that runs all those before it: only the last is written out."""
    small, middle, large = [
        size(passes.partial_evaluate(expand_grad(derivative(rounds, order)))) for rounds in (8, 16, 24)
    ]
    assert large - middle == middle - small


def writes(text: str) -> int:
    """How many writes partial evaluation leaves of a program, which gives the same value as before."""
    mod = program(text)
    out = verified(passes.partial_evaluate(mod))
    assert outcome(out, (np.float32(0.5),))[0] == outcome(mod, (np.float32(0.5),))[0]
    return sum(isinstance(e, RefWrite) for e in relay.post_order(out["main"]))


def test_a_write_that_nobody_reads_before_the_next_goes() -> None:
    text = "def @main(%x: float32) { let %r = ref(0f); ref_write(%r, %x); ref_write(%r, 2f); %r }"
    assert writes(text) == 1


@pytest.mark.parametrize(
    "reader",
    [
        "@show(fn () { ref_read(%r) }, %x)",
        "if (%x < 1f) { @show(fn () { ref_read(%r) }, %x) } else { 3f }",
        'let %_ = trace("r", %r); 1f',
    ],
)
def test_a_write_that_somebody_may_read_stays(reader: str) -> None:
    text = f"""
    def @show(%f: fn () -> float32, %x: float32) -> float32 {{
      if (%x < 0f) {{ @show(%f, %x + 1f) }} else {{ %f() }}
    }} attributes @show {{ inline: false }}
    def @main(%x: float32) {{
      let %r = ref(0f);
      ref_write(%r, %x);
      let %y = {{ {reader} }};
      ref_write(%r, 2f);
      (%r, %y)
    }}
    """
    assert writes(text) == 2


def test_a_write_to_a_reference_from_outside_stays() -> None:
    text = "def @set(%r: ref(float32)) { ref_write(%r, 1f); ref_write(%r, 2f) }"
    no = " attributes @set { inline: false }"
    mod = program(text + no + " def @main(%x: float32) { let %r = ref(%x); @set(%r); ref_read(%r) }")
    out = verified(passes.partial_evaluate(mod))
    assert sum(isinstance(e, RefWrite) for e in relay.post_order(out["set"])) == 2


def test_a_derivative_of_a_long_loop_stays_a_loop() -> None:
    """Its nodes do not depend on how many rounds there are; neither do those of a loop that is too large."""
    for order, several in ((1, (300, 1000, 100_000)), (2, (100, 1000))):
        found = {size(passes.partial_evaluate(expand_grad(derivative(n, order)))) for n in several}
        assert len(found) == 1
        assert found.pop() < 1000


def test_a_short_loop_is_unrolled_in_its_derivatives() -> None:
    for order in (1, 2):
        out = passes.dead_code(passes.partial_evaluate(expand_grad(derivative(16, order))))
        assert not any(isinstance(e, Function) for e in relay.post_order(out["main"].body))


def doubled(levels: int) -> IRModule:
    """Functions each of which calls the one before twice."""
    steps = "".join(
        f"let %f{i} = fn (%x: float32) {{ %f{i - 1}(%x) + %f{i - 1}(%x) }};" for i in range(1, levels)
    )
    return program(
        f"def @main(%y: float32) {{ let %f0 = fn (%x: float32) {{ tanh(%x) }}; {steps} %f{levels - 1}(%y) }}"
    )


def test_a_call_adds_no_more_than_it_may() -> None:
    """Of functions that double, the smaller ones go and the larger ones stay, each written once."""
    short = passes.partial_evaluate(doubled(5), max_growth=200)["main"]
    assert not any(isinstance(e, Function) for e in relay.post_order(short.body))
    sizes = [size(verified(passes.partial_evaluate(doubled(n), max_growth=200))) for n in (12, 14, 16)]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0]
    assert sizes[2] < 1000


def test_what_is_called_once_may_be_as_long_as_it_is() -> None:
    steps = "".join(f"let %x{i + 1} = tanh(%x{i});" for i in range(300))
    text = f"def @main(%y: float32) {{ let %f = fn (%x0: float32) {{ {steps} %x300 }}; %f(%y) }}"
    out = passes.partial_evaluate(program(text), max_growth=100)
    assert not any(isinstance(e, Function) for e in relay.post_order(out["main"].body))


def test_functions_inside_of_one_that_is_too_long_are_not_to_blame() -> None:
    """The loop of three rounds goes wherever it is called; the one of thousand rounds around it stays."""
    text = """
    import "std/loop"
    def @main(%x: float32) {
      let %short = fn (%c: float32) { @fori(0, 3, fn (%i: int32, %d: float32) { tanh(%d) }, %c) };
      let %a = @fori(0, 1000, fn (%i: int32, %c: float32) { %short(%c) }, %x);
      %short(%a)
    }
    """
    out = verified(passes.dead_code(passes.partial_evaluate(program(text), max_growth=300)))
    calls = [e for f in out.functions.values() for e in relay.post_order(f) if isinstance(e, Call)]
    assert [e.op.name for e in calls if isinstance(e.op, Op)].count("tanh") == 6


@pytest.mark.long
def test_derivatives_of_long_loops_run_natively() -> None:
    for order in (1, 2):
        for rounds in (100, 1000):
            mod = derivative(rounds, order)
            x = np.float32(0.5)
            assert relay.build(mod)(x) == pytest.approx(float(mod.evaluate("main", x)), rel=1e-3, abs=1e-30)
