"""Long definitions as several, called one after the other: LLVM's time grows faster than a function."""

from collections.abc import Sequence
from typing import NamedTuple

from relay.backend.native.memory.representation import is_scalar
from relay.ir.expr import Call, Expr, Function, GlobalVar, Let, Tuple, TupleGetItem, Var, replace
from relay.ir.module import IRModule
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import TupleType
from relay.ir.walk import post_order, rewrite
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass

LONG, RUN = 400, 200
"""Statements from which on a definition is cut, and those that go together then."""
PIECE = "Piece"
"""The attribute of a function that has been cut off another, and is better not brought back."""


class Statement(NamedTuple):
    """A variable, its value, and the variables of the definition that this mentions."""

    var: Var
    value: Expr
    mentions: Sequence[Var]


@module_pass("split_long_definitions", needs=(ANF,), opt_level=0)
def split_long_definitions(mod: IRModule) -> IRModule:
    """Cut definitions into several of a few hundred statements each, where little goes from one to the next.

    LLVM's time grows faster than the size of a function.  Shorter definitions stay as they are.

    >>> show(split_long_definitions, "def @main(%x: float32) { tanh(%x) }")
    def @main(%x: float32) -> float32 {
      tanh(%x)
    }
    """
    supply = GlobalVarSupply(mod)
    new: dict[GlobalVar, Expr] = {}
    for v, fn in mod.functions.items():
        if isinstance(fn, Function) and not fn.type_params and not fn.attrs.get("Primitive"):
            new |= Cut(v, fn, supply).definitions()
    return with_definitions(mod, {**mod.functions, **new}) if new else mod


class Cut:
    """A definition that is cut, if it is long."""

    def __init__(self, name: GlobalVar, fn: Function, supply: GlobalVarSupply) -> None:
        """`supply` gives names to the pieces."""
        self.name, self.fn, self.supply = name, fn, supply
        self.pieces: dict[GlobalVar, Expr] = {}
        chain: list[tuple[Var, Expr]] = []
        e = fn.body
        while isinstance(e, Let):
            chain.append((e.var, e.value))
            e = e.body
        self.end = e
        self.statements: list[Statement] = []
        if len(chain) > LONG:
            self.cut(chain)

    def cut(self, chain: Sequence[tuple[Var, Expr]]) -> None:
        """Cut it, again and again, as long as that makes it shorter."""
        own = {*self.fn.params, *[v for v, _ in chain]}
        statements = [Statement(v, x, mentioned(x, own)) for v, x in chain]
        while len(statements) > LONG:
            shorter = self.shorter(statements, own)
            if len(shorter) > 0.9 * len(statements):
                break
            statements = shorter
            own |= {s.var for s in statements}
        self.statements = statements

    def definitions(self) -> dict[GlobalVar, Expr]:
        """The pieces and what is left of the definition; nothing if it has not been cut."""
        if not self.pieces:
            return {}
        body = chained([(s.var, s.value) for s in self.statements], self.end)
        return {**self.pieces, self.name: replace(self.fn, body=body)}

    def shorter(self, statements: Sequence[Statement], own: set[Var]) -> list[Statement]:
        """The same with runs of statements as calls of pieces."""
        last = {v: i for i, s in enumerate(statements) for v in s.mentions}
        last |= dict.fromkeys(mentioned(self.end, own), len(statements))
        found: list[Statement] = []
        for start in range(0, len(statements), RUN):
            run = statements[start : start + RUN]
            made = {s.var for s in run}
            given = list(dict.fromkeys([v for s in run for v in s.mentions if v not in made]))
            kept = [s.var for s in run if last.get(s.var, -1) >= start + len(run)]
            if len(kept) + 1 > len(run) // 2:
                found += run
            else:
                found += self.called(self.piece(run, given, kept), given, kept)
        return found

    def piece(self, run: Sequence[Statement], given: Sequence[Var], kept: Sequence[Var]) -> GlobalVar:
        """A definition that takes some variables and gives others."""
        new = {v: Var(v.name_hint, v.type_annotation, span=v.span) for v in (*given, *kept)}

        def rule(e: Expr) -> Expr | None:
            return new.get(e) if isinstance(e, Var) else None

        chain = [(new.get(s.var, s.var), rewrite(s.value, rule)) for s in run]
        result = Tuple(tuple([new[v] for v in kept]), span=None) if len(kept) != 1 else new[kept[0]]
        types = tuple([t for v in kept if (t := v.type_annotation) is not None])
        assert len(types) == len(kept), "programs are annotated before they are compiled"
        numbers = any(is_scalar(s.var.type_annotation) for s in run)
        attrs = {PIECE: "numbers" if numbers else "tensors"}
        params = tuple([new[v] for v in given])
        t = TupleType(types) if len(kept) != 1 else types[0]
        name = self.supply.fresh_global(f"{self.name.name_hint}_part")
        self.pieces[name] = Function(params, chained(chain, result), t, attrs=attrs, span=self.fn.span)
        return name

    def called(self, piece: GlobalVar, given: Sequence[Var], kept: Sequence[Var]) -> list[Statement]:
        """A call of a piece, and what it gives in the variables that it had before."""
        call = Call(piece, tuple(given), span=self.fn.span)
        if len(kept) == 1:
            return [Statement(kept[0], call, given)]
        t = TupleType(tuple([t for v in kept if (t := v.type_annotation) is not None]))
        whole = Var("part", t, span=self.fn.span)
        fields = [Statement(v, TupleGetItem(whole, i, span=v.span), (whole,)) for i, v in enumerate(kept)]
        return [Statement(whole, call, given), *fields]


def mentioned(e: Expr, own: set[Var]) -> list[Var]:
    """The variables among `own` that an expression mentions."""
    return [v for v in post_order(e) if isinstance(v, Var) and v in own]


def chained(chain: Sequence[tuple[Var, Expr]], end: Expr) -> Expr:
    """Bindings one after the other."""
    for v, x in reversed(chain):
        end = Let(v, x, end, span=x.span)
    return end
