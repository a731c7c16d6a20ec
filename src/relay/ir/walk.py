"""Walking and rewriting programs.  None of this recurses over the program; shared nodes are visited once."""

from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar

from relay.ir.expr import Expr, Pattern, Var
from relay.ir.pattern import BINDING, PatternAs, PatternConstructor, PatternOr, PatternTuple, PatternVar
from relay.ir.type import Type

R = TypeVar("R")


def post_order(root: Expr, seen: set[Expr] | None = None) -> Iterator[Expr]:
    """Every distinct node under `root` once, children before parents.

    Nodes that are in `seen` are passed over, and it grows by those that are not.
    """
    seen = set() if seen is None else seen
    stack: list[Expr | None] = [root]  # None: the children of the node below are done
    push = stack.append
    while stack:
        e = stack.pop()
        if e is None:
            e = stack.pop()
            assert e is not None
            yield e
        elif e not in seen:
            seen.add(e)
            children = e.children
            if children:
                push(e)
                push(None)
                stack += children[::-1]
            else:
                yield e


def rewrite(root: Expr, rule: Callable[[Expr], Expr | None]) -> Expr:
    """`root` with `rule` applied bottom-up, once to each distinct node; None keeps the node."""
    new: dict[Expr, Expr] = {}
    for e in post_order(root):
        children = tuple([new[c] for c in e.children])
        kept = e if children == e.children else e.rebuild(children)
        changed = rule(kept)
        new[e] = kept if changed is None else changed
    return new[root]


def fold(root: Expr, visit: Callable[[Expr], Generator[Expr, R, R]], memo: dict[Expr, R] | None = None) -> R:
    """What `visit` returns for `root`: a generator that yields a child and receives the child's result.

    It reads like recursion and runs on an explicit stack; each node is visited once (`memo` has the results).
    """
    done: dict[Expr, Any] = {} if memo is None else memo
    if root in done:
        return done[root]
    stack: list[tuple[Expr, Generator[Expr, R, R]]] = [(root, visit(root))]
    sent: Any = None
    while stack:
        e, steps = stack[-1]
        try:
            child = steps.send(sent)
            while child in done:
                child = steps.send(done[child])
        except StopIteration as stop:
            stack.pop()
            sent = done[e] = stop.value
        else:
            stack.append((child, visit(child)))
            sent = None
    return done[root]


def rewrite_pattern(root: Pattern, rule: Callable[[Pattern], Pattern | None]) -> Pattern:
    """`root` with `rule` applied bottom-up to every pattern inside; None keeps it."""
    done: list[Pattern] = []
    stack: list[tuple[Pattern, bool]] = [(root, False)]
    while stack:
        p, ready = stack.pop()
        children = p.children
        if children and not ready:
            stack.append((p, True))
            stack += [(c, False) for c in reversed(children)]
            continue
        new = tuple(done[len(done) - len(children) :])
        del done[len(done) - len(children) :]
        kept = p if new == children else rebuild_pattern(p, new)
        changed = rule(kept)
        done.append(kept if changed is None else changed)
    return done[0]


def renamed_pattern(root: Pattern, name: Callable[[Var], Var]) -> Pattern:
    """`root` binding `name(v)` in place of each variable `v`."""

    def rule(p: Pattern) -> Pattern | None:
        if not isinstance(p, BINDING):
            return None
        v = name(p.var)
        if v is p.var:
            return None
        return (
            PatternVar(v, span=p.span) if isinstance(p, PatternVar) else PatternAs(p.pattern, v, span=p.span)
        )

    return rewrite_pattern(root, rule)


def rebuild_pattern(p: Pattern, children: tuple[Pattern, ...]) -> Pattern:
    """A pattern around other ones."""
    if isinstance(p, PatternConstructor):
        return PatternConstructor(p.constructor, children, span=p.span)
    if isinstance(p, PatternAs):
        return PatternAs(children[0], p.var, span=p.span)
    assert isinstance(p, PatternTuple | PatternOr)
    return type(p)(children, span=p.span)


def type_post_order(root: Type, seen: set[Type] | None = None) -> Iterator[Type]:
    """Every distinct type inside `root` once, parts before wholes; symbolic dimensions too.

    Types that are in `seen` are passed over, and it grows by those that are not.
    """
    seen = set() if seen is None else seen
    stack: list[tuple[Type, bool]] = [(root, False)]
    while stack:
        t, ready = stack.pop()
        if ready:
            yield t
        elif t not in seen:
            seen.add(t)
            stack.append((t, True))
            stack += [(c, False) for c in reversed(t.children)]


def run(task: Generator[Any, Any, R]) -> R:
    """What a generator returns that yields further generators and receives their results, or has their
    exceptions raised at the `yield`.

    Functions that call each other as deeply as a program nests are written so, with `yield` in front of each
    call.
    """
    waiting: list[Generator[Any, Any, Any]] = []
    top: Generator[Any, Any, Any] = task
    value: Any = None
    raised: Exception | None = None
    trace = None
    while True:
        try:
            called = top.send(value) if raised is None else top.throw(raised)
        except StopIteration as stop:
            value, raised = stop.value, None
            if not waiting:
                return value
            top = waiting.pop()
        except Exception as error:
            if error is not raised:
                trace = error.__traceback__
            if not waiting:
                error.__traceback__ = trace
                raise
            # A traceback through every waiting generator would be as long as the program is deep.
            raised = error.with_traceback(None)
            top = waiting.pop()
        else:
            waiting.append(top)
            top, value, raised = called, None, None
