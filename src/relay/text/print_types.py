"""Types as text.

Ways of writing that keep the text unambiguous: a data type without arguments is `Nat`, its bare name as an
argument of kind `AdtHandle` is `Nat` too (the declared kind tells them apart); a function type with a `where`
is put in parentheses wherever something may follow it; the terms of a dimension are sorted by their text, so
that the text does not depend on the age of its variables.
"""

from collections.abc import Callable, Container, Sequence, Set
from typing import Any, NoReturn, TypeVar, cast

from relay.diagnostic import fail
from relay.ir.alias import AliasCall
from relay.ir.type import (
    HAS_BINDER,
    HAS_VAR,
    DimCall,
    DimExpr,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    Kind,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
)
from relay.ir.type import Any as AnyDim
from relay.ir.type import TypeVar as TypeParameter
from relay.text import names

T = TypeVar("T")
Attr = Callable[[Any], str]
MOST_PIECES = 5_000_000
MOST_CHARACTERS = 20_000_000


class TypeText:
    """Prints types; remembers what it printed and how type parameters are named where it prints."""

    def __init__(self, attr: Attr = repr, taken: Sequence[str] = ()) -> None:
        """`attr` prints the attribute values of relations; `taken` are names no type parameter may have."""
        self.attr = attr
        self.closed: dict[Any, str] = {}
        self.here: dict[Any, str] = {}
        """Texts of types with type parameters: right as long as the parameters in scope stay the same."""
        self.ordered: set[Type] = set()
        """Dimensions for whose parts `here` and `closed` have the texts by which they are ordered."""
        self.names: dict[Type, str] = {}
        self.in_scope: set[str] = set()
        """The names that type parameters have here."""
        self.fresh = names.Fresh(taken)
        self.aliases: Container[GlobalTypeVar] | None = None
        """The aliases by which types print that are written by them; None for all."""
        self.implicit: Set[TypeParameter] = frozenset()
        """The type parameters that binders do not list."""
        self.ends: dict[int, bool] = {}
        """Whether a function type, by identity, ends in constraints."""

    # --- type parameters ------------------------------------------------------------------------------------

    def enter(self, params: Sequence[TypeParameter]) -> list[tuple[TypeParameter, str | None]]:
        """Name the type parameters of a binder; what it returns undoes that with `leave`."""
        undo: list[tuple[TypeParameter, str | None]] = []
        for p in params:
            undo.append((p, self.names.get(p)))
            self.names[p] = names.type_parameter(p.name_hint, self.fresh)
            self.in_scope.add(self.names[p])
        self._forget()
        return undo

    def leave(self, undo: list[tuple[TypeParameter, str | None]]) -> None:
        """Forget the names that `enter` gave."""
        for p, before in reversed(undo):
            self.fresh.release(self.names[p])
            self.in_scope.discard(self.names[p])
            if before is None:
                del self.names[p]
            else:
                self.names[p] = before
        if undo:
            self._forget()

    def _forget(self) -> None:
        """Texts that have names of type parameters hold no longer."""
        self.here.clear()
        self.ordered.clear()

    def parameters(self, params: Sequence[TypeParameter]) -> str:
        """`<a, n: Dim>` or `[A, B]`, or nothing."""
        params = [p for p in params if p not in self.implicit]
        if not params:
            return ""
        if all(p.kind is Kind.Type for p in params):
            return f"[{', '.join([self.names[p] for p in params])}]"
        kinds = ["" if p.kind is Kind.Type else f": {p.kind.value}" for p in params]
        return f"<{', '.join([self.names[p] + k for p, k in zip(params, kinds, strict=True)])}>"

    # --- types ----------------------------------------------------------------------------------------------

    def __call__(self, t: Any) -> str:
        """A type, shape, dimension or dtype as text."""
        if isinstance(t, str):
            return t
        if not isinstance(t, Type):
            return self._shape(cast(Any, t)) if isinstance(t, tuple) else str(t)
        known = self.here if t.flags & (HAS_VAR | HAS_BINDER) else self.closed
        found = known.get(t) if not t.flags & HAS_BINDER else None
        if found is None:
            found = self._print(t)
            if not t.flags & HAS_BINDER:
                known[t] = found
        return found

    def argument(self, t: Any) -> str:
        """A type where a comma or a `where` may follow: a function type with constraints gets parentheses."""
        text = self(t)
        return f"({text})" if isinstance(t, FuncType) and self._ends_in_where(t) else text

    def any_kind(self, t: Any) -> str:
        """A type argument of whatever kind; says the kind where the form alone would not."""
        if isinstance(t, str):
            return f"{t}: BaseType"
        return "(): Shape" if t == () else self.argument(t)

    def constraints(self, relations: Sequence[TypeRelation]) -> str:
        """` where R1, R2(a, b)`, or nothing."""
        return f" where {', '.join([self(r) for r in relations])}" if relations else ""

    def _shape(self, shape: tuple[Any, ...]) -> str:
        inner = ", ".join([str(d) if isinstance(d, int) else self(d) for d in shape])
        return f"({inner},)" if len(shape) == 1 else f"({inner})"

    def _print(self, root: Type) -> str:
        """`root` as pieces on an explicit stack: strings go out, types are opened, undo lists close."""
        out: list[str] = []
        stack: list[Any] = [root]
        while stack:
            item = stack.pop()
            if len(out) > MOST_PIECES:
                _fail_too_large()
            if isinstance(item, str):
                out.append(item)
            elif isinstance(item, list):
                self.leave(cast(Any, item))
            elif isinstance(item, tuple):
                shape = cast("tuple[Any, ...]", item)
                stack += reversed(_listed("(", shape, ",)" if len(shape) == 1 else ")"))
            elif isinstance(item, Type):
                known = self.here if item.flags & HAS_VAR else self.closed
                simple = known.get(item) or (self._leaf(item) if not item.children else None)
                if simple is not None:
                    out.append(simple)
                else:
                    stack += reversed(self._open(item))
            else:
                out.append(str(item))
        if sum(map(len, out)) > MOST_CHARACTERS:
            _fail_too_large()
        return "".join(out)

    def _leaf(self, t: Type) -> str | None:
        match t:
            case TypeParameter():
                return self.names.get(t) or self._free(t)
            case IncompleteType():
                return "_"
            case AnyDim():
                return "?"
            case GlobalTypeVar():
                return names.type_name(t.name_hint)
            case TensorType(shape=shape, dtype=dtype):
                return f"{dtype}" if shape == () else f"Tensor[{self._shape(cast(Any, shape))}, {dtype}]"
            case TupleType():
                return "()"
            case _:
                return None

    def _free(self, t: TypeParameter) -> str:
        """A name for a type parameter that nothing around binds."""
        name = self.names[t] = names.type_parameter(t.name_hint, self.fresh)
        return name

    def _open(self, t: Type) -> list[Any]:
        """The pieces of a type: strings and types in order."""
        match t:
            case TensorType(shape=shape, dtype=dtype):
                return ["Tensor[", shape, ", ", dtype, "]"]
            case TupleType(fields=fields):
                return _listed("(", [self._guarded(f) for f in fields], ",)" if len(fields) == 1 else ")")
            case RefType(value=value):
                return ["ref(", value, ")"]
            case TypeCall(func=GlobalTypeVar() as func, args=args):
                return [func, *_listed("[", [self._guarded(a) for a in args], "]")] if args else [func]
            case TypeCall(func=func, args=args):
                return [func, *_listed("[", [self._of_any_kind(a) for a in args], "]")]
            case AliasCall() if self.aliases is None or t.func in self.aliases:
                return self._open(TypeCall(t.func, t.args))
            case AliasCall(target=target):
                return [target]
            case FuncType():
                return self._function(t)
            case TypeRelation():
                return self._relation(t)
            case DimExpr():
                return self._sum(t)
            case DimCall():
                return self._call(t)
            case _:
                raise AssertionError(f"a type of class {type(t).__name__}")

    def _function(self, t: FuncType) -> list[Any]:
        undo = self.enter(t.type_params)
        pieces: list[Any] = _listed(
            f"fn{self.parameters(t.type_params)}(", [self._guarded(a) for a in t.arg_types], ") -> "
        )
        inner = isinstance(t.ret_type, FuncType) and (t.type_constraints or self._ends_in_where(t.ret_type))
        pieces += ["(", t.ret_type, ")"] if inner else [t.ret_type]
        for i, r in enumerate(t.type_constraints):
            pieces += [", " if i else " where ", r]
        return [*pieces, undo] if undo else pieces

    def _of_any_kind(self, t: Any) -> Any:
        return self.any_kind(t) if t == () or isinstance(t, str) else self._guarded(t)

    def _guarded(self, t: Any) -> Any:
        return _Guarded(t) if isinstance(t, FuncType) and self._ends_in_where(t) else t

    def _ends_in_where(self, t: FuncType) -> bool:
        """Whether the text of `t` ends in constraints, which would swallow what follows a comma."""
        chain: list[int] = []
        at: Type = t
        while isinstance(at, FuncType) and not at.type_constraints and id(at) not in self.ends:
            chain.append(id(at))
            at = at.ret_type
        found = self.ends.get(id(at), isinstance(at, FuncType))
        self.ends.update(dict.fromkeys(chain, found))
        return found

    def _relation(self, t: TypeRelation) -> list[Any]:
        if t.args is None and not t.attrs:
            return [t.name]
        args = [self._of_any_kind(a) for a in t.args or ()]
        args += [
            f"{key if names.is_dotted(key) else names.quote(key)}={self.attr(value)}"
            for key, value in t.attrs
        ]
        return _listed(f"{t.name}(", args, ")")

    # --- dimensions -----------------------------------------------------------------------------------------

    def _sum(self, d: DimExpr) -> list[Any]:
        """`2 * n * m + k - 1`: terms by degree, then by text, those that are added first."""
        terms = self._by_text(d, d.terms, lambda term: (-len(term[0]), self._term_text(*term)))
        plus = [self._term(d, atoms, c) for atoms, c in terms if c > 0]
        minus = [self._term(d, atoms, -c) for atoms, c in terms if c < 0]
        if d.constant > 0 or not plus:
            plus.append([str(max(d.constant, 0))])
        if d.constant < 0:
            minus.append([str(-d.constant)])
        return _joined([_joined(plus, " + "), *minus], " - ")

    def _term(self, d: DimExpr, atoms: Sequence[Type], c: int) -> list[Any]:
        factors = [_factor(a) for a in self._by_text(d, atoms, self._factor_text)]
        return _joined(factors if c == 1 else [[str(c)], *factors], " * ")

    def _call(self, d: DimCall) -> list[Any]:
        if d.op == "/":
            return _joined([_factor(a) for a in d.args], " / ")
        numbers = sorted([a for a in d.args if isinstance(a, int)])
        others = self._by_text(d, [a for a in d.args if isinstance(a, Type)], self)
        return _listed(f"{d.op}(", [*numbers, *others], ")")

    def _by_text(self, d: Type, parts: Sequence[T], key: Callable[[T], Any]) -> list[T]:
        """Several parts of `d` in the order of their texts; a single one needs none."""
        if len(parts) < 2:
            return list(parts)
        self._know_parts(d)
        return sorted(parts, key=key)

    def _term_text(self, atoms: Sequence[Type], c: int) -> str:
        factors = sorted([self._factor_text(a) for a in atoms])
        return " * ".join(factors if abs(c) == 1 else [str(abs(c)), *factors])

    def _factor_text(self, a: Type) -> str:
        return "".join([piece if isinstance(piece, str) else self(piece) for piece in _factor(a)])

    def _know_parts(self, d: Type) -> None:
        """Find the texts by which parts of `d` are ordered, from the inside: none waits for another."""
        stack: list[tuple[Type, bool]] = [(d, False)]
        while stack:
            part, parts_known = stack.pop()
            if parts_known:
                self.ordered.add(part)
                if len(part.children) > 1:
                    for child in part.children:
                        self(child)
            elif part not in self.ordered:
                stack.append((part, True))
                stack += [(c, False) for c in part.children]


