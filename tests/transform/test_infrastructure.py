import io

import numpy as np
import pytest

import relay
import relay.transform as passes
from relay.diagnostic import RelayError
from relay.ir.expr import Function, Let, Var
from relay.ir.module import IRModule
from relay.transform.rewriting.pipeline import parse_pipeline
from relay.transform.rewriting.registry import find, load_all, registry
from relay.typecheck.session import Session
from transform.cases import program

NESTED = "def @f(%x: float32) { tanh(sin(%x)) }  def @main(%x: float32) { @f(cos(%x)) }"


# --- pass objects ---


def test_a_pass_object_runs_the_pass_of_that_name() -> None:
    made = passes.ToANormalForm()
    assert repr(made) == "<pass ToANormalForm>"
    assert str(made(program(NESTED))) == str(passes.to_anf(program(NESTED)))


def test_options_come_by_position_or_by_name() -> None:
    assert passes.Inline(5).options == passes.Inline(max_size=5).options == {"max_size": 5}
    with pytest.raises(TypeError, match="at most 3 arguments"):
        passes.Inline(1, True, 2, 3)


@pytest.mark.parametrize(
    ("options", "code"), [({"max_sise": 3}, "unknown-option"), ({"max_size": "3"}, "option-type")]
)
def test_options_are_checked(options: dict[str, object], code: str) -> None:
    with pytest.raises(RelayError) as error:
        passes.Inline(**options)
    assert error.value.codes == (code,)


def test_every_pass_returns_the_same_object_when_there_is_nothing_to_do() -> None:
    load_all()
    mod = program("def @main(%x: float32) -> float32 { %x }")
    changing = {"to_cps"}
    for name, rule in registry.items():
        if name not in changing:
            assert rule.run(mod) is mod, name


def test_a_module_without_types_is_annotated_on_the_way() -> None:
    out = passes.ToANormalForm()(relay.parse(NESTED))
    assert out["main"].ret_type is not None


def test_a_program_with_type_errors_gets_them() -> None:
    with pytest.raises(RelayError) as error:
        passes.ToANormalForm()(relay.parse("def @main(%x: float32) { %x + True }"))
    assert error.value.codes == ("dtype-mismatch",) or "mismatch" in error.value.codes[0]


def test_only_what_changed_is_inferred_again(monkeypatch: pytest.MonkeyPatch) -> None:
    inferred: list[str] = []
    original = Session.infer_group

    def noted(self: Session, group: object) -> None:
        inferred.extend(v.name_hint for v in group)  # pyright: ignore
        original(self, group)  # pyright: ignore

    mod = program(NESTED)
    monkeypatch.setattr(Session, "infer_group", noted)
    mod = passes.to_anf(mod)
    mod = passes.eliminate_common_subexpr(passes.dead_code(passes.fold_constants(mod)))
    assert inferred == []
    mod = mod.copy()
    mod["g"] = relay.parse_expr("fn (%y: int32) { %y }")
    passes.dead_code(mod)
    assert inferred == ["g"]


def test_what_was_imported_prints_once_a_pass_has_changed_it() -> None:
    mod = program('import "std/list"\ndef @main(%l: List[int32]) { @length(%l) }')
    assert "def @length" not in str(mod)
    out = passes.to_anf(mod)
    assert "def @length" in str(out)
    assert "import" not in str(out)
    relay.parse(str(out))


# --- contexts ---


def test_a_sequence_leaves_out_what_is_disabled_or_of_a_higher_level() -> None:
    steps = passes.Sequential([passes.ToANormalForm(), passes.EliminateCommonSubexpr()])
    mod = program("def @main(%x: float32) { tanh(%x) + tanh(%x) }")
    with pytest.warns(UserWarning, match="`EliminateCommonSubexpr` is left out: it is of level 3"):
        assert str(steps(mod)).count("tanh") == 2
    with passes.PassContext(opt_level=3):
        assert str(steps(mod)).count("tanh") == 1
    with passes.PassContext(required_pass=["EliminateCommonSubexpr"]):
        assert str(steps(mod)).count("tanh") == 1
    with passes.PassContext(opt_level=3, disabled_pass=["ToANormalForm"]):
        assert "let" not in str(steps(mod))


def test_contexts_nest() -> None:
    assert passes.PassContext.current().opt_level == 2
    with passes.PassContext(opt_level=1) as outer:
        with passes.PassContext(opt_level=3) as inner:
            assert passes.PassContext.current() is inner
        assert passes.PassContext.current() is outer


