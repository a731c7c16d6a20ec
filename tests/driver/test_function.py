"""`relay.function`: traced Python functions."""
# ruff: noqa: F821, F722 - annotations in quotes are Relay types

import pickle

import numpy as np
import pytest

import relay
from relay.hints import in_python


def test_operators_on_variables_build_the_body() -> None:
    @relay.function
    def f(x: relay.TensorType((3,), "float32"), y: relay.TensorType((3,), "float32")):
        return x * 2 + relay.nn.relu(y)

    assert f(np.array([1, 2, 3], "float32"), np.array([-1, 0, 1], "float32")).tolist() == [2, 4, 7]
    assert isinstance(f.function, relay.Function)
    assert str(f.mod.type_of(f.function.body)) == "Tensor[(3,), float32]"
    assert relay.create_executor(mod=f.mod).evaluate()([1, 1, 1], y=[0, 0, 0]).tolist() == [2, 2, 2]


@pytest.mark.parametrize("run", [relay.function, relay.compile])
def test_any_number_of_arguments(run) -> None:
    def f(x, *rest, scale=1.0, w, **others):
        for y in rest:
            x = x * y
        return (x + others["b"]) * scale + w - others["a"]

    assert run(f)(2.0, 3.0, 4.0, a=1.0, b=6.0, w=0.5) == 29.5
    assert run(f)(2.0, b=6.0, a=1.0, w=0.5, scale=2.0) == 15.5
    value, slopes = run(relay.grad(lambda *xs: xs[0] * xs[1]))(2.0, 3.0)
    assert (value, slopes) == (6, (3, 2))
    assert run(relay.value_and_grad(lambda *xs, y: xs[1] * y, 1))(2.0, 3.0, y=4.0) == (12, 4)
    with pytest.raises(ValueError, match="argnums are from 0 to 0, not 1"):
        relay.value_and_grad(lambda *xs: xs[0], 1)(2.0)


def test_number_of_arguments_is_checked_by_position_and_by_name() -> None:
    g = relay.function(lambda x, *, y: x - y)
    assert g(1, y=3) == -2
    d = refused(lambda: g(1, 3), "argument-count")
    assert d.message == "`<lambda>` takes 1 argument by position, not 2"
    assert d.hint == "name those behind: y=…"
    assert refused(lambda: g(1), "argument-count").message == "`<lambda>` takes 2 arguments, not 1"
    inner = relay.function(lambda *xs: xs[0] + xs[-1])
    assert relay.function(lambda x, y: inner(x, y) + inner(x))(1, 2) == 5


def test_texts_of_types_share_their_dimensions() -> None:
    @relay.function
    def f(x: "Tensor[(n, 4), float32]", y: "Tensor[(n, 4), float32]") -> "Tensor[(n, 4), float32]":
        return x + y

    ones = np.ones((2, 4), "float32")
    assert f(ones, ones).shape == (2, 4)
    with pytest.raises(relay.RelayError) as error:
        f(ones, np.ones((3, 4), "float32"))
    assert error.value.codes == ("argument-type",)


def test_without_annotations_it_is_as_general_as_its_body() -> None:
    @relay.function
    def square(x):
        return x * x

    assert square(3) == 9
    assert square(np.float64(1.5)) == 2.25
    assert square(np.array([1, 2], "int8")).dtype == "int8"


def test_python_runs_while_it_is_traced() -> None:
    @relay.function
    def power(x: "float32", n=3):
        result = x
        for _ in range(n - 1):
            result = result * x
        return result

    assert power(2) == 8
    assert [p.name for p in power.function.params] == ["x"]


def test_results_may_be_tuples_and_numbers() -> None:
    @relay.function
    def f(x: "(int32, float32)"):
        return x[0], (x[1], 1)

    assert f((3, 0.5)) == (3, (0.5, 1))


def test_it_can_be_used_in_another_one() -> None:
    @relay.function
    def double(x):
        return x + x

    @relay.function
    def f(x: "int32"):
        return double(double(x)) + double(x=x)

    assert f(1) == 6


def test_branch_on_a_traced_value_is_explained() -> None:
    with pytest.raises(relay.RelayError) as error:

        @relay.function
        def f(x: "float32"):
            if x > 0:
                return x
            return -x

    (d,) = error.value.diagnostics
    assert d.code == "traced-control-flow"
    assert d.span is not None
    assert d.span.source.line_text(d.span.line).strip() == "if x > 0:"


