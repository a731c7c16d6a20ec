"""What partial evaluation knows: values that are partly known, frames, contents of references."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from relay.ir.expr import Clause, Constant, Constructor, Expr, Function, Pattern, Tuple, Var
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar, PatternWildcard
from relay.ir.type import HAS_VAR, Type
from relay.transform.rewriting.copying import Copy

MOST_LOOKED_AT = 32
"""Parts of a value that are looked at for what it is."""
MAX_TUPLE_DEPTH = 8
"""Tuples that nest more deeply are not folded."""


class Value:
    """What the result calls a value, an atom once it is bound, and what is known of it beyond that.

    `static` is a tuple of values, a `Cell`, a `Closure`, a `Reference`, or None.
    """

    __slots__ = ("atom", "static")

    def __init__(self, atom: Expr, static: "Static" = None) -> None:
        """`atom` is an expression that is not evaluated yet where the value has no name yet."""
        self.atom = atom
        self.static = static


class Cell:
    """An instance of a data type: the constructor and its fields.  `height` counts cells in one another."""

    __slots__ = ("constructor", "fields", "height")

    def __init__(self, constructor: Constructor, fields: tuple[Value, ...]) -> None:
        """The fields in order."""
        self.constructor = constructor
        self.fields = fields
        below = [f.static.height for f in fields if type(f.static) is Cell]
        self.height: int = 1 + max(below, default=0)


class Closure:
    """A function of the source and the frame in which it was met."""

    __slots__ = ("frame", "function")

    def __init__(self, function: Function, frame: "Frame") -> None:
        """`frame` has the values of its free variables."""
        self.function = function
        self.frame = frame


class Reference:
    """A reference that was made here; each is itself alone."""

    __slots__ = ()


Static: TypeAlias = tuple[Value, ...] | Cell | Closure | Reference | None


class Frame:
    """The values of the variables in one run of a function body.

    The result reuses the variables of a frame that is its `own`: the body stands in its place, and once.
    """

    __slots__ = ("copy", "own", "parent", "vars")

    def __init__(self, parent: "Frame | None", copy: Copy | None, own: bool) -> None:
        """`copy` knows what stands for type parameters, if it is another than around it."""
        self.parent = parent
        self.copy = copy if copy is not None or parent is None else parent.copy
        self.own = own
        self.vars: dict[Expr, Value] = {}

    def find(self, v: Expr) -> Value:
        """The value of a variable."""
        found = self.vars.get(v)
        frame = self.parent
        while found is None:
            assert frame is not None, "variables are bound before they are used"
            found = frame.vars.get(v)
            frame = frame.parent
        self.vars[v] = found
        return found

    def type(self, t: Any) -> Any:
        """A type, dimension or dtype as it is in this run."""
        if self.copy is None or (isinstance(t, Type) and not t.flags & HAS_VAR):
            return t
        return self.copy.type(t)

    def types(self, several: Sequence[Any]) -> tuple[Any, ...]:
        """Type arguments as they are in this run."""
        return tuple([self.type(t) for t in several])


class Store:
    """The known contents of references, with a log to undo changes."""

    def __init__(self) -> None:
        """Nothing is known."""
        self.contents: dict[Reference, Value] = {}
        self.log: list[tuple[Reference | None, Any]] = []

    def get(self, r: Static) -> Value | None:
        """What a reference holds, if that is known."""
        return self.contents.get(r) if isinstance(r, Reference) else None

    def set(self, r: Reference, value: Value | None) -> None:
        """A reference holds a value now, or (None) nobody knows what."""
        self.log.append((r, self.contents.get(r)))
        if value is None:
            self.contents.pop(r, None)
        else:
            self.contents[r] = value

    def forget(self) -> None:
        """Anything may have been written."""
        if self.contents:
            self.log.append((None, self.contents))
            self.contents = {}

    def undo(self, mark: int) -> list[Reference | None]:
        """Go back to when the log was `mark` long; returns what was changed since, None for everything."""
        changed: list[Reference | None] = []
        while len(self.log) > mark:
            r, before = self.log.pop()
            changed.append(r)
            if r is None:
                self.contents = before
            elif before is None:
                self.contents.pop(r, None)
            else:
                self.contents[r] = before
        return changed

    def join(self, changed: Sequence[Reference | None]) -> None:
        """Some of this may have happened."""
        if None in changed:
            self.forget()
        else:
            for r in changed:
                assert r is not None
                if r in self.contents:
                    self.set(r, None)


# --- patterns ---


def matches(pattern: Pattern, value: Value) -> bool | None:
    """Whether a pattern matches a value; None if that is not known."""
    result: bool | None = True
    stack: list[tuple[Pattern, Value | None]] = [(pattern, value)]
    while stack:
        p, v = stack.pop()
        if isinstance(p, PatternTuple):
            known = v.static if v is not None else None
            parts = known if isinstance(known, tuple) else [None] * len(p.patterns)
            stack += zip(p.patterns, parts, strict=True)
        elif isinstance(p, PatternConstructor):
            cell = v.static if v is not None else None
            if not isinstance(cell, Cell):
                result = None
            elif cell.constructor != p.constructor:
                return False
            else:
                stack += zip(p.patterns, cell.fields, strict=True)
    return result


def assigned(pattern: Pattern, value: Value, field: Callable[[Value, int], Value]) -> list[tuple[Var, Value]]:
    """The variables of a pattern that matches, with their values; `field` takes one out of a tuple."""
    found: list[tuple[Var, Value]] = []
    stack: list[tuple[Pattern, Value]] = [(pattern, value)]
    while stack:
        p, v = stack.pop()
        if isinstance(p, PatternVar):
            found.append((p.var, v))
        elif isinstance(p, PatternConstructor):
            assert isinstance(v.static, Cell)
            stack += reversed(list(zip(p.patterns, v.static.fields, strict=True)))
        elif isinstance(p, PatternTuple):
            used = [i for i, q in enumerate(p.patterns) if not isinstance(q, PatternWildcard)]
            stack += [(p.patterns[i], field(v, i)) for i in reversed(used)]
    return found


def hinted(clause: Clause, value: Value) -> dict[Var, Value | None]:
    """The variables of a clause's pattern, with what they are if the clause is taken, where that is known."""
    found: dict[Var, Value | None] = {}
    stack: list[tuple[Pattern, Value | None]] = [(clause.lhs, value)]
    while stack:
        p, v = stack.pop()
        if isinstance(p, PatternVar):
            found[p.var] = v
            continue
        parts: Sequence[Value | None] = [None] * len(p.children)
        if v is not None and isinstance(p, PatternTuple) and isinstance(v.static, tuple):
            parts = v.static
        elif v is not None and isinstance(p, PatternConstructor) and isinstance(v.static, Cell):
            parts = v.static.fields if v.static.constructor == p.constructor else parts
        stack += zip(p.children, parts, strict=True)
    return found


