"""Which calls partial evaluation goes into, and how far it follows recursion."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from relay.analysis.call_graph import CallGraph
from relay.analysis.uses import recursive_lets
from relay.ir.expr import Expr, Function, GlobalVar, Let, LetRec
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.transform.passes.partial_values import Closure, Value, has_constants, is_code, is_smaller

Kind: TypeAlias = tuple[Function, tuple[Function | bool, ...]]

MOST_REFUSALS = 3
"""Loops of one function over data in the same parameters that did not end, after which no other is tried."""


@dataclass(slots=True)
class Activation:
    """A run of a function body that is under way in the place of a call."""

    args: Sequence[Value]
    branches: int
    """How many unknown conditions it is under."""
    first: "Activation | None"
    """The first run of the same function that is under way; None for that itself."""
    least: int = 0
    """How much of the budget has to be left when the first run is over."""
    floor: int = 0
    """How much had to be left before."""
    count: int = 0
    """How many runs have followed the first."""
    is_refused: bool = False
    """Whether a call within was left, so that the loop does not vanish."""


class Policy:
    """Facts about the functions of a module, and the budget that is left."""

    def __init__(
        self,
        mod: IRModule,
        max_size: int,
        max_local_size: int,
        max_unroll: int,
        max_growth: int,
        max_nodes: int,
    ) -> None:
        """`max_growth` statements may be added by one call, `max_nodes` by all together."""
        self.mod = mod
        self.max_size = max_size
        self.max_local_size = max_local_size
        self.max_unroll = max_unroll
        self.max_growth = max_growth
        self.left = max_nodes
        """How many statements may still be added."""
        self.floor = 0
        """What is to be left of that after the calls under way."""
        self.branches = 0
        """How many unknown conditions the statement at hand is under."""
        self.names: dict[Expr, Expr] = {}
        """The names of functions."""
        self.uses: Counter[Expr] = Counter()
        """How often the source mentions each name."""
        self.recursive: set[Expr] = set()
        """Functions that reach themselves by name."""
        self.active: dict[Function, list[Activation]] = {}
        self.refusals: Counter[Kind] = Counter()
        self.sizes: dict[Function, int] = {}
        self.graph = graph = CallGraph(mod)
        for v, e in mod.functions.items():
            self.names[e] = v
            if graph.is_recursive(v):
                self.recursive.add(e)
            self.recursive.update([let.value for let in recursive_lets(e)])
            nodes = list(post_order(e))
            self.uses.update([c for node in nodes for c in node.children])
            for node in nodes:
                if type(node) is LetRec:
                    self.recursive.update(node.values)
                    self.names.update(zip(node.values, node.vars, strict=True))
                elif type(node) is Let and type(node.value) is Function:
                    self.names[node.value] = node.var

    def reached(self, name: GlobalVar) -> set[GlobalVar]:
        """A definition and all that it mentions, directly or not."""
        pending = [name]
        found: set[GlobalVar] = set()
        while pending:
            v = pending.pop()
            if v not in found and v in self.mod.functions:
                found.add(v)
                pending += self.graph.callees(v)
        return found

    def size(self, fn: Function) -> int:
        """The nodes of a body that are not atoms, counted as far as it matters."""
        found = self.sizes.get(fn)
        if found is None:
            found = 0
            stack = [fn.body]
            while stack and found <= self.max_local_size:
                e = stack.pop()
                if e.children:
                    found += 1
                    stack += e.children
            self.sizes[fn] = found
        return found

    def enter(self, fn: Function, args: Sequence[Value]) -> Activation | None:
        """A run of `fn` in the place of a call; None if the call is to stay."""
        if not self.is_open(fn) or self.left <= self.floor:
            self.refuse(fn)
            return None
        running = self.active.get(fn)
        made = self.follow(running[-1], args) if running else self.first(fn, args)
        if made is None:
            self.refuse(fn)
        else:
            self.active.setdefault(fn, []).append(made)
        return made

    def first(self, fn: Function, args: Sequence[Value]) -> Activation | None:
        """A run of a function that is not under way, if its call is better gone.

        A body with several calls may add no more than `max_growth` to the place of one; that it is too long
        is known when it has added so much.
        """
        is_loop = fn in self.recursive
        is_wanted = any(map(has_constants, args)) if is_loop else self.is_wanted(fn, args)
        if not is_wanted or self.refusals[kind(fn, args)] >= MOST_REFUSALS:
            return None
        is_free = bool(self.said(fn)) or self.is_only_use(fn)
        least = 0 if is_free else self.left - self.max_growth
        made = Activation(args, self.branches, None, least, self.floor)
        self.floor = max(self.floor, least)
        return made

    def leave(self, fn: Function, activation: Activation) -> bool:
        """A run is over; returns whether it may stay.

        Where those around it have added too much as well, it is theirs to be left.
        """
        self.active[fn].pop()
        if activation.first is not None:
            return True
        self.floor = activation.floor
        is_to_blame = self.left > self.floor
        is_too_long = is_to_blame and self.left <= activation.least
        is_endless = activation.is_refused and fn in self.recursive
        if is_to_blame:
            self.refusals[kind(fn, activation.args)] += MOST_REFUSALS if is_too_long else is_endless
        return not is_too_long and not is_endless

    def refuse(self, fn: Function) -> None:
        """A call stays: a loop that it is part of does not vanish."""
        for running in self.active.get(fn, ())[:1]:
            running.is_refused = True

    def follow(self, last: Activation, args: Sequence[Value]) -> Activation | None:
        """One more run of a function that is under way, if that comes to an end.

        It does where an argument gets smaller.  Where no unknown condition lies between, the program itself
        comes this way, and only its length counts.
        """
        first = last.first or last
        first.count += 1
        ends = self.branches == last.branches or any(map(is_smaller, args, last.args))
        return Activation(args, self.branches, first) if ends and first.count <= self.max_unroll else None

    def is_open(self, fn: Function) -> bool:
        """Whether a function's body may be looked into."""
        said = self.said(fn)
        return not fn.attrs.get("Primitive") and not fn.attrs.get("Compiler") and (said is None or bool(said))

    def is_wanted(self, fn: Function, args: Sequence[Value]) -> bool:
        """Whether a call of a function that does not reach itself is better gone."""
        if self.said(fn) or self.is_only_use(fn):
            return True
        limit = self.max_size if type(self.names.get(fn)) is GlobalVar else self.max_local_size
        return self.size(fn) <= limit or any(map(is_code, args))

    def is_only_use(self, fn: Function) -> bool:
        """Whether a call of a function is the only one, so that its body moves there."""
        name = self.names.get(fn)
        if name is None or self.uses[name] != 1:
            return False
        return type(name) is not GlobalVar or "main" in self.mod

    def said(self, fn: Function) -> object:
        """What the function itself says of inlining."""
        return fn.attrs.get("inline", fn.attrs.get("Inline"))


def kind(fn: Function, args: Sequence[Value]) -> Kind:
    """Loops that are alike: a function, the parameters that data is known of, and the functions given."""
    return fn, tuple([a.static.function if type(a.static) is Closure else has_constants(a) for a in args])
