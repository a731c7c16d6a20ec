"""Modules, scope builder, fresh names, spans from Python."""

import copy
import inspect
import pickle
import re
from pathlib import Path
from types import FunctionType

import pytest

import relay
import relay.numpy as rnp
from relay import decoding, frontend, transform
from relay.diagnostic import Diagnostic, RelayError, SourceName, Span, caller_span
from relay.ir.build import const, var
from relay.ir.expr import (
    Call,
    Constructor,
    Function,
    GlobalVar,
    If,
    Let,
    Tuple,
    TupleGetItem,
    TupleWrapper,
    Var,
)
from relay.ir.module import IRModule, TypeData
from relay.ir.scope_builder import ScopeBuilder
from relay.ir.supply import GlobalVarSupply, NameSupply
from relay.ir.type import GlobalTypeVar, IncompleteType, TensorType, TupleType, TypeCall, TypeVar, scalar_type
from relay.loops import while_loop
from relay.transform.rewriting.registry import public_names


def two_definitions():
    mod = IRModule()
    mod["f"] = Function((), const(1))
    mod["g"] = Function((), Call(GlobalVar("f"), ()))
    return mod


def test_definitions_are_found_by_name_and_by_variable():
    mod = two_definitions()
    assert mod["f"] is mod[GlobalVar("f")]
    assert "f" in mod
    assert GlobalVar("h") not in mod
    assert [v.name_hint for v in mod] == ["f", "g"]
    del mod["f"]
    assert [v.name_hint for v in mod.get_global_vars()] == ["g"]


def test_an_unknown_definition_is_a_diagnostic_with_a_near_name():
    mod = two_definitions()
    mod["forward"] = const(1)
    with pytest.raises(RelayError, match="did you mean `forward`") as error:
        mod.get_global_var("foward")
    assert error.value.codes == ("unknown-global",)


def test_from_expr_makes_free_variables_parameters():
    x = var("x", shape=(2,))
    mod = IRModule.from_expr(Tuple((x, x)))
    assert mod["main"].params == (x,)
    fn = Function((x,), x)
    assert IRModule.from_expr(fn)["main"] is fn


def test_data_types_are_found_with_their_constructors():
    a, head = TypeVar("a"), GlobalTypeVar("Box")
    full, empty = Constructor("Full", (a,), head, 0), Constructor("Empty", (), head, 1)
    mod = IRModule()
    mod[head] = TypeData(head, (a,), (full, empty))
    assert mod.get_type("Box") == (head, full, empty)
    assert mod.get_constructor("Box", "Empty") is empty
    assert mod[head].type_call is TypeCall(head, (a,))
    with pytest.raises(RelayError) as error:
        mod.get_type("Bix")
    assert error.value.codes == ("unknown-type",)


def test_copies_are_independent():
    mod = two_definitions()
    other = copy.copy(mod)
    other["h"] = const(1)
    assert "h" not in mod
    changed = mod.with_attr("name", 3)
    assert "name" not in mod.attrs
    assert changed.attrs == {"name": 3}


def test_a_module_may_be_given_its_definitions_by_name_and_keeps_a_table_of_its_own():
    mine = {"f": const(1)}
    mod = IRModule(mine)
    mod["g"] = const(2)
    assert [v.name_hint for v in mod] == ["f", "g"]
    assert list(mine) == ["f"]
    assert IRModule(None, None).functions == {}


@pytest.mark.parametrize("name", ["f", GlobalVar("f")])
def test_an_unknown_definition_is_a_diagnostic_however_it_is_asked_for(name):
    mod = IRModule()
    with pytest.raises(RelayError) as error:
        mod[name]
    assert error.value.codes == ("unknown-global",)
    with pytest.raises(RelayError):
        del mod[name]
    with pytest.raises(RelayError) as error:
        mod[GlobalTypeVar("T")]
    assert error.value.codes == ("unknown-type",)


@pytest.mark.parametrize(("name", "value"), [("f", 3), ("f", None), (GlobalTypeVar("T"), const(1))])
def test_a_definition_is_an_expression(name, value):
    with pytest.raises(TypeError, match="cannot be defined as"):
        IRModule()[name] = value


CONSTANT = "def @c: float32 = 1f\ndef @main() { @c }"


