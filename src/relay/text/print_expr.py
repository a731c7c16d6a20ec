"""Expressions as lines of text.  How and why is said in `relay.text.printer`.

Nothing recurses: `run` drives generators that yield the generators of their parts.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Function,
    Grad,
    If,
    Let,
    LetRec,
    Match,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
)
from relay.text.layout import Multi, bracketed
from relay.text.print_choice import Choices
from relay.text.print_leaves import ATOM, INFIX, PREFIX, UNARY
from relay.text.print_list import list_cells
from relay.text.print_scope import Steps
from relay.text.print_subscript import is_subscript, subscript_texts
from relay.text.survey import LEAVES

_SPECIAL = {RefCreate: "ref", RefRead: "ref_read", RefWrite: "ref_write"}


class ExprPrinter(Choices):
    """Prints the definitions of one text, one after the other."""

    rules: ClassVar[Mapping[Any, str]] = {
        Call: "call",
        Tuple: "tuple",
        TupleGetItem: "item",
        Let: "let",
        LetRec: "let",
        If: "if_",
        Function: "function",
        Match: "match",
        RefCreate: "special",
        RefRead: "special",
        RefWrite: "special",
        Grad: "special",
    }

    def call(self, e: Call, room: int) -> Steps:
        """A call, or the sign that stands for it."""
        op: Any = e.op
        if self.sugar and is_subscript(e):
            return (yield self.subscript(e, room))
        name = self.dimension(e)
        if name is not None:
            return name
        more = self.call_attributes(e)
        if self.sugar and type(op) is Op and not more and not e.type_args:
            sign = INFIX.get(op.name)
            if sign is not None and len(e.args) == 2:
                return (yield self.infix(sign[0], e.args, sign[2:], room))
            if self.is_prefix(e):
                text = self.guarded(e.args[0], (yield self.part(e.args[0], room - 3)), UNARY)
                return PREFIX[op.name] + (f"({text})" if text[0] in "-!0123456789in" else text)
        if type(op) is Constructor:
            cells = list_cells(e, (self.shared, self.graph)) if self.sugar else None
            if cells is not None:
                return (yield self.list_(*cells, room))
            if not e.args and not more and not e.type_args:
                return self.instance(op, [], "")
            head = self.constructor(op)
        elif type(op) in LEAVES and type(op) is not Constant:
            head = self.operator(op) if type(op) is Op else self.leaf(op)
        else:
            head = self.guarded(op, (yield self.part(op, room // 2)), ATOM)
            head += "()" if head[-1] != ")" and self.is_instance(op) else ""
        if e.type_args:
            head += f"<{', '.join([self.types.any_kind(t) for t in e.type_args])}>"
        texts = yield self.parts(e.args, room - 4)
        if type(op) is Op:
            texts = self.operands(op, texts)
            if more and self.leads(op):
                opening = f"{head}({more.partition('=')[2]}{', ' * bool(texts)}"
                return self.listed(opening, e.args, texts, [], ")", room)
        return self.listed(f"{head}(", e.args, texts, [more] if more else [], ")", room)

    def list_(self, elements: list[Any], rest: Any, room: int) -> Steps:
        """`[| a, b, ..%rest |]`."""
        texts = yield self.parts(elements, room - 6)
        more = [] if rest is None else [f"..{yield self.part(rest, room - 6)}"]
        text = self.listed("[| ", elements, texts, more, " |]", room)
        return text if isinstance(text, str) else Multi("[|", text.middle, "|]")

    def subscript(self, e: Call, room: int) -> Steps:
        """`x[1:3, %i]`."""
        texts = yield self.parts(e.args, room - 4)
        excess = sum(map(len, texts)) + 8 * len(e.attrs.items) - room
        if excess > 0:
            self.shorten(e.args, texts, excess)
        opening = f"{self.guarded(e.args[0], texts[0], ATOM)}["
        items = subscript_texts(e.attrs, e.args[1:], texts[1:])
        line = f"{opening}{', '.join(items)}]"
        if len(line) > room and len(items) > 1:
            return bracketed(opening, items, "]", self.block.level, self.width)
        return line

    def tuple(self, e: Tuple, room: int) -> Steps:
        """`(a, b)`, `(a,)`, `()`."""
        texts = yield self.parts(e.fields, room - 4)
        return self.listed("(", e.fields, texts, [], ",)" if len(texts) == 1 else ")", room)

    def item(self, e: TupleGetItem, room: int) -> Steps:
        """`t.0`."""
        text = yield self.part(e.tuple_value, room - 4)
        return f"{self.guarded(e.tuple_value, text, ATOM)}.{e.index}"

    def special(self, e: RefCreate | RefRead | RefWrite | Grad, room: int) -> Steps:
        """`ref(e)`, `grad(f)` and their kin."""
        name = e.kind if isinstance(e, Grad) else _SPECIAL[type(e)]
        texts = yield self.parts(e.children, room - 4)
        return self.listed(f"{name}(", e.children, texts, [], ")", room)
