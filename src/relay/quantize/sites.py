"""Which operator calls are quantised, and which values for them.

A *site* is a call that is quantised.  An *edge* is an operand of a site that is a value of the program, not a
constant.  Operators that only move or choose elements, such as pooling by maxima, are passed on the way up:
the value before them is quantised, and they work on what is quantised.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relay.diagnostic import did_you_mean, fail
from relay.ir.expr import Call, Constant, Expr, Function, Let, Op, Tuple, Var
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.ir.walk import post_order
from relay.op.arithmetic import Add
from relay.op.join import Concatenate
from relay.op.layout import DepthToSpace, SpaceToDepth
from relay.op.nn.activation import Relu
from relay.op.nn.basic import BiasAdd
from relay.op.nn.conv import Conv2D
from relay.op.nn.conv_transpose import Conv2DTranspose
from relay.op.nn.dense import BatchMatMul, Dense
from relay.op.nn.global_pool import GlobalAvgPool2D, GlobalMaxPool
from relay.op.nn.pool import AvgPool2D, MaxPool
from relay.op.qnn.convert import Dequantize
from relay.op.reshape import BatchFlatten, ExpandDims, Reshape, Squeeze, Transpose
from relay.op.rounding import Clip
from relay.op.slice import StridedSlice
from relay.op.statistics import Mean
from relay.typecheck.query import Types

MOVING = (
    Reshape, Transpose, Squeeze, ExpandDims, BatchFlatten, StridedSlice, MaxPool, GlobalMaxPool, DepthToSpace,
    SpaceToDepth,
)  # fmt: skip
"""Operators that give elements of their operand: what is quantised before is quantised behind."""
FOLLOWING = (*MOVING, Relu, Clip, BiasAdd)
"""Operators that integer kernels take along on the way to the next quantised value."""
PRODUCTS = (Conv2D, Conv2DTranspose, Dense, BatchMatMul)
"""Operators with a second operand that is usually a weight."""
OPERATORS = tuple([c.name for c in (*PRODUCTS, Add, Concatenate, AvgPool2D, GlobalAvgPool2D, Mean)])
"""What is quantised by default: products, and between products what combines their results."""


@dataclass(eq=False)
class Edge:
    """Operand `index` of a call (or of the tuple that is the operand), whose `value` is to be quantised."""

    user: Expr
    index: int
    value: Expr
    role: str
    """`data`, or `weight` for a second operand of a product."""
    site: "Site"
    axis: int | None = None
    """For a weight: the axis of output channels."""
    place: int | None = None
    """Which operand of the site it leads to; None for a field of a tuple."""


@dataclass(eq=False)
class Site:
    """A call that is quantised: its name, such as `conv2d_0`, and what is quantised for it."""

    name: str
    call: Call
    edges: list[Edge] = field(default_factory=list[Edge])
    weight: Constant | None = None
    """The second operand of a product, where that is a constant."""
    weight_axis: int | None = None

    @property
    def operator(self) -> str:
        """The operator's name."""
        return self.call.attrs.name


class Flow:
    """Who uses what in the definitions of a module."""

    def __init__(self, mod: IRModule) -> None:
        self.types = Types(mod)
        self.values: dict[Expr, Expr] = {}
        self.users: dict[Expr, list[Expr]] = {}
        self.calls: list[Call] = []
        for root in mod.functions.values():
            for e in post_order(root):
                self._enter(e)
        for e, found in list(self.values.items()):
            self.users.setdefault(found, []).extend(self.users.get(e, ()))

    def _enter(self, e: Expr) -> None:
        if isinstance(e, Let):
            self.values[e.var] = e.value
            self.users.setdefault(e.body, []).append(e)
            return
        if isinstance(e, Call) and type(e.op) is Op:
            self.calls.append(e)
        for c in e.children:
            if not (isinstance(e, Function) and isinstance(c, Var) and c in e.params):
                self.users.setdefault(c, []).append(e)

    def made(self, e: Expr) -> Expr:
        """What a variable is bound to, all the way; anything else is itself."""
        while isinstance(e, Var) and e in self.values:
            e = self.values[e]
        return e

    def named(self, e: Expr) -> Expr:
        """The variable at the root of names for the same value, or the value."""
        while isinstance(e, Var) and isinstance(self.values.get(e), Var):
            e = self.values[e]
        return e

    def users_of(self, e: Expr) -> list[Expr]:
        """The nodes that use a value, by its name or itself."""
        return self.users.get(self.made(e), [])

    def tensor(self, e: Expr) -> tuple[int, str] | None:
        """Rank and dtype of a tensor, where both are known."""
        t = self.types(e)
        if isinstance(t, TensorType) and isinstance(t.shape, tuple) and isinstance(t.dtype, str):
            return len(t.shape), t.dtype
        return None


def is_call(e: Expr, *kinds: type) -> bool:
    """Whether a node is a call of one of these operators."""
    return isinstance(e, Call) and type(e.op) is Op and isinstance(e.attrs, kinds)


