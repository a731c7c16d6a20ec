"""Type parameters and the relations that a `where` asks of them."""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from relay.diagnostic import did_you_mean
from relay.ir.type import Kind, Type, TypeRelation, TypeVar
from relay.op.registry import alias_of, registry
from relay.op.relation import relations
from relay.text.parse_dims import Dimensions
from relay.text.parse_kinds import CLOSERS, KIND_WORDS

BUILT_IN_RELATIONS = frozenset({"Number", "Floating"})
_EXAMPLES = {
    Kind.Shape: "Tensor[{}, float32]",
    Kind.Dim: "Tensor[({},), float32]",
    Kind.BaseType: "Tensor[(), {}]",
}


@cache
def _takes_type(rule: Callable[..., None], position: int) -> bool:
    """Whether a relation says of what it relates at a position that it is a type."""
    params = list(inspect.signature(rule).parameters.values())
    return position + 1 < len(params) and params[position + 1].annotation is Type


class Relations(Dimensions):
    """The rules of type parameters and relations."""

    def type_params(self) -> list[TypeVar]:
        """`<t: Type, n: Dim>` or `[A, B]`, if it stands here; they are bound from here on."""
        opener = self.i
        params: list[TypeVar] = []
        if self.kinds[opener] not in ("<", "["):
            return params
        closer = CLOSERS[self.kinds[opener]]
        self.i += 1
        while self.kinds[self.i] != closer:
            i = self.take("NAME", what="the name of a type parameter")
            kind = self.kind_() if self.kinds[self.i] == ":" else Kind.Type
            if any(p.name_hint == self.texts[i] for p in params):
                self.mistake("duplicate-name", f"the type parameter `{self.texts[i]}` is declared twice", i)
            params.append(TypeVar(self.texts[i], kind))
            self.bind(f"'{self.texts[i]}", params[-1])
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        if closer == ">":
            self.take_angle(opener)
        else:
            self.take(closer, opener=opener)
        return params

    def constraints(self, *, is_nested: bool = False) -> list[TypeRelation]:
        """`where R1, R2(a, b, key=attr)`, if it stands here."""
        found: list[TypeRelation] = []
        if not self.is_word(self.i, "where"):
            return found
        while True:
            self.i += 1
            found.append(self._relation())
            if self.kinds[self.i] != "," or (is_nested and not self._at_relation(self.i + 1)):
                return found

    def _at_relation(self, i: int) -> bool:
        """Whether token `i` names a relation and no type: what a comma in a list of types leaves open."""
        name = self.texts[i]
        return (
            self.kinds[i] == "NAME"
            and self._is_relation(name)
            and name not in self.data_kinds
            and self.type_var(name) is None
        )

    def _is_relation(self, name: str) -> bool:
        return name in relations or name in registry or name in alias_of or name in BUILT_IN_RELATIONS

    def _unknown_relation(self, name: str, i: int) -> None:
        what = f"there is no relation `{name}`"
        if self.type_var(name) is not None:
            what = f"`{name}` is a type parameter, and `where` takes the name of a relation"
        hint = did_you_mean(name, [*relations, *registry, *alias_of, *BUILT_IN_RELATIONS])
        hint = hint or f"relations are {', '.join(sorted(relations))} and the names of operators"
        self.mistake("unknown-relation", what, i, hint=hint)

    def _check_kinds(self, name: str, args: list[Any], places: list[int]) -> None:
        """Report the first type parameter of another kind where relation `name` is between types."""
        rule = relations.get(name)
        for position, (var, i) in enumerate(zip(args, places, strict=True)):
            is_type = self._is_relation(name) if rule is None else _takes_type(rule, position)
            if isinstance(var, TypeVar) and var.kind in _EXAMPLES and is_type:
                what = f"`{name}` relates types, and `{var.name_hint}` is {KIND_WORDS[var.kind]}"
                example = _EXAMPLES[var.kind].format(var.name_hint)
                self.mistake(
                    "kind-mismatch", what, i, hint=f"name a type that it is part of, as in {example}"
                )
                return

    def _relation(self) -> TypeRelation:
        i = self.take("NAME", what="the name of a relation")
        name = self.texts[i]
        if not self._is_relation(name):
            self._unknown_relation(name, i)
        if self.kinds[self.i] not in ("(", "<"):
            return TypeRelation(name)
        opener = self.i
        closer = CLOSERS[self.kinds[opener]]
        self.i += 1
        args: list[Any] = []
        places: list[int] = []
        attrs: dict[str, Any] = {}
        while self.kinds[self.i] != closer:
            if self.at_attribute(self.i):
                self.attribute(attrs)
            else:
                places.append(self.i)
                args.append(self.said_kind(self.type_(None)))
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        if closer == ">":
            self.take_angle(opener)
        else:
            self.take(closer, opener=opener)
        self._check_kinds(name, args, places)
        try:
            return TypeRelation(name, args or None, attrs)
        except TypeError:
            self.fault("attribute-value", "an attribute of a relation is not a dictionary", opener)
