"""The pattern language: matching, rewriting, partitioning."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.dataflow_pattern import (
    DFPatternCallback,
    dominates,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    match,
    rewrite,
    wildcard,
)
from relay.pattern.nodes import FunctionPattern

x = relay.var("x", shape=(2, 3))
y = relay.var("y", shape=(2, 3))


def test_leaves():
    assert is_var().match(x)
    assert is_var("x").match(x)
    assert not is_var("y").match(x)
    assert is_constant().match(relay.const(1))
    assert not is_constant().match(x)
    assert wildcard().match(x)
    assert is_expr(x).match(x)
    assert not is_expr(x).match(y)
    assert is_expr(relay.const(1)).match(relay.const(1))


def test_calls_match_operator_arguments_and_their_number():
    assert is_op("add")(is_var("x"), is_var("y")).match(relay.add(x, y))
    assert not is_op("subtract")(wildcard(), wildcard()).match(relay.add(x, y))
    assert not is_op("add")(wildcard()).match(relay.add(x, y))
    assert is_op("add")(None).match(relay.add(x, y))
    assert wildcard()(wildcard(), wildcard()).match(relay.add(x, y))


def test_commutative_operators_match_in_either_order():
    assert (is_var("x") + is_var("y")).match(relay.add(y, x))
    assert (is_var("x") * is_var("y")).match(relay.multiply(y, x))
    assert not (is_var("x") - is_var("y")).match(relay.subtract(y, x))
    assert not (is_var("x") / is_var("y")).match(relay.divide(y, x))
    assert (is_op("exp")(wildcard()) + 1.0).match(relay.add(relay.exp(x), relay.parse_expr("1.0")))


def test_a_pattern_used_twice_matches_one_node():
    a = wildcard()
    assert is_op("add")(a, a).match(relay.add(x, x))
    assert not is_op("add")(a, a).match(relay.add(x, y))


def test_alternatives_and_options():
    either = is_op("add")(wildcard(), wildcard()) | is_op("multiply")(wildcard(), wildcard())
    assert either.match(relay.add(x, y))
    assert either.match(relay.multiply(x, y))
    assert not either.match(relay.divide(x, y))
    maybe = is_op("exp")(wildcard()).optional(lambda p: is_op("nn.relu")(p))
    assert maybe.match(relay.exp(x))
    assert maybe.match(relay.nn.relu(relay.exp(x)))
    assert not maybe.match(relay.nn.relu(x))


def test_tuples_conditionals_lets_and_functions():
    pair = relay.Tuple((x, y))
    assert is_tuple((is_var("x"), wildcard())).match(pair)
    assert is_tuple().match(pair)
    assert not is_tuple((wildcard(),)).match(pair)
    assert is_tuple_get_item(is_tuple(), 1).match(relay.TupleGetItem(pair, 1))
    assert not is_tuple_get_item(is_tuple(), 0).match(relay.TupleGetItem(pair, 1))
    assert is_tuple_get_item(wildcard()).match(relay.TupleGetItem(pair, 1))
    assert is_if(wildcard(), is_var("x"), is_var("y")).match(relay.If(relay.const(True), x, y))
    v = relay.var("v")
    assert is_let(is_var("v"), is_op("exp")(wildcard()), is_var("v")).match(relay.Let(v, relay.exp(x), v))
    assert FunctionPattern([is_var("x")], is_op("exp")(wildcard())).match(relay.Function([x], relay.exp(x)))
    assert FunctionPattern(None, wildcard()).match(relay.Function([x], relay.exp(x)))


def test_types_shapes_and_attributes():
    e = relay.nn.softmax(x, axis=0)
    assert has_type(relay.TensorType((2, 3))).match(x)
    assert wildcard().has_dtype("float32").match(e)
    assert has_dtype("float32").match(x)
    assert not has_dtype("int32").match(x)
    assert has_shape((2, 3)).match(e)
    assert not wildcard().has_shape((3, 2)).match(e)
    assert has_attr({"axis": 0}).match(e)
    assert not is_op("nn.softmax")(wildcard()).has_attr({"axis": 1}).match(e)
    assert not has_attr({"nothing": 1}).match(e)
    pooled = relay.nn.max_pool2d(relay.var("i", shape=(1, 1, 4, 4)), pool_size=(2, 2))
    assert has_attr({"pool_size": [2, 2]}).match(pooled)
    assert wildcard().has_attr({"TOpPattern": 0})(wildcard()).match(relay.exp(x))
    assert (
        FunctionPattern(None, wildcard())
        .has_attr({"Primitive": 1})
        .match(relay.Function([x], x, attrs={"Primitive": 1}))
    )


def test_variables_bound_by_let_stand_for_their_values():
    e = relay.parse_expr("fn(%x: float32) { let %a = exp(%x); let %b = tanh(%a); log(%b) }").body
    seen = []

    class Collect(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.pattern = is_op("log")(is_op("tanh")(is_op("exp")(wildcard())))

        def callback(self, pre, post, node_map):
            seen.append(post)
            return post

    rewrite(Collect(), e)
    assert len(seen) == 1


class AddToMultiply(DFPatternCallback):
    """`a + a` as `2 * a`."""

    def __init__(self, **options):
        super().__init__(**options)
        self.operand = wildcard()
        self.pattern = is_op("add")(self.operand, self.operand)

    def callback(self, pre, post, node_map):
        return relay.multiply(relay.const(2.0), node_map[self.operand][0])


def test_rewriting_goes_on_until_nothing_matches():
    twice = relay.add(x, x)
    done = rewrite(AddToMultiply(), relay.Function([x], relay.add(twice, twice)))
    assert relay.testing.count_ops(done) == {"multiply": 2}
    value = np.full((2, 3), 1.5, "float32")
    np.testing.assert_array_equal(relay.create_executor("debug").evaluate(done)(value), 4 * value)


def test_rewriting_once_replaces_all_matches_of_the_expression_as_it_is():
    e = relay.subtract(relay.add(x, x), relay.add(y, y))
    done = rewrite(AddToMultiply(rewrite_once=True), e)
    assert relay.testing.count_ops(done) == {"subtract": 1, "multiply": 2}


def test_a_rewriting_that_does_not_end_is_reported(monkeypatch):
    monkeypatch.setattr("relay.pattern.rewriter.MOST_ROUNDS", 100)

    class Grow(AddToMultiply):
        def callback(self, pre, post, node_map):
            a = relay.exp(node_map[self.operand][0])
            return relay.add(a, a)

    with pytest.raises(relay.RelayError, match="rewrite-diverges"):
        rewrite(Grow(), relay.add(x, x))


def test_what_does_not_match_comes_back_as_it_is():
    e = relay.exp(x)
    assert rewrite(AddToMultiply(), e) is e


def diamond(leak):
    """`relu(x)`, then two branches that meet again; with `leak`, one branch is used elsewhere too."""
    top = relay.nn.relu(x)
    left, right = relay.exp(top), relay.tanh(top)
    joined = relay.add(left, right)
    return relay.Tuple((joined, left)) if leak else joined


def test_dominators():
    path = wildcard().has_attr({"TOpPattern": 0})(wildcard())
    p = dominates(is_op("nn.relu")(wildcard()), path, is_op("add")(wildcard(), wildcard()))
    assert p.match(diamond(leak=False))
    assert not is_tuple((p, wildcard())).match(diamond(leak=True))
    assert not p.match(relay.add(relay.exp(x), relay.tanh(x)))
    assert is_op("exp")(wildcard()).dominates(is_op("nn.relu")(wildcard())).match(relay.exp(relay.nn.relu(x)))


def test_recursive_patterns_match_chains_of_any_length():
    chain = wildcard()
    chain.redirect_to(is_op("exp")(chain) | is_var("x"))
    e = x
    for _ in range(20_000):
        e = relay.exp(e)
    assert match(chain, e)
    assert not match(chain, relay.exp(relay.tanh(e)))


def test_partition_makes_functions_of_matches():
    w = relay.var("w", shape=(4, 3))
    e = relay.nn.relu(relay.nn.dense(x, w))
    p = is_op("nn.relu")(is_op("nn.dense")(wildcard(), wildcard()))
    done = p.partition(relay.Function([x, w], relay.exp(e)), {"Composite": "dense_relu"})
    text = str(relay.infer(relay.IRModule.from_expr(done)))
    assert 'PartitionedFromPattern="nn.dense_nn.relu_"' in text
    assert 'Composite="dense_relu"' in text
    args = np.ones((2, 3), "float32"), np.ones((4, 3), "float32")
    run = relay.create_executor("debug")
    np.testing.assert_array_equal(
        run.evaluate(done)(*args), run.evaluate(relay.Function([x, w], relay.exp(e)))(*args)
    )


def test_partition_leaves_what_is_used_elsewhere_and_what_check_refuses():
    inner = relay.exp(x)
    e = relay.Tuple((relay.nn.relu(inner), inner))
    p = is_op("nn.relu")(is_op("exp")(wildcard()))
    assert p.partition(e) is e
    alone = relay.nn.relu(relay.exp(x))
    assert p.partition(alone, check=lambda _: False) is alone


def test_partition_works_through_lets():
    f = relay.parse_expr("fn(%x: float32) { let %a = exp(%x); let %b = nn.relu(%a); %b + 1.0 }")
    done = is_op("nn.relu")(is_op("exp")(wildcard())).partition(f)
    assert "PartitionedFromPattern" in str(done)
    assert relay.create_executor("debug").evaluate(done)(np.float32(0.0)) == 2.0


def test_partition_takes_a_matched_function_with_its_parameters():
    """The function that is called lies inside; its argument becomes the parameter."""
    p = relay.var("p", shape=(2, 3))
    inner = relay.Function([p], relay.nn.relu(p))
    called = FunctionPattern([wildcard()], is_op("nn.relu")(wildcard()))(wildcard())
    done = called.partition(relay.Call(inner, [x]))
    a = relay.var("a", shape=(2, 3))
    expected = relay.Function([a], relay.Call(inner, [a]))
    assert relay.structural_equal(done.op.body, expected.body, map_free_vars=True)
    assert [*done.args] == [x]
    assert done.op.attrs["PartitionedFromPattern"] == "nn.relu_FunctionCall_"
    assert relay.analysis.free_vars(done) == [x]


def test_partition_passes_what_a_matched_function_captures():
    text = "fn(%x: float32, %c: float32) { (fn(%p: float32) { let %t = nn.relu(%p * 2.0); %t + %c })(%x) }"
    called = FunctionPattern([wildcard()], wildcard())(wildcard())
    done = called.partition(relay.parse_expr(text))
    assert relay.analysis.free_vars(done) == []
    assert relay.analysis.free_vars(done.body.op) == []
    assert relay.create_executor("debug").evaluate(done)(np.float32(3.0), np.float32(0.5)) == 6.5


@pytest.mark.parametrize(
    ("pattern", "text", "args", "result"),
    [
        (
            is_let(is_var("b"), wildcard(), is_op("add")(wildcard(), wildcard())),
            "fn(%x: float32) { let %a = %x * 2.0; let %b = %a * 4.0; (%b - 1.0) + %x * %a }",
            [3.0],
            41.0,
        ),
        (
            is_let(is_var(), wildcard(), wildcard()),
            "fn(%n: int32) { let %f = fn(%k: int32) -> int32 { if (%k < 1) { 0 } else { 2 + %f(%k - 1) } };"
            " %f(%n) }",
            [4],
            8,
        ),
        (
            is_op("negative")(is_let(wildcard(), wildcard(), wildcard())),
            "fn(%x: float32) { negative((let %a = %x * 2.0; %a + %x)) }",
            [3.0],
            -9.0,
        ),
    ],
)
def test_partition_takes_all_that_is_in_the_scope_of_a_matched_let(pattern, text, args, result):
    """A variable that a `let` binds would not be known where the function is called."""
    done = pattern.partition(relay.parse_expr(text))
    assert "PartitionedFromPattern" in str(done)
    assert relay.analysis.well_formed(relay.IRModule.from_expr(done))
    assert relay.create_executor("debug").evaluate(done)(*args) == result


def test_partition_leaves_constants_that_others_use_where_they_are():
    two = relay.const(2.0)
    e = relay.Tuple((relay.nn.relu(relay.multiply(x, two)), relay.add(y, two)))
    done = is_op("nn.relu")(is_op("multiply")(wildcard(), is_constant())).partition(e)
    assert done.fields[0].op.attrs["PartitionedFromPattern"] == "multiply_nn.relu_"


def test_partition_takes_all_of_a_diamond():
    path = wildcard().has_attr({"TOpPattern": 0})(wildcard())
    p = dominates(is_op("nn.relu")(wildcard()), path, is_op("add")(wildcard(), wildcard()))
    done = p.partition(diamond(leak=False))
    assert [*done.args] == [x]
    assert relay.structural_equal(done.op.body, diamond(leak=False), map_free_vars=True)


def test_a_dominator_needs_every_path_to_reach_the_parent():
    path = wildcard().has_attr({"TOpPattern": 0})(wildcard())
    p = dominates(is_op("nn.relu")(wildcard()), path, is_op("add")(wildcard(), wildcard()))
    top = relay.nn.relu(x)
    assert not p.match(relay.add(relay.exp(top), relay.exp(y)))
    assert not p.match(relay.add(relay.exp(top), relay.tanh(relay.exp(x))))
    assert p.match(relay.add(relay.exp(top), relay.tanh(relay.exp(top))))


class DropZero(DFPatternCallback):
    """`a + 0` as `a`."""

    def __init__(self):
        super().__init__()
        self.operand = wildcard()
        self.pattern = self.operand + is_expr(relay.const(0.0))

    def callback(self, pre, post, node_map):
        return node_map[self.operand][0]


class TimesZero(DFPatternCallback):
    """`a * 0` as `0`."""

    def __init__(self):
        super().__init__()
        self.zero = is_expr(relay.const(0.0))
        self.pattern = wildcard() * self.zero

    def callback(self, pre, post, node_map):
        return node_map[self.zero][0]


def test_callbacks_take_turns_until_none_finds_anything():
    e = relay.add(x, relay.multiply(y, relay.const(0.0)))
    assert rewrite([DropZero(), TimesZero()], e) is x
    assert rewrite([TimesZero(), DropZero()], e) is x


class DropLastOperand(DFPatternCallback):
    """A concatenation without its last operand."""

    def __init__(self, **options):
        super().__init__(**options)
        self.pattern = is_op("concatenate")(None)

    def callback(self, pre, post, node_map):
        kept = post.args[0].fields[:-1]
        return kept[0] if len(kept) == 1 else relay.concatenate(kept, axis=0)


class TwoExponentials(DFPatternCallback):
    """`exp(exp(a))` as `tanh(a)`."""

    def __init__(self, **options):
        super().__init__(**options)
        self.operand = wildcard()
        self.pattern = is_op("exp")(is_op("exp")(self.operand))

    def callback(self, pre, post, node_map):
        return relay.tanh(node_map[self.operand][0])


def test_rewriting_once_takes_the_outermost_of_overlapping_matches():
    e = relay.exp(relay.exp(relay.exp(x)))
    assert relay.structural_equal(rewrite(TwoExponentials(rewrite_once=True), e), relay.tanh(relay.exp(x)))


def test_rewriting_once_is_one_round_beside_callbacks_that_go_on():
    z = relay.var("z", shape=(2, 3))
    e = relay.concatenate([x, y, z], axis=0)
    assert rewrite(DropLastOperand(), e) is x
    once = rewrite(DropLastOperand(rewrite_once=True), e)
    assert relay.structural_equal(once, relay.concatenate([x, y], axis=0))
    both = rewrite(
        [DropLastOperand(), TwoExponentials(rewrite_once=True)], relay.exp(relay.exp(relay.exp(e)))
    )
    assert relay.structural_equal(both, relay.tanh(relay.exp(x)))


def test_a_callback_that_builds_an_equal_expression_has_settled():
    class Rebuild(AddToMultiply):
        def callback(self, pre, post, node_map):
            return relay.add(*post.args)

    assert relay.structural_equal(rewrite(Rebuild(), relay.add(x, x)), relay.add(x, x))


def test_a_pattern_is_shown_as_it_is_built():
    p = is_op("add")(wildcard(), is_constant() | is_var("x")).has_attr({"axis": 1})
    assert repr(p) == """is_op("add")(wildcard(), (is_constant() | is_var("x"))).has_attr({'axis': 1})"""
    assert repr(is_op("nn.relu")(None)) == 'is_op("nn.relu")(None)'
    assert repr(dominates(is_op("exp")(None), wildcard(), is_var())).startswith("dominates(is_op")
    assert repr(is_tuple([has_dtype("int8")])) == 'TuplePattern(wildcard().has_dtype("int8"))'
    deep = wildcard()
    for _ in range(20_000):
        deep = is_op("exp")(deep)
    assert repr(deep).endswith("(…)))))")


IMPORTED = """
fn (%x: Tensor[(2,), float32]) {
  let %a = %x + 1f; let %b = nn.relu(%a); let %c = %b * 2f; let %d = %c - 1f; (%d, %d)
}"""


def test_a_pattern_matches_the_result_behind_lets():
    body = relay.parse_expr(IMPORTED).body
    product = is_op("multiply")(is_op("nn.relu")(wildcard()), wildcard())
    assert is_tuple((is_op("subtract")(product, is_constant()), wildcard())).match(body)
    assert not product.match(body)
    assert is_let(wildcard(), is_op("add")(wildcard(), wildcard()), wildcard()).match(body)


def test_rewriting_through_lets_replaces_a_value_once_and_leaves_no_dead_copies():
    class ProductOfRelu(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.x = wildcard()
            self.pattern = is_op("multiply")(is_op("nn.relu")(self.x), wildcard())

        def callback(self, pre, post, node_map):
            return relay.tanh(node_map[self.x][0])

    done = rewrite(ProductOfRelu(), relay.parse_expr(IMPORTED))
    text = (
        "fn (%x: Tensor[(2,), float32]) { let %a = %x + 1f; let %c = tanh(%a); let %d = %c - 1f; (%d, %d) }"
    )
    assert relay.structural_equal(done, relay.parse_expr(text))


def test_rewriting_keeps_lets_with_effects_and_what_nobody_used_before():
    class Zero(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.pattern = is_op("nn.relu")(wildcard())

        def callback(self, pre, post, node_map):
            return relay.const(0.0)

    text = """fn (%x: float32, %r: ref(float32)) {{
      let %unused = exp(%x); let %a = {}; let %b = %a + 1f; {} }}"""
    counting = rewrite(Zero(), relay.parse_expr(text.format("(ref_write(%r, %x); %x)", "nn.relu(%b)")))
    assert "ref_write" in str(counting)
    pure = rewrite(Zero(), relay.parse_expr(text.format("%x", "nn.relu(%b)")))
    assert "%unused" in str(pure)
    assert "%b" not in str(pure)


def shared_constant() -> tuple[relay.Var, relay.Expr]:
    """Two products by one constant, one inside the other's operand."""
    r, c = relay.var("r", shape=(3,), dtype="float32"), relay.const(np.array([1, 2, 3], "float32"))
    return r, relay.multiply(relay.nn.relu(relay.multiply(r, c)), c)


