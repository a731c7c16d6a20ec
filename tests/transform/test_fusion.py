"""Which operators are fused, what becomes of everything around them, and that defusion is the inverse."""

import time
from collections import Counter

import numpy as np
import pytest

import relay
import relay.transform as passes
from generators.programs import random_program
from relay.ir.expr import Call, Expr, Function, GlobalVar, If, Let, Op, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.type import TensorType, TupleType
from relay.ir.walk import post_order
from relay.testing import lstm, mlp, resnet, transformer
from relay.typecheck.infer import infer
from transform.cases import outcome, program, verified
from transform.fused import functions, main_of, operators


def groups(text: str, **options: int) -> list[str]:
    """The operators of each fused function."""
    mod = main_of(text)
    out = verified(passes.fuse_ops(mod, **options))
    assert passes.fuse_ops(out, **options) is out
    assert relay.ir.structural_equal(graph(passes.defuse_ops(out)), graph(mod))
    normal = verified(passes.fuse_ops(passes.to_anf(mod), **options))
    found = [operators(fn.body) for fn in functions(out)]
    assert sorted(found) == sorted([operators(fn.body) for fn in functions(normal)]), "as in A-normal form"
    return found


def graph(mod: IRModule) -> IRModule:
    return passes.to_graph_normal_form(mod)


# --- groups ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tanh(%x * 2.0)", ["multiply tanh"]),
        ("let %a = tanh(%x); (%a + 1.0) * (%a - 1.0)", ["tanh add subtract multiply"]),
        ("let %a = tanh(%x); @g(%a * 2.0) + %a", []),  # comes out in between
        ("transpose(tanh(%x)) + %y", ["tanh transpose add"]),
        ("zeros(shape=(8, 8), dtype=float32) + tanh(%x)", ["zeros tanh add"]),
        ("nn.softmax(%x * 2.0) * 2.0 + 1.0", ["multiply add"]),  # opaque
        ("let %a = %x * 2.0; (sort(%a), %a + 1.0)", []),
    ],
)
def test_what_works_element_by_element_joins_its_users(text: str, expected: list[str]) -> None:
    assert groups(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nn.relu(nn.bias_add(nn.dense(%x, %y), %b)) + %x", ["dense bias_add relu add"]),
        ("let %a = nn.dense(%x, %y); tanh(%a) * sigmoid(%a)", ["dense tanh sigmoid multiply"]),
        ("nn.dense(tanh(%x * 2.0), %y)", ["multiply tanh"]),
        ("nn.relu(nn.dense(%x, %y) + nn.dense(%y, %x))", ["dense add relu"]),
        (
            "let %a = nn.relu(nn.dense(%x, %y)); %a + nn.relu(nn.dense(%a, %y))",
            ["dense relu", "dense relu add"],
        ),
        ("nn.relu(nn.dense(%x, %y) + tanh(%x * 2.0))", ["dense multiply tanh add relu"]),
        ("sum(nn.relu(nn.dense(%x, %y)), axis=1)", ["dense relu"]),
        ("transpose(nn.relu(nn.dense(%x, %y))) * 2.0", ["dense relu", "transpose multiply"]),
        ("broadcast_to(nn.dense(%x, %y), shape=(3, 8, 8)) * 2.0", ["broadcast_to multiply"]),
    ],
)
def test_kernels_take_what_keeps_their_shape(text: str, expected: list[str]) -> None:
    assert sorted(groups(text)) == sorted(expected)