def test_loop_over_an_axis_of_unknown_size_is_explained() -> None:
    with pytest.raises(relay.RelayError) as error:

        @relay.function
        def f(x: "Tensor[(n,), float32]"):
            return sum(list(x))

    assert error.value.codes == ("traced-control-flow",)


@pytest.mark.parametrize("make", [
    lambda: relay.function(lambda *xs: xs[0]).function,
    lambda: relay.function(lambda x: None)(1),
    lambda: relay.function(lambda x=1, *xs: x),
])  # fmt: skip
def test_signature_that_means_nothing_is_refused(make: object) -> None:
    with pytest.raises(relay.RelayError) as error:
        make()
    assert error.value.codes == ("bad-signature",)


def test_annotation_that_is_no_type_is_refused() -> None:
    with pytest.raises(relay.RelayError) as error:

        @relay.function
        def f(x: 3):
            return x

    assert error.value.codes == ("bad-signature",)


def test_type_error_in_the_body_shows_the_python_line() -> None:
    @relay.function
    def f(x: "Tensor[(2,), float32]", y: "Tensor[(3,), float32]"):
        return x + y

    with pytest.raises(relay.RelayError) as error:
        f(np.ones(2, "float32"), np.ones(3, "float32"))
    (d,) = error.value.diagnostics
    assert d.code == "broadcast-mismatch"
    assert d.span is not None
    assert d.span.source.line_text(d.span.line).strip() == "return x + y"


def test_postponed_annotations_are_understood() -> None:
    source = """
from __future__ import annotations
import relay
@relay.function
def f(x: relay.TensorType((), "int32"), y: "int32") -> relay.scalar_type("int32"):
    return x - y
"""
    scope: dict[str, object] = {}
    exec(source, scope)
    f = scope["f"]
    assert f(5, 3) == 2
    assert str(f.function.params[1].type_annotation) == "int32"


def refused(make: object, code: str) -> relay.Diagnostic:
    """The one diagnostic of that code that a call raises."""
    with pytest.raises(relay.RelayError) as error:
        make()
    (d,) = error.value.diagnostics
    assert d.code == code
    return d


def test_parameter_with_a_default_may_be_given_another_value() -> None:
    runs = []

    @relay.function
    def total(x: "Tensor[(2, 3), float32]", axis=0, *, times=1):
        runs.append(axis)
        return relay.sum(x, axis) * times

    ones = np.ones((2, 3), "float32")
    assert total(ones).tolist() == [2, 2, 2]
    assert total(ones, axis=1).tolist() == [3, 3]
    assert total(x=ones, times=2, axis=1).tolist() == [6, 6]
    assert total(ones, axis=1).tolist() == [3, 3]
    assert runs == [0, 1, 1]
    assert refused(lambda: total(ones, 1), "argument-count").message == "`total` takes 1 argument, not 2"


def test_function_is_called_by_its_python_name() -> None:
    @relay.function
    def square(x: "Tensor[(n,), float32]"):
        return x * x

    assert refused(lambda: square(), "argument-count").message == "`square` takes 1 argument, not 0"
    d = refused(lambda: square(np.ones(2)), "argument-type")
    assert d.message.startswith("parameter `x` of `square` is ")
    y = relay.var("y")
    assert refused(lambda: square(y, y), "argument-count").message == "`square` takes 1 argument, not 2"
    assert refused(lambda: square(z=y), "argument-count").message == "`square` has no parameter `z`"


@pytest.mark.parametrize("executor", ["debug", "native"])
def test_errors_use_the_names_of_a_python_program(executor: str) -> None:
    @relay.function
    def scaled(x: "Tensor[(3,), int32]", k: "int32"):
        return x * k

    xs = np.arange(3, dtype="int32")
    run = relay.create_executor(executor, scaled.mod).evaluate()
    for call, message, hint in (
        (lambda: run(xs), "`scaled` takes 2 arguments, not 1", "its parameters are `x`, `k`"),
        (lambda: run(xs, 1, 2), "`scaled` takes 2 arguments, not 3", "its parameters are `x`, `k`"),
        (lambda: run(xs, kk=1), "`scaled` has no parameter `kk`", "did you mean `k`?"),
        (
            lambda: run(xs, x=xs),
            "`scaled` is given the parameter `x` twice",
            "once by position and once by name",
        ),
    ):
        d = refused(call, "argument-count")
        assert (d.message, d.hint, d.notes[0].message) == (message, hint, "`scaled` is defined")
    d = refused(lambda: run(xs[:2], 1), "argument-type")
    assert d.message.startswith("parameter `x` of `scaled` is Tensor[(3,), int32]: ")
    d = refused(lambda: relay.function(lambda y: relay.mean(y))(xs), "dtype-not-supported")
    assert d.notes[0].message.startswith("`y` is declared Tensor[(3,), int32]")


