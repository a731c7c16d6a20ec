"""Attribute values: numbers, strings, truth values, `None`, dtypes; lists, tuples and dicts of them."""

from typing import Any, Literal, TypeAlias

from relay.diagnostic import RelayError, did_you_mean
from relay.ir.dtype import DTYPES, canonical
from relay.ir.expr import Op
from relay.ir.type import Kind
from relay.op.attribute import size_attributes
from relay.op.registry import registry
from relay.text.literals import LONGEST_ATTRIBUTE, number, special_float
from relay.text.names import DIM_CALLS
from relay.text.other_languages import FLOOR_DIVISION, TYPES
from relay.text.parse_metadata import Metadata

MAX_NESTING_DEPTH = 50
_WORDS: dict[str, Any] = {"True": True, "False": False, "None": None, "true": True, "false": False}
_IN_VALUES = frozenset({"NUMBER", "STRING", "-", ","})
"""What stands in a value beside words and brackets."""
_ENDS = frozenset({",", ")"})
_CLOSERS = frozenset({")", "]", "}", ";"})
_SIGNS = frozenset({"+", "-", "*", "/"})
_ARITHMETIC = _SIGNS | {"NUMBER"}
_BEFORE_SIGNS = frozenset({"NUMBER", "NAME", ")"})
_BEFORE_SIZES = frozenset({"NAME", "NUMBER", "-", "("})
_BEFORE_ITEMS = frozenset({"(", "[", ","})
_KEYS = frozenset({"NAME", "STRING", "let", "fn", "fun", "def", "if", "else", "match"})

Sizes: TypeAlias = Literal["none", "named", "all"]
"""Which arithmetic on dimensions is a value: none, what has the name of one in it, or that on numbers too."""


def sizes_in(op: Any, key: str) -> Sizes:
    """Which arithmetic on dimensions may stand in an attribute of what is called."""
    return "all" if type(op) is Op and key in size_attributes(registry[op.name]) else "named"


