"""Inlining: the bodies of functions in the place of their calls."""

from collections import Counter
from typing import Any

from relay.analysis.call_graph import CallGraph
from relay.analysis.normal_form import ATOMS
from relay.analysis.uses import recursive_lets
from relay.ir.expr import (
    Call,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    LetRec,
    Match,
    Op,
    Var,
    replace,
)
from relay.ir.module import IRModule
from relay.ir.type import HAS_ANY, FuncType, Type, TypeCall
from relay.ir.walk import post_order, run
from relay.transform.rewriting.chains import Chain, Task, in_turn, link
from relay.transform.rewriting.copying import Copy
from relay.transform.rewriting.definitions import with_definitions, without_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.instantiation import instance_args
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.query import Types


@module_pass("inline", needs=(ANF,), gives=(ANF,), public="Inline")
def inline(
    mod: IRModule, *, max_size: int = 20, all_calls: bool = False, max_nodes: int = 1_000_000
) -> IRModule:
    """Inline functions that are small or called once.

    Functions of at most `max_size` nodes are inlined at each call (all functions with `all_calls`), and
    functions with a single call at that call.  The attribute `inline` of a function overrides the choice.
    Recursive functions stay, and nothing is inlined once `max_nodes` nodes have been copied; definitions
    whose calls have all been replaced are removed, except `@main`.  The order of evaluation does not change,
    because operands are atoms.

    >>> show(inline, "def @f(%x: float32) { tanh(%x) + %x } def @main(%y: float32) { sin(@f(%y)) }")
    def @main(%y: float32) -> float32 {
      let %x1: float32 = tanh(%y);
      let %x1: float32 = %x1 + %y;
      sin(%x1)
    }
    """
    return _Inliner(mod, max_size, all_calls, max_nodes).module()