def test_a_context_sets_options() -> None:
    mod = program("def @f(%x: float32) { tanh(sin(cos(%x))) }  def @main(%x: float32) { @f(@f(%x)) }")
    with passes.PassContext(config={"relay.Inline.max_size": 1}):
        assert "@f" in str(passes.Inline()(mod)["main"])
        assert "@f" not in str(passes.Inline(max_size=20)(mod)["main"])
    assert "inline.max_size" in passes.PassContext.list_configs()
    with pytest.raises(RelayError) as error:
        passes.PassContext(config={"inline.max_sizes": 1})
    assert error.value.codes == ("unknown-option",)


def test_needed_forms_are_established_by_passes_that_show() -> None:
    clock = passes.PassTimingInstrument()
    with passes.PassContext(instruments=[clock]):
        passes.Inline()(program(NESTED))
    assert [name for _, name, _ in clock.rows] == ["ToANormalForm", "Inline"]
    assert "total" in clock.render()


def test_passes_inside_of_passes_are_indented() -> None:
    clock = passes.PassTimingInstrument()
    with passes.PassContext(instruments=[clock]):
        passes.Sequential([passes.ToANormalForm()])(program(NESTED))
    assert [(depth, name) for depth, name, _ in clock.rows] == [(0, "sequential"), (1, "ToANormalForm")]


def test_print_after() -> None:
    out = io.StringIO()
    with passes.PassContext(instruments=[passes.PrintAfter(["to_anf"], out)]):
        passes.Sequential([passes.ToANormalForm(), passes.DeadCodeElimination()])(program(NESTED))
    assert out.getvalue().count("// after") == 1
    assert out.getvalue().startswith("// after to_anf\ndef @f")


def test_an_instrument_may_keep_a_pass_from_running() -> None:
    class Never(passes.PassInstrument):
        def should_run(self, mod: IRModule, info: passes.PassInfo) -> bool:
            return False

    mod = program(NESTED)
    with passes.PassContext(instruments=[Never()]):
        assert passes.ToANormalForm()(mod) is mod


def test_a_context_whose_instrument_fails_on_entry_is_not_entered() -> None:
    """Those that were told that it begins are told that it ends, and none watches any longer."""
    events: list[str] = []

    class Watch(passes.PassInstrument):
        def __init__(self, name: str) -> None:
            self.name = name

        def enter_pass_ctx(self) -> None:
            events.append(f"{self.name} begins")
            if self.name == "2":
                raise RuntimeError("broken")

        def exit_pass_ctx(self) -> None:
            events.append(f"{self.name} ends")

    before = passes.PassContext.current()
    context = passes.PassContext(instruments=[Watch("1"), Watch("2"), Watch("3")])
    with pytest.raises(RuntimeError, match="broken"), context:
        pass
    assert events == ["1 begins", "2 begins", "1 ends"]
    assert passes.PassContext.current() is not context
    assert passes.PassContext.current().instruments == before.instruments
    assert context.instruments == []
    with pytest.raises(RuntimeError, match="broken"):
        context.override_instruments([Watch("2")])
    assert context.instruments == []


def test_instruments_may_be_replaced() -> None:
    clock = passes.PassTimingInstrument()
    with passes.PassContext() as context:
        context.override_instruments([clock])
        passes.ToANormalForm()(program(NESTED))
    assert len(clock.rows) == 1


# --- verification ---


@passes.module_pass(opt_level=0)
def breaks(mod: IRModule, context: passes.PassContext) -> IRModule:
    raise ZeroDivisionError("one too many")


@passes.function_pass(opt_level=0, name="binds_twice")
def binds_twice(fn: Function, mod: IRModule, context: passes.PassContext) -> Function:
    x = Var("x", fn.params[0].type_annotation)
    return relay.Function(fn.params, Let(x, fn.params[0], Let(x, fn.params[0], fn.body)), fn.ret_type)


def test_a_pass_that_breaks_is_reported_with_its_name_and_input() -> None:
    with pytest.raises(RelayError) as error, passes.PassContext(instruments=[passes.Verify()]):
        breaks(program(NESTED))
    text = str(error.value)
    assert error.value.codes == ("pass-failed",)
    assert "`breaks` broke: ZeroDivisionError: one too many" in text
    assert "@f(cos(%x))" in text


def test_a_pass_that_makes_nonsense_is_reported() -> None:
    with pytest.raises(RelayError) as error, passes.PassContext(instruments=[passes.Verify()]):
        binds_twice(program(NESTED))
    assert "bound more than once" in str(error.value) or "bound in two places" in str(error.value)


def test_without_verification_an_error_is_what_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        breaks(program(NESTED))


