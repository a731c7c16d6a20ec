"""A-normal form: every operand is an atom, and everything that is evaluated has its place in a `let` chain.

A definition is gone through in the order of evaluation.  What is evaluated becomes a binding of the block
(function body, branch or clause) that `relay.ir.scope` assigns to it, so that a shared node runs once and where
it did.
"""

from typing import Any, TypeAlias

from relay.ir.expr import (
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Let,
    LetRec,
    Op,
    Var,
)
from relay.ir.scope import OPENING, Places, Scope, opened, places
from relay.ir.type import HAS_BINDER, Type
from relay.typecheck.query import Types

ATOMS = frozenset({Var, Constant, GlobalVar, Op, Constructor})
"""What an operand may be."""
OPERAND, TAIL, MEMBER = "operand", "tail", "member"
Destination: TypeAlias = Var | str
"""What becomes of a value: a `let` binds it, an expression uses it, a block ends in it, a `let rec` binds it."""


def is_opaque(e: Expr) -> bool:
    """Whether `e` is a fused function, whose body stays a graph."""
    return type(e) is Function and bool(e.attrs.get("Primitive"))


class Block:
    """A `let` chain in the making."""

    __slots__ = ("bindings", "tail")

    def __init__(self) -> None:
        """`bindings` are variables, their values, and the node that bound them if it is one of the source."""
        self.bindings: list[tuple[tuple[Var, ...], tuple[Expr, ...], Let | LetRec | None]] = []
        self.tail: Expr | None = None

    def let(self, var: Var, value: Expr, source: Let | None = None) -> None:
        """Bind one more."""
        self.bindings.append(((var,), (value,), source))

    def close(self) -> Expr:
        """The chain; nodes of the source that say the same are kept."""
        body = self.tail
        assert body is not None
        for names, values, source in reversed(self.bindings):
            if source is not None and body is source.body and values == source.children[:-1]:
                body = source
                continue
            span = values[0].span if source is None else source.span
            if isinstance(source, LetRec):
                body = LetRec(names, values, body, span=span)
            else:
                body = Let(names[0], values[0], body, span=span)
        return body


def anf(root: Expr, types: Types, name: str = "x") -> Expr:
    """A definition in A-normal form; the same object if it is already.

    `types` knows the module's definitions.  Variables that are added are called `name` and annotated, but for
    those that hold an instance of something polymorphic, as in `let %x = (tanh, 1)`, which only inference knows.
    """
    return _Normaliser(root, types, name).run(root)


