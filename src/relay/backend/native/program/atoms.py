"""What the code of a function has at hand: values of variables, their references, and whether shapes fit."""

from collections.abc import Sequence
from typing import cast

from relay.backend.native.llvm.builder import Code, Value
from relay.backend.native.loops.emit_indices import IndexEmitter
from relay.backend.native.memory.objects import release, retain
from relay.backend.native.memory.representation import is_scalar
from relay.backend.native.program.checks import check, may_misfit, required_types
from relay.backend.native.program.closures import static_closure
from relay.backend.native.program.program import Program, result_type
from relay.interpreter.checks import spelled
from relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, Var
from relay.ir.type import FuncType, Type, TypeVar

Dying = dict[Var, None]
"""The variables that are used for the last time in a statement, and still have their references."""


class Atoms:
    """The code of a function, and the leaves of the variables that it has so far."""

    def __init__(self, program: Program, symbol: str, fn: Function, traits: str) -> None:
        """`symbol` is the name of the code; parameters are the first variables."""
        self.program = program
        self.leaves = program.leaves
        self.types = program.types
        self.fn = fn
        self.result = self.leaves(fn.ret_type)
        self.values: dict[Expr, Sequence[Value]] = {}
        params: list[Value] = []
        for p in fn.params:
            kinds = self.leaves(p.type_annotation)
            made = self.values[p] = [Value(x, f"%p{len(params) + i}") for i, x in enumerate(kinds)]
            params += made
        self.code = Code(symbol, result_type(self.result), params, traits=traits)
        self.sizes: dict[TypeVar, Value] = {}
        """What the type parameters of the function stand for."""

    def is_managed(self, v: Var) -> bool:
        """Whether a variable owns references."""
        return self.leaves.is_managed(v.type_annotation)

    def atom(self, e: Expr) -> Sequence[Value]:
        """The leaves of an atom; whoever keeps them needs references of its own."""
        if isinstance(e, Var):
            return self.values[e]
        if isinstance(e, Constant):
            return self.program_constant(e)
        if isinstance(e, GlobalVar):
            t = self.types(e)
            assert isinstance(t, FuncType)
            return [static_closure(self.program, self.code, e, t)]
        raise AssertionError(f"{e!r} has been eta-expanded")

    def program_constant(self, e: Constant) -> Sequence[Value]:
        """A constant."""
        if is_scalar(e.type):
            return [self.program.number(self.code, e)]
        return [self.program.constant(self.code, e)]

    def taken(self, operands: Sequence[Expr], gone: Dying) -> list[Value]:
        """The leaves of operands, with references of their own; variables that end here give theirs."""
        found: list[Value] = []
        for e in operands:
            leaves = self.atom(e)
            if isinstance(e, Var) and e in gone:
                del gone[e]
            elif isinstance(e, Var) and self.is_managed(e):
                retain(self.code, leaves)
            found += leaves
        return found

    def drop(self, gone: Dying) -> None:
        """Variables that end here and have not given their references away."""
        for v in gone:
            release(self.code, self.values[v])
        gone.clear()

    # --- shapes ---

    def fit(self, e: Expr, whose: str, t: Type | None, row: Sequence[Value]) -> None:
        """Check that the value of an expression has the shapes of a type, if its own leaves that open."""
        static = self.types(e)
        if t is not None and may_misfit(t, static):
            check(self.known_sizes(e), whose, t, static, row)

    def fit_arguments(self, e: Call, callee: Type) -> None:
        """Check the arguments of a call, if their types leave open that they fit."""
        assert isinstance(callee, FuncType)
        wanted, own = required_types(e, callee), [self.types(a) for a in e.args]
        if e.op in self.program.callees or not any(map(may_misfit, wanted, own)):
            return
        b = self.known_sizes(e)
        for a, t, static in zip(e.args, wanted, own, strict=True):
            check(b, f"an argument of `{spelled(e.op)}`", t, static, self.atom(a))

    def known_sizes(self, e: Expr) -> IndexEmitter:
        """Arithmetic on the sizes that the type parameters of the function stand for."""
        b = IndexEmitter(
            self.program, self.code, cast("Call", e)
        )  # which need not be a call to be where it fails
        b.values.update(self.sizes)
        return b

    def fail(self, kind: str, message: str, at: Expr, hint: str = "") -> None:
        """Fail here."""
        n = self.program.site(kind, message, at, hint)
        self.code.do(f"call void @relay.fail(ptr %ctx, i64 {n})")
        self.code.do("unreachable")
