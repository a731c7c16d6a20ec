"""Expressions as lines of text.  How and why is said in `relay.text.printer`.

Nothing recurses: `run` drives generators that yield the generators of their parts.
"""

from collections.abc import Mapping, Sequence
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
    VMap,
)
from relay.op.dimension import DimValue
from relay.op.records import field_name
from relay.op.subscript import Subscript
from relay.op.update import IndexUpdate
from relay.text.attributes import value_text
from relay.text.layout import Multi, bracketed
from relay.text.print_choice import Choices
from relay.text.print_leaves import ATOM, INFIX, PREFIX, UNARY, labelled
from relay.text.print_list import list_cells
from relay.text.print_record import Written
from relay.text.print_scope import Steps
from relay.text.print_subscript import UPDATE_OPERANDS, is_subscript, is_update, subscript_texts, updates
from relay.text.survey import LEAVES

FORMS = frozenset({Subscript, IndexUpdate, DimValue})
"""Operators whose calls may have a form of their own."""
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
        VMap: "vmap",
    }

    def call(self, e: Call, room: int) -> Steps:
        """A call, or the sign that stands for it."""
        op: Any = e.op
        if type(e.attrs) in FORMS and self.sugar:
            if is_subscript(e):
                return (yield self.subscript(e, room))
            if (name := self.dimension(e)) is not None:
                return name
            if is_update(e):
                return (yield self.update(e, room))
        more = self.call_attributes(e)
        if self.sugar and type(op) is Op and not more and not e.written_type_args:
            sign = INFIX.get(op.name)
            if sign is not None and len(e.args) == 2:
                return (yield self.infix(sign[0], e.args, sign[2:], room))
            if self.is_prefix(e):
                text = self.guarded(e.args[0], (yield self.part(e.args[0], room - 3)), UNARY)
                return PREFIX[op.name] + (f"({text})" if text[0] in "-!0123456789in" else text)
        if type(op) is Constructor:
            cells = list_cells(e, (self.shared, self.graph)) if self.sugar else None
            if cells is not None:
                return (yield self.list_(*cells, f"[|{self.type_arguments(e)}", room))
            if not e.args and not more and not e.written_type_args:
                return self.instance(op, [], "")
            head = self.constructor(op)
            if self.is_record(op, len(e.args), more):
                return (yield self.record(e, head, room))
        elif type(op) in LEAVES and type(op) is not Constant:
            head = self.operator(op) if type(op) is Op else self.leaf(op)
        else:
            head = self.guarded(op, (yield self.part(op, room // 2)), ATOM)
            head += "()" if head[-1] != ")" and self.is_instance(op) else ""
        head += self.type_arguments(e)
        texts = yield self.parts(e.args, room - 4)
        if type(op) is Op:
            texts = self.operands(op, texts) if len(texts) > self.most_operands[op.name] else texts
            if more and self.leads(op):
                opening = f"{head}({more.partition('=')[2]}{', ' * bool(texts)}"
                return self.listed(opening, e.args, texts, [], ")", room)
        return self.listed(f"{head}(", e.args, texts, [more] if more else [], ")", room)

    def type_arguments(self, e: Call) -> str:
        """`<a, b>`, or nothing."""
        return (
            f"<{', '.join([self.types.any_kind(t) for t in e.written_type_args])}>"
            if e.written_type_args
            else ""
        )

    def record(self, e: Call, name: str, room: int) -> Steps:
        """`Layer { w: a, b: b }`."""
        op: Any = e.op
        opening = f"{name}{self.type_arguments(e)} {{"
        return (yield self.labelled(list(zip(op.field_names, e.args, strict=True)), opening, room))

    def written_record(self, found: Written, room: int) -> Steps:
        op: Any = found.call.op
        opening = f"{self.constructor(op)}{self.type_arguments(found.call)} {{"
        return (yield self.labelled([*found.fields.items()], opening, room))

    def labelled(self, values: Sequence[tuple[str, Any]], opening: str, room: int) -> Steps:
        """`w: a, b: b }` behind its opening."""
        names, parts = [name for name, _ in values], [e for _, e in values]
        texts = yield self.parts(parts, room - 4)
        excess = len(opening) + 1 + sum(map(len, labelled(names, texts))) + 2 * len(texts) - room
        if excess > 0:
            self.shorten(parts, texts, excess)
        fields = labelled(names, texts)
        line = f"{opening} {', '.join(fields)} }}"
        return line if len(line) <= room else bracketed(opening, fields, "}", self.block.level, self.width)

    def list_(self, elements: list[Any], rest: Any, opening: str, room: int) -> Steps:
        """`[| a, b, ..%rest |]`, or `[|<T> a, b |]`."""
        texts = yield self.parts(elements, room - 6)
        more = [] if rest is None else [f"..{yield self.part(rest, room - 6)}"]
        text = self.listed(f"{opening} ", elements, texts, more, " |]", room)
        return text if isinstance(text, str) else Multi(opening, text.middle, "|]")

    def subscript(self, e: Call, room: int) -> Steps:
        """`x[1:3, %i]`, or `x.w`."""
        name = field_name(e.attrs.items)
        if name:
            return (yield self.field(e.args[0], name, room))
        texts = yield self.parts(e.args, room - 4)
        excess = sum(map(len, texts)) + 8 * len(e.attrs.items) - room
        if excess > 0:
            self.shorten(e.args, texts, excess)
        opening = f"{self.guarded(e.args[0], texts[0], ATOM)}["
        items = subscript_texts(e.attrs.items, e.args[1:], texts[1:])
        line = f"{opening}{', '.join(items)}]"
        if len(line) > room and len(items) > 1:
            return bracketed(opening, items, "]", self.block.level, self.width)
        return line

    def update(self, e: Call, room: int) -> Steps:
        """`x with { b: e, [1:3]: f }`."""
        steps = updates(e, (self.shared, self.graph))
        data = steps[0].args[0]
        opening = f"{self.guarded(data, (yield self.part(data, room - 8)), ATOM)} with {{"
        places: list[str] = []
        for step in steps:
            others = step.args[UPDATE_OPERANDS:]
            name = field_name(step.attrs.items)
            items = (
                subscript_texts(step.attrs.items, others, (yield self.parts(others, room - 8)))
                if not name
                else []
            )
            places.append(name or f"[{', '.join(items)}]")
        return (
            yield self.labelled([(p, s.args[1]) for p, s in zip(places, steps, strict=True)], opening, room)
        )

    def match(self, e: Match, room: int) -> Steps:
        """`e.w`, `e with { b: f, w: g }`, or a `match` written out."""
        name = self.taken_field(e)
        if name:
            return (yield self.field(e.data, name, room))
        new: dict[str, Any] = {}
        data: Any = e
        while (name := self.changed_field(data)) and name not in new:
            if data is not e and (data in self.shared or data in self.graph):
                break
            new[name] = data.clauses[0].rhs.args[data.clauses[0].lhs.constructor.field_names.index(name)]
            self.goes_on((data, 1))
            data = data.data
        if not new:
            return (yield super().match(e, room))
        opening = f"{self.guarded(data, (yield self.part(data, room - 8)), ATOM)} with {{"
        return (yield self.labelled([*new.items()][::-1], opening, room))

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

    def vmap(self, e: VMap, room: int) -> Steps:
        """`vmap(f, in_axes=(0, None))`."""
        texts = yield self.parts(e.children, room - 4)
        axes = [f"{name}={value_text(a)}" for name, a in e.changed_axes.items()]
        return self.listed("vmap(", e.children, texts, axes, ")", room)
