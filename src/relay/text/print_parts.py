"""Expressions as parts of a line: named where shared or too long, in parentheses where they must be."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from relay.diagnostic import RelayError, fail
from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Function,
    If,
    Match,
    Op,
    RefRead,
    RelayExpr,
    TupleGetItem,
    Var,
)
from relay.ir.pattern import pattern_vars
from relay.ir.type import BOOL
from relay.op.records import changed_field, taken_field
from relay.op.update import IndexUpdate
from relay.text.layout import Text, bracketed, wrapped
from relay.text.print_leaves import AND, ATOM, BASE, INFIX, LOOSE, OR, PREFIX, UNARY, Leaves
from relay.text.print_scope import Steps, scope_key
from relay.text.print_subscript import is_update
from relay.text.survey import LEAVES

_OPERANDS = frozenset({Var, Call, TupleGetItem, RefRead})
"""What stands on the right of `&&` and `||`; another branch prints as one of an `if`."""


class Parts(Leaves):
    """Prints expressions that stand inside others."""

    rules: ClassVar[Mapping[Any, str]]
    """The method that prints each kind of node."""
    name_each_call = False
    """Whether each call gets a line and a number of its own."""

    # --- names for parts ------------------------------------------------------------------------------------

    def expr(self, e: Any, room: int) -> Steps:
        """The text of any expression: by its name if it is shared."""
        if type(e) in LEAVES:
            text = self.leaf(e)
            return self.filled(text) if len(text) > room and type(e) is Constant else text
        if e in self.shared:
            return (yield self.shared_text(e))
        return (yield self.node(e, room))

    def shared_text(self, e: Any) -> Steps:
        """The name of a shared node; at its first use it is written into the innermost block of its scope."""
        found = self.graph.get(e)
        if found is not None:
            return found
        here = self.block
        if self.survey.where is not None:
            blocks = self.open.get(scope_key(self.survey.where[e]))
            if blocks:
                self.block = blocks[-1]
        text = yield self.node(e, self.block.room - 7)
        name = self.give_name(e, text)
        self.block = here
        return name

    def give_name(self, e: Any, text: Text) -> str:
        """Write `%k = text;` and return `%k`."""
        name = self.graph[e] = f"%{self.count}"
        self.count += 1
        self.statement(f"{name} = ", text, ";")
        return name

    def part(self, e: Any, room: int) -> Steps:
        """A part of an expression, on one line: what takes several gets a name."""
        if type(e) in LEAVES:
            text = self.leaf(e)
            if len(text) > room and type(e) is Constant and text[0] == "[":
                return self.give_name(e, self.filled(text))
            return text
        name = self.graph.get(e)
        if name is not None:
            return name
        if e in self.shared:
            return (yield self.shared_text(e))
        text = None if self.name_each_call else self.fast(e, room)
        if text is None:
            text = yield self.node(e, room)
        if type(text) is not str or (self.name_each_call and type(e) is not TupleGetItem):
            return self.give_name(e, text)
        return text

    def parts(self, several: Sequence[Any], room: int) -> Steps:
        """The texts of arguments, each on one line."""
        out: list[str] = []
        for a in several:
            text = self.mention(a) if type(a) is Var else (yield self.part(a, room))
            out.append(text)
        return out

    def shorten(self, several: Sequence[Any], texts: list[str], excess: int) -> None:
        """Name the longest parts, in place, until the whole is `excess` shorter."""
        chosen: list[int] = []
        for i in sorted(range(len(texts)), key=lambda i: -len(texts[i])):
            if excess <= 0 or len(texts[i]) < 8:
                break
            e = several[i]
            if type(e) not in LEAVES and e not in self.graph:
                excess -= len(texts[i]) - 4
                chosen.append(i)
        for i in sorted(chosen):
            texts[i] = self.give_name(several[i], texts[i])

    def listed(
        self, opening: str, several: Sequence[Any], texts: list[str], more: list[str], closing: str, room: int
    ) -> Text:
        """`opening`, the parts with commas between, `closing`: on one line if naming parts makes it fit."""
        frame = len(opening) + len(closing) + sum(map(len, more)) + 2 * (len(texts) + len(more)) - 2
        excess = frame + sum(map(len, texts)) - room
        if excess > 0:
            self.shorten(several, texts, excess)
            if frame + sum(map(len, texts)) > room and len(texts) + len(more) > 1:
                return bracketed(opening, [*texts, *more], closing, self.block.level, self.width)
        return f"{opening}{', '.join([*texts, *more])}{closing}"

    # --- parentheses ----------------------------------------------------------------------------------------

    def guarded(self, e: Any, text: str, strength: int) -> str:
        """`text` of `e` in parentheses if it binds more loosely than `strength`."""
        if e in self.graph:
            return text
        if type(e) is Constant:
            loose = (strength == ATOM and text[0] in "0123456789in") or (strength >= BASE and text[0] == "-")
            return f"({text})" if loose else text
        return f"({text})" if self.strength(e) < strength else text

    def strength(self, e: Any) -> int:
        """How tightly the text of a node binds."""
        if type(e) is Call:
            if not self.sugar or type(e.op) is not Op or e.written_type_args:
                return ATOM
            if len(e.args) == 2 and e.op.name in INFIX and not self.call_attributes(e):
                return INFIX[e.op.name][1]
            if type(e.attrs) is IndexUpdate and is_update(e):
                return LOOSE
            return UNARY if self.is_prefix(e) else ATOM
        if type(e) is If:
            connective = self.connective(e)
            return 0 if connective is None else connective[1]
        if type(e) is Match:
            return ATOM if self.taken_field(e) else 0
        return 0 if type(e) is Function else ATOM

    def taken_field(self, e: Match) -> str:
        """The name of the field if a `match` prints as `%l.w`, else the empty text."""
        return taken_field(e, self.mod) if self.has_records and self.sugar and self.mod is not None else ""

    def changed_field(self, e: Any) -> str:
        """The name of the field if an expression is a `match` that prints as `%l with { w: e }`, else the
        empty text.
        """
        if type(e) is not Match or not self.has_records or not self.sugar or self.mod is None:
            return ""
        name = changed_field(e, self.mod)
        is_used = bool(name) and any(v in self.survey.repeated for v in pattern_vars(e.clauses[0].lhs))
        return "" if is_used else name

    def field(self, record: Any, name: str, room: int) -> Steps:
        """`record.name`."""
        text = yield self.part(record, room - 1 - len(name))
        return f"{self.guarded(record, text, ATOM)}.{name}"

    def connective(self, e: If) -> tuple[str, int, RelayExpr] | None:
        """The sign, strength and right side of an `if` that prints as `a && b` or `a || b`."""
        if not self.sugar:
            return None
        if _is_bool(e.false_branch, False):
            sign, strength, other, key = "&&", AND, e.true_branch, (e, 1)
        elif _is_bool(e.true_branch, True):
            sign, strength, other, key = "||", OR, e.false_branch, (e, 2)
        else:
            return None
        fits = type(other) in _OPERANDS or (
            type(other) is If and (_is_bool(other.false_branch, False) or _is_bool(other.true_branch, True))
        )
        return (sign, strength, other) if fits and key not in self.homes else None

    def is_instance(self, e: Any) -> bool:
        """Whether an expression prints as the bare name of a constructor: a call of it would read as `e`."""
        return (
            type(e) is Call
            and type(e.op) is Constructor
            and not e.args
            and not e.written_type_args
            and e not in self.graph
        )

    def is_prefix(self, e: Call) -> bool:
        """Whether a call prints as `-x` or `!x`."""
        return (
            self.sugar
            and len(e.args) == 1
            and type(e.op) is Op
            and e.op.name in PREFIX
            and not e.written_type_args
            and (type(e.args[0]) is not Constant or e.op.name == "logical_not")
            and not self.call_attributes(e)
        )

    def infix(self, sign: str, sides: Sequence[Any], strengths: Sequence[int], room: int) -> Steps:
        """`a + b`, each side in parentheses where it binds more loosely than its place demands."""
        texts = yield self.parts(sides, room - 6)
        excess = len(texts[0]) + len(texts[1]) + 6 - room
        if excess > 0:
            self.shorten(sides, texts, excess)
        left, right = [self.guarded(*side) for side in zip(sides, texts, strengths, strict=True)]
        return f"{left} {sign} {right}"

    # --- nodes ----------------------------------------------------------------------------------------------

    def node(self, e: Any, room: int) -> Steps:
        """The text of a node itself."""
        name = self.rules.get(type(e))
        if name is None:
            fail(
                "temporary-node",
                f"{e!r} has no text",
                getattr(e, "span", None),
                hint="it is a node of some pass, which has to replace it before it ends",
            )
        text = yield getattr(self, name)(e, room)
        return wrapped(text, "", self.comment(e)) if self.comments else text

    def comment(self, e: Any) -> str:
        """` /* ty=… span=… */`, as far as it is asked for and known."""
        said: list[str] = []
        if self.show_types:
            try:
                t = e.checked_type if self.mod is None else self.mod.type_of(e)
                said.append(f"ty={self.types(t)}")
            except (RelayError, AssertionError):
                said.append("ty=?")
        if self.show_spans and e.span is not None:
            said.append(f"span={e.span}".replace("*/", "* /"))
        return f" /* {' '.join(said)} */" if said else ""


def _is_bool(e: Any, value: bool) -> bool:
    """Whether `e` is the literal `True` or `False`."""
    return type(e) is Constant and e.type is BOOL and e.value.ndim == 0 and bool(e.value) is value
