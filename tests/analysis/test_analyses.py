"""Facts about programs: fragments, features, kinds, call graphs, effects, lints, counts."""

import pkgutil

import pytest

import relay
from relay import analysis
from relay.analysis import Effect, Feature
from relay.diagnostic import RelayError
from relay.ir.build import const, grad, var
from relay.ir.expr import (
    Call,
    Clause,
    Constructor,
    Function,
    GlobalVar,
    If,
    Let,
    LetRec,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.module import IRModule, TypeData
from relay.ir.pattern import PatternWildcard
from relay.ir.type import (
    FuncType,
    GlobalTypeVar,
    Kind,
    RefType,
    TensorType,
    TupleType,
    TypeCall,
    TypeRelation,
    TypeVar,
    scalar_type,
)
from relay.transform.rewriting.registry import load_all, registry

X, Y = Var("x"), Var("y")
INT = scalar_type("int32")
BOX = GlobalTypeVar("Box")
FULL = Constructor("Full", (INT,), BOX, 0)


def local_loop():
    f = Var("f")
    return Let(f, Function((), Call(f, ())), f)


def module(**definitions):
    mod = IRModule()
    for name, definition in definitions.items():
        mod[name] = definition
    return mod


@pytest.mark.parametrize(
    ("e", "expected"),
    [
        (Tuple((X, const(1))), "dataflow"),
        (Let(Y, TupleGetItem(X, 0), Function((), Y)), "dataflow"),
        (Call(FULL, (const(1),)), "dataflow"),
        (Call(Function((Y,), Y), (const(1),)), "dataflow"),
        (Call(GlobalVar("straight"), ()), "dataflow"),
        (If(X, const(1), const(2)), "control"),
        (Match(X, (Clause(PatternWildcard(), const(1)),)), "control"),
        (Function((), If(X, const(1), const(2))), "control"),
        (Call(GlobalVar("branching"), ()), "control"),
        (Call(GlobalVar("endless"), ()), "control"),
        (Call(GlobalVar("calls_branching"), ()), "control"),
        (GlobalVar("branching"), "dataflow"),
        (local_loop(), "control"),
        (LetRec((X, Y), (Function((), Y), Function((), X)), X), "control"),
        (Call(X, ()), "control"),
        (RefRead(X), "control"),
        (Call(grad(GlobalVar("straight")), ()), "dataflow"),
    ],
)
def test_fragment(e, expected):
    mod = module(
        straight=Function((), const(1)),
        branching=Function((), If(const(True), const(1), const(2))),
        endless=Function((), Call(GlobalVar("endless"), ())),
        calls_branching=Function((), Call(GlobalVar("branching"), ())),
    )
    assert analysis.fragment(e, mod) == expected


def test_features_of_a_program():
    found = analysis.detect_feature(Let(X, const(1), Tuple((X,))))
    assert found == {Feature.fLet, Feature.fVar, Feature.fConstant, Feature.fTuple}
    assert Feature.fLetRec in analysis.detect_feature(local_loop())
    assert Feature.fLetRec not in analysis.detect_feature(Let(X, Function((), const(1)), X))
    shared = Tuple((const(1),))
    assert Feature.fGraph in analysis.detect_feature(Tuple((shared, shared)))
    assert Feature.fGraph not in analysis.detect_feature(Tuple((X, X)))


def test_features_of_an_expression_and_a_module_together():
    found = analysis.detect_feature(const(1), module(f=RefRead(X)))
    assert found >= {Feature.fConstant, Feature.fRefRead}


@pytest.mark.parametrize(
    ("t", "kind"),
    [
        (INT, Kind.Type),
        (TypeVar("s", Kind.Shape), Kind.Shape),
        (TensorType(TypeVar("s", Kind.Shape), TypeVar("b", Kind.BaseType)), Kind.Type),
        (TensorType((TypeVar("n", Kind.Dim) + 1,)), Kind.Type),
        (FuncType((INT,), INT), Kind.Type),
        (TypeRelation("Broadcast", (INT, INT)), Kind.Constraint),
        (BOX, Kind.AdtHandle),
        (TypeCall(BOX), Kind.Type),
    ],
)
def test_kind_of_a_well_kinded_type(t, kind):
    assert analysis.check_kind(t) is kind


@pytest.mark.parametrize(
    "t",
    [
        TupleType((TypeVar("s", Kind.Shape),)),
        RefType(TypeVar("b", Kind.BaseType)),
        FuncType((BOX,), INT),
        TensorType(TypeVar("a")),
        TensorType((), TypeVar("n", Kind.Dim)),
        TensorType((TypeVar("a"),)),
        FuncType((INT,), TypeVar("c", Kind.Constraint)),
        TypeCall(INT),
    ],
)
def test_an_ill_kinded_type_is_a_diagnostic(t):
    with pytest.raises(RelayError) as error:
        analysis.check_kind(t)
    assert error.value.codes == ("kind-mismatch",)


def test_arguments_of_data_types_are_checked_against_a_module():
    n, a = TypeVar("n", Kind.Dim), TypeVar("a")
    vec = GlobalTypeVar("Vec")
    mod = module()
    mod[vec] = TypeData(vec, (n, a), ())
    assert analysis.check_kind(TypeCall(vec, (3, INT)), mod) is Kind.Type
    for args, code in [((INT, INT), "kind-mismatch"), ((3,), "type-arity")]:
        with pytest.raises(RelayError) as error:
            analysis.check_kind(TypeCall(vec, args), mod)
        assert error.value.codes == (code,)
    with pytest.raises(RelayError) as error:
        analysis.check_kind(TypeCall(GlobalTypeVar("Vex"), ()), mod)
    assert error.value.codes == ("unknown-type",)


def test_type_parameters_of_a_function():
    a, b, n = TypeVar("a"), TypeVar("b"), TypeVar("n", Kind.Dim)
    fn = Function((var("x", a), var("y", TensorType((n,)))), Tuple(()), b, (a,))
    assert analysis.all_type_vars(fn) == [a, n, b]
    assert analysis.bound_type_vars(fn) == [a]
    assert analysis.free_type_vars(fn) == [n, b]


def test_type_parameters_of_a_type():
    a, b = TypeVar("a"), TypeVar("b")
    t = FuncType((a, b), a, (a,))
    assert analysis.all_type_vars(t) == [a, b]
    assert analysis.free_type_vars(t) == [b]


def test_equal_polymorphic_types_have_type_parameters_of_their_own():
    a, b = TypeVar("a"), TypeVar("b")
    t = TupleType((FuncType((a,), a, (a,)), RefType(FuncType((b,), b, (b,)))))
    assert analysis.bound_type_vars(t) == [a, b]
    assert analysis.all_type_vars(t) == [a, b]
    assert analysis.free_type_vars(t) == []


def test_the_call_graph_knows_callers_and_cycles():
    f, g, h = (GlobalVar(n) for n in "fgh")
    mod = module(
        f=Function((), Tuple((Call(g, ()), Call(g, ()), Call(h, ())))),
        g=Function((), Call(h, ())), h=const(1),
        even=Function((), Call(GlobalVar("odd"), ())), odd=Function((), Call(GlobalVar("even"), ())),
    )  # fmt: skip
    graph = analysis.CallGraph(mod)
    assert graph.callees("f") == [g, h]
    assert graph.callers(h) == [f, g]
    assert graph.ref_count("g") == 2
    assert graph.global_call_count("f") == 3
    assert not graph.is_recursive("f")
    assert graph.is_recursive("odd")
    order = [sorted(v.name_hint for v in group) for group in graph.components()]
    assert order.index(["h"]) < order.index(["g"]) < order.index(["f"])
    assert ["even", "odd"] in order
    assert graph.print_var("g") == "@g: @h x1"


def test_a_chain_of_100000_definitions_has_its_components():
    mod = module(**{f"f{i}": Call(GlobalVar(f"f{i + 1}"), ()) for i in range(100_000)}, f100000=const(1))
    components = analysis.CallGraph(mod).components()
    assert [c.name_hint for c in components[0]] == ["f100000"]
    assert len(components) == 100_001


@pytest.mark.parametrize(
    ("e", "effect"),
    [
        (Tuple((const(1), X)), Effect.NONE),
        (RefCreate(const(1)), Effect.CREATE),
        (RefWrite(RefCreate(const(1)), RefRead(X)), Effect.CREATE | Effect.READ | Effect.WRITE),
        (Function((), RefRead(X)), Effect.NONE),
        (Call(Function((), RefRead(X)), ()), Effect.READ),
        (Let(Y, Function((), RefRead(X)), Call(Y, ())), Effect.READ),
        (Call(GlobalVar("reads"), ()), Effect.READ),
        (Call(GlobalVar("calls_reads"), ()), Effect.READ),
        (Call(GlobalVar("pure"), ()), Effect.NONE),
    ],
)
def test_effects(e, effect):
    mod = module(
        reads=Function((X,), RefRead(X)), calls_reads=Function((X,), Call(GlobalVar("reads"), (X,))),
        pure=Function((), const(1)),
    )  # fmt: skip
    assert analysis.effect_of(e, mod) == effect


def test_an_unknown_callee_is_pure_only_where_nothing_has_references():
    assert analysis.is_pure(Call(X, ()))
    assert not analysis.is_pure(Call(X, ()), module(f=Function((Y,), RefRead(Y))))


def test_recursive_definitions_have_the_effects_of_the_whole_group():
    mod = module(
        even=Function((X,), Call(GlobalVar("odd"), (X,))),
        odd=Function((Y,), Tuple((Call(GlobalVar("even"), (Y,)), RefRead(Y)))),
    )
    effects = analysis.Effects(mod)
    assert effects.of_call(GlobalVar("even")) == effects.of_call(GlobalVar("odd")) == Effect.READ


def test_a_recursive_local_function_has_the_effects_of_its_body():
    f = Var("f")
    loop = Let(f, Function((), Tuple((Call(f, ()), RefRead(X)))), Call(f, ()))
    assert analysis.effect_of(loop) == Effect.READ


def test_basic_block_normal_form_shares_nothing_between_scopes():
    work = Tuple((const(1),))
    assert analysis.check_basic_block_normal_form(Tuple((work, work)))
    assert not analysis.check_basic_block_normal_form(If(X, work, work))
    assert not analysis.check_basic_block_normal_form(Function((), Tuple((work, Function((), work)))))
    assert analysis.check_basic_block_normal_form(Let(Y, work, If(X, Y, Y)))


def test_a_shared_effect_is_a_lint():
    read = RefRead(X)
    mod = module(main=Function((X,), If(const(True), Tuple((read,)), Tuple((read, read)))))
    assert [d.code for d in analysis.lint(mod)] == ["shared-effect"]
    assert analysis.lint(module(main=Function((X,), Tuple((read, read))))) == []


def test_constants_are_constants_and_tuples_of_them():
    assert analysis.check_constant(Tuple((const(1), Tuple(()))))
    assert not analysis.check_constant(Tuple((X,)))


def test_uses_are_counted_by_place():
    work = Tuple((X,))
    root = Tuple((work, work))
    assert analysis.use_counts(root)[work] == 2
    assert analysis.users(root)[work] == [root, root]
    assert analysis.users(root)[root] == []


def test_live_variables_reach_the_result():
    a, b, c = Var("a"), Var("b"), Var("c")
    e = Let(a, const(1), Let(b, Tuple((a,)), Let(c, Tuple((b,)), a)))
    assert analysis.live_vars(e) == {a}


def test_post_order_visit_sees_each_node_once():
    seen = []
    shared = Tuple((X,))
    analysis.post_order_visit(Tuple((shared, shared)), seen.append)
    assert len(seen) == 3


def two_layers():
    x, w, v = var("x", shape=(2, 3)), var("w", shape=(4, 3)), var("v", shape=(5, 4))
    hidden = relay.nn.relu(relay.nn.dense(x, w))
    return IRModule.from_expr(relay.nn.dense(hidden, relay.transpose(relay.transpose(v, (1, 0)), (1, 0))))


def test_an_intermediate_result_is_found_by_its_number():
    mod = two_layers()
    x, w, v = mod["main"].params
    found = [analysis.extract_intermdeiate_expr(mod, i)["main"] for i in range(5)]
    assert [f.body.op.name for f in found] == [
        "nn.dense", "nn.relu", "transpose", "transpose", "nn.dense",
    ]  # fmt: skip
    assert [f.params for f in found] == [(x, w), (x, w), (v,), (v,), (x, w, v)]
    with pytest.raises(RelayError, match="has no expression 5") as error:
        analysis.extract_intermdeiate_expr(mod, 5)
    assert error.value.codes == ("index-out-of-range",)


def test_an_intermediate_result_may_call_the_other_definitions():
    mod = relay.parse("def @f(%x: int32) { %x + 1 } def @main(%y: int32) { @f(@f(%y)) * 2 }")
    assert analysis.extract_intermdeiate_expr(mod, 1).evaluate("main", 5) == 7


def test_transposed_weights_are_found_by_name():
    x, w, v = (var(n, shape=(3, 3)) for n in "xwv")
    e = relay.nn.dense(relay.nn.dense(x, w), relay.transpose(v, (1, 0)))
    assert analysis.search_fc_transpose(e) == ["v"]
    assert analysis.search_fc_transpose(relay.transpose(w)) == []


def conditions(n):
    """`n` nested branches that share one node, as deep as it gets."""
    work, e = Call(GlobalVar("f"), ()), X
    for _ in range(n):
        e = Let(Var("v"), If(X, e, work), Tuple((work,)))
    return e


@pytest.mark.parametrize(
    "analyse",
    [
        analysis.fragment,
        analysis.detect_feature,
        analysis.all_type_vars,
        analysis.effect_of,
        analysis.shared_across_scopes,
        analysis.well_formed,
        analysis.live_vars,
        analysis.use_counts,
        analysis.check_constant,
        analysis.free_vars,
        analysis.bound_vars,
        analysis.all_vars,
        analysis.constants,
        analysis.users,
        analysis.search_fc_transpose,
        analysis.check_basic_block_normal_form,
        lambda e: analysis.extract_intermdeiate_expr(IRModule.from_expr(e), 0),
        lambda e: analysis.count_layers(e, ["add"]),
    ],
)
@pytest.mark.parametrize("depth", [10_000, pytest.param(30_000, marks=pytest.mark.long)])
def test_analyses_do_not_recurse(depth, analyse):
    analyse(conditions(depth))


@pytest.mark.parametrize("package", [relay, analysis, relay.transform], ids=lambda p: p.__name__)
def test_no_module_has_the_name_of_something_public(package):
    """A module that is imported takes its name in the package."""
    load_all()
    public = {*package._HOME, *(registry if package is relay.transform else ())}
    assert not public & {found.name for found in pkgutil.iter_modules(package.__path__)}