# --- what is known ---


def has_constants(value: Value) -> bool:
    """Whether a loop over a value may come to its end here: it has constants or instances of data types."""
    pending = [value]
    for _ in range(MOST_LOOKED_AT):
        if not pending:
            break
        v = pending.pop()
        if type(v.atom) is Constant or isinstance(v.static, Cell):
            return True
        if isinstance(v.static, tuple):
            pending += v.static
    return False


def is_code(value: Value) -> bool:
    """Whether who takes a value gains from knowing it: it is or holds a function or a reference."""
    pending = [value]
    for _ in range(MOST_LOOKED_AT):
        if not pending:
            break
        v = pending.pop()
        if isinstance(v.static, Closure | Reference):
            return True
        if isinstance(v.static, Cell):
            pending += v.static.fields
        elif isinstance(v.static, tuple):
            pending += v.static
    return False


def is_smaller(new: Value, old: Value) -> bool:
    """Whether a loop from `old` to `new` comes to an end: fewer cells in one another, a smaller number."""
    if isinstance(new.static, Cell) and isinstance(old.static, Cell):
        return new.static.height < old.static.height
    if type(new.atom) is Constant and type(old.atom) is Constant:
        a, b = new.atom.value, old.atom.value
        if a.dtype.kind in "iu" and b.dtype.kind in "iu" and a.ndim == b.ndim == 0:
            return 0 <= int(a) < int(b)
    return False


def concrete_value(value: Value, depth: int = 0) -> Any:
    """An array or a nest of tuples of arrays; None where something is not known."""
    e = value.atom
    if type(e) is Constant:
        return e.value[()] if e.type is not None and e.type.is_closed else None
    if not isinstance(value.static, tuple) or depth == MAX_TUPLE_DEPTH:
        return None
    parts = [concrete_value(v, depth + 1) for v in value.static]
    return None if any(p is None for p in parts) else tuple(parts)


def known_value(e: Expr) -> Value:
    """A constant, or a tuple of constants, as a value."""
    if not isinstance(e, Tuple):
        return Value(e)
    return Value(e, tuple([known_value(f) for f in e.fields]))
