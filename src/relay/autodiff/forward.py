"""Forward mode: every tensor is accompanied by its tangent."""

from collections.abc import Sequence
from typing import Any

from relay.autodiff.dual import Dualizer
from relay.autodiff.dual_types import is_floating
from relay.autodiff.dual_values import varies
from relay.autodiff.structure import JOIN, TANGENT, ZEROS
from relay.autodiff.values import Block, Fields, Inert, Number, Packed, Value, call
from relay.ir.expr import Expr, Function, Tuple, TupleGetItem, Var
from relay.ir.type import TupleType, Type
from relay.ir.walk import run
from relay.op.base import Operator
from relay.op.derivative import jvp


class Forward(Dualizer):
    """Functions of dual numbers (Wengert, 1964)."""

    def root(self, f: Function, captured: Sequence[Var]) -> Function:
        """`fn(xs, dxs) { (f(xs), tangent) }` for a function literal whose free variables are `captured`."""
        b = Block()
        types = [self.type_of(p) for p in f.params]
        assert f.ret_type is not None
        xs, dxs = (Var(name, TupleType(types), span=f.span) for name in ("xs", "dxs"))
        cells = self.capture(captured, b)
        for i, (p, t) in enumerate(zip(f.params, types, strict=True)):
            x = b.bind(TupleGetItem(xs, i), t, p.name_hint)
            dx = b.bind(TupleGetItem(dxs, i), t, f"d{p.name_hint}")
            self.env[p] = self._varying(x, dx, t, b)
        value = self.bound(run(self.block(self.prepare(f).body, b)), b)
        self.write_back(cells, b)
        result = Tuple((self.plain_result(value, b), self._tangent(value, b)))
        out = TupleType((f.ret_type, f.ret_type))
        return Function((xs, dxs), b.finish(result), out, f.type_params, {}, f.constraints, span=f.span)

    def _varying(self, x: Expr, dx: Expr, t: Type, b: Block) -> Value:
        """A value with its tangent."""
        if is_floating(t):
            return Number(x, t, dx)  # pyright: ignore[reportArgumentType]
        if self.types.is_inert(t):
            return Inert(x, t)
        return Packed(self.structure.apply(JOIN, t, [x, dx], b), t)

    def _tangent(self, value: Value, b: Block) -> Expr:
        """The tangent of a result, with its zeros written out."""
        match value:
            case Number():
                return self.partner_of(value, b)
            case Fields():
                return b.bind(
                    Tuple(tuple([self._tangent(v, b) for v in value.values])), self.source_type(value), "d"
                )
            case Inert():
                return self.structure.apply(ZEROS, value.type, [value.expr], b)
            case Packed():
                return self.structure.apply(TANGENT, value.type, [value.expr], b)

    def operator(
        self, op: Operator, args: Sequence[Value], t: Type, name: str, b: Block, is_kept: bool
    ) -> Value:
        xs = [self.primal(a) for a in args]
        y = self.parts(b.bind(op(*xs), t, name), t, b)
        if any(map(varies, args)):
            self._attach(y, jvp(op, [tangents(a) for a in args], self.primal(y), xs), b)
        return y

    def _attach(self, y: Value, dy: Any, b: Block) -> None:
        """Give a result its tangent."""
        match y:
            case Number() if dy is not None:
                y.partner = b.bind(dy, y.type, "d")
                y.active = True
            case Fields() if dy is not None:
                for v, d in zip(y.values, dy, strict=True):
                    self._attach(v, d, b)
            case _:
                pass

    def partner_of(self, value: Number, b: Block) -> Expr:
        if value.partner is None:
            return b.bind(call("zeros_like", value.primal), value.type, "z")
        return value.partner

    def is_kept(self, var: Var | None) -> bool:
        return False

    def more_args(self, b: Block) -> tuple[Expr, ...]:
        return ()

    def more_params(self) -> tuple[Var, ...]:
        return ()


def tangents(value: Value) -> Any:
    """The tangents of an operand, as rules see them."""
    match value:
        case Number():
            return value.partner
        case Fields():
            return tuple([tangents(v) for v in value.values])
        case _:
            return None