def test_a_constant_that_is_replaced_forgets_its_type():
    mod = relay.parse(CONSTANT)
    mod["c"] = const(2)
    assert str(mod.type_of(GlobalVar("main"))) == "fn() -> int32"
    mod = relay.parse(CONSTANT)
    mod.update({GlobalVar("c"): const(True)})
    assert str(mod.type_of(GlobalVar("main"))) == "fn() -> bool"
    mod.update(relay.parse("def @c: int8 = 3i8"))
    assert str(mod.type_of(GlobalVar("main"))) == "fn() -> int8"
    del mod["c"]
    assert mod.constant_types == {}


def edited(change):
    mod = relay.parse('import "std/list"\ndef @main() { @length((Nil: List[int32])) }')
    change(mod)
    return mod


@pytest.mark.parametrize(
    "change",
    [
        lambda mod: mod.__setitem__("length", relay.parse_expr("fn<A>(%xs: List[A]) { 7i32 }", mod=mod)),
        lambda mod: mod.update_func(
            GlobalVar("length"), relay.parse_expr("fn<A>(%xs: List[A]) { 7i32 }", mod=mod)
        ),
        lambda mod: mod.update(
            relay.parse("type List[A] { Cons(A, List[A]), Nil, }\ndef @length<A>(%xs: List[A]) { 7i32 }")
        ),
    ],
)
def test_a_change_to_what_was_imported_is_printed(change):
    mod = edited(change)
    assert mod.evaluate("main") == 7
    assert relay.parse(str(mod)).evaluate("main") == 7


def test_a_definition_beside_what_was_imported_leaves_the_imports():
    mod = edited(lambda mod: mod.__setitem__("three", const(3)))
    assert str(mod).startswith('import "std/list"')


def test_a_module_answers_for_its_attributes():
    mod = two_definitions().with_attr("executor", "vm")
    assert mod.get_attr("executor") == "vm"
    assert mod.get_attr("other") is None
    assert mod.without_attr("executor").attrs == {}


def test_the_type_of_a_call_of_a_definition_without_annotations_is_inferred():
    mod = relay.parse("def @double(%x) { %x + %x }\ndef @four(%x) { @double(@double(%x)) }")
    x = var("x", shape=(2, 3))
    assert mod.type_of(GlobalVar("four")(x)) is TensorType((2, 3), "float32")
    assert mod.type_of(Tuple((GlobalVar("double")(x), x))) is TupleType([x.type_annotation] * 2)


def test_the_type_of_a_definition_is_asked_of_its_module():
    with pytest.raises(RelayError, match=r"mod\.type_of") as error:
        _ = GlobalVar("nowhere")(const(1)).checked_type
    assert error.value.codes == ("unknown-global",)


def test_replacing_a_definition_infers_again_what_reaches_it_and_nothing_else():
    mod = relay.parse("def @f() { 1 }\ndef @g() { @f() }\ndef @h() { 2.5 }")
    first = {v.name_hint: e for v, e in relay.infer(mod).items()}
    mod["f"] = relay.parse_expr("fn () { True }")
    second = {v.name_hint: e for v, e in relay.infer(mod).items()}
    assert str(mod.type_of(GlobalVar("g"))) == "fn() -> bool"
    assert second["h"] is first["h"]
    assert second["g"] is not first["g"]


def test_values_follow_an_edit():
    mod = relay.parse("def @f() { 1 }\ndef @g() { @f() + 1 }")
    assert mod.evaluate("g") == 2
    mod["f"] = relay.parse_expr("fn () { 41 }")
    assert mod.evaluate("g") == 42
    assert mod.evaluate(GlobalVar("f")()) == 41
    assert relay.parse("def @add3(%x: int32, %y: int32) { %x + %y + 3 }").evaluate("add3", 1, 2) == 6


def test_map_functions_returns_the_module_itself_when_nothing_changes():
    mod = two_definitions()
    assert mod.map_functions(lambda f: f) is mod
    assert mod.map_functions(lambda f: Function((), const(2)))["f"].body.value == 2