def test_traced_function_is_a_value_in_another() -> None:
    @relay.function
    def double(x: "int32"):
        return x + x

    @relay.function
    def twice(f: "fn(int32) -> int32", x: "int32"):
        return f(f(x))

    @relay.function
    def main(x: "int32"):
        return twice(double, x), double

    four, function = main(1)
    assert (four, function(5)) == (4, 10)


@pytest.mark.parametrize("wrong", [3, dict, "text"])
def test_what_is_no_function_is_refused(wrong: object) -> None:
    refused(lambda: relay.function(wrong), "bad-signature")


def test_method_is_refused() -> None:
    def make() -> None:
        class Layer:
            @relay.function
            def forward(self, x):
                return x

    assert "`forward` is a method" in refused(make, "bad-signature").message


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda x: x is None, "returns Python's False, whatever its arguments are"),
        (lambda x: "text", "returns 'text', which is not an expression"),
        (lambda x: {"y": ("text", 1)}, "returns 'text' at ['y'][0], which is not an expression"),
        (lambda x: print, "which is not an expression"),
    ],
)
def test_result_that_is_no_expression_is_refused(result: object, message: str) -> None:
    assert message in refused(lambda: relay.function(result)(1), "bad-signature").message


@pytest.mark.parametrize(
    ("use", "what"),
    [
        (lambda x: np.cbrt(x), "`numpy.cbrt` cannot use a traced value"),
        (lambda x: np.concatenate([x, x]), "`numpy.concatenate` cannot use a traced value"),
        (lambda x: np.asarray(x), "NumPy cannot use a traced value"),
        (lambda x: len(x), "a traced scalar has no len()"),
        (lambda x: range(x), "the number of a traced value"),
        (lambda x: float(x + 1), "the number of a traced value"),
        (lambda x: {x: 1}[0 if x else 1], "branch on a traced value"),
        (lambda x: 0 if x == 1 else 1, "branch on a traced value"),
        (lambda x: x.__setitem__(0, 1), "traced values do not change"),
        (lambda x: list(x), "loop over a traced scalar"),
    ],
)
def test_use_of_a_traced_value_in_python_is_explained(use: object, what: str) -> None:
    d = refused(lambda: relay.function(use)(1.0), "traced-control-flow")
    assert what in d.message
    assert d.span is not None
    assert d.span.source_name.name == __file__
    assert "lambda x: " in d.span.source.line_text(d.span.line)


@pytest.mark.parametrize(
    ("use", "code", "what"),
    [
        (lambda x: x + "a", "dtype-mismatch", "`add`: expected float32, found string"),
        (lambda x: x >= "a", "dtype-mismatch", "found string"),
        (lambda x: x.at[()].set("a"), "dtype-mismatch", "found string"),
        (lambda x: np.add(x, "a"), "dtype-mismatch", "found string"),
        (lambda x: x + b"a", "bad-argument", "b'a' is not an expression"),
        (lambda x: {} * x, "bad-argument", "{} is not an expression"),
        (lambda x: x + 1j, "bad-argument", "1j is not an expression"),
    ],
)
def test_operand_that_is_no_number_is_explained(use: object, code: str, what: str) -> None:
    d = refused(lambda: relay.function(use)(np.float32(1)), code)
    assert what in d.message
    assert d.span is not None
    assert d.span.source_name.name == __file__


def test_texts_are_operands() -> None:
    assert relay.function(lambda name: "Dear " + name + "!")("Ada") == "Dear Ada!"
    assert relay.function(lambda name: name == "Ada")("Ada")


def test_recursion_is_explained() -> None:
    def make() -> None:
        def factorial(n: "int32") -> "int32":
            return relay.If(relay.equal(n, relay.const(0)), relay.const(1), n * factorial(n - 1))

        relay.function(factorial)

    assert "`factorial` calls itself" in refused(make, "traced-control-flow").message