class Attributes(Metadata):
    """The rules of attributes.  Plain recursion is safe: values nest at most `MAX_NESTING_DEPTH` levels."""

    def at_attribute(self, i: int) -> bool:
        """Whether `key =` begins at token `i`."""
        return self.kinds[i + 1] == "=" and self.kinds[i] in _KEYS

    def is_value(self, i: int, sizes: Sizes = "named") -> bool:
        """Whether the argument at token `i` is written out, as the value of an attribute is."""
        kinds = self.kinds
        if self.end_of_size(i, sizes):
            return True
        if kinds[i] not in ("(", "["):
            i += kinds[i] == "-"
            written = kinds[i] in ("NUMBER", "STRING") or (kinds[i] == "NAME" and not self._is_bound(i))
            return written and kinds[i + 1] in _ENDS
        depth = 0
        while True:
            kind = kinds[i]
            begins_size = kind in _BEFORE_SIZES and kinds[i - 1] in _BEFORE_ITEMS
            if begins_size and 0 < depth <= MAX_NESTING_DEPTH and (end := self.end_of_size(i, sizes)):
                i = end - 1
            elif kind in ("(", "["):
                depth += 1
            elif kind in (")", "]"):
                depth -= 1
            elif kind not in _IN_VALUES and not (kind == "NAME" and self._is_word(i)):
                return False
            i += 1
            if depth == 0:
                return kinds[i] in _ENDS

    def is_dimension(self, i: int) -> bool:
        """Whether the name at token `i` is that of a dimension in scope."""
        name = self.texts[i]
        var = self.env.get(f"'{name}")
        return var is not None and var.kind is Kind.Dim and self.env.get(name) is None and not self.strict

    def end_of_size(self, i: int, sizes: Sizes) -> int:
        """The token behind the arithmetic on dimensions at token `i`; 0 where there is none.

        What has neither an operator nor the name of a dimension is a number, or a tuple of such.
        """
        kinds, texts = self.kinds, self.texts
        if sizes == "none" or (kinds[i] == "NUMBER" and kinds[i + 1] in _ENDS):
            return 0
        first, is_size = i, False
        open_: list[bool] = []
        """For each open bracket, whether commas may stand in it."""
        while True:
            kind = kinds[i]
            if kind == "NAME":
                if texts[i] in DIM_CALLS and kinds[i + 1] == "(":
                    open_.append(True)
                    is_size |= sizes == "all"
                    i += 1
                elif self.is_dimension(i):
                    is_size = True
                else:
                    return 0
            elif kind == "(":
                open_.append(False)
            elif kind == ")" and open_:
                open_.pop()
            elif kind in _CLOSERS or (kind == "," and not open_):
                return i if is_size and not open_ else 0
            elif kind not in _ARITHMETIC and not (kind == "," and open_[-1]):
                return 0
            elif sizes == "all" and kind in _SIGNS and i > first and kinds[i - 1] in _BEFORE_SIGNS:
                is_size = True
            i += 1

    def _is_word(self, i: int) -> bool:
        """Whether the bare name at token `i` is a value."""
        name = self.texts[i]
        is_known = name in _WORDS or canonical(name) is not None or special_float(name) is not None
        return is_known and self.env.get(name) is None

    def _is_bound(self, i: int) -> bool:
        """Whether the bare name at token `i` is an expression."""
        name, env = self.texts[i], self.env
        if env.get(name) is not None:
            return True
        is_other = name in self.constructors or name in registry or env.get(f"%{name}") is not None
        return is_other and not self._is_word(i)

    def attribute(
        self, into: dict[str, Any], places: dict[str, int] | None = None, op: Op | None = None
    ) -> None:
        """`key=value` here, into a dictionary; in attributes of an operator dimensions may stand."""
        i = self.i
        key = self.attribute_key()
        if key in into:
            self.fault("duplicate-attribute", f"attribute `{key}` is given twice", i)
        self.take("=")
        into[key] = self.attribute_value(sizes="none" if op is None else sizes_in(op, key))
        if places is not None:
            places[key] = i

    def unnamed_attribute(self, key: str, into: dict[str, Any], places: dict[str, int], op: Any) -> None:
        """The value of the attribute `key` of `op` here, into a dictionary."""
        if key in into:
            self.fault("duplicate-attribute", f"attribute `{key}` is given twice", self.i)
        places[key] = self.i
        into[key] = self.attribute_value(sizes=sizes_in(op, key))

    def attribute_key(self) -> str:
        """The name of an attribute: a word, or a string for other names."""
        i = self.i
        if self.kinds[i] not in _KEYS:
            self.expected("the name of an attribute")
        self.i = i + 1
        return self.string(i) if self.kinds[i] == "STRING" else self.texts[i]

    def attribute_value(self, depth: int = 0, *, sizes: Sizes = "none") -> Any:
        """The value here."""
        i, kind = self.i, self.kinds[self.i]
        if kind in _BEFORE_SIZES and self.end_of_size(i, sizes):
            return self.type_(Kind.Dim)
        if depth > MAX_NESTING_DEPTH:
            self.fault("attribute-too-deep", f"an attribute nests at most {MAX_NESTING_DEPTH} levels", i)
        match kind:
            case "[":
                return self._items("]", depth, sizes)[0]
            case "(":
                values, is_tuple = self._items(")", depth, sizes)
                return tuple(values) if is_tuple else values[0]
            case "{":
                return self._dict(depth)
            case "STRING":
                self.i = i + 1
                return self.string(i)
            case "NUMBER" | "-":
                return self._attribute_number()
            case "NAME":
                return self._word()
            case _:
                self.expected(
                    "a value of an attribute",
                    hint="an attribute is known when the program is written: what is computed is an operand",
                )

    def _attribute_number(self) -> int | float:
        negative = self.kinds[self.i] == "-"
        i = self.i + negative
        self.i = i + 1
        if negative and self.kinds[i] == "NAME" and (special := special_float(self.texts[i])) is not None:
            return -special[0]
        if self.kinds[i] != "NUMBER":
            self.i = i
            self.expected("a number")
        text = self.texts[i]
        if len(text) <= LONGEST_ATTRIBUTE and text.isdigit():
            return -int(text) if negative else int(text)
        try:
            return number(text, negative)[0]
        except RelayError as error:
            raise self.located(error, i) from None

    def _word(self) -> Any:
        i, name = self.i, self.texts[self.i]
        self.i = i + 1
        if name in _WORDS:
            return _WORDS[name]
        if name == "meta" and self.kinds[self.i] == "[":
            return self.metadata_object(i)
        dtype = canonical(name)
        if dtype is not None:
            return dtype
        special = special_float(name)
        if special is not None:
            return special[0]
        known = TYPES.get(name)
        hint = f"a dtype is `{known}`" if known else did_you_mean(name, [*_WORDS, *DTYPES])
        hint = hint or f'a string is quoted: "{name}"'
        hint = FLOOR_DIVISION if self.is_commented_out("`)`", self.i) else hint
        self.fault("attribute-value", f"`{name}` is not a value of an attribute", i, hint=hint)

    def _items(self, closer: str, depth: int, sizes: Sizes) -> tuple[list[Any], bool]:
        """The values up to `closer`, and whether a comma (or nothing) makes parentheses a tuple."""
        opener = self.i
        self.i += 1
        values: list[Any] = []
        has_comma = False
        while self.kinds[self.i] != closer:
            values.append(self.attribute_value(depth + 1, sizes=sizes))
            if self.kinds[self.i] != ",":
                break
            has_comma = True
            self.i += 1
        self.take(closer, opener=opener)
        return values, has_comma or not values

    def _dict(self, depth: int) -> dict[Any, Any]:
        opener = self.i
        self.i += 1
        values: dict[Any, Any] = {}
        while self.kinds[self.i] != "}":
            i = self.i
            key = (
                self.attribute_value(depth + 1)
                if self.kinds[i] in ("NUMBER", "-", "(", "[", "{")
                else self.attribute_key()
            )
            try:
                known = key in values
            except TypeError:
                self.fault("attribute-value", "a list or dict cannot be a key", i)
            if known:
                self.fault("duplicate-attribute", f"the key `{key}` is given twice", i)
            if self.kinds[self.i] not in (":", "="):
                self.expected("`:`")
            self.i += 1
            values[key] = self.attribute_value(depth + 1)
            if self.kinds[self.i] in (",", ";"):
                self.i += 1
            elif self.kinds[self.i] not in _KEYS:
                break
        self.take("}", opener=opener)
        return values