def test_a_module_names_what_it_defines():
    mod = relay.parse("type P { P(int32) }  def @f() { 1 }  def @main() { @f() }")
    assert repr(mod) == "<IRModule of @f, @main, type P>"
    assert repr(IRModule()) == "<IRModule of nothing>"
    many = IRModule({f"f{i}": Function((), const(i)) for i in range(7)})
    assert repr(many) == "<IRModule of @f0, @f1, @f2, @f3, @f4 and 2 more>"


def test_nodes_are_immutable():
    with pytest.raises(AttributeError, match=r"cannot set `name_hint` of a Var; `relay.replace"):
        var("x").name_hint = "y"
    with pytest.raises(AttributeError, match="cannot set `note` of a Call; a dict can hold"):
        relay.exp(var("x")).note = 1
    with pytest.raises(AttributeError, match="nodes are immutable"):
        del var("x").name_hint


def test_a_name_that_is_nearly_right_is_suggested():
    for owner, name, near in (
        (relay.nn, "desne", "dense"), (relay, "softmax", "relay.nn.softmax"), (relay.nn, "sum", "relay.sum"),
        (relay, "reshap", "reshape"),
        (relay, "creat_executor", "create_executor"), (relay.op.image, "resize2", "resize2d"),
    ):  # fmt: skip
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'; did you mean `{near}`"):
            getattr(owner, name)


def test_an_attribute_error_within_a_module_is_not_taken_for_a_missing_name(monkeypatch, tmp_path):
    (tmp_path / "broken_module.py").write_text("import os\nos.no_such_function\n")
    monkeypatch.syspath_prepend(tmp_path)
    homes = (relay, relay.analysis, relay.backend, relay.driver, relay.ir)
    for home in homes:
        monkeypatch.setitem(home._HOME, "broken", "broken_module")
    monkeypatch.setitem(relay.transform._HOME, "broken", ("broken_module", "broken"))
    names = [home.__name__ for home in (*homes, relay.transform)]
    statements = [f"exec('from {name} import broken')" for name in names]
    for statement in ("relay.broken", "getattr(relay, 'broken', None)", *statements):
        with pytest.raises(ImportError, match="'broken_module': module 'os' has no attribute 'no_such_func"):
            eval(statement)


def test_every_public_function_names_an_argument_that_it_lacks():
    count = 0
    modules = {m: m.__all__ for m in (relay, relay.optim, relay.training, relay.quantize, decoding)}
    modules[frontend] = [*frontend.PLACES]
    modules[transform] = [name for name in dir(transform) if name not in public_names]
    modules[rnp] = [name for name in dir(rnp) if not name.startswith("_")]
    for part in (rnp.linalg, rnp.fft):
        own = [name for name, f in vars(part).items() if getattr(f, "__module__", "") == part.__name__]
        modules[part] = [name for name in own if not name.startswith("_")]
    for module, names in modules.items():
        for name in names:
            function = getattr(module, name)
            if not isinstance(function, FunctionType):
                continue
            signature = inspect.signature(function)
            assert pickle.loads(pickle.dumps(function)) is function
            if all(p.kind is not p.VAR_KEYWORD for p in signature.parameters.values()):
                count += 1
                with pytest.raises(RelayError, match=f"{name}` has no argument `no_such_argument`"):
                    function(*[IRModule()] * (module is transform), no_such_argument=1)
    assert count > 300
    for call, near in (
        (lambda: relay.optim.adam(lr=0.1), "here it is `learning_rate`"),
        (lambda: relay.optim.adam(betas=(0.9, 0.99)), "here it is `beta1` and `beta2`"),
        (lambda: relay.optim.clipped(relay.optim.sgd(0.1), max_norm=1.0), "here it is `greatest_norm`"),
        (lambda: relay.optim.cosine(0.1, T_max=10), "here it is `steps`"),
        (lambda: relay.variance(var("x"), ddof=1), "here it is `unbiased`"),
        (lambda: rnp.std([1.0, 2.0], ddof=1), "here it is `correction`"),
        (lambda: rnp.asarray([1.0, 2.0]).var(ddof=1), "here it is `correction`"),
        (lambda: relay.function(lambda x: x.var(ddof=1))(const([1.0, 2.0])), "here it is `unbiased`"),
        (lambda: transform.fuse_ops(IRModule(), max_op=1), "did you mean `max_ops`?"),
        (lambda: transform.to_anf(IRModule(), 3), "`transform.to_anf`: too many positional arguments"),
        (lambda: relay.build(None, targt="llvm"), "did you mean `target`?"),
    ):
        with pytest.raises(RelayError, match=re.escape(near)):
            call()


