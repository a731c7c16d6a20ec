"""Long short-term memory over trees: recursion over a data type.  Source: Tai, Socher and Manning, 2015."""

from typing import Any

import numpy as np

import relay
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.ir.type import TensorType, TupleType, TypeCall
from relay.testing.init import create_workload
from relay.testing.recurrent import affine


def get_net(num_input: int = 300, num_hidden: int = 150, dtype: str = "float32") -> IRModule:
    """`@main(tree, …)`: the hidden state and the memory at the root of a tree of vectors `(1, num_input)`.

    The child-sum form, for any number of children: gates see the sum of the children's hidden states, and
    each child has a forget gate of its own.
    """
    mod = relay.parse('import "std/tree"')
    tree_type, rose = mod.get_type("Tree")
    list_type, _, _ = mod.get_type("List")
    vector, state = TensorType((1, num_input), dtype), TensorType((1, num_hidden), dtype)
    tree_of, pair = TypeCall(tree_type, (vector,)), TupleType([state, state])
    children_of = TypeCall(list_type, (tree_of,))
    shapes = {
        "iou_weight": (3 * num_hidden, num_input),
        "iou_bias": (3 * num_hidden,),
        "iou_h_weight": (3 * num_hidden, num_hidden),
        "forget_weight": (num_hidden, num_input),
        "forget_bias": (num_hidden,),
        "forget_h_weight": (num_hidden, num_hidden),
    }
    parameters = {name: relay.var(name, shape=shape, dtype=dtype) for name, shape in shapes.items()}

    visit, node = relay.Var("visit"), relay.var("node", tree_of)
    x, children = relay.var("x", vector), relay.var("children", children_of)
    so_far, child = relay.var("so_far", pair), relay.var("child", tree_of)
    sb = relay.ScopeBuilder()
    below = sb.let("below", visit(child))
    wanted = affine(x, parameters["forget_weight"], parameters["forget_bias"])
    forget = relay.sigmoid(relay.add(wanted, relay.nn.dense(below[0], parameters["forget_h_weight"])))
    sb.ret(
        relay.Tuple([relay.add(so_far[0], below[0]), relay.add(so_far[1], relay.multiply(forget, below[1]))])
    )
    gather = relay.Function([so_far, child], sb.get(), pair)

    zeros = relay.zeros((1, num_hidden), dtype)
    sb = relay.ScopeBuilder()
    total = sb.let("total", mod.get_global_var("foldl")(gather, relay.Tuple([zeros, zeros]), children))
    sb.ret(_cell(x, total, parameters))
    pattern = relay.PatternConstructor(rose, [relay.PatternVar(x), relay.PatternVar(children)])
    body = relay.Match(node, [relay.Clause(pattern, sb.get())])
    step = relay.Function([node], body, pair)
    root = relay.var("tree", tree_of)
    mod["main"] = relay.Function([root, *parameters.values()], relay.Let(visit, step, visit(root)), pair)
    return mod


def _cell(x: Expr, total: Expr, parameters: dict[str, Any]) -> Expr:
    """Hidden state and memory, from the sum of the children's hidden states and their memory let through."""
    gates = relay.add(
        affine(x, parameters["iou_weight"], parameters["iou_bias"]),
        relay.nn.dense(total[0], parameters["iou_h_weight"]),
    )
    into, out, content = relay.split(gates, 3, axis=1)
    memory = relay.add(relay.multiply(relay.sigmoid(into), relay.tanh(content)), total[1])
    return relay.Tuple([relay.multiply(relay.sigmoid(out), relay.tanh(memory)), memory])


def binary_tree(
    mod: IRModule, depth: int, num_input: int = 300, dtype: str = "float32", seed: int = 0
) -> Expr:
    """A full binary tree of `2 ** depth - 1` random vectors, as an expression."""
    rng = np.random.default_rng(seed)
    _, rose = mod.get_type("Tree")
    _, cons, nil = mod.get_type("List")

    def vector() -> Expr:
        return relay.const(rng.standard_normal((1, num_input)).astype(dtype))

    level = [rose(vector(), nil()) for _ in range(2 ** (depth - 1))]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=True)
        level = [rose(vector(), cons(left, cons(right, nil()))) for left, right in pairs]
    return level[0]


def get_workload(
    num_input: int = 300, num_hidden: int = 150, dtype: str = "float32"
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with parameters."""
    return create_workload(get_net(num_input, num_hidden, dtype))
