"""The types of expressions while a function is traced: each expression is inferred once."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NoReturn, TypeAlias

from relay.diagnostic import RelayError, caller_span, fail
from relay.ir import traced
from relay.ir.expr import Call, Expr, Function, Grad, Let, LetRec, Match, Op, Tuple, Var, VMap
from relay.ir.type import UNIT, Type
from relay.ir.vars import free_vars
from relay.typecheck.infer import infer_expr
from relay.typecheck.types import Types

current: ContextVar["TypesOfTrace | None"] = traced.current
"""The types of the trace at hand; None outside of any."""
OPAQUE = (Function, Let, LetRec, Match)
"""Expressions that bind variables: what is inside of them is typed with them."""


Bindings: TypeAlias = list[tuple[Var, Expr]]


class TypesOfTrace:
    """`types(e)`: the type of an expression of a trace, whose free variables are annotated.

    What is asked for is inferred together with everything below it that is new, on stand-ins for what is
    known: all questions together cost what inferring the whole program once does.
    """

    def __init__(self) -> None:
        self.known: dict[Expr, Type] = {}
        self.stand_ins: dict[Expr, Var] = {}
        self.effects: list[Bindings] = [[]]
        """What the blocks that are open do in order, the innermost last."""

    def __call__(self, e: Expr) -> Type:
        """The type of an expression.

        Raises `RelayError` where it is ill-typed, or where nothing decides its type.
        """
        if isinstance(e, Var):
            return e.type_annotation or _untyped(e)
        if e not in self.known:
            self._infer(e)
        return self.known[e]

    def get(self, e: Expr) -> Type | None:
        """The type of an expression; None if it is only known later."""
        try:
            return self(e)
        except RelayError as error:
            if set(error.codes) <= {"traced-type", "ambiguous-type"}:
                return None
            raise

    def kept(self, e: Expr) -> Expr:
        """An operator that has been called: where it has an effect, that happens here, whoever uses it."""
        is_effect = type(e) is Call and type(e.op) is Op and e.attrs.impure
        return self.done(e) if is_effect else e

    def done(self, e: Expr) -> Expr:
        """The value of an expression that is evaluated here, whoever uses it."""
        t = self.get(e)
        var = Var("_", span=e.span) if t is UNIT else Var("value", t, span=e.span)
        self.effects[-1].append((var, e))
        return Tuple((), span=e.span) if t is UNIT else var

    @contextmanager
    def block(self) -> Generator[Bindings]:
        """What effects there are in a branch or a round, for `around`."""
        self.effects.append([])
        try:
            yield self.effects[-1]
        finally:
            self.effects.pop()

    def _infer(self, root: Expr) -> None:
        """Find the types of everything new below an expression."""
        asked = self._asked(root)
        rebuilt = self._on_stand_ins(root)
        try:
            found = infer_expr(Tuple(tuple([rebuilt[e] for e in asked]), span=root.span))
        except RelayError:
            open_vars = [v for v in free_vars(rebuilt[root]) if v.type_annotation is None]
            if open_vars:
                _untyped(open_vars[0])
            if len(asked) == 1:
                raise
            # what cannot be typed by itself, as a number nothing decides the dtype of, waits to be asked for
            found, asked = infer_expr(Tuple((rebuilt[root],), span=root.span)), [root]
        assert isinstance(found, Tuple)
        types = Types()
        for e, typed in zip(asked, found.fields, strict=True):
            self.known[e] = types(typed)
            self.stand_ins[e] = Var("value", self.known[e], span=e.span)

    def _asked(self, root: Expr) -> list[Expr]:
        """The new expressions below `root`, itself last, that stand outside of functions."""
        seen: set[Expr] = set()
        order: list[Expr] = []
        stack: list[tuple[Expr, bool]] = [(root, False)]
        while stack:
            e, ready = stack.pop()
            if ready:
                order.append(e)
            elif e not in seen and e not in self.known and (e is root or _is_asked(e)):
                seen.add(e)
                stack.append((e, True))
                if not isinstance(e, OPAQUE):
                    stack += [(c, False) for c in reversed(e.children)]
        return order

    def _on_stand_ins(self, root: Expr) -> dict[Expr, Expr]:
        """Everything new below `root`, with stand-ins in the place of what is known."""
        rebuilt: dict[Expr, Expr] = {}
        stack: list[tuple[Expr, bool]] = [(root, False)]
        while stack:
            e, ready = stack.pop()
            if ready:
                children = tuple([rebuilt[c] for c in e.children])
                rebuilt[e] = e if children == e.children else e.rebuild(children)
            elif e not in rebuilt:
                if e in self.stand_ins:
                    rebuilt[e] = self.stand_ins[e]
                else:
                    stack.append((e, True))
                    stack += [(c, False) for c in reversed(e.children)]
        return rebuilt


def around(effects: Bindings, body: Expr) -> Expr:
    """A block with its effects before its result."""
    for var, e in reversed(effects):
        body = Let(var, e, body, span=e.span)
    return body


def _untyped(v: Var) -> NoReturn:
    fail(
        "traced-type",
        f"the type of `{v.name_hint}` is not known while the function is traced",
        caller_span(),
        hint="annotate the parameter, or call the function with arrays",
    )


def _is_asked(e: Expr) -> bool:
    """Whether the type of an expression is learned along with others: functions have too general ones."""
    return bool(e.children) and not isinstance(e, Function | Grad | VMap)