def doubled(x):
    return 2 * x


def test_a_public_function_is_one_object_also_where_two_threads_meet_it_first():
    raw = doubled
    both = [relay.op.namespace.public_function(raw, "doubled") for _ in range(2)]
    assert both[0] is both[1] is doubled
    assert pickle.loads(pickle.dumps(both[1])) is doubled


def test_nodes_built_here_have_this_line():
    here = caller_span()
    node = Var("x")
    assert node.span.source_name.name == __file__
    assert node.span.line == here.line + 1


def test_nodes_built_here_have_the_columns_of_their_expression():
    x = Var("x")
    größe, *node = "😀", relay.exp(x), Call(relay.op.op.get("add"), [x, relay.tanh(
        x)])  # fmt: skip
    text = next(line for line in Path(__file__).read_text("utf-8").splitlines() if f'"{größe}"' in line)
    for e, first in ((node[0], "relay.exp(x)"), (node[1], "Call("), (node[1].args[1], "relay.tanh(")):
        assert e.span.column == text.index(first) + 1
        assert pickle.loads(pickle.dumps(e)).span.column == e.span.column
    exp, tanh = node[0].span, node[1].args[1].span
    assert (exp.end_line, exp.end_column) == (exp.line, text.index("relay.exp(x)") + len("relay.exp(x)") + 1)
    assert (tanh.end_line, tanh.end_column) == (exp.line + 1, 11)
    carets = " " * text.index("relay.exp(x)") + "^" * len("relay.exp(x)")
    assert (
        Diagnostic("code", "message", exp)
        .render()
        .endswith(f"| {text}\n{' ' * len(str(exp.line))} | {carets}")
    )
    again = pickle.loads(pickle.dumps(Diagnostic("code", "message", tanh)))
    assert again.render() == Diagnostic("code", "message", tanh).render()


def test_a_diagnostic_of_a_text_that_is_gone_has_the_place_alone():
    for path in ("<string>", "<stdin>"):
        x = eval(compile("\n\n(Var('x'))", path, "eval"))
        diagnostic = Diagnostic("code", "message", x.span, "a label")
        lines = diagnostic.render().splitlines()
        assert lines[1:] == [f" --> {path}:3:2", "  = note: a label"]


def test_a_span_may_be_given_by_line_and_column():
    span = Span(SourceName("model.py"), 3, 4, 7, 9)
    assert (span.line, span.column, span.end_line, span.end_column) == (3, 7, 4, 9)
    assert str(span) == "model.py:3:7"
    assert str(Span(None, 3, 4, 7, 9)) == "<unknown>:3:7"


def test_scope_builder_nests_lets_and_branches():
    sb = ScopeBuilder()
    x = sb.let("x", const(1))
    with sb.if_scope(const(True)):
        y = sb.let(("y", scalar_type("int32")), x)
        sb.ret(y)
    with sb.else_scope():
        sb.ret(x)
    e = sb.get()
    assert isinstance(e, Let)
    assert e.var is x
    assert isinstance(e.body, If)
    assert isinstance(e.body.true_branch, Let)
    assert e.body.true_branch.var.type_annotation is scalar_type("int32")
    assert e.body.false_branch is x


@pytest.mark.parametrize(
    "misuse",
    [
        lambda sb: sb.get(),
        lambda sb: (sb.ret(1), sb.let("x", 2)),
        lambda sb: (sb.ret(1), sb.ret(2)),
        lambda sb: sb.else_scope().__enter__(),
    ],
)
def test_scope_builder_refuses_what_has_no_meaning(misuse):
    with pytest.raises(RuntimeError):
        misuse(ScopeBuilder())


def test_an_if_scope_needs_an_else_scope():
    sb = ScopeBuilder()
    with sb.if_scope(const(True)):
        sb.ret(1)
    with pytest.raises(RuntimeError, match="else_scope"):
        sb.ret(2)


def test_the_type_of_a_variable_in_a_scope_builder_is_its_annotation():
    assert ScopeBuilder().type_of(var("x", shape=())) is scalar_type("float32")
    assert isinstance(ScopeBuilder().type_of(Var("x")), IncompleteType)


