"""`trace` and `assert`: what they write, when, and where they fail, in every evaluator and in Python."""

import numpy as np
import pytest

import relay
from relay.ir.equal import structural_equal

X = np.array([1, 2, 3], "float32")


def run(text: str, *args: object, backend: str) -> object:
    return relay.create_executor(backend, mod=relay.parse(text)).evaluate()(*args)


backends = pytest.mark.parametrize("backend", ["debug", "native"])


@backends
def test_values_of_every_type_are_written_in_one_line(backend: str, capsys: pytest.CaptureFixture[str]):
    text = """
    import "std/list"
    type Pair { Pair(float32, bool) }
    def @inc(%x: int32) -> int32 { %x + 1 }
    def @main(%x: Tensor[(3,), float32]) {
      trace("number {}", 1);
      trace("text {}", "a\\nb");
      trace("tuple {}", (%x, (True, ())));
      trace("pair", Pair(2f, False));
      trace("list", [| %x, %x |]);
      trace("reference", ref(1));
      trace("function", @inc);
      trace("none {}", ([||] : List[int32]));
      trace("{}{}", 1, 2);
      trace("{}", 3);
      trace("", 4);
      trace("done")
    }"""
    assert run(text, X, backend=backend) == ()
    written = capsys.readouterr().err.splitlines()
    assert written[6].startswith("function: fn")
    assert written[:6] + written[7:] == [
        "number 1", 'text "a\\nb"', "tuple ([1.0, 2.0, 3.0], (True, ()))", "pair: Pair(2.0, False)",
        "list: [| [1.0, 2.0, 3.0], [1.0, 2.0, 3.0] |]", "reference: ref(1)", "none Nil", "12", "3",
        "4", "done",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (np.arange(100), "Tensor[(100,), int64], least 0, mean 49.5, greatest 99"),
        (np.arange(40).reshape(4, 10) > 9, "Tensor[(4, 10), bool], 30 of 40 True"),
        (
            np.array([np.nan, np.inf, -np.inf, *[1.0] * 30], "float16"),
            "Tensor[(33,), float16], least 1, mean 1, greatest 1, 1 NaN, 2 infinite",
        ),
        (np.full(30, np.nan, "float32"), "Tensor[(30,), float32], 30 NaN"),
        (np.zeros((0, 3), "float32"), "[]"),
    ],
)
def test_large_tensors_are_summarised(value: np.ndarray, written: str, capsys: pytest.CaptureFixture[str]):
    x = relay.var("x", shape=value.shape, dtype=value.dtype.name)
    relay.create_executor("debug").evaluate(relay.Function([x], relay.trace("{}", x)))(value)
    assert capsys.readouterr().err == written + "\n"


def test_long_data_is_cut(capsys: pytest.CaptureFixture[str]):
    text = """
    import "std/list"
    def @up(%n: int32, %l: List[int32]) -> List[int32] {
      if (%n == 0) { %l } else { @up(%n - 1, Cons(%n, %l)) }
    }
    def @main() -> int32 { let Cons(%h, _) = trace("long", @up(1000, Nil)) else { 0 }; %h }"""
    assert relay.run(relay.parse(text)) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("long: [| 1, 2, 3, ")
    assert "..." in line
    assert len(line) < 300


@backends
def test_the_value_is_the_first_operand(backend: str):
    text = 'def @main(%x: Tensor[(3,), float32]) { trace("x", (%x, 1), %x).0 + 1f }'
    np.testing.assert_array_equal(run(text, X, backend=backend), X + 1)


@backends
def test_an_assertion_fails_at_its_place(backend: str):
    text = """def @check(%x: Tensor[(3,), float32]) {
      assert(all(%x > 0f), "all are \\"positive\\"");
      sum(%x)
    }
    def @main(%x: Tensor[(3,), float32]) { @check(%x) + @check(%x * 2f) }"""
    assert run(text, X, backend=backend) == 18
    with pytest.raises(relay.RelayError, match='all are "positive"') as caught:
        run(text, -X, backend=backend)
    (found,) = caught.value.diagnostics
    assert found.code == "assertion"
    assert found.span is not None
    assert (found.span.line, found.span.column) == (2, 7)


def test_compiled_programs_write_data_of_which_they_make_the_empty_kind_alone(
    capsys: pytest.CaptureFixture[str],
):
    text = """
    import "std/list"
    import "std/option"
    def @main(%x: int32) {
      trace("{} {}", ([||] : List[Option[int32]]), (None : Option[(int32, int32)]));
      %x
    }"""
    assert run(text, 1, backend="native") == 1
    assert capsys.readouterr().err == "Nil None\n"


def test_a_compiled_program_in_a_file_writes_and_fails(tmp_path, capsys: pytest.CaptureFixture[str]):
    text = 'def @main(%x: float32) { assert(%x > 0f, "positive"); trace("x is {}", %x) }'
    built = relay.build(relay.parse(text, "traced.relay"))
    built.export_library(tmp_path / "traced.rlo")
    loaded = relay.load_module(tmp_path / "traced.rlo")
    assert loaded(2.0) == 2
    assert capsys.readouterr().err == "x is 2.0\n"
    with pytest.raises(relay.RelayError, match=r"positive\n --> traced.relay:1:26"):
        loaded(-2.0)


def test_a_failing_run_is_not_written_twice(capsys: pytest.CaptureFixture[str]):
    text = 'def @main(%x: float32) { trace("once", %x); assert(%x < 0f, "no"); %x }'
    with pytest.raises(relay.RelayError, match="no"):
        relay.build(relay.parse(text))(1.0)
    assert capsys.readouterr().err == "once: 1.0\n"


