"""Patterns of one kind of node each: variables, constants, functions, conditionals, bindings, tuples."""

from collections.abc import Iterable, Sequence

from relay.ir.expr import Constant, Expr, Function, If, Let, Tuple, TupleGetItem, Var
from relay.ir.vars import free_vars
from relay.ir.walk import post_order
from relay.pattern.matcher import Matcher, Task
from relay.pattern.patterns import DFPattern, NodeMap, as_pattern


class VarPattern(DFPattern):
    """A variable, of that name unless the name is empty."""

    def __init__(self, name_hint: str = "") -> None:
        self.name = name_hint

    def describe(self, inner: Sequence[str]) -> str:
        return f'is_var("{self.name}")' if self.name else "is_var()"

    def attempt(self, matcher: Matcher, e: Expr) -> Task | bool:
        return isinstance(e, Var) and self.name in ("", e.name_hint)


class ConstantPattern(DFPattern):
    """Any constant."""

    def describe(self, inner: Sequence[str]) -> str:
        return "is_constant()"

    def attempt(self, matcher: Matcher, e: Expr) -> Task | bool:
        return isinstance(e, Constant)


class FunctionPattern(DFPattern):
    """A function; with any parameters if `params` is None."""

    def __init__(self, params: Sequence[DFPattern] | None, body: DFPattern) -> None:
        self.params = None if params is None else tuple(params)
        self.body = body

    @property
    def children(self) -> tuple[DFPattern, ...]:
        return (*(self.params or ()), self.body)

    def interior(self, node_map: NodeMap) -> Iterable[Expr]:
        for function in node_map[self]:
            free = set(free_vars(function))
            yield from [e for e in post_order(function) if e not in free]

    def attempt(self, matcher: Matcher, e: Expr) -> Task | bool:
        if not isinstance(e, Function):
            return False
        if self.params is None:
            return matcher.visit(self.body, e.body)
        return matcher.every((*self.params, self.body), (*e.params, e.body))


class IfPattern(DFPattern):
    """A conditional."""

    def __init__(self, cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> None:
        self.cond = cond
        self.true_branch = true_branch
        self.false_branch = false_branch

    @property
    def children(self) -> tuple[DFPattern, ...]:
        return (self.cond, self.true_branch, self.false_branch)

    def attempt(self, matcher: Matcher, e: Expr) -> Task | bool:
        return isinstance(e, If) and matcher.every(self.children, e.children)


class LetPattern(DFPattern):
    """A `let`."""

    def __init__(self, var: DFPattern, value: DFPattern, body: DFPattern) -> None:
        self.var = var
        self.value = value
        self.body = body

    @property
    def children(self) -> tuple[DFPattern, ...]:
        return (self.var, self.value, self.body)

    def interior(self, node_map: NodeMap) -> Iterable[Expr]:
        for let in node_map[self]:
            assert isinstance(let, Let)
            free = set(free_vars(let))
            scope = [let.body, let.value] if let.var in free_vars(let.value) else [let.body]
            yield let.var
            yield from [e for part in scope for e in post_order(part) if e not in free]

    def attempt(self, matcher: Matcher, e: Expr) -> Task | bool:
        return isinstance(e, Let) and matcher.every(self.children, (e.var, e.value, e.body))


class TuplePattern(DFPattern):
    """A tuple; with any fields if `fields` is None."""

    def __init__(self, fields: Sequence[DFPattern] | None = None) -> None:
        self.fields = None if fields is None else tuple(fields)

    @property
    def children(self) -> tuple[DFPattern, ...]:
        return self.fields or ()

    def attempt(self, matcher: Matcher, e: Expr) -> Task | bool:
        return isinstance(e, Tuple) and (self.fields is None or matcher.every(self.fields, e.fields))


class TupleGetItemPattern(DFPattern):
    """A field of a tuple; any field if `index` is None."""

    def __init__(self, tuple_value: DFPattern, index: int | None = None) -> None:
        self.tuple = tuple_value
        self.index = index

    @property
    def children(self) -> tuple[DFPattern, ...]:
        return (self.tuple,)

    def attempt(self, matcher: Matcher, e: Expr) -> Task | bool:
        if not isinstance(e, TupleGetItem) or self.index not in (None, e.index):
            return False
        return matcher.visit(self.tuple, e.tuple_value)


def is_var(name: str = "") -> VarPattern:
    """A variable, of that name if one is given."""
    return VarPattern(name)


def is_constant() -> ConstantPattern:
    """Any constant."""
    return ConstantPattern()


def is_if(cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> IfPattern:
    """A conditional."""
    return IfPattern(cond, true_branch, false_branch)


def is_let(var: DFPattern, value: DFPattern, body: DFPattern) -> LetPattern:
    """A `let`."""
    return LetPattern(var, value, body)


def is_tuple(fields: Sequence[DFPattern] | None = None) -> TuplePattern:
    """A tuple of these fields; of any without them."""
    return TuplePattern(None if fields is None else [as_pattern(f) for f in fields])


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """That field of a tuple; any without an index."""
    return TupleGetItemPattern(tuple_value, index)
