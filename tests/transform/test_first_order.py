"""Lambda lifting, continuation-passing style, defunctionalisation."""

import numpy as np
import pytest

import relay
import relay.transform as passes
from relay.diagnostic import RelayError
from relay.ir.expr import Function
from relay.ir.module import IRModule
from relay.ir.type import FuncType
from relay.ir.walk import post_order, type_post_order
from relay.transform.rewriting.captures import is_partial_application
from relay.typecheck.types import Types
from transform.cases import outcome, program, verified

COMPOSE = (
    "def @compose<a, b, c>(%f: fn(b) -> c, %g: fn(a) -> b) -> fn(a) -> c { fn(%x: a) -> c { %f(%g(%x)) } }\n"
)
PROGRAMS = {
    "counter": (
        "def @main(%x: int32) { let %r = ref(%x); let %next = fn() { ref_write(%r, ref_read(%r) "
        "+ 1); ref_read(%r) }; "
        "%next(); %next() }"
    ),
    "loop": (
        "def @main(%x: int32) { let %k = %x * 2; let %loop = fn(%n: int32, %s: int32) -> int32 "
        "{ if (%n <= 0) { %s } else { %loop(%n - 1, %s + %k) } }; %loop(%x, 0) }"
    ),
    "even and odd": (
        "def @main(%x: int32) { let %k = 0; let rec %even = fn(%n: int32) -> bool { if (%n == "
        "%k) { True } else "
        "{ %odd(%n - 1) } } and %odd = fn(%n: int32) -> bool { if (%n == %k) { False } else { "
        "%even(%n - 1) } }; "
        "(%even(%x), %odd(%x)) }"
    ),
    "itself as a value": (
        "def @main(%x: int32) { let %f = fn(%n: int32, %g: fn(int32) -> int32) -> int32 { if (%n "
        "<= 0) { %g(%x) } else "
        "{ %f(%n - 1, fn(%m: int32) -> int32 { %f(0, %g) + %m }) } }; %f(%x, fn(%m: int32) { %m + %x }) }"
    ),
    "a group as values": (
        "def @ap(%f: fn(int32) -> int32, %x: int32) { %f(%x) }\n"
        "def @main(%x: int32) { let rec %f = fn(%n: int32) -> int32 { if (%n <= 0) { %x } else { "
        "@ap(%g, %n - 1) } } "
        "and %g = fn(%n: int32) -> int32 { @ap(%f, %n) + 1 }; @ap(%f, %x) }"
    ),
    "functions that return functions": (
        COMPOSE + "def @add(%x: int32) { fn(%y: int32) { %x + %y } }\n"
        "def @main(%x: int32) { let %f = @compose(@add(1), @add(%x)); let %g = @compose(%f, %f); %g(10) }"
    ),
    "nested closures": (
        "def @main(%x: int32) { let %a = fn(%p: int32) { let %b = fn(%q: int32) { let %c = fn(%r: int32) "
        "{ %p * %q + %r * %x }; %c(%q) + %c(1) }; %b(%p) + %b(2) }; %a(%x) + %a(3) }"
    ),
    "functions in data": (
        'import "std/list"\n'
        "def @main(%x: int32) { let %fs = Cons(fn(%y: int32) { %y + %x }, Cons(negative, Nil)); "
        "@foldr(fn(%f: fn(int32) -> int32, %s: int32) { %f(%s) }, %x, %fs) }"
    ),
    "data types of functions": (
        "type Machine[s] { Machine(s, fn(s) -> s) }\n"
        "def @step<s>(%m: Machine[s]) -> Machine[s] { match (%m) { Machine(%s, %f) => "
        "Machine(%f(%s), %f) } }\n"
        "def @run(%m: Machine[int32]) { match (@step(@step(%m))) { Machine(%s, _) => %s } }\n"
        "def @main(%x: int32) { (@run(Machine(%x, fn(%s: int32) { %s * 2 })), "
        "match (@step(Machine((%x, True), fn(%p: (int32, bool)) { (%p.0 + 1, !%p.1) }))) { "
        "Machine(%p, _) => %p }) }"
    ),
    "a data type that holds itself and functions": (
        "type Stream { More(int32, fn() -> Stream) }\n"
        "def @from(%n: int32) -> Stream { More(%n, fn() { @from(%n + 1) }) }\n"
        "def @take(%k: int32, %s: Stream) -> int32 { match (%s) { More(%h, %t) => if (%k <= 0) { %h } else "
        "{ @take(%k - 1, %t()) } } }\n"
        "def @main(%x: int32) { @take(5, @from(%x)) }"
    ),
    "references to functions": (
        "def @main(%x: int32) { let %r = ref(fn(%y: int32) { %y }); let %f = ref_read(%r); "
        "ref_write(%r, fn(%y: int32) { %f(%y) + %x }); let %g = ref_read(%r); %g(1) }"
    ),
    "constructors and operators as values": (
        'import "std/list"\n'
        "def @main(%x: int32) { @foldr(Cons, Nil, Cons(@map(negative, Cons(%x, Nil)), Nil)) }"
    ),
    "sizes that only running tells": (
        "def @ap<n: Dim>(%f: fn(Tensor[(n,), int32]) -> Tensor[(n,), int32], %x: Tensor[(n,), "
        "int32]) { %f(%x) }\n"
        "def @main(%x: int32) { let %v = arange(0, %x, 1, dtype=int32); @ap(fn(%y) { %y + %x }, %v) }"
    ),
}  # fmt: skip