ROOT = "%x / sqrt(sum(%x * %x, axis=1, keepdims=True))"
SOFTMAX = "let %e = exp(%x - max(%x, axis=-1, keepdims=True)); %e / sum(%e, axis=-1, keepdims=True)"
NORM = (
    "let %d = %x - sum(%x, axis=1, keepdims=True) / 8.0; "
    "let %v = sum(%d * %d, axis=1, keepdims=True) / 8.0; %d / sqrt(%v + 1e-5) * %b"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sum(tanh(%x) * %y, axis=1)", ["tanh multiply sum"]),
        ("sqrt(sum(%x * %x, axis=1))", ["multiply sum sqrt"]),
        (ROOT, ["multiply sum sqrt divide"]),
        (SOFTMAX, ["max subtract exp sum divide"]),
        (f"transpose({{ {SOFTMAX} }}) * 2.0", ["max subtract exp sum divide", "transpose multiply"]),
        (NORM, ["sum divide subtract multiply sum divide add sqrt divide multiply"]),
        ("expand_dims(sum(%x, axis=1) / 8.0, axis=1) * %y", ["sum divide expand_dims multiply"]),
        ("sum(%x, axis=1) * sum(%x * %x, axis=1)", ["sum multiply sum multiply"]),
        ("sum(sum(%x, axis=1, keepdims=True) * %x, axis=0)", ["sum multiply"]),
        ("sum(%x, axis=1) + sum(%x, axis=0)", ["sum add"]),
        ("sum(%b) * %x", []),  # a small space inside of a larger one
        ("sum(%x) * %x", ["sum multiply"]),
    ],
)
def test_reductions_take_what_follows_inside_of_their_space(text: str, expected: list[str]) -> None:
    assert sorted(groups(text)) == sorted(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("concatenate((tanh(%x), transpose(%y)), axis=1) * 2.0", ["tanh transpose concatenate multiply"]),
        ("let %t = tanh(%x); (%t + 1.0, %t * 2.0)", ["tanh add multiply"]),
        ("let %t = tanh(%x); (%t, (%t * 2.0, 1.0)).1.0", ["tanh multiply"]),
        ("(%x + 1.0 + %y, %b * 2.0 + 1.0)", ["add add", "multiply add"]),  # of two shapes
        ("let %t = tanh(sin(%x)); (%t, %x)", ["sin tanh"]),
        ("let %t = tanh(sin(%x)); (%t, @g(%t))", ["sin tanh"]),
        ("let %t = (%x + 1.0, %y * 2.0); %t.0 - %t.1", ["add multiply subtract"]),
        ("let %s = split(%x * 2.0, indices_or_sections=2, axis=1); %s.0 + %s.1", ["multiply split add"]),
        ("let %s = split(%x, indices_or_sections=2, axis=1); (tanh(%s.0 + 1.0), %s.1)", ["add tanh"]),
        ("let %s = split(%x, indices_or_sections=2, axis=1); (tanh(%s.0), %s.1 + 1.0)", ["split tanh add"]),
        ("let %t = (%x + 1.0, @g(%y)); let %p = %t.0 * 2.0; (%p, %t.1 * %p)", ["add multiply multiply"]),
        ("nn.dropout(tanh(%x + 1.0)).0", ["add tanh"]),
    ],
)
def test_tuples_are_made_inside_where_all_of_them_is(text: str, expected: list[str]) -> None:
    assert groups(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("exp(%b) + %x", []),
        ("(%b + 1.0) * 2.0 + %x", ["add multiply"]),
        (
            "reverse(cast(exp(%b) * 2.0, dtype=float16), axis=0) + cast(%x, dtype=float16)",
            ["exp multiply", "cast reverse cast add"],
        ),
        ("exp(expand_dims(%b, axis=1)) * %x", ["expand_dims exp multiply"]),  # before the loop along the row
        ("exp(sum(%b * 2.0)) * %x", ["multiply sum exp"]),
        ("exp(sum(%x, axis=1, keepdims=True)) * %x", ["sum exp multiply"]),
        ("take(exp(%b), argmax(%x, axis=1))", []),
        ("take(zeros(shape=(8,), dtype=float32), argmax(%x, axis=1))", ["zeros take"]),
        ("nn.dense(%x, %y) * exp(expand_dims(%b, axis=1))", ["expand_dims exp", "dense multiply"]),
        ("nn.dense(%x, %y) * exp(sum(%x) * 2.0)", ["sum multiply exp", "dense multiply"]),
        ("let %s = 1.0; nn.dense(%x, %y) * exp(%s * 2.0)", ["dense multiply exp multiply"]),
        ("nn.dense(%x, %y) + exp(%b * 2.0)", ["multiply exp", "dense add"]),
        ("nn.pad(exp(%x), pad_width=((1, 1), (1, 1)))", ["exp pad"]),
    ],
)
def test_arithmetic_is_not_repeated(text: str, expected: list[str]) -> None:
    assert sorted(groups(text)) == sorted(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if (%c) { tanh(%x) + 1.0 } else { %x * 2.0 + %y }", ["tanh add", "multiply add"]),
        ("let %a = tanh(%x); if (%c) { %a + 1.0 } else { %a * 2.0 }", []),
        ("let %f = fn(%z: Tensor[(8, 8), float32]) { tanh(%z * %x) }; %f(%x) + %f(%y)", ["multiply tanh"]),
        ("let %a = sin(cos(%x)); let %f = fn() { %a + 1.0 }; %f()", ["cos sin"]),
        (
            "match (Cons(%x * 2.0 + 1.0, Nil)) { Cons(%h, _) => tanh(%h) + 1.0, Nil => %x }",
            ["multiply add", "tanh add"],
        ),
        (
            "let rec %f = fn(%n: int32) -> int32 { if (%n < 1) { 0 } else { %g(%n * 2 - 9) } } and "
            "%g = fn(%n: int32) -> int32 { %f(%n - 1) + %n * 2 }; %f(3)",
            ["multiply subtract", "multiply add"],
        ),
        ("let %a = %x + 1.0; let %b2 = %a; %b2 * 2.0", ["add multiply"]),  # another name
    ],
)
def test_groups_belong_to_one_scope(text: str, expected: list[str]) -> None:
    assert groups(text) == expected


