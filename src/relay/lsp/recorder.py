"""The parser, which also remembers what each name in the text was found to mean, and where it is in scope.

The rules look locals up in `env` by the texts of tokens.  Here these texts know which token they are, and
`env` notes who asked; all other names pass through a method, which is overridden.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from relay.diagnostic import Report
from relay.ir.expr import Call, Constructor, Expr, Op, Var
from relay.ir.module import IRModule
from relay.ir.type import Kind, Type, TypeVar
from relay.op.records import annotated_record
from relay.op.registry import get
from relay.text.cursor import Rule
from relay.text.lexer import Tokens
from relay.text.parse_items import Items


class Word(str):
    """The text of a token that may be a name; `at` is the index of the token."""

    __slots__ = ("at",)
    at: int


class Environment(dict[str, Any]):
    """Names in scope; `uses` has, by token, what was found for it."""

    def __init__(self, uses: dict[int, Any]) -> None:
        super().__init__()
        self.uses = uses

    def get(self, key: str, default: Any = None, /) -> Any:
        """What a name means; a token that asks is remembered."""
        found = super().get(key, default)
        if type(key) is Word and found is not None:
            self.uses[key.at] = found
        return found


@dataclass(frozen=True, slots=True)
class Named:
    """What a token names that is not a variable: a `global`, `type`, `constructor`, `operator`, `graph`
    binding (by the token that binds it), `attribute` of the operator `owner`, `field` of the constructor
    `owner` (None where inference decides it), `import` or `form`.
    """

    kind: str
    name: str
    owner: str | int | None = None


@dataclass(slots=True)
class FieldUse:
    """A field that is read: its name from `start` to `end`, and the expression before the dot."""

    start: int
    end: int
    name: str
    operand: Expr | None
    owner: str | None = None


@dataclass(slots=True)
class InScope:
    """A variable or type parameter and the offsets between which it is in scope."""

    key: str
    value: Var | TypeVar
    start: int
    end: int
    depth: int


class Recorder(Items):
    """`Items`, with `uses` and `definitions` by token, `fields` that are read, and `scopes`."""

    def __init__(self, tokens: Tokens, report: Report, mod: IRModule) -> None:
        """The tokens are changed: their texts become `Word`s."""
        for i, kind in enumerate(tokens.kinds):
            if kind in ("LOCAL", "NAME"):
                tokens.texts[i] = word = Word(tokens.texts[i])
                word.at = i
        super().__init__(tokens, report, mod)
        self.uses: dict[int, Any] = {}
        self.definitions: dict[int, Any] = {}
        self.env = Environment(self.uses)
        self.binder: dict[Var, int] = {}
        """The token that binds a variable."""
        self.fields: list[FieldUse] = []
        self.scopes: list[InScope] = []
        self.open_scopes: list[InScope] = []
        self.graph_at: dict[str, int] = {}
        self.graph_uses: dict[int, Expr] = {}
        """The nodes that graph bindings stand for, by the tokens that name them."""
        self.read: list[tuple[int, int]] = []
        """The first token of each item, and the one behind its last."""
        self.callees: dict[int, int] = {}
        """For each `(` of a call, the first token of the callee."""

    # --- scopes -------------------------------------------------------------------------------------------

    def bind(self, key: str, value: Any) -> None:
        """See `Names`; from here on the name is in scope."""
        key = str(key)
        super().bind(key, value)
        if isinstance(value, TypeVar) and isinstance(value.name_hint, Word):
            self.definitions[value.name_hint.at] = value
        if (key[0] == "%" and value in self.binder) or key[0] == "'":
            scope = InScope(key, value, self.starts[self.i], len(self.source.text), len(self.log))
            self.open_scopes.append(scope)
            self.scopes.append(scope)

    def bind_local(self, i: int, var: Var) -> None:
        """See `Names`; token `i` is where the variable is defined."""
        self.binder[var] = i
        super().bind_local(i, var)
        self.uses.pop(i, None)
        self.definitions[i] = var

    def leave(self, mark: int) -> None:
        """See `Names`; what is left is in scope no more."""
        while self.open_scopes and self.open_scopes[-1].depth > mark:
            self.open_scopes.pop().end = self.starts[self.i]
        super().leave(mark)

    # --- variables and type parameters --------------------------------------------------------------------

    def _bound_var(self, bound: Any) -> Var:
        i = self.i
        var = super()._bound_var(bound)
        if self.binder.get(var, i) != i:
            self.uses[i] = var
        return var

    def type_var(self, name: str) -> TypeVar | None:
        """See `Kinds`."""
        found = super().type_var(name)
        if found is not None and type(name) is Word:
            self.uses[name.at] = found
            if isinstance(found.name_hint, Word):  # a fault may come before it is bound
                self.definitions.setdefault(found.name_hint.at, found)
        return found

    def dimension(self, i: int) -> Expr:
        """See `Words`."""
        self.uses[i] = self.env[f"'{self.texts[i]}"]
        return super().dimension(i)

    def graph_node(self, i: int) -> Expr:
        """See `Names`."""
        if self.texts[i] in self.graph_at:
            self.uses[i] = Named("graph", self.texts[i], self.graph_at[self.texts[i]])
        found = super().graph_node(i)
        self.graph_uses[i] = found
        return found

    def graph_binding(self, i: int) -> Rule:
        """See `Bindings`."""
        at = self.graph_at.setdefault(self.texts[i], i)
        self.definitions[i] = Named("graph", self.texts[i], at)
        return super().graph_binding(i)

    # --- names of the module ------------------------------------------------------------------------------

    def global_(self, i: int) -> Expr:
        """See `Names`."""
        found = super().global_(i)
        self.uses[i] = _named(found) or Named("global", self.texts[i][1:])
        return found

    def bare_name(self, i: int) -> Any:
        """See `Words`."""
        found = super().bare_name(i)
        named = _named(found)
        if named is not None and i not in self.uses:
            self.uses[i] = named
        return found

    def word(self, i: int) -> Rule:
        """See `Words`."""
        self.uses.setdefault(i, Named("form", self.texts[i]))
        return super().word(i)

    def member(self, first: int) -> Constructor:
        """See `Words`."""
        found = super().member(first)
        self.uses[first] = Named("type", found.belong_to.name_hint)
        self.uses[self.i - 1] = Named("constructor", found.name_hint)
        return found

    def _constructor(self, i: int) -> Constructor:
        found = super()._constructor(i)
        self.uses[i] = Named("constructor", found.name_hint)
        return found

    def _data_type(self, kind: Kind | None) -> Rule:
        name = self.texts[self.i].removeprefix("@")
        if name in self.data_kinds:
            self.uses[self.i] = Named("type", name)
        return super()._data_type(kind)

    def attribute(
        self, into: dict[str, Any], places: dict[str, int] | None = None, op: Op | None = None
    ) -> None:
        """See `Attributes`."""
        if op is not None:
            self.uses[self.i] = Named("attribute", self.texts[self.i], op.name)
        super().attribute(into, places, op)

    def call(self, callee: Any, first: int, type_args: tuple[Any, ...]) -> Rule:
        """See `Calls`."""
        self.callees[self.i] = first
        return super().call(callee, first, type_args)

    # --- fields -------------------------------------------------------------------------------------------

    def new_field(self, i: int, known: Mapping[str, tuple[int, Any]]) -> str:
        """See `Fields`."""
        name = super().new_field(i, known)
        self.uses[i] = Named("field", name)
        return name

    def known_field(self, c: Constructor, known: Mapping[str, tuple[int, Any]]) -> str:
        """See `Fields`."""
        i = self.i
        name = super().known_field(c, known)
        self.uses[i] = Named("field", name, c.name_hint)
        return name

    def _named_inputs(self, opener: int) -> tuple[tuple[str, ...], tuple[Type, ...]]:
        owner = self.texts[opener - 1].removeprefix("@")
        names, inputs = super()._named_inputs(opener)
        for i in range(opener + 1, self.i):
            named = self.uses.get(i)
            if isinstance(named, Named) and named.kind == "field":
                del self.uses[i]
                self.definitions[i] = Named("field", named.name, owner)
        return names, inputs

    def field(self, e: Any, first: int) -> Expr:
        """See `Records`."""
        at = self.i + 1
        record = annotated_record(e, self.mod)
        owner = None if record is None else record.constructor.name_hint
        start, operand = self.starts[at], e
        names = self.texts[at].split(".") if self.kinds[at] == "NAME" else []
        for name in names:
            self.fields.append(FieldUse(start, start + len(name), name, operand, owner))
            start, operand, owner = start + len(name) + 1, None, None
        return super().field(e, first)

    # --- items --------------------------------------------------------------------------------------------

    def import_(self, i: int) -> None:
        """See `Imports`."""
        self.uses[i + 1] = Named("import", self.string(i + 1))
        super().import_(i)

    def _attempt(self, rule: Any, i: int) -> None:
        super()._attempt(rule, i)
        self.read.append((i, self.i))

    def _definition(self, i: int) -> None:
        self.graph_at = {}
        super()._definition(i)

    def _last_expression(self, i: int) -> None:
        self.graph_at = {}
        super()._last_expression(i)

    def _attributes(self, i: int) -> None:
        if self.kinds[i + 1] in ("NAME", "GLOBAL"):
            self.uses[i + 1] = Named("global", self.texts[i + 1].removeprefix("@"))
        super()._attributes(i)


def _named(found: Any) -> Named | None:
    """What a bare name or a global stands for, if it is a constructor or an operator."""
    if type(found) is Call and type(found.op) is Constructor and not found.args:
        found = found.op
    if type(found) is Constructor:
        return Named("constructor", found.name_hint)
    return Named("operator", get(found.name).name) if type(found) is Op else None
