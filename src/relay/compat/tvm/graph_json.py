"""A program as the JSON of a graph: calls of fused operators, what they read, and the results.

`nodes` are inputs and weights (`op` is `"null"`) and calls (`"tvm_op"`), each with the `inputs` that it reads
as `[node, output, 0]`; `arg_nodes` are the numbers of the first kind, `heads` the results, `node_row_ptr` how
many outputs come before those of each node, and `attrs` has the dtypes and shapes of all outputs.
"""

import json
from collections.abc import Generator, Sequence
from typing import Any

from relay.diagnostic import fail
from relay.ir.expr import Call, Constant, Expr, Function, Op, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.type import TensorType, TupleType, Type
from relay.ir.walk import fold, post_order
from relay.transform.passes.fusion import fuse_ops
from relay.typecheck.infer import infer
from relay.typecheck.types import Types

__all__ = ["graph_json"]

Entries = list[list[int]]
"""Which outputs of which nodes a value is: `[node, output, 0]` for each tensor in it."""


class Graph:
    """The nodes of a graph, in the order in which they are computed."""

    def __init__(self, types: Types) -> None:
        """None yet; `types` knows the types of all expressions."""
        self.types = types
        self.nodes: list[dict[str, Any]] = []
        self.outputs: list[TensorType] = []
        """The types of the outputs of all nodes, in order."""
        self.starts = [0]
        self.uses: dict[str, int] = {}

    def add(self, e: Expr, op: str, name: str, inputs: Entries, attrs: dict[str, str]) -> Entries:
        """A further node, which computes `e`."""
        number = len(self.nodes)
        count = self.uses[name] = self.uses.get(name, -1) + 1
        node: dict[str, Any] = {"op": op, "name": f"{name}_{count}" if count else name, "inputs": inputs}
        self.nodes.append({**node, "attrs": attrs} if attrs else node)
        tensors = tensors_of(self.types(e))
        self.outputs += tensors
        self.starts.append(len(self.outputs))
        return [[number, i, 0] for i in range(len(tensors))]

    def visit(self, e: Expr) -> Generator[Expr, Entries, Entries]:
        """What an expression is, of its parts."""
        read: Entries = []
        for part in e.args if isinstance(e, Call) else e.children:
            read += yield part
        match e:
            case Var():
                return self.add(e, "null", e.name_hint, [], {})
            case Constant():
                return self.add(e, "null", "p", [], {})
            case Tuple():
                return read
            case TupleGetItem(index=i):
                return [read[i]]
            case Call(op=Function() | Op()):
                name = "_".join(["tvmgen_default_fused", *operators(e)])
                said = {"func_name": name, "num_inputs": str(len(read)), "flatten_data": "0"}
                return self.add(e, "tvm_op", name, read, {**said, "num_outputs": "1"})
            case _:
                what = f"the JSON of a graph has no way to write {type(e).__name__}"
                fail("dialect-cannot-express", what, e.span, hint="`relay.vm.compile` takes whole programs")


def tensors_of(t: Type) -> Sequence[TensorType]:
    """A tensor type alone, or those in a tuple of tensors."""
    return [x for x in (t.fields if isinstance(t, TupleType) else (t,)) if isinstance(x, TensorType)]


def shape_in_json(t: TensorType) -> list[int]:
    """A shape, with -1 for sizes that are not known."""
    return [d if isinstance(d, int) else -1 for d in t.shape] if isinstance(t.shape, tuple) else []


def operators(call: Call) -> list[str]:
    """The operators that a call of one, or of a fused function, computes, as names of functions have them."""
    inside = post_order(call.op.body) if isinstance(call.op, Function) else [call]
    names = [e.op.name for e in inside if isinstance(e, Call) and isinstance(e.op, Op)]
    return [name.replace(".", "_") for name in names]


def graph_json(mod: IRModule) -> str:
    """The graph of `@main` of an optimised module (`dialect-cannot-express`)."""
    fused = infer(fuse_ops(mod, lone=True))
    main = fused["main"]
    assert isinstance(main, Function)
    graph, known = Graph(Types(fused)), dict[Expr, Entries]()
    for p in main.params:
        fold(p, graph.visit, known)
    heads = fold(main.body, graph.visit, known)
    said = {
        "nodes": graph.nodes,
        "arg_nodes": [i for i, node in enumerate(graph.nodes) if node["op"] == "null"],
        "heads": heads,
        "attrs": {
            "dltype": ["list_str", [str(t.dtype) for t in graph.outputs]],
            "shape": ["list_shape", [shape_in_json(t) for t in graph.outputs]],
        },
        "node_row_ptr": graph.starts,
    }
    return json.dumps(said, indent=2)