def test_a_form_that_is_promised_and_not_there_is_reported() -> None:
    @passes.module_pass("promises_anf", gives=(relay.transform.rewriting.forms.ANF,))
    def promises(mod: IRModule) -> IRModule:
        return mod

    try:
        with pytest.raises(RelayError) as error, passes.PassContext(instruments=[passes.Verify()]):
            passes.RulePass(find("promises_anf"))(program(NESTED))
        assert "not in A-normal form" in str(error.value)
    finally:
        del registry["promises_anf"]


# --- passes of users ---


def test_a_function_pass_from_a_function() -> None:
    @passes.function_pass(opt_level=1)
    def rename(fn: Function, mod: IRModule, context: passes.PassContext) -> Function:
        return fn.with_attr("seen", context.opt_level)

    out = rename(program(NESTED))
    assert out["f"].attrs["seen"] == out["main"].attrs["seen"] == 2
    assert rename.info.opt_level == 1


def test_a_pass_from_a_class() -> None:
    @passes.function_pass(opt_level=1)
    class Tagger:
        """Tags."""

        def __init__(self, tag: str) -> None:
            self.tag = tag

        def transform_function(self, fn: Function, mod: IRModule, ctx: passes.PassContext) -> Function:
            return fn.with_attr("tag", self.tag)

    tagger = Tagger("blue")
    assert isinstance(tagger, passes.FunctionPass)
    assert tagger(program(NESTED))["f"].attrs["tag"] == "blue"


def test_run_opt_pass_takes_pass_objects() -> None:
    x = relay.var("x", "float32")
    out = relay.testing.run_opt_pass(relay.tanh(relay.sin(x)), [passes.ToANormalForm(), passes.InferType()])
    assert isinstance(out, Let)


# --- pipelines in text ---


def test_a_pipeline_is_names_with_options() -> None:
    first, second = parse_pipeline("to_anf, inline(max_size=64, all_calls=True)")
    assert (first.rule.name, second.rule.name) == ("to_anf", "inline")
    assert second.options == {"max_size": 64, "all_calls": True}
    assert parse_pipeline("") == []


def test_the_names_that_users_know_work_in_a_pipeline() -> None:
    (only,) = parse_pipeline("ToANormalForm")
    assert only.rule.name == "to_anf"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("to_anff", "unknown-pass"),
        ("inline(max=3)", "unknown-option"),
        ("inline(max_size=2.5)", "option-type"),
        ("to_anf; dead_code", "bad-pipeline"),
        ("inline(3)", "bad-pipeline"),
        ("inline(max_size=f(3))", "bad-pipeline"),
        ("3", "bad-pipeline"),
        ("(", "bad-pipeline"),
        ("(" * 5000, "bad-pipeline"),
        ("to_anf,,", "bad-pipeline"),
    ],
)
def test_a_bad_pipeline_is_a_diagnostic(text: str, code: str) -> None:
    with pytest.raises(RelayError) as error:
        parse_pipeline(text)
    assert error.value.codes == (code,)


def test_a_class_with_some_methods_of_an_instrument_watches_passes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seen: list[str] = []

    @relay.instrument.pass_instrument
    class Names:
        def run_before_pass(self, mod: IRModule, info: passes.PassInfo) -> None:
            seen.append(info.name)

    mod = relay.parse("def @main() { 1i32 + 2i32 }")
    with passes.PassContext(instruments=[Names()]):
        passes.Sequential([passes.FoldConstant(), passes.PrintIR("after:")])(mod)
    assert seen == ["sequential", "FoldConstant", "print_ir"]
    assert capsys.readouterr().out.startswith("after:\ndef @main() -> int32 {\n  3i32\n}")


def test_quantised_operators_are_written_as_arithmetic() -> None:
    body = "qnn.dequantize(qnn.requantize(%x, 0.5, 3, 0.25, 4), 0.25, 4)"
    mod = relay.parse(f"def @main(%x: Tensor[(3,), uint8]) {{ {body} }}")
    lean = relay.qnn.transform.CanonicalizeOps()(relay.qnn.transform.Legalize()(mod))
    assert not [name for name in relay.analysis.list_op_freqs(lean) if name.startswith("qnn.")]
    x = np.array([3, 4, 200], "uint8")
    assert relay.testing.run_as_python(lean["main"], lean)(x).tolist() == [0.0, 0.5, 30.75]


def test_a_name_that_is_near_that_of_a_pass_has_a_suggestion() -> None:
    with pytest.raises(AttributeError, match="did you mean `FoldConstant`"):
        _ = relay.transform.FoldConst


def test_what_a_pass_takes_is_a_module() -> None:
    with pytest.raises(relay.RelayError, match="takes a module, its first argument, by position"):
        relay.transform.fuse_ops()
    with pytest.raises(relay.RelayError, match="takes a module, found a str"):
        relay.transform.fuse_ops("x")