@pytest.fixture(params=PROGRAMS)
def mod(request: pytest.FixtureRequest) -> IRModule:
    return program(PROGRAMS[request.param])


def same(out: IRModule, mod: IRModule) -> IRModule:
    """A verified result of the same value and work."""
    verified(out)
    for x in (0, 3, 4):
        assert outcome(out, (np.int32(x),)) == outcome(mod, (np.int32(x),))
    return out


def test_lambda_lift_leaves_partial_applications(mod: IRModule) -> None:
    out = same(passes.lambda_lift(mod), mod)
    for definition in out.functions.values():
        inner = [e for e in post_order(definition) if isinstance(e, Function) and e is not definition]
        assert all(map(is_partial_application, inner))
    assert passes.lambda_lift(out) is out


def test_continuation_passing_style_and_back(mod: IRModule) -> None:
    there = verified(passes.to_cps(mod))
    assert passes.to_cps(there) is there
    same(passes.un_cps(there), mod)


def test_defunctionalize_leaves_no_functions(mod: IRModule) -> None:
    out = same(passes.defunctionalize(mod), mod)
    types = Types(out)
    for definition in out.functions.values():
        for e in post_order(definition):
            if isinstance(e, Function):
                assert e is definition
            elif e.children:
                assert not any(isinstance(t, FuncType) for t in type_post_order(types(e)))


def test_in_continuation_passing_style_every_call_is_a_tail_call() -> None:
    text = (
        "def @f(%n: int32) -> int32 { if (%n <= 0) { 0 } else { 1 + @f(%n - 1) } }  def "
        "@main(%n: int32) { @f(%n) }"
    )
    out = passes.un_cps(passes.to_cps(program(text)))
    assert relay.interpreter.machine.Interpreter(out, max_depth=5).evaluate("main", 3000) == 3000


def test_fused_functions_are_called_as_before() -> None:
    text = (
        "def @ap(%f: fn(float32) -> float32, %x: float32) { %f(%x) }\n"
        "def @main(%x: float32) { let %f = fn(%y: float32, Primitive=1) { tanh(sin(%y)) }; "
        "%f(%x) + @ap(%f, %x) }"
    )
    mod = program(text)
    for out in (passes.un_cps(passes.to_cps(mod)), passes.defunctionalize(mod), passes.lambda_lift(mod)):
        verified(out)
        assert outcome(out, (np.float32(0.5),)) == outcome(mod, (np.float32(0.5),))
        assert "Primitive" in str(out)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("def @main(%f: fn(int32) -> int32) { %f(1) }", "higher-order-entry"),
        ("def @main(%x: int32) { (%x, fn(%y: int32) { %y }) }", "higher-order-entry"),
        (
            "def @main<t: BaseType>(%x: Tensor[(3,), t], %c: bool) { let %f = if (%c) { fn(%y: "
            "Tensor[(3,), t]) { %y } } "
            "else { fn(%y: Tensor[(3,), t]) { %x } }; %f(%x) }",
            "open-closure",
        ),
    ],
)
def test_what_has_no_first_order_form_is_said(text: str, code: str) -> None:
    with pytest.raises(RelayError) as error:
        passes.defunctionalize(program(text))
    assert error.value.codes == (code,)


def test_constants_that_hold_functions_have_no_continuation_passing_form() -> None:
    with pytest.raises(RelayError) as error:
        passes.to_cps(program("def @f(%x: int32) { %x }\ndef @c = @f\ndef @main() { @c(1) }"))
    assert error.value.codes == ("constant-function",)