def find_sites(
    mod: IRModule, operators: Iterable[str], skip: Iterable[str] = (), skipped_calls: Iterable[Any] = ()
) -> list[Site]:
    """The sites of a module in the order of its calls; calls at `skipped_calls`, spans, are left alone.

    Sums and other operators between products are sites where all they lead to is quantised.
    """
    flow, left = Flow(mod), set(skip)
    spans = {id(s) for s in skipped_calls}
    products: list[Site] = []
    others: list[Site] = []
    for site in _candidates(flow, operators):
        call = site.call
        if site.name in left or site.operator in left or id(call.span) in spans:
            continue
        (products if isinstance(call.attrs, PRODUCTS) else others).append(site)
    chosen: set[Expr] = {s.call for s in products}
    kept: list[Site] = []
    for site in reversed(others):
        if _has_values(flow, site.call) and _leads_to(flow, site.call, chosen):
            chosen.add(site.call)
            kept.append(site)
    found = [s for s in (*products, *kept) if _connect(flow, s)]
    place = {c: i for i, c in enumerate(flow.calls)}
    return sorted(found, key=lambda s: place[s.call])


def expect_named(mod: IRModule, operators: Iterable[str], option: str, names: Iterable[str]) -> None:
    """Demand that each name in an option, definitions apart, is one of a site or of its operator
    (`quantize-option`).
    """
    names = [n for n in names if not n.startswith("@")]
    if not names:
        return
    sites = _candidates(Flow(mod), operators)
    known = dict.fromkeys([s.name for s in sites]) | dict.fromkeys([*operators])
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"there are {', '.join([*known][:8])}, …"
            fail(
                "quantize-option",
                f"`{option}` has `{name}`, which names nothing that is quantised",
                hint=hint,
            )


def _candidates(flow: Flow, operators: Iterable[str]) -> list[Site]:
    """The float32 calls of some operators, numbered."""
    wanted, counts, found = set(operators), Counter[str](), list[Site]()
    for call in flow.calls:
        t = flow.tensor(call) if call.attrs.name in wanted else None
        if t is not None and t[1] == "float32":
            short = call.attrs.name.rpartition(".")[2]
            found.append(Site(f"{short}_{counts[short]}", call))
            counts[short] += 1
    return found


def _operands(flow: Flow, call: Call) -> Iterator[tuple[Expr, int, Expr]]:
    """User, place and operand, for each tensor that a call takes."""
    for i, x in enumerate(call.args):
        several = flow.made(x)
        if isinstance(several, Tuple):
            for j, part in enumerate(several.fields):
                yield several, j, part
        else:
            yield call, i, x


def _has_values(flow: Flow, call: Call) -> bool:
    """Whether no operand is a constant, and operands that are added have one shape."""
    operands = [x for _, _, x in _operands(flow, call)]
    if any(isinstance(flow.made(x), Constant) or flow.tensor(x) is None for x in operands):
        return False
    return call.attrs.name != "add" or flow.types(operands[0]) == flow.types(operands[1])


def _leads_to(flow: Flow, e: Expr, chosen: set[Expr]) -> bool:
    """Whether every use of a result ends, through operators that integer kernels take along, in a site."""
    stack, seen = [e], set[Expr]()
    while stack:
        x = stack.pop()
        if x in seen:
            continue
        seen.add(x)
        users = [u for u in flow.users_of(x) if not (isinstance(u, Let) and u.body is not x)]
        if not users:
            return False
        for u in users:
            if u in chosen:
                continue
            if isinstance(u, Tuple) and all(v in chosen for v in flow.users_of(u)):
                continue
            if not is_call(u, *FOLLOWING):
                return False
            stack.append(u)
    return True


def _connect(flow: Flow, site: Site) -> bool:
    """Find the edges of a site; False if there is nothing to quantise for it."""
    is_product = isinstance(site.call.attrs, PRODUCTS)
    for user, i, x in _operands(flow, site.call):
        is_weight = is_product and i == 1
        made = flow.made(x)
        if isinstance(made, Constant):
            if not is_weight or not made.value.size or not np.isfinite(made.value).all():
                return False
            site.weight, site.weight_axis = made, channel_axis(site.call)
            continue
        if is_weight:
            edge = _edge(flow, site, user, i, x, "weight")
            edge.axis = channel_axis(site.call) if edge.user is user else None
        else:
            edge = _edge(flow, site, user, i, x, "data")
        edge.place = i if user is site.call else None
        if is_call(flow.made(edge.value), Dequantize):
            continue
        site.edges.append(edge)
    return bool(site.edges)


def _edge(flow: Flow, site: Site, user: Expr, index: int, x: Expr, role: str) -> Edge:
    """The value to quantise for an operand: before what moves its elements, where nobody else uses that."""
    while True:
        made = flow.made(x)
        if not is_call(made, *MOVING) or len(_readers(flow, x)) > 1:
            return Edge(user, index, flow.named(x), role, site)
        assert isinstance(made, Call)
        if flow.tensor(made.args[0]) is None:
            return Edge(user, index, flow.named(x), role, site)
        user, index, x = made, 0, made.args[0]


def _readers(flow: Flow, x: Expr) -> list[Expr]:
    """The users of a value that are not its binding."""
    return [u for u in flow.users_of(x) if not isinstance(u, Let)]


def channel_axis(call: Call) -> int | None:
    """The axis of a product's second operand that has the output channels; None where scales of their own
    would not be scales of channels of the result.
    """
    op: Any = call.attrs
    if op.name == "nn.dense":
        return 0
    if op.name == "nn.batch_matmul" or (op.name == "nn.conv2d_transpose" and op.groups > 1):
        return None
    return op.kernel_layout.index("O") if op.kernel_layout.isalpha() else None