@pytest.mark.parametrize("kind", ["debug", "native"])
@pytest.mark.parametrize(
    "derivative",
    ["grad(@f)(%x).1.0", "vjp(@f)(%x).1(1f).0", "jvp(@f)((%x,), (ones_like(%x),)).1 * %x"],
)
def test_derivatives_write_once_in_the_forward_pass(
    derivative: str, kind: str, capsys: pytest.CaptureFixture[str]
):
    text = f"""
    import "std/list"
    def @inner(%x: Tensor[(3,), float32]) {{ trace("inner", %x, [| %x |]) * %x }}
    def @f(%x: Tensor[(3,), float32]) -> float32 {{
      let (%a, %l) = trace("pair", (%x, [| %x * 2f |]));
      let %y = if (sum(%a) > 0f) {{ trace("list", %l) }} else {{ [||] }};
      assert(all(%a > 0f), "positive");
      let Cons(%h, _) = %y else {{ 0f }};
      sum(@inner(trace("h", %h)) * trace("a", %a))
    }}
    def @main(%x: Tensor[(3,), float32]) {{ {derivative} }}"""
    found = run(text, X, backend=kind)
    lines = [line.partition(":")[0] for line in capsys.readouterr().err.splitlines()]
    assert lines == ["pair", "list", "h", "inner", "a"]
    exact = {"g": 12 * X**2, "v": 12 * X**2, "j": np.sum(12 * X**2) * X}[derivative[0]]
    np.testing.assert_allclose(found, exact, rtol=1e-5)


@backends
def test_a_checkpointed_function_writes_once(backend: str, capsys: pytest.CaptureFixture[str]):
    text = """
    def @quiet(%x: float32) -> float32 { %x * 3f }
    def @loud(%n: int32, %x: float32) -> float32 {
      if (%n == 0) { trace("g", @quiet(%x)) } else { @loud(%n - 1, %x) }
    }
    def @f(%x: float32) -> float32 {
      let %k = fn (%a: float32, checkpoint=1) -> float32 {
        let %u = trace("u", %a * %a);
        assert(%u > 0f, "positive");
        trace("here");
        @loud(2, %u) * %u
      };
      %k(%x)
    }
    def @main(%x: float32) { grad(@f)(%x) }"""
    assert run(text, 2.0, backend=backend) == (48, (96,))
    assert capsys.readouterr().err == "u: 4.0\nhere\ng: 12.0\n"


@backends
def test_functions_around_a_checkpointed_one_write_once(backend: str, capsys: pytest.CaptureFixture[str]):
    text = """
    def @f(%x: float32) -> float32 {
      let %down = fn (%n: int32, %a: float32) -> float32 {
        if (%n == 0) { trace("down", %a * %a) } else { %down(%n - 1, %a) }
      };
      let %twice = fn (%a: float32) -> float32 { %down(2, %a) };
      let %k = fn (%a: float32, checkpoint=1) -> float32 { %twice(%a) * %a };
      %k(%x)
    }
    def @main(%x: float32) { grad(@f)(%x) }"""
    assert run(text, 2.0, backend=backend) == (8, (12,))
    assert capsys.readouterr().err == "down: 4.0\n"


@pytest.mark.parametrize("inference", [False, True])
@pytest.mark.parametrize("e", ['trace("a {}, {}", 1, "b")', 'trace("x")', 'assert(True, "{} \\"m\\"\\n")'])
def test_text_goes_round(e: str, inference: bool):
    mod = relay.parse(f"def @main() {{ {e} }}")
    mod = relay.infer(mod) if inference else mod
    assert structural_equal(relay.parse(mod.astext()), mod)
    assert e.partition('"')[0] in mod.astext()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("assert(True)", "missing-attribute"),
        ("trace(1)", "missing-attribute"),
        ('trace("{} {}", 1)', "attribute-value"),
        ('let %c = [True, False]; assert(%c, "m")', "condition-shape"),
        ('let %c = 1f; assert(%c, "m")', "condition-type"),
        ('assert((True, True), "m")', "type-mismatch"),
    ],
)
def test_wrong_uses(text: str, code: str):
    with pytest.raises(relay.RelayError) as caught:
        relay.infer(relay.parse(f"def @main() {{ {text} }}"))
    assert list(caught.value.codes) == [code]


def test_traced_functions_keep_effects_in_order(capsys: pytest.CaptureFixture[str]):
    @relay.function
    def checked(x):
        relay.assert_(relay.all(x > 0.0), "positive")  # noqa: PT009
        return x

    @relay.function
    def f(x):
        relay.trace("begin")
        y = relay.trace("y", x * 2.0)
        relay.trace("unused", x)
        checked(y)
        relay.cond(relay.sum(x) > 3.0, lambda: relay.trace("large", x), lambda: x)
        relay.switch(
            relay.cast(relay.sum(x) / 6.0, "int32"),
            [lambda: relay.trace("zero", x), lambda: relay.trace("one", x)],
        )
        relay.fori(0, 2, lambda i, c: relay.trace("round {} of {}", i, c) * 0 + c, 2)
        relay.while_loop(lambda c: relay.trace("test", c) < 2, lambda c: c + 1, 1)
        relay.scan(lambda c, v: (relay.trace("scan", c + v), v), 0.0, x)
        return relay.sum(y * y)

    lines = ["begin", "y", "unused", "large", "one", "round 0 of 2", "round 1 of 2", "test", "test", "scan",
             "scan", "scan"]  # fmt: skip
    for call, found in (
        (f, 56),
        (relay.build(f), 56),
        (lambda x: relay.grad(f)(x)[0], 56),
        (relay.create_executor().evaluate(f), 56),
    ):
        assert call(X) == found
        written = capsys.readouterr().err.splitlines()
        assert [line.replace(" [", ":").partition(":")[0] for line in written] == lines
    with pytest.raises(relay.RelayError, match="positive"):
        f(-X)
