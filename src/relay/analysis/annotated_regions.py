"""The regions of a program that are meant for other compilers, as marks say."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from relay.ir.expr import Call, Expr, Function, Tuple, TupleGetItem
from relay.ir.walk import post_order
from relay.op.annotation import CompilerBegin, CompilerEnd

JOINED = (Call, Tuple, TupleGetItem)
"""What is in the region of its parts."""


@dataclass(eq=False)
class AnnotatedRegion:
    """A region: what `target` is to compile, the marks where values enter, and those where they leave."""

    id: int
    target: str
    nodes: dict[Expr, None] = field(default_factory=dict[Expr, None])
    """Everything in it, the marks too, parts before what is made of them."""

    @property
    def ins(self) -> list[Call]:
        """The calls of `compiler_begin`."""
        return [e for e in self.nodes if is_begin(e)]

    @property
    def outs(self) -> list[Call]:
        """The calls of `compiler_end`."""
        return [e for e in self.nodes if is_end(e)]

    @property
    def computes(self) -> bool:
        """Whether anything is called in it; one that only joins values has nothing to compile."""
        return any(isinstance(e, Call) and not is_begin(e) and not is_end(e) for e in self.nodes)


class AnnotatedRegionSet:
    """The regions of an expression.

    A region begins at `compiler_begin` and ends at `compiler_end`; what reads several of them, without a mark
    between, makes them one.  What is inside of a function that stands for a pattern belongs to its calls.
    """

    def __init__(self, expr: Expr) -> None:
        self.where: dict[Expr, AnnotatedRegion] = {}
        self.merged: dict[AnnotatedRegion, AnnotatedRegion] = {}
        """The regions that have become part of others."""
        self.sizes: dict[AnnotatedRegion, int] = {}
        for e in post_order(expr):
            self.add(e)
        self.regions = [r for r in self.sizes if r not in self.merged]
        for i, region in enumerate(self.regions):
            region.id = i
        for e, region in self.where.items():
            self.root(region).nodes[e] = None

    def add(self, e: Expr) -> None:
        """Put a node where it belongs, once its parts are."""
        if is_begin(e):
            self.put(e, self.new(target_of(e)))
        elif is_end(e):
            (inner,) = e.args
            region = self.get_region(inner)
            if region is None or is_end(inner):
                region = self.new(target_of(e))
                self.put(inner, region)
            self.put(e, region)
        elif isinstance(e, JOINED):
            region = None
            for c in e.children:
                other = None if is_end(c) else self.get_region(c)
                region = other if region is None else region if other is None else self.joined(region, other)
            if region is not None:
                self.put(e, region)

    def new(self, target: str) -> AnnotatedRegion:
        """A region without nodes."""
        region = AnnotatedRegion(len(self.sizes), target)
        self.sizes[region] = 0
        return region

    def put(self, e: Expr, region: AnnotatedRegion) -> None:
        """Add a node to a region."""
        self.where[e] = region
        self.sizes[region] += 1

    def joined(self, region: AnnotatedRegion, other: AnnotatedRegion) -> AnnotatedRegion:
        """Two regions as one: the smaller becomes part of the larger."""
        if region is other:
            return region
        small, large = sorted((region, other), key=lambda r: self.sizes[r])
        self.merged[small] = large
        self.sizes[large] += self.sizes[small]
        return large

    def root(self, region: AnnotatedRegion) -> AnnotatedRegion:
        """What a region is part of now."""
        while region in self.merged:
            region = self.merged[region]
        return region

    def get_region(self, e: Expr) -> AnnotatedRegion | None:
        """The region that a node is in; None for one that is in none."""
        region = self.where.get(e)
        return None if region is None else self.root(region)

    def __len__(self) -> int:
        return len(self.regions)

    def __iter__(self) -> Iterator[AnnotatedRegion]:
        return iter(self.regions)


def is_begin(e: Expr) -> TypeGuard[Call]:
    """Whether an expression is where a value enters a region."""
    return isinstance(e, Call) and isinstance(e.attrs, CompilerBegin)


def is_end(e: Expr) -> TypeGuard[Call]:
    """Whether an expression is where a value leaves a region."""
    return isinstance(e, Call) and isinstance(e.attrs, CompilerEnd)


def target_of(mark: Call) -> str:
    """The compiler that a mark names."""
    op: Any = mark.attrs
    return op.compiler


def compiler_of(definition: Expr) -> str:
    """The name of the other compiler that takes a function; empty for one of this program."""
    name = definition.attrs.get("Compiler", "") if isinstance(definition, Function) else ""
    return "" if name == "default" else str(name)
