"""Partial evaluation: what is known is gone, what is not stays, and nothing is done twice."""

import numpy as np
import pytest

import relay
import relay.transform as passes
from generators.programs import random_program
from relay.expansion.expand import expand_grad
from relay.interpreter.value import ConstructorValue
from relay.ir.expr import Call, Constructor, Function, GlobalVar, If, Match, Op, RefCreate, RefRead, RefWrite
from relay.ir.expr import Tuple as TupleNode
from relay.ir.module import IRModule
from transform.cases import outcome, program, verified

PRELUDE = 'import "std/prelude"\n'


def evaluated(text: str, *args: object, **options: int) -> IRModule:
    """A program after partial evaluation, without what is dead; its value is the same, its work no more."""
    mod = program(text)
    out = verified(passes.dead_code(passes.partial_evaluate(mod, **options)))
    given = tuple([np.float32(a) if isinstance(a, float) else a for a in args])
    before, work = outcome(mod, given)
    after, less = outcome(out, given)
    assert after == before
    assert less <= work
    return out


def kinds(mod: IRModule, name: str = "main") -> set[str]:
    """The kinds of nodes in a definition, the outermost function left out; operators by name."""
    found: set[str] = set()
    main = mod[name]
    assert isinstance(main, Function)
    for e in relay.post_order(main.body):
        if isinstance(e, Call):
            found.add({Op: "operator", Constructor: "cell"}.get(type(e.op), "call"))
        elif isinstance(e, Function | If | Match | RefCreate | RefRead | RefWrite | TupleNode):
            found.add(type(e).__name__)
    return found


def operators(mod: IRModule, name: str = "main") -> list[str]:
    """The operators that are called in a definition."""
    calls = [e for e in relay.post_order(mod[name]) if isinstance(e, Call)]
    return [e.op.name for e in calls if isinstance(e.op, Op)]


def test_functions_tuples_and_cells_go() -> None:
    text = """
    def @main(%x: float32) {
      let %pair = (fn (%y: float32) { %y * %x }, fn (%y: float32) { %y + %x });
      let %l = Cons(%pair, Nil);
      match (%l) { Cons((%f, %g), _) => %f(%g(%x)), Nil => 0f }
    }
    """
    assert kinds(evaluated(PRELUDE + text, 0.5)) == {"operator"}


def test_a_function_returned_by_a_function_goes() -> None:
    text = (
        "def @adder(%x: float32) { fn (%y: float32) { %x + %y } } def @main(%z: float32) { @adder(%z)(2f) }"
    )
    out = evaluated(text, 0.5)
    assert kinds(out) == {"operator"}
    assert list(out.functions) == [GlobalVar("main")]


def test_the_higher_order_functions_of_the_prelude_vanish_on_known_lists() -> None:
    text = """
    def @main(%x: float32) {
      let %l = @map(fn (%y) { %y * %x }, Cons(%x, Cons(2f, Cons(3f, Nil))));
      @foldl(fn (%a, %y) { %a + %y }, 0f, @rev(@filter(fn (%y) { True }, %l)))
    }
    """
    out = evaluated(PRELUDE + text, 0.5)
    assert kinds(out) == {"operator"}
    assert operators(out).count("multiply") == 3


def test_recursion_over_an_unknown_list_stays() -> None:
    text = "def @main(%l: List[float32]) { @foldl(fn (%a, %y) { %a + %y }, 0f, %l) }"
    assert "call" in kinds(evaluated(PRELUDE + text, empty_list()))


def empty_list() -> ConstructorValue:
    _, _, nil = program(PRELUDE + "def @main() { 1 }").get_type("List")
    return ConstructorValue(nil, ())


def test_a_loop_over_known_numbers_goes() -> None:
    power = "def @power(%x, %n) -> float32 { if (%n == 0) { 1f } else { %x * @power(%x, %n - 1) } }"
    out = evaluated(power + "def @main(%x: float32) { @power(%x, 5) }", 0.5)
    assert operators(out) == ["multiply"] * 5


def test_an_integer_loop_is_computed() -> None:
    fib = "def @fib(%n: int32) -> int32 { if (%n < 2) { %n } else { @fib(%n - 1) + @fib(%n - 2) } }"
    out = evaluated(fib + "def @main() { @fib(8) }")
    assert operators(out) == []
    assert out.evaluate("main") == 21


