"""A-normal form: every operand is an atom, and everything that is evaluated has its place in a `let` chain.

A definition is gone through in the order of evaluation.  What is evaluated becomes a binding of the block
(function body, branch or clause) that `relay.ir.scope` assigns to it, so that a shared node runs once and
where it did.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Let,
    LetRec,
    Op,
    TupleGetItem,
    Var,
)
from relay.ir.module import IRModule
from relay.ir.scope import OPENING, Scope, opened, places
from relay.ir.type import HAS_BINDER, TupleType, Type
from relay.transform.rewriting.chains import Chain
from relay.transform.rewriting.definitions import annotate, annotated, with_definitions
from relay.transform.rewriting.forms import ANF, TYPED
from relay.typecheck.solver import remembered
from relay.typecheck.types import Types, Unannotated

ATOMS = frozenset({Var, Constant, GlobalVar, Op, Constructor})
"""What an operand may be."""
OPERAND, TAIL, MEMBER = "operand", "tail", "member"
Destination: TypeAlias = Var | str
"""What a value is for: a `let` binds it, or it is an operand, ends a block, is a member of a `let rec`."""


def is_opaque(e: Expr) -> bool:
    """Whether `e` is a fused function, whose body stays a graph."""
    return type(e) is Function and bool(e.attrs.get("Primitive"))


class Block(Chain):
    """A function body, branch or clause in the making."""

    __slots__ = ("tail",)

    def __init__(self) -> None:
        """Its `tail` is what it ends in."""
        super().__init__()
        self.tail: Expr | None = None

    def close(self) -> Expr:
        """The whole of it."""
        assert self.tail is not None
        return self.finish(self.tail)


def anf(root: Expr, types: Types, name: str = "x") -> Expr:
    """A definition in A-normal form; the same object if it is already.

    `types` knows the module's definitions.  Variables that are added are called `x1`, … and annotated, except
    those with an instance of something polymorphic, as in `let %x = (tanh, 1)`, which only inference knows.
    """
    return Normaliser(root, types, name).run(root)


class Normaliser:
    """One pass over a definition."""

    def __init__(
        self, root: Expr, types: Types, name: str = "x", binds: Callable[[Expr], bool] | None = None
    ) -> None:
        """`binds` says what to bind besides what is bound already; everything if there is none."""
        self.types = types
        self.binds = binds
        self.name = name
        self.count = 0
        self.has_unannotated = False
        self.places = places(root)
        self.shared = self.places.shared
        self.blocks: dict[Scope, Block] = {}
        self.atoms: dict[Expr, Expr] = {}
        """What each node that has been evaluated is known by."""
        self.functions: dict[Expr, Expr] = {}
        """What became of the functions of `let rec`s, and of shared ones."""
        self.stack: list[tuple[Callable[[Expr, Destination, Block], None], Expr, Destination, Block]] = []
        """A stack of the work left, the next item on top."""

    def run(self, root: Expr) -> Expr:
        """The definition; a function stays what it is, anything else becomes a block."""
        whole = self.blocks[self.places.where[root]] = Block()
        stack = self.stack
        stack.append((self.enter, root, TAIL, whole))
        while stack:
            step, e, to, block = stack.pop()
            step(e, to, block)
        return whole.close()

    def home(self, e: Expr, block: Block) -> Block:
        """The block that evaluates `e`, for which `block` has a use."""
        return self.blocks[self.places.where[e]] if e in self.shared else block

    def enter(self, e: Expr, to: Destination, block: Block) -> None:
        """Evaluate `e`, for which `block` has a use."""
        kind = type(e)
        if to is not MEMBER and (kind in ATOMS or e in self.atoms):
            self.deliver(self.atoms.get(e, e), to, block)
        elif kind is Let or kind is LetRec:
            self.bind(e, to, block)  # pyright: ignore[reportArgumentType]
        elif e in self.functions:
            self.settle(e, self.functions[e], to, block)
        else:
            home = self.home(e, block)
            if kind in OPENING:
                self.stack.append((self.leave, e, to, block))
                self.open(e, home)
            else:
                if to is OPERAND and self.binds is None:
                    self.stack.append((self.bind_operand, e, to, home))
                else:
                    self.stack.append((self.leave, e, to, block))
                enter, atoms = self.enter, self.atoms
                missing = [c for c in e.children if type(c) not in ATOMS and c not in atoms]
                missing.reverse()
                self.stack += [(enter, c, OPERAND, home) for c in missing]

    def open(self, e: Expr, home: Block) -> None:
        """Evaluate the operands of `e`, then each scope that it opens as a block of its own."""
        if is_opaque(e):
            return
        inner = iter(self.places.inner[e])
        steps: list[tuple[Callable[[Expr, Destination, Block], None], Expr, Destination, Block]] = []
        for child, is_scope in opened(e):
            if is_scope:
                block = self.blocks[next(inner)] = Block()
                steps.append((self.enter, child, TAIL, block))
            else:
                steps.append((self.enter, child, OPERAND, home))
        self.stack += reversed(steps)

    def bind(self, e: Let | LetRec, to: Destination, block: Block) -> None:
        """Bind what a `let` binds, then go on with its body."""
        stack, home = self.stack, self.home(e, block)
        if to is OPERAND or e in self.shared:
            stack.append((self.remember, e, to, block))
            stack.append((self.enter, e.body, OPERAND, home))
        else:
            stack.append((self.enter, e.body, to, home))
        if isinstance(e, Let):
            stack.append((self.name_source, e, to, home))
            stack.append((self.enter, e.value, e.var, home))
        else:
            stack.append((self.group, e, to, home))
            stack += [(self.enter, value, MEMBER, home) for value in reversed(e.values)]

    def name_source(self, e: Expr, to: Destination, home: Block) -> None:
        """Note which `let` the last binding comes from."""
        assert isinstance(e, Let)
        names, values, _ = home.bindings[-1]
        home.bindings[-1] = (names, values, e)

    def group(self, e: Expr, to: Destination, home: Block) -> None:
        """Bind functions that know each other, now that they are there."""
        assert isinstance(e, LetRec)
        home.let_rec(e.vars, tuple([self.functions[v] for v in e.values]), e)

    def remember(self, e: Expr, to: Destination, block: Block) -> None:
        """A `let` is known by what its body is known by."""
        assert isinstance(e, Let | LetRec)
        atom = self.atoms[e] = self.atoms.get(e.body, e.body)
        self.deliver(atom, to, block)

    def leave(self, e: Expr, to: Destination, block: Block) -> None:
        """The parts of `e` are there: rebuild it around them."""
        made = self.rebuilt(e)
        if to is MEMBER or (type(e) is Function and e in self.shared):
            self.functions[e] = made
        self.settle(e, made, to, block)

    def bind_operand(self, e: Expr, to: Destination, home: Block) -> None:
        """As `leave`, for what opens no scope and is an operand: most of a program."""
        atoms, before = self.atoms, e.children
        children = tuple([atoms.get(c, c) for c in before])
        self.bound(e, e if children == before else e.rebuild(children), home)

    def settle(self, e: Expr, made: Expr, to: Destination, block: Block) -> None:
        """Put what became of `e` where it belongs."""
        shared = e in self.shared
        if to is MEMBER:
            return
        if to is TAIL and not shared:
            block.tail = made
        elif type(to) is Var and not shared:
            block.let(to, made)
            self.atoms[e] = to
        elif self.binds is not None and not self.binds(e):
            self.atoms[e] = made
            self.deliver(made, to, block)
        elif type(to) is Var and self.home(e, block) is block and to.type_annotation == self.types(e):
            block.let(to, made)
            self.atoms[e] = to
        else:
            self.deliver(self.bound(e, made, self.home(e, block)), to, block)

    def bound(self, e: Expr, made: Expr, home: Block) -> Var:
        """A new variable for what became of `e`."""
        self.count += 1
        var = Var(f"{self.name}{self.count}", self.annotation(e, made), span=e.span)
        self.atoms[e] = var
        home.let(var, made)
        return var

    def annotation(self, e: Expr, made: Expr) -> Type | None:
        """The type of a variable for `e`; None where `e` holds an instance of something polymorphic."""
        t = None
        if type(made) is TupleGetItem:
            whole = made.tuple_value.type_annotation if type(made.tuple_value) is Var else None
            t = whole.fields[made.index] if isinstance(whole, TupleType) else None
        elif type(made) is Call and type(made.op) is Op:
            operands = [self.types.leaf(a) if type(a) is not Var else a.type_annotation for a in made.args]
            t = remembered(made.attrs, tuple(operands))  # pyright: ignore[reportArgumentType]
        if t is None:
            try:
                t = self.types(made)
            except Unannotated:
                t = self.types(e)
        if t.flags & HAS_BINDER and type(e) is not Function:
            self.has_unannotated = True
            return None
        return t

    def rebuilt(self, e: Expr) -> Expr:
        """`e` with its operands as atoms and its scopes as blocks."""
        atoms, before = self.atoms, e.children
        if type(e) not in OPENING:
            now = [atoms.get(c, c) for c in before]
        elif is_opaque(e):
            return e
        else:
            inner = iter(self.places.inner[e])
            now = [
                self.blocks[next(inner)].close() if is_scope else atoms.get(c, c) for c, is_scope in opened(e)
            ]
        children = tuple(now)
        return e if children == before else e.rebuild(children)

    def deliver(self, atom: Expr, to: Destination, block: Block) -> None:
        """Use what is known already."""
        if type(to) is Var:
            block.let(to, atom)
        elif to is TAIL:
            block.tail = atom


def normalised(mod: IRModule, names: Iterable[GlobalVar], binds: Callable[[Expr], bool] | None) -> IRModule:
    """`mod` with what `binds` says bound in some definitions."""
    types = Types(mod)
    new, unannotated = dict[GlobalVar, Expr](), list[GlobalVar]()
    for v in names:
        passage = Normaliser(mod.functions[v], types, binds=binds)
        new[v] = passage.run(mod.functions[v])
        if passage.has_unannotated:
            unannotated.append(v)
    out = with_definitions(mod, new)
    return annotate(out, unannotated) if unannotated else out


def anf_module(mod: IRModule) -> IRModule:
    """The annotated module with each definition in A-normal form; the same object if it is known to be."""
    mod = annotated(mod)
    if ANF.is_known(mod):
        return mod
    out = normalised(mod, mod.functions, None)
    TYPED.note(out)
    ANF.note(out)
    return out
