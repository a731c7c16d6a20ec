"""Split long definitions into several that are called in turn: LLVM's compile time is superlinear in the size
of a function.
"""

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

MAX_STATEMENTS, PIECE_STATEMENTS = 400, 200
"""The most statements of a definition that is left whole, and those that a piece of a longer one has."""
PIECE = "Piece"
"""The attribute of a function that has been split off another and must not be inlined again."""


class Statement(NamedTuple):
    """A variable, its value, and the variables of the definition that the value mentions."""

    var: Var
    value: Expr
    mentions: Sequence[Var]


@module_pass("split_long_definitions", needs=(ANF,), opt_level=0)
def split_long_definitions(mod: IRModule) -> IRModule:
    """Split definitions of many statements into several of a few hundred, where few values cross the cut.

    LLVM's compile time grows faster than the size of a function.  Shorter definitions are left alone.

    >>> show(split_long_definitions, "def @main(%x: float32) { tanh(%x) }")
    def @main(%x: float32) -> float32 {
      tanh(%x)
    }
    """
    supply = GlobalVarSupply(mod)
    new: dict[GlobalVar, Expr] = {}
    for v, fn in mod.functions.items():
        if isinstance(fn, Function) and not fn.type_params and not fn.attrs.get("Primitive"):
            new |= Splitter(v, fn, supply).definitions()
    return with_definitions(mod, {**mod.functions, **new}) if new else mod


class Splitter:
    """Splits one definition, if it is long."""

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
        if len(chain) > MAX_STATEMENTS:
            self.split_chain(chain)

    def split_chain(self, chain: Sequence[tuple[Var, Expr]]) -> None:
        """Split a `let` chain repeatedly, as long as that makes it shorter."""
        own = {*self.fn.params, *[v for v, _ in chain]}
        statements = [Statement(v, x, mentioned_vars(x, own)) for v, x in chain]
        while len(statements) > MAX_STATEMENTS:
            shorter = self.outline_runs(statements, own)
            if len(shorter) > 0.9 * len(statements):
                break
            statements = shorter
            own |= {s.var for s in statements}
        self.statements = statements

    def definitions(self) -> dict[GlobalVar, Expr]:
        """The pieces and the rest of the definition; nothing if it has not been split."""
        if not self.pieces:
            return {}
        body = let_chain([(s.var, s.value) for s in self.statements], self.end)
        return {**self.pieces, self.name: replace(self.fn, body=body)}

    def outline_runs(self, statements: Sequence[Statement], own: set[Var]) -> list[Statement]:
        """The statements with runs of them outlined and replaced by calls."""
        last = {v: i for i, s in enumerate(statements) for v in s.mentions}
        last |= dict.fromkeys(mentioned_vars(self.end, own), len(statements))
        found: list[Statement] = []
        for start in range(0, len(statements), PIECE_STATEMENTS):
            run = statements[start : start + PIECE_STATEMENTS]
            made = {s.var for s in run}
            given = list(dict.fromkeys([v for s in run for v in s.mentions if v not in made]))
            kept = [s.var for s in run if last.get(s.var, -1) >= start + len(run)]
            if len(kept) + 1 > len(run) // 2:
                found += run
            else:
                found += self.call_piece(self.outline(run, given, kept), given, kept)
        return found

    def outline(self, run: Sequence[Statement], given: Sequence[Var], kept: Sequence[Var]) -> GlobalVar:
        """A new definition that takes the variables `given` and returns those `kept`."""
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
        self.pieces[name] = Function(params, let_chain(chain, result), t, attrs=attrs, span=self.fn.span)
        return name

    def call_piece(self, piece: GlobalVar, given: Sequence[Var], kept: Sequence[Var]) -> list[Statement]:
        """The statements that call a piece and bind its results to the variables `kept`."""
        call = Call(piece, tuple(given), span=self.fn.span)
        if len(kept) == 1:
            return [Statement(kept[0], call, given)]
        t = TupleType(tuple([t for v in kept if (t := v.type_annotation) is not None]))
        whole = Var("part", t, span=self.fn.span)
        fields = [Statement(v, TupleGetItem(whole, i, span=v.span), (whole,)) for i, v in enumerate(kept)]
        return [Statement(whole, call, given), *fields]


def mentioned_vars(e: Expr, own: set[Var]) -> list[Var]:
    """The variables among `own` that an expression mentions."""
    return [v for v in post_order(e) if isinstance(v, Var) and v in own]


def let_chain(chain: Sequence[tuple[Var, Expr]], end: Expr) -> Expr:
    """A `let` chain that ends in `end`."""
    for v, x in reversed(chain):
        end = Let(v, x, end, span=x.span)
    return end