def test_recursion_by_the_name_that_is_being_defined_is_explained() -> None:
    source = "import relay\n@relay.function\ndef loop(n: 'int32'):\n    return loop(n - 1)\n"
    assert "`loop` calls itself" in refused(lambda: exec(source, {}), "traced-control-flow").message


def test_errors_of_the_function_itself_stay_as_they_are() -> None:
    def fails(x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        relay.function(fails)(1)
    with pytest.raises(TypeError, match="takes 2 positional"):
        relay.function(lambda x: (lambda a, b: a)(x, x, x))(1)


def test_typing_error_in_an_annotation_names_the_function() -> None:
    def f(x: "Tensr[(2,), float32]"):
        return x

    d = refused(lambda: relay.function(f), "unknown-type")
    assert d.notes[-1].message == "in the annotations of `f`"
    assert d.hint == "did you mean `Tensor`?"


def test_a_part_of_an_annotation_is_shown_where_it_stands() -> None:
    def f(x: "Tensor[(2,), float32]", é: "(bool, bol)", y: "bol") -> "bol":
        return x

    def g(x: "bool", y: "Tensor[(2,), bol]") -> "bol": return x  # fmt: skip

    for function, first, rest in ((f, ') -> "', '"'), (g, '"Tensor[(2,), ', "]")):
        span = refused(lambda f=function: relay.function(f), "unknown-type").span
        line = span.source.line_text(span.line)
        before, after = line[: span.column - 1], line[span.end_column - 1 :]
        assert line[span.column - 1 : span.end_column - 1] == "bol"
        assert before.endswith((first, '"(bool, '))
        assert after.startswith((rest, ")"))


@pytest.mark.parametrize(
    ("run", "hint"),
    [
        (
            lambda: relay.function(lambda x: relay.cond(x, lambda: x, lambda: x))(np.int32(1)),
            "compare it: `x != 0`",
        ),
        (
            lambda: relay.function(lambda x: relay.add(x, np.ones(2)))(np.ones(2, "float32")),
            'convert with `relay.cast(…, "float32")`',
        ),
        (
            lambda: relay.function(lambda x: relay.grad(lambda y: y)(x) + x)(1.0),
            "`e[1][0]` is the gradient by the first argument, `e[0]` the value",
        ),
        (lambda: relay.function(lambda x: relay.split(x, 2) + 1)(np.ones(2)), "a field of a tuple is `e[0]`"),
    ],
)
def test_hints_for_python_programs_are_in_python(run, hint) -> None:
    with pytest.raises(relay.RelayError) as error:
        run()
    assert hint in str(error.value)


@pytest.mark.parametrize(
    ("text", "python"),
    [
        (
            "bind it with `let`, or make it a parameter",
            "make it a parameter, or bind it with `relay.Let`",
        ),
        (
            "write the function itself: `vmap(@f)`, `vmap(fn (%x) { … })`",
            "write the function itself: `relay.vmap(f)`, `relay.vmap(lambda x: …)`",
        ),
        (
            "a bare operator; write fn(%x) { add(%x, …) }",
            "a bare operator; write `lambda x: relay.add(x, …)`",
        ),
        (
            "a function that calls it: fn(%x) { tanh(%x) }",
            "a function that calls it: `lambda x: relay.tanh(x)`",
        ),
        (
            "close over it instead: `jvp(fn(%x) { %f(%x) })`",
            "close over it instead: `relay.jvp(lambda x: f(x))`",
        ),
        ("declare it: `%f: fn(…) -> …`", 'declare it: `f: "fn(…) -> …"`'),
        ("pass it: a parameter `%n: int64`", 'pass it: a parameter `n: "int64"`'),
        (
            "give it a key: `nn.dropout(%x, %key, rate=0.5).0`",
            "give it a key: `relay.nn.dropout(x, key, rate=0.5)`",
        ),
        ("cast first: `sum(cast(x, float32))`", 'cast first: `relay.sum(relay.cast(x, "float32"))`'),
    ],
)
def test_hints_are_translated(text, python) -> None:
    assert in_python(text) == python


@relay.function
def doubled(x):
    return 2 * x


def test_a_pickle_names_the_function():
    assert pickle.loads(pickle.dumps(doubled)) is doubled