class _Normaliser:
    """One pass over a definition."""

    def __init__(self, root: Expr, types: Types, name: str) -> None:
        self.types = types
        self.name = name
        self.places: Places = places(root)
        self.blocks: dict[Scope, Block] = {}
        self.atoms: dict[Expr, Expr] = {}
        """What each node that has been evaluated is known by."""
        self.functions: dict[Expr, Expr] = {}
        """What became of the functions of `let rec`s, and of shared ones."""
        self.stack: list[tuple[Any, ...]] = []
        """What is still to be done, the next on top: methods with their arguments."""

    def run(self, root: Expr) -> Expr:
        """The definition; a function stays what it is, anything else becomes a block."""
        whole = Block()
        self.blocks[self.places.where[root]] = whole
        self.enter(root, TAIL, whole)
        stack = self.stack
        while stack:
            step, *args = stack.pop()
            step(*args)
        return whole.close()

    def enter(self, e: Expr, to: Destination, block: Block) -> None:
        """Evaluate `e`, for which `block` has a use."""
        kind = type(e)
        if to is not MEMBER and (kind in ATOMS or e in self.atoms):
            if to is not OPERAND:
                self.deliver(self.atoms.get(e, e), to, block)
            return
        shared = e in self.places.shared
        home = self.blocks[self.places.where[e]] if shared else block
        if kind is Let or kind is LetRec:
            self.bind(e, to, block, home, shared)  # pyright: ignore[reportArgumentType]
        elif e in self.functions:
            self.settle(e, self.functions[e], to, block, home, shared)
        else:
            self.stack.append((self.leave, e, to, block, home, shared))
            self.open(e, home)

    def open(self, e: Expr, home: Block) -> None:
        """Evaluate the operands of `e`, then each scope that it opens as a block of its own."""
        enter, atoms = self.enter, self.atoms
        if type(e) not in OPENING:
            self.stack += [
                (enter, c, OPERAND, home)
                for c in reversed(e.children)
                if type(c) not in ATOMS and c not in atoms
            ]
        elif not is_opaque(e):
            inner = iter(self.places.inner[e])
            steps: list[tuple[Any, ...]] = []
            for child, is_scope in opened(e):
                if is_scope:
                    block = self.blocks[next(inner)] = Block()
                    steps.append((enter, child, TAIL, block))
                else:
                    steps.append((enter, child, OPERAND, home))
            self.stack += reversed(steps)

    def bind(self, e: Let | LetRec, to: Destination, block: Block, home: Block, shared: bool) -> None:
        """Bind what a `let` binds, then go on with its body."""
        stack = self.stack
        if shared or to is OPERAND:
            stack.append((self.remember, e, to, block))
            to, block = OPERAND, home
        stack.append((self.enter, e.body, to, block))
        if isinstance(e, Let):
            stack.append((self.name_source, e, home))
            stack.append((self.enter, e.value, e.var, home))
        else:
            stack.append((self.group, e, home))
            stack += [(self.enter, value, MEMBER, home) for value in reversed(e.values)]

    def name_source(self, e: Let, home: Block) -> None:
        """Note which `let` the last binding comes from."""
        names, values, _ = home.bindings[-1]
        home.bindings[-1] = (names, values, e)

    def group(self, e: LetRec, home: Block) -> None:
        """Bind functions that know each other, now that they are there."""
        home.bindings.append((e.vars, tuple([self.functions[v] for v in e.values]), e))

    def remember(self, e: Let | LetRec, to: Destination, block: Block) -> None:
        """A `let` is known by what its body is known by."""
        atom = self.atoms[e] = self.atoms.get(e.body, e.body)
        if to is not OPERAND:
            self.deliver(atom, to, block)

    def leave(self, e: Expr, to: Destination, block: Block, home: Block, shared: bool) -> None:
        """The parts of `e` are there: rebuild it around them."""
        made = self.rebuilt(e)
        if to is MEMBER or (shared and type(e) is Function):
            self.functions[e] = made
        self.settle(e, made, to, block, home, shared)

    def settle(self, e: Expr, made: Expr, to: Destination, block: Block, home: Block, shared: bool) -> None:
        """Put what became of `e` where it belongs."""
        if to is MEMBER:
            return
        if to is TAIL and not shared:
            block.tail = made
        elif isinstance(to, Var) and home is block and (not shared or to.type_annotation == self.types(e)):
            block.let(to, made)
            self.atoms[e] = to
        else:
            var = self.atoms[e] = Var(self.name, self.annotation(e), span=e.span)
            home.let(var, made)
            if to is not OPERAND:
                self.deliver(var, to, block)

    def annotation(self, e: Expr) -> Type | None:
        """The type of a variable for `e`; None where `e` holds an instance of something polymorphic."""
        t = self.types(e)
        return None if t.flags & HAS_BINDER and type(e) is not Function else t

    def rebuilt(self, e: Expr) -> Expr:
        """`e` with its operands as atoms and its scopes as blocks."""
        atoms = self.atoms
        if is_opaque(e):
            return e
        if type(e) in OPENING:
            inner = iter(self.places.inner[e])
            now = [
                self.blocks[next(inner)].close() if is_scope else atoms.get(c, c) for c, is_scope in opened(e)
            ]
        else:
            now = [atoms.get(c, c) for c in e.children]
        children = tuple(now)
        return e if children == e.children else e.rebuild(children)

    def deliver(self, atom: Expr, to: Destination, block: Block) -> None:
        """Use what is known already."""
        if isinstance(to, Var):
            block.let(to, atom)
        else:
            block.tail = atom