def test_constants_that_hold_functions_become_data() -> None:
    mod = program("def @f(%x: int32) { %x + 1 }\ndef @c = @f\ndef @main() { @c(1) }")
    assert outcome(verified(passes.defunctionalize(mod)), ()) == outcome(mod, ())


# --- derivatives ---

DERIVATIVES = [
    "def @main(%x: float32) { grad(fn(%y: float32) { %y * %y * %x })(%x) }",
    "def @main(%x: float32) { vjp(fn(%y: float32) { if (%y < 3f) { %y * %y } else { sin(%y) } })(%x).1(2f) }",
    "def @main(%x: float32) { grad(fn(%y: float32) { jvp(tanh)((%y,), (1f,)).1 })(%x).1.0 }",
    "def @slope(%f: fn(float32) -> float32, %x: float32) { grad(%f)(%x).1.0 }\n"
    "def @main(%x: float32) { @slope(fn(%y: float32) { %y * %x }, %x) + @slope(tanh, 2f) }",
    "def @power(%x: float32, %n: int32) -> float32 { if (%n == 0) { 1f } else { %x * @power(%x, %n - 1) } }\n"
    "def @main(%x: float32) { grad(fn(%y: float32) { @power(%y, 5) })(%x) }",
]


@pytest.mark.parametrize("text", DERIVATIVES)
def test_derivatives_are_written_out_first(text: str) -> None:
    mod, given = program(text), (np.float32(1.25),)
    value = outcome(mod, given)[0]
    for change in (lambda m: passes.un_cps(verified(passes.to_cps(m))), passes.defunctionalize):
        out = verified(change(mod))
        assert outcome(out, given)[0] == value
        assert "grad(" not in str(out)


def test_the_derivative_of_a_parameter_has_no_continuation_passing_form() -> None:
    mod = program("def @slope(%f: fn(float32) -> float32, %x: float32) { grad(%f)(%x).1.0 }")
    with pytest.raises(RelayError) as error:
        passes.to_cps(mod)
    assert error.value.codes == ("grad-not-expanded",)


def test_a_single_function_with_a_derivative() -> None:
    f = relay.parse_expr("fn (%y: float32) { grad(fn(%z: float32) { %z * %z })(%y).1.0 }")
    made = passes.un_cps(passes.to_cps(f))
    assert relay.create_executor("debug").evaluate(made)(np.float32(3)) == 6


# --- single functions ---


def test_a_function_there_and_back() -> None:
    mod = program("def @fact(%n: int32) -> int32 { if (%n == 0) { 1 } else { %n * @fact(%n - 1) } }")
    f = relay.parse_expr("fn (%y: int32) { @fact(%y) + 1 }", mod=mod)
    there = passes.to_cps(f, mod)
    assert there.params[-1].name_hint == "k"
    assert "fact_cps" in mod
    verified(mod)
    assert relay.create_executor("debug", mod=mod).evaluate(passes.un_cps(there))(5) == 121


def test_what_is_in_no_continuation_passing_style_cannot_leave_it() -> None:
    with pytest.raises(RelayError) as error:
        passes.un_cps(relay.parse_expr("fn (%x: int32) -> int32 { %x }"))
    assert error.value.codes == ("not-cps",)


def test_a_function_without_functions() -> None:
    mod = program("def @ap(%f: fn(int32) -> int32, %x: int32) { %f(%f(%x)) }")
    g = relay.parse_expr("fn (%y: int32) { @ap(fn (%z: int32) { %z + %y }, 3) }", mod=mod)
    made = passes.Defunctionalization(g, mod)
    assert relay.create_executor("debug", mod=mod).evaluate(made)(5) == 13


def test_expressions() -> None:
    x = relay.var("x", "float32")
    assert "let" in str(passes.ToANormalFormExpr(relay.tanh(relay.sin(x))))
    folded = passes.FoldConstantExpr(relay.const(2.0) * relay.const(3.0), IRModule())
    assert folded.value == 6.0
    assert str(passes.InferTypeLocal(relay.tanh(x))) == "float32"


def test_lambda_lift_goes_through_shared_nodes_once() -> None:
    x = relay.var("x", shape=(), dtype="float32")
    e: relay.Expr = x
    for _ in range(200):
        e = relay.add(e, e)
    mod = relay.infer(relay.IRModule.from_expr(relay.Function([x], e)))
    assert len(list(post_order(passes.lambda_lift(mod)["main"]))) < 2000
