"""What fails at run time is one diagnostic with the place and the calls that led there."""

import numpy as np
import pytest

import relay
from relay.diagnostic import Diagnostic
from relay.interpreter.machine import Interpreter


def fault(text: str, *args: object, entry: str = "main", max_depth: int | None = None) -> Diagnostic:
    machine = Interpreter(relay.parse(text), max_depth=max_depth)
    with pytest.raises(relay.RelayError) as error:
        machine.evaluate(entry, *args)
    (d,) = error.value.diagnostics
    return d


def excerpt(d: Diagnostic) -> str:
    assert d.span is not None
    return d.span.source.text[d.span.start : d.span.end]


def test_fault_in_an_operator_points_at_its_call_and_lists_the_calls_around_it() -> None:
    d = fault("""
    def @inner(%x: int32, %y: int32) -> int32 { %x / %y }
    def @middle(%x: int32) -> int32 { 1 + @inner(%x, 0) }
    def @main() { @middle(7) * 2 }""")
    assert d.code == "divide-by-zero"
    assert excerpt(d) == "%x / %y"
    assert [n.message for n in d.notes] == [
        "`@inner` was called by `@middle`",
        "`@middle` was called by `@main`",
    ]
    assert [str(n.span) for n in d.notes] == ["<string>:3:43", "<string>:4:19"]


def test_tail_calls_leave_no_trace() -> None:
    d = fault(
        "def @f(%n: int32) -> int32 { if (%n == 0) { 1 / %n } else { @f(%n - 1) } }\ndef @main() { @f(100) }"
    )
    assert d.code == "divide-by-zero"
    assert d.notes == ()


def test_long_backtraces_are_cut_in_the_middle() -> None:
    text = "".join([f"def @f{i}(%x: int32) -> int32 {{ 1 + @f{i + 1}(%x) }}\n" for i in range(40)])
    d = fault(text + "def @f40(%x: int32) -> int32 { 1 / %x }\ndef @main() { 1 + @f0(0) }")
    assert len(d.notes) == 10
    assert d.notes[6].message == "… 32 more calls …"
    assert d.notes[-1].message == "`@f0` was called by `@main`"


def test_unmatched_value_is_shown() -> None:
    d = fault("""type L { N, C(int32, L), }
    def @hd(%l: L) -> int32 { match? (%l) { C(%h, _) => %h } }
    def @main() { 1 + @hd(N) }""")
    assert d.code == "match-failure"
    assert d.message == "no clause matches N"
    assert [n.message for n in d.notes] == ["`@hd` was called by `@main`"]


def test_failing_nested_pattern_goes_on_to_the_next_clause_and_then_fails() -> None:
    d = fault("""type L { N, C(int32, L), }
    def @f(%l: L) -> int32 { match? (%l) { C(%h, N) => %h, N => 0 } }
    def @main() { @f(C(1, C(2, N))) }""")
    assert d.message == "no clause matches C(1, C(2, N))"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("def @f(%x: Tensor[(?,), float32]) -> Tensor[(3,), float32] { abs(%x) }\n"
         "def @main() { @f([1.0, 2.0]) }", "abs(%x)", "the result of `@f` has the shape (2,), not (3,)"),
        ("def @u(%x: Tensor[(?,), int32]) -> Tensor[(?,), int32] { %x }\n"
         "def @f(%x: Tensor[(3,), int32]) { %x }\ndef @main() { @f(@u([1, 2])) }",
         "@f(@u([1, 2]))", "the argument of `@f` has the shape (2,), not (3,)"),
        ("def @u(%x: Tensor[(?,), int32]) -> Tensor[(?,), int32] { %x }\n"
         "def @f(%x: Tensor[(n,), int32], %y: Tensor[(n,), int32]) { %x }\n"
         "def @main() { @f(@u([1, 2]), @u([1, 2, 3])) }",
         "@f(@u([1, 2]), @u([1, 2, 3]))", "an argument of `@f` has the shape (3,), not (n,)"),
        ("def @f(%x: Tensor[(n,), int32], %y: Tensor[(?,), int32]) "
         "{ let %z: Tensor[(n,), int32] = abs(%y); %z }\ndef @main() { @f([1, 2], [1, 2, 3]) }",
         "abs(%y)", "`%z` has the shape (3,), not (n,)"),
        ("def @f(%x: Tensor[(?, ?), float32], %w: Tensor[(?, ?), float32]) { nn.dense(%x, %w) }\n"
         "def @main() { @f([[1.0, 2.0]], [[1.0, 2.0, 3.0]]) }", "nn.dense(%x, %w)", "`nn.dense`"),
        ("def @f(%x: Tensor[(?,), float32], %y: Tensor[(?,), float32]) { %x + %y }\n"
         "def @main() { @f([1.0, 2.0], [1.0, 2.0, 3.0]) }", "%x + %y",
         "`add` cannot broadcast (2,) with (3,)"),
        ("def @f(%x: Tensor[(?,), float32]) { concatenate((%x, [1.0])) : Tensor[(3,), float32] }\n"
         "def @main() { @f([1.0]) }", "concatenate((%x, [1.0]))", "has the shape (2,), not (3,)"),
    ],
    ids=["result", "argument", "related arguments", "annotation", "operator", "broadcast", "ascription"],
)  # fmt: skip
def test_open_dimensions_are_checked(text: str, place: str, message: str) -> None:
    d = fault(text)
    assert d.code == "shape-check", d
    assert message in d.message
    assert excerpt(d) == place


