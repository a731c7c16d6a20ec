"""What the functions inside of a definition take from around them, when they become definitions."""

from collections.abc import Iterator

from relay.ir.expr import Call, Expr, Function, GlobalVar, Let, LetRec, Var
from relay.ir.type import TypeRelation, TypeVar
from relay.ir.vars import binders


def is_partial_application(fn: Expr) -> bool:
    """Whether a function only calls a definition, with its own parameters as the last arguments."""
    if not isinstance(fn, Function) or type(fn.body) is not Call or type(fn.body.op) is not GlobalVar:
        return False
    args, n = fn.body.args, len(fn.params)
    return args[len(args) - n :] == fn.params and not any(a in fn.params for a in args[: len(args) - n])


def may_be_lifted(fn: Expr) -> bool:
    """Whether a function is to be a definition: fused functions and partial applications are not."""
    return type(fn) is Function and not fn.attrs.get("Primitive") and not is_partial_application(fn)


Polymorphism = tuple[tuple[TypeVar, ...], tuple[TypeRelation, ...]]


class Captures:
    """For each function inside of a definition in A-normal form, the variables that it takes from outside.

    A call of a function that `let` binds takes what that function takes; as a value it is a variable like
    others, which the function makes anew where it uses itself.
    """

    def __init__(self, root: Expr) -> None:
        """Goes through `root` once, then adds what calls need until nothing is missing."""
        self.names: dict[Expr, Function] = {}
        """The functions by the variables that `let` binds to them."""
        self.group: dict[Expr, tuple[Function, ...]] = {}
        """By these variables, the functions that are bound together; by these functions as well."""
        self.around: dict[Expr, Function | None] = {}
        """The function that is directly around each function."""
        self.home: dict[Expr, Function | None] = {}
        """The function inside of which each variable is bound."""
        self.of: dict[Expr, dict[Var, None]] = {}
        """What each takes from around it; functions that are bound together share it."""
        self.outside: set[Var] = set()
        """Names of functions that are values outside of themselves."""
        self.inside: dict[Expr, dict[Var, None]] = {}
        """For each function the names of its group that are values inside of it."""
        self.polymorphism: dict[Expr, Polymorphism] = {}
        """The type parameters and constraints of the functions around each."""
        self.callers: dict[Expr, list[Function]] = {}
        self.pending: list[tuple[Function | None, Var]] = []
        self.go_through(root)
        self.settle()

    def go_through(self, root: Expr) -> None:
        """Note who is inside of whom, and who mentions what."""
        outermost = (root.type_params, root.constraints) if isinstance(root, Function) else ((), ())
        for e, fn, inside in walk(root):
            if e is not root:
                self.enter(e, fn, outermost)
            self.home.update(dict.fromkeys(binders(e), inside))
            for i, c in enumerate(e.children):
                if type(c) is not Var:
                    continue
                if i == 0 and type(e) is Call and c in self.names:
                    if inside is not None:
                        self.callers.setdefault(self.names[c], []).append(inside)
                else:
                    self.pending.append((inside, c))

    def enter(self, e: Expr, fn: Function | None, outermost: Polymorphism) -> None:
        """Note what `e`, which is inside of `fn`, binds."""
        if type(e) is Let and may_be_lifted(e.value):
            self.bind((e.var,), (e.value,))
        elif type(e) is LetRec:
            self.bind(e.vars, e.values)
        if isinstance(e, Function) and may_be_lifted(e):
            self.around[e] = fn
            self.of.setdefault(e, {})
            if fn is None:
                self.polymorphism[e] = outermost
            else:
                params, constraints = self.polymorphism[fn]
                self.polymorphism[e] = ((*params, *fn.type_params), (*constraints, *fn.constraints))

    def bind(self, names: tuple[Var, ...], values: tuple[Expr, ...]) -> None:
        """Note functions that are bound together."""
        functions = tuple([f for f in values if isinstance(f, Function)])
        shared: dict[Var, None] = {}
        for v, f in zip(names, functions, strict=True):
            self.names[v], self.of[f] = f, shared
            self.group[v] = self.group[f] = functions

    def settle(self) -> None:
        """Add what mentions and calls need, until nothing is missing."""
        while self.pending:
            fn, v = self.pending.pop()
            home, group = self.home.get(v), self.group.get(v, ())
            while fn is not home:
                assert fn is not None
                if fn in group:
                    self.inside.setdefault(fn, {})[v] = None
                    break
                taken = self.of[fn]
                if v in taken:
                    break
                taken[v] = None
                for f in self.group.get(fn, (fn,)):
                    self.pending += [(caller, v) for caller in self.callers.get(f, ())]
                fn = self.around[fn]
            else:
                self.outside.add(v)


def walk(root: Expr) -> Iterator[tuple[Expr, Function | None, Function | None]]:
    """Every node under `root`, outside in, with the functions to be lifted around it and around its parts.

    A shared node comes once for each function that it is directly inside of.
    """
    stack: list[tuple[Expr, Function | None]] = [(root, None)]
    seen: set[tuple[Expr, Function | None]] = set()
    while stack:
        e, fn = place = stack.pop()
        if place in seen:
            continue
        seen.add(place)
        inside = e if isinstance(e, Function) and e is not root and may_be_lifted(e) else fn
        yield e, fn, inside
        stack += [(c, inside) for c in reversed(e.children)]
