"""Leaves as text, and calls whose parts are leaves."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any

from relay.ir.expr import Call, Constant, Constructor, GlobalVar, Op, Var
from relay.ir.module import IRModule
from relay.ir.type import TypeVar
from relay.op.dimension import DimValue
from relay.op.places import most_operands
from relay.op.registry import alias_of, registry
from relay.op.subscript import Subscript
from relay.op.update import IndexUpdate
from relay.text import names
from relay.text.attributes import attribute_list, operator_attributes, value_text
from relay.text.layout import Multi, Text, bracketed, pad
from relay.text.print_literals import constant_text
from relay.text.print_scope import Scopes
from relay.text.print_types import TypeText
from relay.text.survey import LEAVES

LOOSE, OR, AND, EQUALITY, COMPARISON, SUM, PRODUCT, UNARY, POWER, BASE, ATOM = range(11)
"""How tightly a text binds."""
INFIX: dict[str, tuple[str, int, int, int]] = {
    "equal": ("==", EQUALITY, COMPARISON, COMPARISON),
    "not_equal": ("!=", EQUALITY, COMPARISON, COMPARISON),
    "less": ("<", COMPARISON, SUM, SUM),
    "less_equal": ("<=", COMPARISON, SUM, SUM),
    "greater": (">", COMPARISON, SUM, SUM),
    "greater_equal": (">=", COMPARISON, SUM, SUM),
    "add": ("+", SUM, SUM, PRODUCT),
    "subtract": ("-", SUM, SUM, PRODUCT),
    "multiply": ("*", PRODUCT, PRODUCT, UNARY),
    "divide": ("/", PRODUCT, PRODUCT, UNARY),
    "mod": ("%", PRODUCT, PRODUCT, UNARY),
    "nn.matmul": ("@", PRODUCT, PRODUCT, UNARY),
    "power": ("**", POWER, BASE, POWER),
}
"""Operators with a sign: the sign, how tightly it binds, what it demands of its left and right side."""
_BRACKETED = frozenset({Subscript.name, IndexUpdate.name})
PREFIX = {"negative": "-", "logical_not": "!"}


def is_operator(name: str) -> bool:
    """Whether a bare name is that of an operator."""
    return name in registry or name in alias_of


class MostOperands(dict[str, float]):
    """How many arguments of an operator are operands, by its name, as far as that has been asked."""

    def __missing__(self, name: str) -> float:
        cls = registry.get(name)
        found = self[name] = inf if cls is None else most_operands(cls)
        return found


class Leaves(Scopes):
    """Prints leaves and calls of leaves."""

    sugar = True
    """Whether operators print with their signs."""

    def __init__(
        self,
        *,
        width: int = 100,
        show_types: bool = False,
        show_spans: bool = False,
        mod: IRModule | None = None,
        keep: Callable[[Constant], str] | None = None,
    ) -> None:
        """`keep` stores a large constant and says how the text refers to it."""
        super().__init__(width)
        self.show_types, self.show_spans = show_types, show_spans
        self.comments = show_types or show_spans
        if self.comments:
            self.sugar = False
        self.most_operands = MostOperands() if self.sugar else defaultdict[str, float](lambda: inf)
        self.mod = mod
        constructors = {} if mod is None else mod.constructors()
        self.has_records = any(c.field_names for c in constructors.values())
        self.hidden = frozenset([name for name in constructors if is_operator(name)])
        """Operators whose names are those of constructors."""
        self.large: list[Constant] = []
        self.large_index: dict[Any, int] = {}
        self.keep = keep or self.keep_in_metadata
        types = () if mod is None else (*mod.type_definitions, *mod.aliases)
        self.types = self.type_printer([t.name_hint for t in types])
        self.types.aliases = None if mod is None and type(self).sugar else types if type(self).sugar else ()
        self.operator_texts: dict[int, tuple[Any, str]] = {}
        self.global_texts: dict[str, str] = {}

    def type_printer(self, taken: Sequence[str]) -> TypeText:
        """What prints the types; `taken` are names of data types."""
        return TypeText(value_text, taken)

    def keep_in_metadata(self, c: Constant) -> str:
        """A reference to the metadata section, which gets the constant."""
        index = self.large_index.setdefault((id(c.value), c.type), len(self.large))
        if index == len(self.large):
            self.large.append(c)
        return f"meta[relay.Constant][{index}]"

    # --- leaves ---------------------------------------------------------------------------------------------

    def leaf(self, e: Any) -> str:
        """A leaf as text."""
        match e:
            case Var():
                return self.mention(e)
            case Constant():
                return self.constant(e)
            case GlobalVar():
                found = self.global_texts.get(e.name_hint)
                if found is None:
                    found = self.global_texts[e.name_hint] = names.global_(e.name_hint)
                return found
            case Op():
                return f"relay.{e.name}" if e.name in self.types.in_scope else self.operator(e)
            case Constructor():
                return self.constructor(e) if e.inputs else self.qualified(e)
            case _:
                raise AssertionError(f"{e!r} is not a leaf")

    def operator(self, e: Op) -> str:
        """The name of an operator, which a constructor may hide."""
        return f"relay.{e.name}" if e.name in self.hidden else e.name

    def constant(self, e: Constant) -> str:
        """A constant in place, or a reference to where a large one is kept."""
        return constant_text(e, self.types, self.keep)

    def filled(self, text: str) -> Text:
        """A long tensor literal over several lines."""
        if text[0] != "[" or '"' in text:
            return text
        if not text.startswith("[["):
            return bracketed("[", text[1:-1].split(", "), "]", self.block.level, self.width)
        margin = pad(self.block.level + 1)
        closing = "]" * (len(text) - len(text.rstrip("]")) - 1)
        rows = text[1:-1].removesuffix(closing).split(f"{closing}, ")
        return Multi(
            "[", [f"{margin}{row}{closing}{',' * (i + 1 < len(rows))}" for i, row in enumerate(rows)], "]"
        )

    def constructor(self, e: Constructor) -> str:
        """The name of a constructor that is called."""
        text = names.constructor(e.name_hint)
        return self.qualified(e) if text[0] == "@" and (self.mod is None or e.name_hint in self.mod) else text

    def qualified(self, e: Constructor) -> str:
        """A constructor that is not called, or has a definition's odd name: `List.Nil`, `List.@"a b"`."""
        data, name = e.belong_to.name_hint, e.name_hint
        plain = names.is_plain(data) and names.is_plain(name) and not is_operator(f"{data}.{name}")
        return f"{data}.{name}" if plain else f"{names.type_name(data)}.@{names.quote(name)}"

    # --- calls ----------------------------------------------------------------------------------------------

    def fast(self, e: Any, room: int) -> str | None:
        """The text of an unshared call whose parts are atoms, where that is all there is to it; else None."""
        if type(e) is not Call or self.comments or e.written_type_args or e in self.shared:
            return None
        args: list[str] = []
        for a in e.args:
            if type(a) is Var:
                text = self.var_texts.get(a) if self.simple else None
                args.append(text or self.mention(a))
            elif type(a) in LEAVES:
                args.append(self.leaf(a))
            else:
                text = self.graph.get(a)
                if text is None:
                    return None
                args.append(text)
        op = e.op
        if not args and (text := self.dimension(e)) is not None:
            return text
        more = self.call_attributes(e)
        if type(op) is Op:
            sign = INFIX.get(op.name) if self.sugar and not more and len(args) == 2 else None
            if sign is not None:
                if args[0][0] == "-" and sign[0] == "**":
                    return None
                text = f"{args[0]} {sign[0]} {args[1]}"
            elif (op.name in PREFIX or op.name in _BRACKETED) and self.sugar:
                return None
            else:
                args = self.operands(op, args) if len(args) > self.most_operands[op.name] else args
                if more:
                    args = [more.partition("=")[2], *args] if self.leads(op) else [*args, more]
                text = f"{self.operator(op)}({', '.join(args)})"
        elif type(op) is Constructor:
            text = self.instance(op, args, more)
        elif type(op) in LEAVES and type(op) is not Constant:
            if more:
                args.append(more)
            text = f"{self.leaf(op)}({', '.join(args)})"
        else:
            return None
        return text if len(text) <= room else None

    def operands(self, op: Op, texts: list[str]) -> list[str]:
        """The arguments of an operator; those that it has no place for in braces, so that they read back as
        such and not as attributes.
        """
        most = self.most_operands[op.name]
        return [t if i < most or t[0] == "%" else f"{{{t}}}" for i, t in enumerate(texts)]

    def leads(self, op: Op) -> bool:
        """Whether the attributes of an operator are written before its operands, without the first name."""
        return self.sugar and op.name in registry and bool(registry[op.name].attributes_first)

    def instance(self, op: Constructor, args: list[str], more: str) -> str:
        """A constructor called with its fields."""
        name = self.constructor(op)
        if self.is_record(op, len(args), more):
            return f"{name} {{ {', '.join(labelled(op.field_names, args))} }}"
        if more:
            args.append(more)
        if args or op.inputs or "." in name or name in self.types.in_scope:
            return f"{name}({', '.join(args)})"
        return name

    def is_record(self, op: Constructor, count: int, more: str) -> bool:
        """Whether a call of a constructor prints with the names of its fields."""
        return self.sugar and bool(op.field_names) and count == len(op.field_names) and not more

    def call_attributes(self, e: Call) -> str:
        """The attributes of a call, as `key=value` with commas between."""
        attrs = e.attrs
        found = self.operator_texts.get(id(attrs))
        if found is None:
            if isinstance(attrs, Mapping):
                return ", ".join(attribute_list(attrs)) if attrs else ""  # pyright: ignore[reportUnknownArgumentType]
            text = self.operator_attributes(attrs)
            if attrs.dimensions():  # what their variables are called depends on where the call stands
                return text
            found = self.operator_texts[id(attrs)] = (attrs, text)
        return found[1]

    def dimension(self, e: Call) -> str | None:
        """The name of a dimension whose value a call is; None for any other call."""
        op = e.attrs
        has_name = self.sugar and isinstance(op, DimValue) and isinstance(op.dim, TypeVar)
        return self.types(op.dim) if has_name else None

    def operator_attributes(self, op: Any) -> str:
        """The attributes of an operator that differ from their defaults."""
        return operator_attributes(op, self.types)


def labelled(names: Iterable[str], texts: Iterable[str]) -> list[str]:
    """The fields of a record with their names."""
    return [f"{name}: {text}" for name, text in zip(names, texts, strict=True)]