def test_while_loop_is_a_recursive_function():
    i = var("i", shape=(), dtype="int32")
    loop = while_loop(lambda i: Call(GlobalVar("c"), (i,)), [i], lambda i: [Call(GlobalVar("n"), (i,))])
    assert loop.body is loop.var
    inner = loop.value
    assert inner.params[0].type_annotation is scalar_type("int32")
    assert inner.body.true_branch.op is loop.var
    assert inner.body.false_branch.fields == inner.params


def test_fresh_names_are_fresh():
    names = NameSupply("p")
    assert [names.fresh_name("x") for _ in range(3)] == ["p_x", "p_x_1", "p_x_2"]
    names.reserve_name("y_1")
    assert names.fresh_name("y") == "p_y"
    assert names.fresh_name("y") == "p_y_2"
    assert names.contains_name("x")
    assert not names.contains_name("x", add_prefix=False)


def test_fresh_globals_avoid_what_a_module_defines():
    supply = GlobalVarSupply(two_definitions())
    assert supply.fresh_global("f").name_hint == "f_1"
    assert supply.unique_global_for("h") is supply.unique_global_for("h")
    with pytest.raises(ValueError, match="reserved"):
        supply.reserve_global(GlobalVar("g"))


def test_a_tuple_wrapper_unpacks():
    t = Var("t")
    a, b = TupleWrapper(t, 2)
    assert (a.index, b.index) == (0, 1)
    assert TupleWrapper(t, 2)[-1].index == 1
    assert TupleWrapper(t, 2).astuple() is t
    with pytest.raises(IndexError):
        TupleWrapper(t, 2)[2]


def test_split_unpacks_and_says_its_size():
    parts = relay.split(var("x", shape=(6,)), 3)
    a, _, c = parts
    assert isinstance(a, TupleGetItem)
    assert (c.tuple_value, c.index) == (parts, 2)
    assert len(parts) == parts.size == 3
    assert parts[-1].index == 2
    assert parts.astuple() is parts
    assert isinstance(parts, relay.TupleWrapper)
    assert not isinstance(var("x"), relay.TupleWrapper)


def test_split_at_indices_has_one_part_more():
    assert len(relay.split(var("x", shape=(6,)), (2, 5))) == 3
    assert len(relay.nn.batch_norm(*[var(n) for n in "xgbmv"])) == 3


def test_var_takes_a_type_or_a_shape():
    assert var("x", shape=(2,), dtype="int8").type_annotation.dtype == "int8"
    assert var("x", scalar_type("bool")).type_annotation is scalar_type("bool")
    assert var("x").type_annotation is None
    with pytest.raises(ValueError, match="not both"):
        var("x", scalar_type("bool"), shape=())


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1, "int32"), (1.0, "float32"), (True, "bool"), (2**40, "int64"), ([1.5, 2.0], "float32")],
)
def test_const_of_python_values(value, dtype):
    assert const(value).type.dtype == dtype
    assert const(value).value.tolist() == value


def test_const_takes_a_dtype():
    assert const(1, "float16").type is scalar_type("float16")
    with pytest.raises(TypeError):
        const(const(1))


def test_parts_of_a_data_type_may_be_lists():
    def module(several: type) -> IRModule:
        header, a = GlobalTypeVar("Pair"), TypeVar("a")
        constructor = Constructor("Both", several([a, a]), header)
        mod = IRModule()
        mod[header] = TypeData(header, several([a]), several([constructor]))
        return mod

    lists, tuples = module(list), module(tuple)
    assert relay.structural_equal(lists, tuples)
    assert relay.structural_hash(lists) == relay.structural_hash(tuples)


def test_constants_are_numbers_or_text():
    assert const(["a", "b"]).type.dtype == "string"
    with pytest.raises(TypeError, match="neither numbers nor text"):
        const([object()])


def test_one_parameter_is_no_list_of_parameters():
    with pytest.raises(TypeError, match="cannot be iterated"):
        Function(var("x"), var("x"))  # type: ignore[arg-type]


def test_functions_that_know_each_other_have_a_name_each() -> None:
    f = relay.var("f")
    with pytest.raises(ValueError, match="1 names for 0 functions"):
        relay.LetRec((f,), (), f)