class _Inliner:
    """One run over a module."""

    def __init__(self, mod: IRModule, max_size: int, all_calls: bool, max_nodes: int) -> None:
        self.mod = mod
        self.max_size = max_size
        self.all_calls = all_calls
        self.left = max_nodes
        self.types = Types(mod)
        self.graph = CallGraph(mod)
        self.uses: Counter[Expr] = Counter()
        """How often each name is mentioned, in the source and in what has been copied of it."""
        self.values: Counter[Expr] = Counter()
        """How often it is mentioned other than to be called."""
        self.recursive: set[Expr] = set()
        """The `let`s whose function calls itself."""
        self.sizes: dict[Function, int] = {}
        self.atoms: dict[Expr, Expr] = {}
        """What variables of the source are known by."""
        self.functions: dict[Expr, Function] = {}
        """The local functions that do not call themselves."""
        self.mentioned: set[Expr] = set()
        """What the result mentions."""

    # --- the module ---

    def module(self) -> IRModule:
        """Inline in every definition that is left."""
        for definition in self.mod.functions.values():
            self.count(definition)
        for group in self.graph.components():
            self.measure(group[0])
        gone = {v for v in self.mod.functions if self.may_vanish(v)}
        pending = [v for v in self.mod.functions if v not in gone]
        new: dict[GlobalVar, Expr] = {}
        while pending:
            v = pending.pop()
            new[v] = run(self.definition(self.mod.functions[v]))
            back = [g for g in gone if g in self.mentioned]
            gone.difference_update(back)
            pending += back
        return without_definitions(with_definitions(self.mod, new), gone)

    def count(self, root: Expr) -> None:
        """Count what `root` mentions."""
        for e in post_order(root):
            for i, c in enumerate(e.children):
                if type(c) is Var or type(c) is GlobalVar:
                    self.uses[c] += 1
                    if i > 0 or type(e) is not Call:
                        self.values[c] += 1
        self.recursive.update(recursive_lets(root))

    def measure(self, name: GlobalVar) -> None:
        """Note the size of a definition; what it calls has been measured."""
        fn = self.mod.functions[name]
        if isinstance(fn, Function):
            self.sizes[fn] = self.size(fn)

    def size(self, fn: Function) -> int:
        """The nodes of a body, atoms left out, with what small functions add; counted while it matters."""
        total = 0
        stack = [fn.body]
        while stack and total <= self.max_size:
            e = stack.pop()
            if e.children:
                total += 1
                stack += e.children
                called = self.known(e.op) if type(e) is Call else None
                total += self.sizes.get(called, 0) if called is not None else 0
        return total

    def may_vanish(self, v: GlobalVar) -> bool:
        """Whether a definition is not needed when all its calls are inlined."""
        if v.name_hint == "main" or "main" not in self.mod or not self.uses[v] or self.values[v]:
            return False
        fn = self.known(v)
        return fn is not None and self.is_wanted(v, fn)

    # --- what is inlined ---

    def known(self, callee: Expr) -> Function | None:
        """The function that a name stands for, if it does not reach itself."""
        if type(callee) is GlobalVar:
            fn = self.mod.functions[callee]
            return fn if isinstance(fn, Function) and not self.graph.is_recursive(callee) else None
        return self.functions.get(callee)

    def is_wanted(self, callee: Expr, fn: Function) -> bool:
        """Whether calls of a function are to be inlined."""
        said = fn.attrs.get("inline", fn.attrs.get("Inline"))
        if fn.attrs.get("Primitive") or fn.attrs.get("Compiler") or (said is not None and not said):
            return False
        if said or self.all_calls or self.is_only_use(callee, fn):
            return True
        return self.sizes.get(fn, self.max_size + 1) <= self.max_size

    def is_only_use(self, callee: Expr, fn: Function) -> bool:
        """Whether the one mention of a function is a call, which may have its body."""
        movable = type(callee) is Var or "main" in self.mod
        return movable and self.uses[callee] == 1 and not self.values[callee] and not fn.type_params

    def chosen(self, e: Call) -> Function | None:
        """The function to put in the place of a call."""
        fn = self.known(e.op)
        if (
            fn is None
            or len(e.written_type_args) != len(fn.type_params)
            or any(map(is_open, e.written_type_args))
        ):
            return None
        if not self.is_only_use(e.op, fn) and self.left <= 0:
            return None
        return fn if self.is_wanted(e.op, fn) else None

    # --- blocks ---

    def definition(self, e: Expr) -> Task:
        """A definition with calls inlined."""
        return (yield self.function(e) if isinstance(e, Function) else self.block(e))

    def function(self, fn: Expr) -> Task:
        """A function that stays."""
        assert isinstance(fn, Function)
        if fn.attrs.get("Primitive"):
            return fn
        body = yield self.block(fn.body)
        return fn if body is fn.body else replace(fn, body=body)

    def block(self, e: Expr) -> Task:
        """A block with calls inlined."""
        chain = Chain()
        tail = yield self.statements(e, chain)
        return (yield self.finish(chain, tail))

    def statements(self, e: Expr, chain: Chain) -> Task:
        """Add the bindings of a block to a chain; returns what it ends in."""
        while isinstance(e, Let | LetRec):
            if isinstance(e, LetRec):
                chain.let_rec(e.vars, e.values, e)
            elif isinstance(e.value, Function):
                chain.let(e.var, e.value, e)
                if e not in self.recursive:
                    self.functions[e.var] = e.value
                    self.sizes[e.value] = self.size(e.value)
            else:
                self.bind(e.var, (yield self.statement(e.value, chain)), chain, e)
            e = e.body
        return (yield self.statement(e, chain))

    def bind(self, var: Var, value: Expr, chain: Chain, source: Let | None = None) -> None:
        """Bind a variable, unless it is another name of something."""
        if type(value) in ATOMS and self.is_name(value, var.type_annotation):
            self.atoms[var] = value
        else:
            chain.let(var, value, source)

    def is_name(self, atom: Expr, t: Type | None) -> bool:
        """Whether an atom may stand for a variable of type `t`."""
        found = self.types(atom)
        if found == t or type(atom) is Op or type(atom) is Constructor:
            return True
        return isinstance(found, FuncType) and isinstance(t, FuncType) and bool(instance_args(found, t))

    def finish(self, chain: Chain, body: Expr) -> Task:
        """Close a chain, from its end; a function is gone through when it is known that it is needed."""
        self.mention(body)
        for names, values, source in reversed(chain.bindings):
            if isinstance(values[0], Function):
                if not any(v in self.mentioned for v in names):
                    continue
                values = tuple((yield in_turn(map(self.function, values))))
            else:
                self.mention(values[0])
            body = link(names, values, body, source)
        return body

    def mention(self, e: Expr) -> None:
        """Note what a statement of the result mentions."""
        self.mentioned.update(e.children or (e,))

    # --- statements ---

    def statement(self, e: Expr, chain: Chain) -> Task:
        """A value of the source around the atoms of now, calls replaced by what they come to."""
        match e:
            case If(cond, yes, no):
                parts: tuple[Expr, ...] = (self.atom(cond), *(yield in_turn(map(self.block, (yes, no)))))
            case Match(data, clauses):
                parts = (self.atom(data), *(yield in_turn(self.block(c.rhs) for c in clauses)))
            case Function():
                return (yield self.function(e))
            case Call():
                call = self.called(e)
                fn = self.chosen(call)
                return call if fn is None else (yield self.inlined(call, fn, chain))
            case _ if not e.children:
                return self.atom(e)
            case _:
                parts = tuple([self.atom(c) for c in e.children])
        return e if parts == e.children else e.rebuild(parts)

    def atom(self, e: Expr) -> Expr:
        """What an atom of the source is known by."""
        return self.atoms.get(e, e)

    def called(self, e: Call) -> Call:
        """A call around the atoms of now; a polymorphic callee gets the type arguments that are implied."""
        parts = tuple([self.atom(c) for c in e.children])
        if parts == e.children:
            return e
        op = parts[0]
        if op is e.op:
            return Call(op, parts[1:], e.attrs, e.written_type_args, span=e.span)
        t = self.types(e.op)
        args = e.written_type_args
        if isinstance(op, Constructor) and isinstance(t, FuncType) and isinstance(t.ret_type, TypeCall):
            args = t.ret_type.args
        elif not isinstance(op, Op) and not args:
            scheme = self.types(op)
            assert isinstance(scheme, FuncType)
            args = instance_args(scheme, t) or ()
        return Call(op, parts[1:], None, args, span=e.span)

    def inlined(self, e: Call, fn: Function, chain: Chain) -> Task:
        """The body of a function, added to a chain; returns what it ends in."""
        if self.is_only_use(e.op, fn):
            params, body, result = fn.params, fn.body, fn.ret_type
        else:
            copy = Copy(dict(zip(fn.type_params, e.written_type_args, strict=True)))
            params, body, result = copy.function(fn)
            self.left -= copy.size
            self.count(body)
        for p, a in zip(params, e.args, strict=True):
            self.bind(p, a, chain)
        tail = yield self.statements(body, chain)
        if self.types(tail) == result:
            return tail
        var = Var("x", result, span=e.span)
        chain.let(var, tail)
        return var


def is_open(arg: Any) -> bool:
    """Whether a type argument has a size that only running tells: entering the function looks at it."""
    if isinstance(arg, tuple):
        return any(isinstance(d, Type) and d.flags & HAS_ANY for d in arg)  # pyright: ignore[reportUnknownVariableType]
    return isinstance(arg, Type) and bool(arg.flags & HAS_ANY)
