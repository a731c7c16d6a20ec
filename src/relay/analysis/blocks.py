"""Blocks: what a function computes on tensors between two calls, which many calls of it may compute together.

The operators of a `let` chain belong to blocks.  One comes before the first statement that needs it, together
with all others that have what they need there; products come before other functions are called, so that
those of all calls of the function may be one product.  What is cheap goes where its only users are.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from relay.ir.expr import Call, Expr, If, Let, Match, Op, Tuple, TupleGetItem, Var
from relay.ir.type import TensorType, TupleType, Type
from relay.op.kind import Fusion, NativeRule
from relay.typecheck.types import Types

RULES = (NativeRule.ELEMENT, NativeRule.REDUCTION, NativeRule.WHOLE, NativeRule.DECOMPOSITION)
"""What computes the operators of blocks: not the host, and no library."""
DTYPES = ("float32", "float64", "float16", "bfloat16")
"""The dtypes of what blocks give.  Operators on these alone cannot fail."""


@dataclass(eq=False)
class Statement:
    """A statement of a `let` chain."""

    var: Var | None
    value: Expr
    is_operator: bool = False
    """Whether it is part of a block."""
    block: int = 0
    """The statement that its block comes before."""
    users: list[int] = field(default_factory=list[int])
    """The statements that use its variable."""


class Chain:
    """A `let` chain: the body of a function, or a branch."""

    def __init__(self, e: Expr, types: Types) -> None:
        """Nothing is known of users yet."""
        self.types = types
        self.statements: list[Statement] = []
        self.places: dict[Expr, int] = {}
        """The statements that bind variables."""
        self.here = 0
        """The statement that is being gone through."""
        self.same: dict[Expr, Var] = {}
        """Fields of a tuple that are taken again, by the variable that has them first."""
        fields: dict[tuple[Expr, int], Var] = {}
        while isinstance(e, Let):
            self._add(e.var, e.value)
            if isinstance(e.value, TupleGetItem):
                self.same[e.var] = fields.setdefault((e.value.tuple_value, e.value.index), e.var)
            e = e.body
        if isinstance(e, Call) and isinstance(e.op, Op):
            last = Var("y", types(e), span=e.span)
            self._add(last, e)
            e = last
        self.statements.append(Statement(None, e))

    def _add(self, var: Var, value: Expr) -> None:
        self.places[var] = len(self.statements)
        self.statements.append(Statement(var, value))

    @property
    def end(self) -> Expr:
        """What the chain gives."""
        return self.statements[-1].value

    def blocks(self, is_wanted: Callable[[Sequence[Statement]], bool]) -> dict[int, list[int]]:
        """The operators of each block, by the statement that it comes before, once users are known; of those
        blocks that are wanted.
        """
        statements = self.statements
        for s in statements[:-1]:
            s.is_operator = self._may_join(s.value)
        while True:
            found = self._grouped()
            refused = [i for row in found.values() for i in row if not self._may_stay(statements[i])]
            if not refused:
                rows = [row for row in found.values() if not is_wanted([statements[i] for i in row])]
                refused = [i for row in rows for i in row]
            if not refused:
                return found
            for i in refused:
                statements[i].is_operator = False

    def leaves_block(self, s: Statement) -> bool:
        """Whether a value is used outside of its block."""
        readers = [self.statements[u] for u in s.users]
        return any(not r.is_operator or r.block != s.block for r in readers)

    def _may_join(self, e: Expr) -> bool:
        """Whether a statement may be part of a block: it cannot fail, and has no effect."""
        if isinstance(e, TupleGetItem):
            return self._is_made(e.tuple_value)
        if isinstance(e, Tuple):
            return bool(e.fields) and is_static(self.types(e))
        if not isinstance(e, Call) or not isinstance(e.op, Op) or not e.args:
            return False
        op = e.attrs
        if op.impure or op.native_rule not in RULES or op.fusion is Fusion.OPAQUE:
            return False
        return is_static(self.types(e)) and all(is_static(self.types(a)) for a in e.args)

    def _is_made(self, x: Expr) -> bool:
        """Whether an operator of a block makes a value."""
        return x in self.places and self.statements[self.places[x]].is_operator

    def _may_stay(self, s: Statement) -> bool:
        """Whether a statement may be in its block: what is used outside is a tensor."""
        if isinstance(s.value, TupleGetItem) and not self._is_made(s.value.tuple_value):
            return False
        assert s.var is not None
        t = self.types(s.var)
        is_tensor = isinstance(t, TensorType) and t.shape != () and t.dtype in DTYPES
        return is_tensor or not self.leaves_block(s)

    def _grouped(self) -> dict[int, list[int]]:
        """The operators of each block, as far as they are known."""
        for i, s in enumerate(self.statements):
            s.block = i + 1
            if s.is_operator:
                s.block = max([self._ready(x) for x in operands(s.value)], default=0)
        self._delay()
        for s in reversed(self.statements):
            if s.is_operator and s.users and not is_product(s.value):
                readers = [self.statements[i] for i in s.users]
                ends = {r.block for r in readers}
                if len(ends) == 1 and all(r.is_operator for r in readers):
                    (s.block,) = ends
        return self._by_block()

    def _ready(self, x: Expr) -> int:
        """The first statement that has an operand before it."""
        return self.statements[self.places[x]].block if x in self.places else 0

    def _delay(self) -> None:
        """Join blocks with later ones where nothing in between needs them, and no call would be delayed for a
        product.
        """
        statements = self.statements
        calls = iter([i for i, s in enumerate(statements) if is_call(s)])
        call = next(calls, len(statements))
        pending: list[int] = []
        last = end = len(statements)  # the first statement that needs one of those pending, and where they go
        for at, row in sorted(self._by_block().items()):
            if last < at:
                self._join(pending, end)
                pending, last = [], len(statements)
            while call < at:
                call = next(calls, len(statements))
            pending += row
            end = at
            for i in row:
                s = statements[i]
                last = min([last, *[u for u in s.users if not statements[u].is_operator]])
                if is_product(s.value):
                    last = min(last, call)
        self._join(pending, end)

    def _join(self, row: Iterable[int], at: int) -> None:
        """Put operators into one block."""
        for i in row:
            self.statements[i].block = at

    def _by_block(self) -> dict[int, list[int]]:
        """The operators of each block, in their order."""
        found: dict[int, list[int]] = {}
        for i, s in enumerate(self.statements):
            if s.is_operator:
                found.setdefault(s.block, []).append(i)
        return found


class Uses:
    """Which statements use the variables of the chains that are being gone through, inside of each other."""

    def __init__(self) -> None:
        self.chains: dict[Expr, Chain] = {}

    def bind(self, chain: Chain, var: Var) -> None:
        """From here on a variable may be used."""
        self.chains[var] = chain

    def note(self, e: Expr) -> None:
        """A statement uses these variables."""
        for x in (e, *operands(e)):
            chain = self.chains.get(x)
            if chain is not None:
                users = chain.statements[chain.places[x]].users
                if not users or users[-1] != chain.here:
                    users.append(chain.here)


def operands(e: Expr) -> Sequence[Expr]:
    """The atoms of a statement."""
    parts = e.args if isinstance(e, Call) and isinstance(e.op, Op) else e.children
    return [y for x in parts for y in (x.fields if isinstance(x, Tuple) else (x,))]


def is_call(s: Statement) -> bool:
    """Whether a statement may call a function."""
    return isinstance(s.value, If | Match) or (isinstance(s.value, Call) and not s.is_operator)


def is_product(e: Expr) -> bool:
    """Whether a statement multiplies matrices, or the like."""
    return isinstance(e, Call) and isinstance(e.op, Op) and e.attrs.fusion is Fusion.KERNEL


def is_static(t: Type) -> bool:
    """Whether a value is a tensor of floats or truths of a known shape, or a tuple of such."""
    if isinstance(t, TupleType):
        return all(isinstance(f, TensorType) and is_static(f) for f in t.fields)
    if not isinstance(t, TensorType) or not t.is_closed or t.dtype not in (*DTYPES, "bool"):
        return False
    return all(d > 0 for d in t.concrete_shape)
