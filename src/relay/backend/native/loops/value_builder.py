"""Builds values of the loop IR: numbers and indices, computed once in each block, and checks of them."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NoReturn

from relay.backend.native.loops import nodes as ir
from relay.backend.native.loops.index_arithmetic import IndexArithmetic
from relay.backend.native.loops.rounded_integers import rounded
from relay.diagnostic import fail
from relay.ir.dtype import integer_range, is_float, is_integer
from relay.ir.expr import Call, Expr
from relay.ir.type import Dim
from relay.op.axes import LAST_INDEX
from relay.op.base import Operator

COMMUTING = frozenset({"plus", "times", "same"})


class Scope:
    """The function that is being built: its blocks so far, and what has been computed in each."""

    def __init__(self) -> None:
        """An empty function."""
        self.first: list[ir.Statement] = []
        """What comes before everything else."""
        self.block: list[ir.Statement] = []
        self.known: list[dict[Any, Any]] = [{}]
        """What has been computed so far, block by block: all of it is known at hand."""
        self.constants: dict[tuple[str, str], ir.Const] = {}
        self.extents: dict[ir.Index, ir.Index] = {}
        """How far the indices of loops go."""
        self.names = 0
        self.is_rolled = False
        self.recomputes = False
        """Whether a reduction of rows has been computed again for each element that reads it."""

    def name(self, prefix: str) -> str:
        """A new name."""
        self.names += 1
        return f"{prefix}{self.names}"

    def built(self) -> ir.Block:
        """The function so far."""
        return ir.Block((*self.first, *self.block))


class ValueBuilder(IndexArithmetic):
    """Numbers and indices at one call, and the checks that these need."""

    def __init__(self, program: Any, scope: Scope, call: Expr) -> None:
        """`program` knows types; `call` is where checks fail."""
        super().__init__()
        self.program = program
        self.scope = scope
        self.at = call
        op = call.attrs if isinstance(call, Call) and isinstance(call.attrs, Operator) else None
        self.origin = "" if op is None else op.name
        """The operator that loops are for."""
        self.facts = (1, False) if op is None else (op.element_cost, op.computes_in_float64)
        self.named: Mapping[Dim, ir.Index] = MappingProxyType({})
        """What sizes are that types name."""
        self.scratch: list[ir.Value] = []
        """The tensors to work in that `done` gives up."""

    # --- nodes ---

    def add_statement(self, s: Any) -> Any:
        """Add a statement to the block at hand."""
        self.scope.block.append(s)
        return s

    def apply(self, op: str, dtype: str, *args: ir.Operand) -> ir.Value:
        """A value, unless it is known."""
        key = (op, dtype, *args)
        for known in self.scope.known:
            if key in known:
                return known[key]
        found = ir.Apply(op, args, dtype, *self.facts)
        self.scope.block.append(found)
        self.scope.known[-1][key] = found
        return found

    def const(self, value: Any, like: Any) -> ir.Const:
        """A constant in the dtype of another number, or of the dtype that is named."""
        dtype: str = like if isinstance(like, str) else like.dtype
        if dtype == "bool":
            value = bool(value)
        elif is_integer(dtype):
            value = int(value)
        elif is_float(dtype):
            value = float(value)
        key = (dtype, repr(value))
        found = self.scope.constants.get(key)
        if found is None:
            found = self.scope.constants[key] = ir.Const(dtype, value)
        return found

    def once(self, key: Any, compute: Callable[[], ir.Value]) -> ir.Value:
        """A number that has been computed under that key, or is now."""
        for known in self.scope.known:
            if key in known:
                return known[key]
        found = self.scope.known[-1][key] = compute()
        return found

    def knows(self, key: Any) -> bool:
        """Whether a number has been computed under that key."""
        return any(key in known for known in self.scope.known)

    @contextmanager
    def region(self) -> Generator[list[ir.Statement], None, None]:
        """A block of its own; what is computed in it is not known after it."""
        scope = self.scope
        outer, scope.block = scope.block, []
        scope.known.append({})
        try:
            yield scope.block
        finally:
            scope.block = outer
            scope.known.pop()

    @contextmanager
    def at_the_beginning(self) -> Generator[None, None, None]:
        """What is made here comes before all else, and is known everywhere."""
        scope = self.scope
        block, known = scope.block, scope.known
        scope.block, scope.known = scope.first, known[:1]
        try:
            yield
        finally:
            scope.block, scope.known = block, known

    @contextmanager
    def rolled(self) -> Generator[None, None, None]:
        """LLVM leaves loops as they are that are made inside: copies would gain nothing and take time."""
        before, self.scope.is_rolled = self.scope.is_rolled, True
        try:
            yield
        finally:
            self.scope.is_rolled = before

    # --- numbers ---

    def select(self, c: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
        """`x` where `c`, else `y`."""
        if isinstance(c, ir.Const):
            return x if c.value else y
        return x if x is y else self.apply("select", x.dtype, c, x, y)

    def add(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """`x + y`."""
        return self.apply("add", x.dtype, x, y)

    def subtract(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """`x - y`."""
        return self.apply("subtract", x.dtype, x, y)

    def multiply(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """`x * y`."""
        return self.apply("multiply", x.dtype, x, y)

    def negative(self, x: ir.Value) -> ir.Value:
        """`-x`."""
        return self.apply("negative", x.dtype, x)

    def divide(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """`x / y`; integers are rounded towards 0 (`divide-by-zero`)."""
        return self._division("divide", x, y)

    def remainder(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """The remainder of `x / y`, rounded towards 0 (`divide-by-zero` for integers)."""
        return self._division("remainder", x, y)

    def _division(self, op: str, x: ir.Value, y: ir.Value) -> ir.Value:
        if not is_float(x.dtype):
            hint = "cast to a float type for an infinite result"
            is_zero = self.compare("eq", y, self.const(0, y))
            self.refuse(is_zero, "divide-by-zero", "integer division by zero", hint)
        return self.apply(op, x.dtype, x, y)

    def compare(self, kind: str, x: ir.Value, y: ir.Value) -> ir.Value:
        """`eq`, `ne`, `lt`, `le`, `gt` or `ge`; all but `ne` are False where one is NaN."""
        return self.apply(kind, "bool", x, y)

    def bits(self, name: str, x: ir.Value, y: ir.Value) -> ir.Value:
        """`and`, `or`, `xor`, `shl`, `ashr` or `lshr` of integers; the first three of truth values too."""
        if x.dtype == "bool":
            if isinstance(x, ir.Const):
                x, y = y, x
            if isinstance(y, ir.Const) and name in ("and", "or"):
                return x if y.value == (name == "and") else y
            if isinstance(y, ir.Const) and isinstance(x, ir.Const):
                return self.const(x.value != y.value, "bool")
            if isinstance(y, ir.Const) and not y.value:
                return x
        return self.apply(name, x.dtype, x, y)

    def function(self, name: str, *xs: ir.Value) -> ir.Value:
        """A function of floats by its name: one of `vector_math`, or an instruction that LLVM names."""
        return self.apply(name, xs[0].dtype, *xs)

    def cast(self, x: ir.Value, dtype: str) -> ir.Value:
        """`x` in another dtype: integers wrap, floats saturate on the way to integers and NaN gives 0."""
        if x.dtype == dtype:
            return x
        found = rounded(self, x, dtype)
        return self.apply("cast", dtype, x) if found is None else found

    def reinterpret(self, x: ir.Value, dtype: str) -> ir.Value:
        """The bits of `x` as a number of another dtype, as wide."""
        return self.apply("reinterpret", dtype, x)

    def of_strings(self, name: str, dtype: str, *xs: ir.Value) -> ir.Value:
        """A function of strings by its name, and the dtype of its result."""
        return self.apply(f"text.{name}", dtype, *xs)

    def negation(self, c: ir.Value) -> ir.Value:
        """Whether a condition does not hold."""
        return self.bits("xor", c, self.const(True, "bool"))

    def both(self, *conditions: ir.Value) -> ir.Value:
        """Whether all hold."""
        found: ir.Value = self.const(True, "bool")
        for c in conditions:
            found = self.bits("and", found, c)
        return found

    def missing(self, name: str) -> NoReturn:
        """Refuse an operator that does not say what sizes its result has (`no-native-code`)."""
        message = f"`{name}` does not say the sizes of its result in machine code"
        fail("no-native-code", message, self.at.span, hint="give the operator a rule `extent`")

    # --- indices ---

    def _index(self, op: str, i: ir.Index, j: ir.Index) -> ir.Index:
        if op in COMMUTING and isinstance(i, int):
            i, j = j, i
        return self.apply(op, ir.INDEX, i, j)

    def plus(self, i: ir.Index, j: ir.Index) -> ir.Index:
        """`i + j`."""
        if isinstance(i, int) and isinstance(j, int):
            return i + j
        return j if i == 0 else i if j == 0 else self._index("plus", i, j)

    def minus(self, i: ir.Index, j: ir.Index) -> ir.Index:
        """`i - j`."""
        if isinstance(i, int) and isinstance(j, int):
            return i - j
        return i if j == 0 else 0 if i is j else self._index("minus", i, j)

    def times(self, i: ir.Index, j: ir.Index) -> ir.Index:
        """`i * j`."""
        if isinstance(i, int) and isinstance(j, int):
            return i * j
        if i == 0 or j == 0:
            return 0
        if isinstance(j, int) and isinstance(i, ir.Apply) and i.op == "times" and isinstance(i.args[1], int):
            return self.times(i.args[0], i.args[1] * j)
        return j if i == 1 else i if j == 1 else self._index("times", i, j)

    def quotient(self, i: ir.Index, j: ir.Index) -> ir.Index:
        """`i / j` rounded towards 0; `j` is not 0."""
        if isinstance(i, int) and isinstance(j, int):
            return abs(i) // abs(j) * (1 if (i < 0) == (j < 0) else -1)
        if self.is_below(i, j):
            return 0
        return i if j == 1 else self._index("quotient", i, j)

    def rest(self, i: ir.Index, j: ir.Index) -> ir.Index:
        """The remainder of `i / j`."""
        if isinstance(i, int) and isinstance(j, int):
            return i - j * (abs(i) // abs(j) * (1 if (i < 0) == (j < 0) else -1))
        if self.is_below(i, j):
            return i
        return 0 if j == 1 else self._index("rest", i, j)

    def is_below(self, i: ir.Index, j: ir.Index) -> bool:
        """Whether an index of a loop is known to stay below a size."""
        n = self.scope.extents.get(i)
        return n is not None and (n is j or (isinstance(n, int) and isinstance(j, int) and n <= j))

    def is_less(self, i: ir.Index, j: ir.Index) -> ir.Value:
        """Whether `i < j`."""
        if isinstance(i, int) and isinstance(j, int):
            return self.const(i < j, "bool")
        return self.apply("less", "bool", i, j)

    def is_same(self, i: ir.Index, j: ir.Index) -> ir.Value:
        """Whether `i == j`."""
        if i is j or (isinstance(i, int) and isinstance(j, int)):
            return self.const(i == j, "bool")
        return self.apply("same", "bool", i, j)

    def is_within(self, i: ir.Index, n: ir.Index) -> ir.Value:
        """Whether `0 <= i < n`."""
        if isinstance(i, int) and isinstance(n, int):
            return self.const(0 <= i < n, "bool")
        return self.apply("within", "bool", i, n)

    def choose(self, c: ir.Value, i: ir.Index, j: ir.Index) -> ir.Index:
        """`i` where `c`, else `j`."""
        if isinstance(c, ir.Const):
            return i if c.value else j
        return i if i is j else self.apply("choose", ir.INDEX, c, i, j)

    def as_index(self, x: ir.Value) -> ir.Index:
        """An integer as an index, by the rule of `relay.op.axes.as_index`."""
        if isinstance(x, ir.Const):
            return min(int(x.value), LAST_INDEX)
        if x.dtype == "uint64":
            last = self.const(LAST_INDEX, x)
            x = self.select(self.compare("lt", x, last), x, last)
        return self.apply("to_index", ir.INDEX, x)

    def as_number(self, i: ir.Index, dtype: str) -> ir.Value:
        """An index as a number."""
        if isinstance(i, int) and is_integer(dtype):
            low, high = integer_range(dtype)
            if low <= i <= high:
                return self.const(i, dtype)
        return self.apply("to_number", dtype, i)

    def as_value(self, x: ir.Operand) -> ir.Value:
        """A value as it is, a known index as one that loops can carry."""
        if not isinstance(x, int):
            return x
        made = ir.Var(ir.INDEX, self.scope.name("k"))
        self.add_statement(ir.Let(made, x))
        return made

    # --- checks ---

    def refuse(self, condition: ir.Value, code: str, message: str, hint: str) -> None:
        """Fail where a condition holds."""
        key = ("check", condition, code, message)
        if (isinstance(condition, ir.Const) and not condition.value) or self.knows(key):
            return
        self.scope.known[-1][key] = None
        self.add_statement(ir.Check(condition, code, message, hint, self.at))

    def require(self, c: ir.Value, code: str, message: str, hint: str = "") -> None:
        """Fail unless `c`."""
        self.refuse(self.negation(c), code, message, hint)

    def require_shape(self, c: ir.Value, why: str) -> None:
        """Fail unless sizes are as the operator demands (`shape-check`)."""
        self.require(c, "shape-check", f"`{self.origin}`: {why}")
