"""Whole programs as machine code, against the interpreter."""

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import relay
from generators.programs import random_program
from relay.backend.native.host.native_program import NativeProgram
from relay.interpreter.value import ConstructorValue, RefValue

PRELUDE = 'import "std/prelude"\n'
COUNT = 10
"""Random programs in each part."""


def native(text: str) -> NativeProgram:
    return NativeProgram(relay.parse(PRELUDE + text))


def agrees(text: str, *args: Any) -> Any:
    """The value of a program, which is the interpreter's."""
    found = native(text)(*args)
    assert same(found, relay.parse(PRELUDE + text).evaluate("main", *args))
    return found


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal, floats nearly so; functions are not compared."""
    match a:
        case tuple():
            return len(a) == len(b) and all(map(same, a, b))
        case ConstructorValue():
            return a.constructor == b.constructor and same(a.fields, b.fields)
        case RefValue():
            return same(a.value, b.value)
        case np.ndarray() | np.generic():
            x, y = np.asarray(a), np.asarray(b)
            if x.dtype == object:
                return np.array_equal(x, y)
            close = np.allclose(x, y, rtol=1e-4, atol=1e-5, equal_nan=True)
            return x.dtype == y.dtype and x.shape == y.shape and close
        case str():
            return a == b
        case _:
            return callable(a) == callable(b)


def test_recursion() -> None:
    fib = "def @fib(%n: int32) -> int32 { if (%n < 2) { %n } else { @fib(%n - 1) + @fib(%n - 2) } }"
    assert agrees(fib + "def @main(%n: int32) { @fib(%n) }", np.int32(15)) == 610


def test_a_tail_call_is_a_jump() -> None:
    text = """
    def @even(%n: int64) -> bool { if (%n == 0) { True } else { @odd(%n - 1) } }
    def @odd(%n: int64) -> bool { if (%n == 0) { False } else { @even(%n - 1) } }
    def @main(%n: int64) { @even(%n) }
    """
    assert native(text)(np.int64(10_000_001)) == np.bool_(False)


def test_a_million_calls_deep() -> None:
    text = "def @sum(%n: int64) -> int64 { if (%n == 0) { 0 } else { %n - @sum(%n - 1) } }"
    assert native(text + "def @main(%n: int64) { @sum(%n) }")(np.int64(1_000_000)) == 500_000


def test_lists_closures_and_polymorphic_functions() -> None:
    text = """
    def @main(%n: int32) {
      let %l = @unfoldl(fn (%i: int32) { if (%i == 0) { None } else { Some((%i - 1, %i)) } }, %n);
      let %sum = @foldl(fn (%a, %x) { %a + %x * %n }, 0, @map(fn (%x) { %x * %x }, %l));
      (%sum, @rev(@zip(%l, %l)), @length(%l))
    }
    """
    agrees(text, np.int32(20))


def test_long_lists_are_freed_without_recursion() -> None:
    text = """
    def @go(%i: int32, %l: List[int32]) -> List[int32] {
      if (%i == 0) { %l } else { @go(%i - 1, Cons(%i, %l)) }
    }
    def @main(%n: int32) { let %l = @go(%n, Nil); let %m = @map(fn (%x) { %x + 1 }, %l); @sum(%m) }
    """
    assert native(text)(np.int32(100_000)) == 100_000 * 100_001 // 2 + 100_000 - 2**32


def test_references() -> None:
    text = """
    def @main(%n: int32) {
      let %r = ref((0, Cons(%n, Nil)));
      let %go = fn (%i: int32) -> () {
        if (%i == 0) { () } else {
          let %old = ref_read(%r);
          ref_write(%r, (%old.0 + %i, Cons(%i, %old.1)));
          %go(%i - 1)
        }
      };
      %go(%n);
      ref_read(%r)
    }
    """
    agrees(text, np.int32(10))


def test_references_come_in_and_hold_what_was_written_to_them() -> None:
    text = """
    type Box { Box(ref(int32)) }
    def @main(%a: ref(int32), %b: ref(Tensor[(2,), float32]), %p: (ref(int32), Box)) {
      ref_write(%a, ref_read(%a) + 1);
      let %old = ref_read(%b);
      ref_write(%b, %old * 2.0);
      match (%p.1) { Box(%c) => ref_write(%c, ref_read(%c) + 10) };
      (%a, ref_read(%p.0), %old)
    }
    """
    mod = relay.parse(PRELUDE + text)
    box = mod.get_type("Box")[1]
    seen: list[Any] = []
    for run in (NativeProgram(mod), relay.create_executor("debug", mod).evaluate()):
        a, b, c = RefValue(np.int32(1)), RefValue(np.ones(2, "float32")), RefValue(np.int32(5))
        found = run(a, b, (a, ConstructorValue(box, (c,))))
        assert found[0] is a
        seen.append((a.value, b.value, c.value, found[1:]))
    assert same(*seen)
    assert (seen[0][0], seen[0][1].tolist(), seen[0][2]) == (2, [2, 2], 15)


def test_references_in_a_circle_come_out_and_in() -> None:
    text = """
    type Node { Node(int32, ref(Node)), End }
    def @main(%n: int32) { let %r = ref(End); ref_write(%r, Node(%n, %r)); %r }
    def @first(%r: ref(Node)) -> int32 { match (ref_read(%r)) { Node(%n, _) => %n, End => 0 } }
    """
    program = NativeProgram(relay.parse(text), ["main", "first"])
    for n in range(3):
        made = program.evaluate("main", np.int32(n))
        assert made.value.fields[1] is made
        assert program.evaluate("first", made) == n


def test_a_reference_that_holds_something_else_is_refused() -> None:
    program = NativeProgram(relay.parse("def @main(%r: ref(int32)) { ref_read(%r) }"))
    assert program(RefValue(3)) == 3
    for wrong in (RefValue(np.ones(3)), RefValue("a"), 3):
        with pytest.raises(relay.RelayError) as found:
            program(wrong)
        assert found.value.codes == ("argument-type",)


def test_functions_of_python_and_of_other_programs_come_in() -> None:
    text = """
    def @main(%f: fn(int32, Tensor[(2,), float32]) -> (int32, Tensor[(2,), float32]), %n: int32) {
      let %once = %f(%n, [1.0, 2.0]);
      let %twice = %f(%once.0, %once.1);
      (%twice, @map(fn (%x: int32) -> int32 { %f(%x, %once.1).0 }, Cons(1, Cons(2, Nil))))
    }
    """
    mod = relay.parse(PRELUDE + text)
    run = NativeProgram(mod)
    step = "fn (%n: int32, %x: Tensor[(2,), float32]) { (%n + 1, %x * 2.0) }"
    interpreted = relay.create_executor("debug").evaluate(relay.parse_expr(step))
    other = NativeProgram(relay.parse(f"def @main() {{ {step} }}"))()
    wanted = mod.evaluate("main", interpreted, np.int32(3))
    for given in (interpreted, other, lambda n, x: (int(n) + 1, x * 2)):
        assert same(run(given, np.int32(3)), wanted)
        assert same(mod.evaluate("main", given, np.int32(3)), wanted)
    assert int(wanted[0][0]) == 5


def test_what_functions_of_python_raise_comes_through() -> None:
    program = NativeProgram(relay.parse("def @main(%f: fn(int32) -> int32, %n: int32) { 1 + %f(%n) }"))

    def fails(n: Any) -> int:
        raise KeyError("mine")

    for _ in range(3):
        with pytest.raises(KeyError, match="mine"):
            program(fails, np.int32(1))
    for wrong in (lambda n: "text", lambda n: [1, 2], lambda n: None):
        with pytest.raises(relay.RelayError) as found:
            program(wrong, np.int32(1))
        assert found.value.codes == ("argument-type",)
    with pytest.raises(relay.RelayError) as found:
        program(3, np.int32(1))
    assert found.value.codes == ("argument-type",)
    assert program(lambda n: int(n) * 2, np.int32(4)) == 9


def test_functions_of_python_are_called_once_and_let_go() -> None:
    program = NativeProgram(relay.parse("def @main(%f: fn(int32) -> int32, %n: int32) { 6 / %f(%n) }"))
    seen: list[int] = []

    def noted(n: Any) -> int:
        seen.append(int(n))
        return int(n)

    with pytest.raises(relay.RelayError) as found:
        program(noted, np.int32(0))
    assert found.value.codes == ("divide-by-zero",)
    assert program(noted, np.int32(2)) == 3
    assert seen == [0, 2]
    known = weakref.ref(noted)
    del noted, found
    gc.collect()
    assert known() is None


def test_functions_of_python_call_the_program_again() -> None:
    body = "if (%n == 0) { 0 } else { %n + %f(%n - 1) }"
    program = NativeProgram(
        relay.parse(f"def @main(%f: fn(int32) -> int32, %n: int32) -> int32 {{ {body} }}")
    )

    def again(n: Any) -> Any:
        return program(again, n)

    assert program(again, np.int32(20)) == 210


def test_large_tuples_come_back() -> None:
    text = """
    def @f(%n: int32) { if (%n < 0) { @f(0) } else { (%n, 1f, True, (%n + 1, Cons(%n, Nil)), ()) } }
    def @main(%n: int32) { (@f(%n), @f(-1)) }
    """
    text = text.replace(
        "def @f(%n: int32)", "def @f(%n: int32) -> (int32, float32, bool, (int32, List[int32]), ())"
    )
    agrees(text, np.int32(7))


def test_functions_come_out_and_are_called() -> None:
    adder = native("def @main(%x: int32) { fn (%y: int32) { fn (%z: int32) { %x * 100 + %y * 10 + %z } } }")
    assert adder(np.int32(1))(np.int32(2))(np.int32(3)) == 123


def test_nested_patterns() -> None:
    text = """
    def @main(%a: List[int32], %b: (List[int32], bool)) {
      match ((%a, %b)) {
        (Cons(%x, Cons(%y, _)), (Nil, %c)) => if (%c) { %x + %y } else { 0 },
        (Cons(%x, _), (Cons(%z, _), _)) => %x * %z,
        (%l, (_, %c)) => if (%c) { @length(%l) } else { -1 },
      }
    }
    """
    mod = relay.parse(PRELUDE + text)
    _, cons, nil = (mod.get_type("List")[i] for i in (0, 1, 2))

    def make(*xs: int) -> ConstructorValue:
        made = ConstructorValue(nil, ())
        for x in reversed(xs):
            made = ConstructorValue(cons, (np.int32(x), made))
        return made

    for a, b, c in [((1, 2), (), True), ((3,), (4, 5), False), ((), (), True), ((1, 2), (), False)]:
        agrees(text, make(*a), (make(*b), np.bool_(c)))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_integers_wrap_and_divide_as_the_interpreter_says(dtype: str) -> None:
    body = "(%x + %y, %x - %y, %x * %y, %x / %y, %x % %y, %x < %y, -%x)"
    text = f"def @main(%x: {dtype}, %y: {dtype}) {{ {body} }}"
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    kind = np.dtype(dtype).type
    program, mod = native(text), relay.parse(PRELUDE + text)
    for x in (low, high, 7, 1):
        for y in (low or 3, high, 2, 1, kind(-1) if low else 5):
            assert same(program(kind(x), kind(y)), mod.evaluate("main", kind(x), kind(y))), (x, y)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_floats(dtype: str) -> None:
    text = f"def @main(%x: {dtype}, %y: {dtype}) {{ (%x + %y, %x / %y, maximum(%x, %y), sqrt(%x), %x < %y) }}"
    kind = relay.ir.dtype.to_numpy(dtype).type
    program, mod = native(text), relay.parse(PRELUDE + text)
    for x, y in [(1.5, 2.25), (-1.0, 0.0), (float("nan"), 1.0), (float("inf"), float("-inf")), (1e-3, 3e4)]:
        assert same(program(kind(x), kind(y)), mod.evaluate("main", kind(x), kind(y))), (x, y)


@pytest.mark.parametrize("source", ["float32", "float64", "int64", "uint8", "bool"])
@pytest.mark.parametrize("target", ["float32", "float64", "int8", "uint32", "uint64", "bool"])
def test_casts(source: str, target: str) -> None:
    text = f'def @main(%x: {source}) {{ cast(%x, "{target}") }}'
    program, mod = native(text), relay.parse(PRELUDE + text)
    values = [0, 1, 3, 200, -1, 1e10, float("nan"), float("inf"), -2.7]
    for x in np.asarray([v for v in values if source[0] == "f" or v in (0, 1, 3)]).astype(source):
        assert same(program(x), mod.evaluate("main", x)), x


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("%x / (%x - %x)", "divide-by-zero"),
        ("match? (Cons(%x, Nil)) { Nil => %x }", "match-failure"),
    ],
)
def test_failures_are_diagnostics(body: str, code: str) -> None:
    text = f"def @main(%x: int32) {{ {body} }}"
    program = native(text)
    for _ in range(3):
        with pytest.raises(relay.RelayError) as found:
            program(np.int32(3))
        with pytest.raises(relay.RelayError) as wanted:
            relay.parse(PRELUDE + text).evaluate("main", np.int32(3))
        assert found.value.codes == wanted.value.codes == (code,)


def test_constants_that_are_made_of_one_another() -> None:
    chain = [f"def @c{i} = @c{i - 1} + [1.0, 2.0]" for i in range(1, 300)]
    text = "\n".join(["def @c0 = [1.0, 2.0]", *chain, "def @main() { @c299 }"])
    assert native(text)().tolist() == [300.0, 600.0]


def test_a_constant_that_needs_its_own_value_fails_where_it_is_used() -> None:
    f = NativeProgram(
        relay.parse("""def @pair: (int32, int32) = (@first(), 1)
        def @first() -> int32 { @pair.0 + 1 }
        def @main(%n: int32) { if (%n == 0) { 7 } else { @pair.0 } }"""),
        direct=True,
    ).function("main")
    assert f(0) == 7
    with pytest.raises(relay.RelayError, match="`@pair` depends on itself") as error:
        f(1)
    assert error.value.codes == ("constant-cycle",)


def test_a_constant_of_deep_tuples() -> None:
    depth = 2000
    text = f"def @c = {'(' * depth}1.0{',)' * depth}\ndef @main(%x: float32) {{ let %c = @c; %x }}"
    assert native(text)(np.float32(2)) == 2


def test_constants_that_hold_references_are_made_once() -> None:
    text = """
    def @total = ref(1)
    def @both = (ref((Nil : List[int32])), "name", @counter())
    def @counter() -> fn() -> int32 {
      let %c = ref(0);
      fn () { ref_write(%c, ref_read(%c) + 1); ref_read(%c) }
    }
    def @main(%x: int32) {
      ref_write(@total, ref_read(@total) + %x);
      ref_write(@both.0, Cons(%x, ref_read(@both.0)));
      (ref_read(@total), ref_read(@both.0), @both.1, @both.2())
    }
    """
    mod = relay.parse(PRELUDE + text)
    wanted = relay.create_executor("debug", mod).evaluate()
    program, built = NativeProgram(mod), relay.build(mod).program
    for x in range(4):
        value = wanted(x)
        assert same(program(np.int32(x)), value)
        assert same(built(np.int32(x)), value)


def test_tuples_of_more_than_tensors_stay_out_of_loops() -> None:
    text = """
    def @main(%x: int32, %l: List[Tensor[(3,), float32]]) {
      let %f = fn (%y: float32) { %y };
      (((%x, %l).0 == %x) && (%x != 3), (%x, cast((%x, %f).0, dtype="float32"), %l).2)
    }
    """
    agrees(text, np.int32(3), [np.ones(3, "float32")])


def test_tuples_in_tuples_go_into_loops_and_come_out_of_them() -> None:
    text = """
    def @main(%x: Tensor[(4,), float32], %p: ((Tensor[(4,), float32], int32), float32)) {
      let %t = (%p, %x);
      let %y = abs(%x) + %t.0.0.0 * %t.0.1;
      (%y, (%y * %x, (%x, abs(%y))))
    }
    """
    agrees(text, np.arange(4, dtype="float32"), ((np.ones(4, "float32"), np.int32(3)), np.float32(2)))


def test_random_programs(seeds: range) -> None:
    for seed in list(seeds)[:COUNT]:
        given = random_program(seed)
        mod = relay.infer(given.mod)
        assert same(outcome(NativeProgram(mod), given.args), outcome(mod.evaluate, given.args)), (
            f"seed {seed}"
        )


def outcome(run: Any, args: tuple[Any, ...]) -> Any:
    """What a program gives, or how it fails."""
    try:
        return run(*args) if isinstance(run, NativeProgram) else run("main", *args)
    except relay.RelayError as error:
        return error.codes