# --- options ---


@pytest.mark.parametrize("limit", [2, 3, 7, 256])
def test_a_group_has_no_more_operators_than_that(limit: int) -> None:
    x = Var("x", TensorType((4,), "float32"))
    e: Expr = x
    for _ in range(600):
        e = Call(Op.get("add"), (Call(Op.get("tanh"), (e,)), e))
    mod = infer(IRModule({GlobalVar("main"): Function((x,), e)}))
    out = verified(passes.fuse_ops(mod, max_ops=limit))
    sizes = [len(operators(fn.body).split()) for fn in functions(out)]
    assert max(sizes) <= limit
    assert len(sizes) <= 1200 // (limit - 1) + 1
    assert relay.ir.structural_equal(passes.defuse_ops(out), mod)


def test_a_group_of_one_is_a_function_on_request() -> None:
    mod = program("def @main(%x: Tensor[(2, 2), float32]) { nn.softmax(nn.dense(tanh(%x), %x)) }")
    assert passes.fuse_ops(mod) is mod
    out = verified(passes.fuse_ops(mod, lone=True))
    assert sorted([operators(fn.body) for fn in functions(out)]) == ["dense", "softmax", "tanh"]
    assert passes.fuse_ops(out, lone=True) is out
    assert relay.ir.structural_equal(passes.defuse_ops(out), mod)


def test_level_nought_fuses_nothing() -> None:
    mod = main_of("tanh(%x * 2.0)")
    assert passes.FuseOps(0)(mod) is mod
    assert passes.FuseOps(fuse_opt_level=0)(mod) is mod
    with passes.PassContext(opt_level=0):
        assert passes.FuseOps()(mod) is mod
        assert passes.FuseOps(1)(mod) is not mod
    with passes.PassContext(config={"relay.FuseOps.max_ops": 1}):
        assert passes.FuseOps()(mod) is mod


# --- workloads ---


def calls(mod: IRModule) -> list[str]:
    """The operators outside of fused functions."""
    inside = {c for fn in functions(mod) for c in post_order(fn)}
    every = [e for d in mod.functions.values() for e in post_order(d) if isinstance(e, Call)]
    return [e.op.name for e in every if isinstance(e.op, Op) and e not in inside]


def test_a_perceptron_is_a_function_a_layer() -> None:
    mod, _ = mlp.get_workload(1)
    out = verified(passes.fuse_ops(infer(mod)))
    found = [operators(fn.body) for fn in functions(out)]
    assert sorted(found) == ["dense bias_add", "dense bias_add relu", "dense bias_add relu"]
    assert calls(out) == ["nn.batch_flatten", "nn.softmax"]
    assert relay.ir.structural_equal(graph(passes.defuse_ops(out)), graph(infer(mod)))


def test_a_residual_network_is_a_function_a_convolution() -> None:
    mod, _ = resnet.get_workload(1, num_layers=18)
    mod = passes.simplify_inference(infer(mod))
    out = verified(passes.fuse_ops(mod))
    assert Counter([operators(fn.body) for fn in functions(out)]) == {
        "add rsqrt multiply": 20,  # the scale of a normalisation, by channel
        "multiply negative add": 20,  # what is added after it
        "conv2d expand_dims multiply expand_dims add relu": 9,
        "conv2d expand_dims multiply expand_dims add add relu": 8,  # with the residual
        "conv2d expand_dims multiply expand_dims add": 3,  # a residual
        "dense bias_add": 1,
    }
    assert calls(out) == ["nn.max_pool2d", "nn.global_avg_pool2d", "nn.batch_flatten", "nn.softmax"]
    assert relay.ir.structural_equal(graph(passes.defuse_ops(out)), graph(mod))


def test_a_recurrent_step_is_three_functions() -> None:
    mod, _ = lstm.get_workload(4, 8)
    mod = infer(mod)
    out = verified(passes.fuse_ops(mod))
    assert relay.ir.structural_equal(graph(passes.defuse_ops(out)), graph(mod))
    assert sorted([operators(fn.body) for fn in functions(out)]) == [
        "dense bias_add",
        "dense bias_add add",
        "split sigmoid sigmoid multiply sigmoid tanh multiply add tanh multiply",
    ]
    assert any(isinstance(fn.ret_type, TupleType) for fn in functions(out)), "the output and the new state"