def _listed(opening: str, items: Sequence[Any], closing: str) -> list[Any]:
    """`opening`, the items with commas between, `closing`."""
    pieces: list[Any] = [opening]
    for i, item in enumerate(items):
        if i:
            pieces.append(", ")
        if type(item) is _Guarded:
            pieces += ["(", item.type, ")"]
        else:
            pieces.append(item)
    pieces.append(closing)
    return pieces


def _fail_too_large() -> NoReturn:
    fail(
        "type-too-large",
        "the type is too large to write: its parts repeat without end",
        hint="a type that shares its parts can be small in memory and huge in text",
    )


def _factor(d: Any) -> list[Any]:
    """A dimension where it is multiplied or divided."""
    in_parentheses = isinstance(d, DimExpr) or (isinstance(d, DimCall) and d.op == "/")
    return ["(", d, ")"] if in_parentheses else [d]


def _joined(items: Sequence[list[Any]], between: str) -> list[Any]:
    pieces: list[Any] = []
    for i, item in enumerate(items):
        pieces += [between, *item] if i else item
    return pieces


class _Guarded:
    """A type that prints in parentheses."""

    __slots__ = ("type",)

    def __init__(self, t: Type) -> None:
        self.type = t


def type_text(t: Any) -> str:
    """A type, shape or dimension as text."""
    from relay.text.attributes import value_text

    return TypeText(value_text)(t)


def type_repr(t: Type) -> str:
    """A short line for a type: its text, cut where it is long."""
    if _size(t, 200) >= 200:
        return f"<{type(t).__name__}, large>"
    text = type_text(t)
    return text if len(text) <= 120 else f"{text[:119]}…"


def _size(root: Type, limit: int) -> int:
    """The number of parts of a type, counted up to `limit`."""
    count, stack = 0, [root]
    while stack and count < limit:
        count += 1
        stack += stack.pop().children[:limit]
    return count
