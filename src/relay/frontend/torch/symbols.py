"""Sizes and dtypes of PyTorch as those of Relay."""

from functools import cache
from typing import Any

import numpy as np

from relay.diagnostic import fail
from relay.frontend.torch.complex_value import PARTS
from relay.frontend.torch.library import pytorch
from relay.frontend.value import Value
from relay.ir.dtype import canonical
from relay.ir.expr import Expr
from relay.ir.type import ANY, Dim, Kind, TensorType, TypeVar

INT64 = TensorType((), "int64")


def dtype_of(torch_dtype: Any) -> str:
    """The dtype of that name, of the parts of complex numbers (`torch-type`)."""
    name = str(torch_dtype).removeprefix("torch.")
    name = PARTS.get(name, name)
    if canonical(name) is None:
        fail("torch-type", f"there is no dtype for PyTorch's {name}", hint="convert it first: x.float()")
    return name


class Size(Value):
    """A whole number that PyTorch traced: a size, or what is computed from sizes."""

    __slots__ = ()

    def named(self, var: Expr) -> "Size":
        """The value, bound to a variable."""
        return Size(var, self.type, self.array, self.dims, self.sources)

    @property
    def dim(self) -> Dim:
        """What it is, as a dimension."""
        found: Any = None if self.dims is None else self.dims[()]
        return ANY if found is None else found


def size_of(expr: Expr, dim: Dim) -> Size:
    """An expression that is known to compute a size."""
    if dim is ANY:
        return Size(expr, INT64)
    held = np.empty((), object)
    held[()] = dim
    return Size(expr, INT64, None, held)


class Symbols:
    """The symbolic sizes of a program, by the names that PyTorch has for them."""

    def __init__(self, names: dict[str, str] | None = None) -> None:
        """`names` are better ones."""
        self.names = names or {}
        self.variables: dict[str, TypeVar] = {}
        self.known: dict[Any, Dim] = {}
        self.bound: set[str] = set()
        """Those that the shapes of inputs decide; others are `?`."""

    def dim(self, size: Any) -> Dim:
        """A number or a `SymInt` as a dimension."""
        if isinstance(size, int):
            return size
        e = size.node.expr
        found = self.known.get(e)
        if found is None:
            found = self.known[e] = self._converted(e)
        return found

    def shape(self, sizes: Any) -> tuple[Dim, ...]:
        """A shape."""
        return tuple([self.dim(s) for s in sizes])

    def bind(self, sizes: Any) -> None:
        """Let the shape of an input decide the symbols that it mentions."""
        for s in sizes:
            if not isinstance(s, int):
                self.bound |= {str(v) for v in s.node.expr.free_symbols}

    def variable(self, name: str) -> Dim:
        """The dimension of a symbol."""
        if name not in self.bound:
            return ANY
        if name not in self.variables:
            self.variables[name] = TypeVar(self.names.get(name, name), Kind.Dim)
        return self.variables[name]

    def _converted(self, root: Any) -> Dim:
        """A formula of SymPy as a dimension, children first; `?` where there is none."""
        done: dict[Any, Dim] = {}
        stack = [root]
        while stack:
            e = stack[-1]
            waiting = [a for a in e.args if a not in done]
            stack += waiting
            if not waiting:
                stack.pop()
                done[e] = self._node(e, [done[a] for a in e.args])
        return done[root]

    def _node(self, e: Any, args: list[Dim]) -> Dim:
        if e.is_Integer:
            return int(e)
        if any(a is ANY for a in args):
            return ANY
        match type(e).__name__:
            case "Symbol":
                return self.variable(str(e))
            case "Add":
                total = args[0]
                for a in args[1:]:
                    total = total + a
                return total
            case "Mul":
                product = args[0]
                for a in args[1:]:
                    product = product * a
                return product
            case "Pow" if isinstance(args[1], int) and args[1] > 0:
                product = args[0]
                for _ in range(args[1] - 1):
                    product = product * args[0]
                return product
            case "FloorDiv" | "CleanDiv":
                return args[0] // args[1]
            case "Max" | "Min" as op:
                return folded(op.lower(), args)
            case _:
                return ANY


def folded(op: str, args: list[Dim]) -> Dim:
    """The greatest or least of several dimensions."""
    from relay.ir.dim import maximum, minimum

    combine = maximum if op == "max" else minimum
    found = args[0]
    for a in args[1:]:
        found = combine(found, a)
    return found


@cache
def promoted(*kinds: str) -> str:
    """The dtype of arithmetic on operands: `float32`, `float32()` of rank 0, `int`, `float`, `bool`."""
    torch = pytorch()

    operands: list[Any] = []
    for kind in kinds:
        if kind in ("int", "float", "bool"):
            operands.append({"int": 1, "float": 1.0, "bool": True}[kind])
        else:
            scalar = kind.endswith("()")
            dtype = getattr(torch, kind.removesuffix("()"))
            operands.append(torch.empty(() if scalar else (1,), dtype=dtype, device="meta"))
    found = operands[0]
    for o in operands[1:]:
        dtype = torch.result_type(found, o)
        ranked = any(isinstance(x, torch.Tensor) and x.ndim for x in (found, o))
        found = torch.empty((1,) if ranked else (), dtype=dtype, device="meta")
    return dtype_of(found.dtype if isinstance(found, torch.Tensor) else torch.result_type(found, found))


def kind_of(x: Any) -> str:
    """What `promoted` calls an operand."""
    if isinstance(x, Size):
        return "int"
    if isinstance(x, Value):
        return x.dtype if x.rank else f"{x.dtype}()"
    return "bool" if isinstance(x, bool) else "int" if isinstance(x, int) else "float"