SMALL = {
    "mlp": mlp.get_workload(2, image_shape=(1, 4, 4)),
    "resnet": resnet.get_workload(1, num_layers=8, image_shape=(3, 8, 8)),
    "lstm": lstm.get_workload(3, 4),
    "transformer": transformer.get_workload(
        length=4, num_layers=2, hidden=8, heads=2, wide=16, vocabulary=16, positions=8
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_workloads_keep_their_values(name: str) -> None:
    given, weights = SMALL[name]
    mod = passes.simplify_inference(infer(given))
    rng = np.random.default_rng(0)
    args: list[object] = []
    for p in mod["main"].params:
        t = p.type_annotation
        assert isinstance(t, TensorType)
        values = rng.standard_normal(t.concrete_shape) if t.dtype == "float32" else np.ones(t.concrete_shape)
        args.append(weights.get(p.name_hint, values.astype(str(t.dtype))))
    out = verified(passes.fuse_ops(mod))
    assert functions(out)
    assert outcome(out, tuple(args)) == outcome(mod, tuple(args))


# --- random programs, depth ---


def test_random_programs_come_back(seeds: range) -> None:
    for seed in seeds:
        given = random_program(seed)
        mod = infer(given.mod)
        value, work = outcome(mod, given.args)
        for options in ({}, {"max_ops": 3}, {"lone": True}):
            out = verified(passes.fuse_ops(mod, **options))
            assert outcome(out, given.args) == (value, work), f"seed {seed}"
            assert passes.fuse_ops(out, **options) is out, f"seed {seed}"
            back = verified(passes.defuse_ops(out))
            assert relay.ir.structural_equal(graph(back), graph(mod)), f"seed {seed}"


def nested(depth: int) -> IRModule:
    """Calls, skipped and not, kernels, tuples, `let`s and branches inside one another."""
    x, c = Var("x", TensorType((2, 2), "float32"), span=None), Var("c", TensorType((), "bool"), span=None)
    e: Expr = x
    for i in range(0, depth, 7):
        e = Call(Op.get("exp"), (Call(Op.get("transpose" if i % 2 else "nn.relu"), (e,)),))
        e = Call(Op.get("add"), (e, Call(Op.get("tanh"), (e,))))
        match i % 4:
            case 0:
                e = Call(Op.get("nn.dense"), (e, x))
            case 1:
                e = TupleGetItem(Tuple((Call(Op.get("tanh"), (e,)), x)), 0)
            case 2:
                v = Var("v", x.type_annotation, span=None)
                e = Let(v, Call(Op.get("negative"), (e,)), Call(Op.get("tanh"), (v,)))
            case _:
                e = If(c, Call(Op.get("tanh"), (Call(Op.get("sum"), (e,)),)), Call(Op.get("sum"), (x,)))
                e = Call(Op.get("add"), (e, x))
    return infer(IRModule({GlobalVar("main"): Function((x, c), e)}))


@pytest.mark.parametrize("depth", [20_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_deep_programs(depth: int) -> None:
    mod = nested(depth)
    out = passes.fuse_ops(mod)
    assert len(functions(out)) > depth // 10
    assert not functions(passes.defuse_ops(out))


@pytest.mark.parametrize("kind", ["lets", "skips"])
def test_ten_times_the_program_takes_about_ten_times_as_long(kind: str) -> None:
    def seconds(size: int) -> float:
        x = Var("x", TensorType((4,), "float32"), span=None)
        e: Expr = x
        several = [x, *[Var("y", x.type_annotation, span=None) for _ in range(size)]]
        if kind == "lets":
            e = several[-1]
            for i in range(size, 0, -1):
                e = Let(several[i], Call(Op.get("tanh"), (several[i - 1],)), e)
        else:  # the uses of each meet at the end
            for _ in range(size):
                e = Call(Op.get("maximum"), (Call(Op.get("sum"), (e,)), e))
            e = Call(Op.get("sum"), (e,))
        mod = infer(IRModule({GlobalVar("main"): Function((x,), e)}))
        times: list[float] = []
        for _ in range(3):
            start = time.process_time()
            passes.fuse_ops(mod)
            times.append(time.process_time() - start)
        return min(times)

    assert seconds(10_000) < 20 * seconds(1_000) + 0.05


def test_a_normalisation_whose_mean_is_an_operand_is_one_group() -> None:
    text = """
    def @main(%x: Tensor[(n, 8), float32]) {
      let %y = %x * 2f;
      %0 = mean(%y, axis=(1,), keepdims=True);
      let %z = (%y - %0) * rsqrt(variance(%y, %0, axis=(1,), keepdims=True) + 1f);
      tanh(%z)
    }
    """
    out = passes.fuse_ops(passes.expand_composites(infer(relay.parse(text))))
    assert str(out).count("Primitive") == 1