@pytest.mark.parametrize(
    "text",
    [
        "def @f(%x: Tensor[(n,), int32], %y: Tensor[(n,), int32]) -> Tensor[(n,), int32] { %x + %y }\n"
        "def @main() { @f([1, 2], [3, 4]) }",
        "def @f(%x: Tensor[(?,), float32]) -> Tensor[(3,), float32] { %x }\n"
        "def @main() { @f([1.0, 2.0, 3.0]) }",
        "def @f(%x: Tensor[(n, m), int32]) -> Tensor[(m, n), int32] { transpose(%x) }\n"
        "def @main() { @f([[1, 2]]) }",
    ],
)
def test_shapes_that_fit_pass(text: str) -> None:
    Interpreter(relay.parse(text)).evaluate("main")


def test_inner_function_is_checked_by_the_dimensions_of_the_outer() -> None:
    text = """def @f(%x: Tensor[(n,), int32], %y: Tensor[(?,), int32]) {
      let %g = fn(%z: Tensor[(?,), int32]) -> Tensor[(n,), int32] { %z };
      %g(%y)
    }"""
    machine = Interpreter(relay.parse(text))
    assert machine.evaluate("f", [1, 2], [3, 4]).tolist() == [3, 4]
    with pytest.raises(relay.RelayError) as error:
        machine.evaluate("f", [1, 2], [3])
    assert error.value.codes == ("shape-check",)


def test_statically_known_shapes_need_no_checks() -> None:
    machine = Interpreter(relay.parse(
        "def @f(%x: Tensor[(3, 4), float32]) -> Tensor[(3, 4), float32] { @g(nn.relu(%x)) }\n"
        "def @g(%x: Tensor[(n, 4), float32]) -> Tensor[(n, 4), float32] { %x }"))  # fmt: skip
    machine.evaluate("f", np.zeros((3, 4), "float32"))
    from relay.interpreter.checks import ShapeCheck

    for code in machine._codes.values():
        assert not [i for i in code.instructions if isinstance(i[2], ShapeCheck)]


@pytest.mark.parametrize("text", ["zeros(shape=(1000000000000,), dtype=\"float32\")",
                                  "exp(Constant(1, (1000000000000,), float32))"])  # fmt: skip
def test_tensor_that_cannot_fit_is_refused(text: str) -> None:
    d = fault(f"def @main() {{ {text} }}")
    assert d.code == "out-of-memory"
    assert "3.6 TiB" in d.message


def test_large_filled_constant_takes_no_memory() -> None:
    assert Interpreter(relay.parse("Constant(1, (1000000000000,), float32)")).evaluate("main").shape == (
        10**12,
    )


def test_interrupt_says_where_the_program_was(monkeypatch: pytest.MonkeyPatch) -> None:
    from relay.op.registry import registry

    def interrupted(*_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(registry["nn.relu"], "reference", interrupted)
    monkeypatch.setattr(registry["nn.relu"], "compile_reference", lambda *_: interrupted)
    machine = Interpreter(
        relay.parse("def @f(%x: float32) { nn.relu(%x) }\ndef @main(%x: float32) { 1.0 + @f(%x) }")
    )
    with pytest.raises(KeyboardInterrupt) as caught:
        machine.evaluate("main", 1)
    assert "`@f` was called by `@main`" in caught.value.__notes__[0]
    monkeypatch.undo()
    assert Interpreter(machine.mod).evaluate("main", 1) == 2


def test_constant_that_failed_fails_again_the_same_way() -> None:
    machine = Interpreter(relay.parse("def @c = 1 / 0\ndef @main() { @c }"))
    for _ in range(2):
        with pytest.raises(relay.RelayError) as error:
            machine.evaluate("main")
        assert error.value.codes == ("divide-by-zero",)


def test_free_variable_has_no_value() -> None:
    with pytest.raises(relay.RelayError) as error:
        Interpreter().evaluate(relay.var("x", "float32"))
    assert error.value.codes == ("unknown-variable",)