def test_matches_that_share_a_constant_are_functions_each() -> None:
    r, e = shared_constant()
    pattern = is_op("multiply")(wildcard(), is_constant())
    done = pattern.partition(e)
    assert str(done).count("PartitionedFromPattern") == 2
    run = relay.create_executor("debug").evaluate(relay.Function([r], done))
    np.testing.assert_array_equal(run(np.array([-1, 1, 1], "float32")), [0, 4, 9])
    assert pattern.partition(done) is done


def test_composites_that_share_a_constant_are_functions_each() -> None:
    r, e = shared_constant()
    table = [("product", is_op("multiply")(wildcard(), is_constant()))]
    merge = relay.transform.MergeComposite(table)
    done = merge(relay.infer(relay.IRModule.from_expr(relay.Function([r], e))))
    assert str(done).count('Composite="product"') == 2
    assert relay.ir.structural_equal(merge(done), done)


def test_rewriting_finds_matches_that_share_a_constant() -> None:
    class Halve(DFPatternCallback):
        def __init__(self) -> None:
            super().__init__()
            self.x = wildcard()
            self.pattern = is_op("multiply")(self.x, is_constant())

        def callback(self, pre: relay.Expr, post: relay.Expr, node_map: Any) -> relay.Expr:
            return relay.exp(node_map[self.x][0])

    done = rewrite(Halve(), shared_constant()[1])
    assert "*" not in str(done)