def test_a_loop_that_is_too_long_stays_as_it_was() -> None:
    loop = "def @loop(%i: int32, %x: float32) { if (%i < 1000) { @loop(%i + 1, sin(%x)) } else { %x } }"
    out = evaluated(loop + "def @main(%x: float32) { @loop(0, %x) }", 0.5)
    assert operators(out) == []
    assert operators(out, "loop") == ["less", "add", "sin"]
    out = evaluated(loop + "def @main(%x: float32) { @loop(0, %x) }", 0.5, max_unroll=1000, max_growth=9000)
    assert operators(out) == ["sin"] * 1000


def test_a_loop_that_never_ends_is_not_followed() -> None:
    text = """
    def @up(%n: int32, %x: float32) -> float32 { if (%x < 1f) { @up(%n + 1, %x + 0.5f) } else { %x } }
    def @main(%x: float32) { @up(0, %x) }
    """
    assert kinds(evaluated(text, 0.5)) == {"call"}


def test_a_function_that_reaches_itself_through_data_ends() -> None:
    text = """
    type Knot { Tie(fn (Knot, int32) -> int32), }
    def @main(%n: int32) {
      let %f = fn (%k: Knot, %i: int32) -> int32 {
        match (%k) { Tie(%g) => if (%i < 1) { 0 } else { %g(%k, %i - 1) + 1 } }
      };
      %f(Tie(%f), %n)
    }
    """
    evaluated(text, np.int32(5))


def test_a_smaller_argument_lets_a_loop_go_on_under_an_unknown_condition() -> None:
    text = """
    def @pick(%l: List[float32], %x: float32) -> float32 {
      match (%l) { Cons(%y, %rest) => if (%x < %y) { %y } else { @pick(%rest, %x) }, Nil => %x }
    }
    def @main(%x: float32) { @pick(Cons(1f, Cons(2f, Cons(3f, Nil))), %x) }
    """
    assert kinds(evaluated(PRELUDE + text, 2.5)) == {"operator", "If"}


def test_contents_of_references_are_known() -> None:
    text = """
    def @main(%x: float32) {
      let %r = ref(%x);
      let %step = fn (%y: float32) { ref_write(%r, ref_read(%r) * %y) };
      %step(2f);
      %step(3f);
      ref_read(%r)
    }
    """
    out = evaluated(text, 0.5)
    assert kinds(out) == {"operator"}
    assert operators(out) == ["multiply", "multiply"]


def test_a_write_under_an_unknown_condition_is_unknown_after_it() -> None:
    text = """
    def @main(%x: float32, %b: bool) {
      let %r = ref(%x);
      let %s = ref(%x);
      if (%b) { ref_write(%r, 1f) } else { () };
      ref_read(%r) + ref_read(%s)
    }
    """
    for b in (True, False):
        out = evaluated(text, 0.5, np.bool_(b))
    reads = [e for e in relay.post_order(out["main"]) if isinstance(e, RefRead)]
    assert len(reads) == 1


def test_what_an_unknown_function_may_write_is_unknown() -> None:
    text = """
    def @run(%f: fn (float32) -> (), %r: ref(float32)) { %f(1f); ref_read(%r) }
    def @main(%x: float32) { let %r = ref(%x); ref_write(%r, 2f); @run(fn (%y) { ref_write(%r, %y) }, %r) }
    """
    assert operators(evaluated(text, 0.5)) == []
    taken = "def @main(%f: fn (float32) -> (), %x: float32) { let %r = ref(%x); %f(1f); ref_read(%r) }"
    mod = verified(passes.partial_evaluate(program(taken)))
    assert any(isinstance(e, RefRead) for e in relay.post_order(mod["main"]))


def test_work_is_not_doubled() -> None:
    text = "def @f(%x: float32) { (%x, %x) } def @main(%y: float32) { let %p = @f(sin(%y)); %p.0 * %p.1 }"
    assert operators(evaluated(text, 0.5)) == ["sin", "multiply"]


def test_polymorphic_functions_are_entered_at_their_instance() -> None:
    text = "def @main(%x: float32, %n: int32) { (@compose(negative, tanh)(%x), @compose(@id, negative)(%n)) }"
    out = evaluated(PRELUDE + text, 0.5, np.int32(3))
    assert kinds(out) == {"operator", "Tuple"}


def test_fused_functions_stay_whole() -> None:
    text = """
    def @main(%x: float32) {
      let %twice = fn (%g: fn (float32) -> float32) { %g(%g(%x)) };
      %twice(fn (%y: float32, Primitive=1) { sin(cos(%y)) })
    }
    """
    out = evaluated(text, 0.5)
    (fused,) = [e for e in relay.post_order(out["main"]) if isinstance(e, Function) and e.attrs]
    assert fused.attrs["Primitive"] == 1
    assert kinds(out) == {"call", "operator", "Function"}


def test_attributes_say_no() -> None:
    text = (
        "def @f(%x: float32) { tanh(%x) } attributes @f { inline: false } def @main(%y: float32) { @f(%y) }"
    )
    assert kinds(evaluated(text, 0.5)) == {"call"}


def test_the_budget_is_kept() -> None:
    steps = "".join(
        f"let %f{i} = fn (%x: float32) {{ %f{i - 1}(%x) + %f{i - 1}(%x) }};" for i in range(1, 30)
    )
    text = f"def @main(%y: float32) {{ let %f0 = fn (%x: float32) {{ tanh(%x) }}; {steps} %f29(%y) }}"
    out = verified(passes.partial_evaluate(program(text), max_nodes=2000))
    assert sum(1 for _ in relay.post_order(out["main"])) < 20_000


def test_tail_calls_stay_tail_calls() -> None:
    text = """
    def @loop(%i: int32) -> int32 {
      let %next = fn (%j: int32) { @loop(%j - 1) };
      if (%i < 1) { 7 } else { %next(%i) }
    }
    def @main(%n: int32) { @loop(%n) }
    """
    out = passes.partial_evaluate(program(text))
    assert out.evaluate("main", np.int32(200_000)) == 7


def test_a_program_with_nothing_to_do_comes_back_as_it_is() -> None:
    mod = passes.to_anf(program("def @main(%x: float32) { let %y = tanh(%x); %y * %y }"))
    assert passes.partial_evaluate(mod) is mod


@pytest.mark.parametrize(
    "text",
    [
        "def @f(%x: float32) { let %l = @map(fn (%y) { %y * %x }, Cons(%x, Cons(2f, Nil)));"
        " @foldl(fn (%a, %y) { %a * %y }, 1f, %l) }",
        "def @f(%x: float32) { let %r = ref(1f); let %go = fn (%i: int32) -> () { if (%i > 0) {"
        " ref_write(%r, ref_read(%r) * %x); %go(%i - 1) } else { () } }; %go(4); ref_read(%r) }",
        "def @f(%x: float32) { let %g = fn (%h: fn (float32) -> float32) { fn (%y: float32) { %h(%h(%y)) } };"
        " %g(%g(fn (%y: float32) { %y * %x }))(%x) }",
    ],
)
def test_gradients_of_known_structure_are_plain_arithmetic(text: str) -> None:
    mod = program(PRELUDE + text + " def @main(%x: float32) { grad(@f)(%x) }")
    out = verified(passes.dead_code(passes.partial_evaluate(expand_grad(mod))))
    assert kinds(out) <= {"operator", "Tuple"}
    x = np.float32(1.5)
    assert str(out.evaluate("main", x)) == str(mod.evaluate("main", x))


def test_a_conversion_to_an_open_shape_keeps_the_type() -> None:
    text = """
    def @f(%x: Tensor[(2, 3), float32]) -> Tensor[(?, 3), float32] { tanh(%x) }
    def @main(%x: Tensor[(2, 3), float32]) { @f(%x) }
    """
    out = evaluated(text, np.ones((2, 3), "float32"))
    assert str(out["main"].ret_type) == str(program(text)["main"].ret_type)


def test_strings_that_are_known_are_compared() -> None:
    out = evaluated('def @is(%s: string) { %s == "let" } def @main() { (@is("let"), @is("in")) }')
    assert str(out["main"]) == "fn () -> (bool, bool) { (True, False) }"


def test_random_programs(seeds: range) -> None:
    for seed in seeds:
        given = random_program(seed)
        mod = relay.infer(given.mod)
        out = verified(passes.partial_evaluate(mod))
        value, work = outcome(mod, given.args)
        new_value, new_work = outcome(out, given.args)
        assert new_value == value, f"seed {seed}"
        assert new_work <= work, f"seed {seed}"


def test_shapes_that_an_operator_refuses_are_no_error_of_numpy() -> None:
    mod = relay.parse(
        "def @set(%x: Tensor[(n,), float32], %y: Tensor[(m,), float32]) { %x with { [1:]: %y } }\n"
        "def @main() { @set([1.0, 2.0], [1.0, 2.0]) }"
    )
    with pytest.raises(relay.RelayError, match="what is set is stretched to the part"):
        relay.build(mod, cache=False)()
