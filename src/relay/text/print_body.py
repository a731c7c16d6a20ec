"""Bodies as text: statements, blocks and functions."""

from collections.abc import Mapping
from typing import Any

from relay.ir.expr import Call, Function, If, Let, LetRec, Match, Pattern, RefWrite
from relay.ir.vars import free_vars
from relay.text.attributes import attribute_list
from relay.text.layout import Multi, Text, bracketed, fill, pad
from relay.text.print_parts import Parts
from relay.text.print_record import Written, written
from relay.text.print_scope import Key, Steps

_STATEMENTS = frozenset({Call, If, Match, RefWrite})


class Bodies(Parts):
    """Prints what is written in several lines."""

    # --- statements -----------------------------------------------------------------------------------------

    def body(self, e: Any, shared: bool = True) -> Steps:
        """Write `e` into the current block up to its last expression, which is returned unwritten.

        `shared` is False for a shared `let` whose own text this is.
        """
        while True:
            kind = e.__class__
            if kind is Match and self.is_destructuring(e) and not (shared and e in self.shared):
                yield self.destructuring(e)
                e, shared = e.clauses[0].rhs, True
                continue
            if kind is not Let and kind is not LetRec:
                text = self.fast(e, self.block.room)
                return (yield self.expr(e, self.block.room)) if text is None else text
            if shared and e in self.shared:
                return (yield self.shared_text(e))
            shared = True
            if self.has_records and kind is Let and e.var.name_hint[:1] == "_":
                found = written(e, self.survey, (self.shared, self.graph))
                if found is not None:
                    return (yield self.written_record(found, self.block.room))
            if kind is LetRec:
                yield self.let_rec(e)
            elif type(e.value) is Function and self.is_bare(e):
                self.bind(e.var)
                head = f"let {self.binder(e.var)} = "
                self.statement(head, (yield self.node(e.value, self.block.room - len(head) - 1)), ";")
            else:
                head = "" if self.is_statement(e) else f"let {self.binder(e.var)} = "
                room = self.block.room - len(head) - 1
                text = self.fast(e.value, room)
                if text is None:
                    text = yield self.expr(e.value, room)
                self.bind(e.var)
                self.statement(head, text, ";")
            e = e.body

    def is_bare(self, e: Let) -> bool:
        """Whether a function is written out in its `let`: unless it is shared and does not call itself."""
        return e.value not in self.shared or e.var in free_vars(e.value)

    def is_statement(self, e: Let) -> bool:
        """Whether a `let` prints as `e1; e2`."""
        return (
            self.sugar
            and e.var.name_hint == "_"
            and e.var.type_annotation is None
            and e.var not in self.survey.mentioned
            and type(e.value) in _STATEMENTS
        )

    def let_rec(self, e: LetRec) -> Steps:
        """Write `let rec %f = … and %g = …;`."""
        heads = self.bind_group(e.vars)
        texts: list[tuple[str, Text]] = []
        for i, (head, value) in enumerate(zip(heads, e.values, strict=True)):
            before = f"{'and' if i else 'let rec'} {head} = "
            is_function = type(value) is Function
            text = yield (self.node if is_function else self.expr)(value, self.block.room - len(before) - 1)
            texts.append((before, text))
        for before, text in texts:
            self.statement(before, text, "")
        self.block.lines[-1] += ";"

    def is_destructuring(self, e: Any) -> bool:
        """Whether a `match` prints as `let P = e;` where a statement may stand."""
        raise AssertionError("a part of the printer above this one supplies it")

    def destructuring(self, e: Match) -> Steps:
        """Write `let P = e;` or `let P = e else { d };`."""
        raise AssertionError("a part of the printer above this one supplies it")

    def parameter_patterns(self, e: Function) -> list[Match]:
        """Each `match` that prints as a parameter, from the outermost on."""
        raise AssertionError("a part of the printer above this one supplies it")

    def pattern(self, root: Pattern) -> str:
        """A pattern; binds its variables."""
        raise AssertionError("a part of the printer above this one supplies it")

    def goes_on(self, key: Key) -> None:
        """The scope of `key` is written into the current block."""
        if self.survey.where is not None:
            self.open.setdefault(key, []).append(self.block)

    def written_record(self, found: Written, room: int) -> Steps:
        """A record whose fields are in another order than they are declared in."""
        raise AssertionError("a part of the printer above this one supplies it")

    # --- blocks ---------------------------------------------------------------------------------------------

    def scope(self, e: Any, key: Key) -> Steps:
        """`e` as a block: a line without its indentation, or a list of lines."""
        around = self.enter(key)
        last = yield self.body(e)
        if isinstance(last, str) and not self.block.lines:
            self.leave(around)
            return last
        self.statement("", last, "")
        return self.leave(around)

    def let(self, e: Let | LetRec, room: int) -> Steps:
        """A `let` that is a value: a block in braces."""
        if type(e) is Let and e.var.name_hint[:1] == "_" and self.has_records:
            found = written(e, self.survey, (self.shared, self.graph))
            if found is not None:
                return (yield self.written_record(found, room))
        around = self.enter(None)
        last = yield self.body(e, shared=False)
        self.statement("", last, "")
        return Multi("{", self.leave(around), "}")

    # --- functions ------------------------------------------------------------------------------------------

    def function(self, e: Function, room: int, start: str = "fn ") -> Steps:
        """`fn (%x: T) -> R { body }`; `start` is what stands before the parameters."""
        around = self.enter((e, 0))
        undo = self.types.enter(e.type_params)
        patterns = self.parameter_patterns(e)
        head = self.header(e, start, room, {m.data: m.clauses[0].lhs for m in patterns})
        for m in patterns:
            self.goes_on((m, 1))
        last = yield self.body(patterns[-1].clauses[0].rhs if patterns else e.body)
        self.types.leave(undo)
        inner = self.block
        if (
            isinstance(last, str)
            and not inner.lines
            and isinstance(head, str)
            and start == "fn "
            and len(head) + len(last) + 4 <= room
        ):
            self.leave(around)
            return f"{head} {{ {last} }}"
        self.statement("", last, "")
        lines = self.leave(around)
        if isinstance(head, str):
            return Multi(f"{head} {{", lines, "}")
        opening = f"{head.last} {{" if head.last else "{"
        return Multi(head.first, [*head.middle, around.margin + opening, lines], "}")

    def attribute_list(self, e: Function) -> list[str]:
        """The attributes of a function, as `key=value`."""
        return attribute_list(e.attrs)

    def header(self, e: Function, start: str, room: int, patterns: Mapping[Any, Pattern]) -> Text:
        """`fn<a>(%x: T, (%y, %z), key=1) -> R where C`; binds the parameters, and what patterns bind."""
        params = self.bind_group(e.params)
        for i, v in enumerate(e.params):
            if v in patterns:
                type_ = "" if v.type_annotation is None else f": {self.types(v.type_annotation)}"
                params[i] = self.pattern(patterns[v]) + type_
        params += self.attribute_list(e)
        result = ""
        if e.ret_type is not None:
            text = self.types(e.ret_type)
            result = f" -> ({text})" if e.constraints and text.startswith("fn") else f" -> {text}"
        where = self.types.constraints(e.constraints)
        type_params = self.types.parameters(e.type_params)
        opening = f"{start.rstrip() if type_params else start}{type_params}("
        line = f"{opening}{', '.join(params)}){result}"
        if len(line) + len(where) + 2 <= room or not (params or where):
            return line + where
        level = self.block.level - 1
        closing = f"){result}{where}"
        if not where or (params and len(pad(level)) + len(closing) + 2 <= self.width):
            return bracketed(opening, params, closing, level, self.width)
        each = [self.types(c) for c in e.constraints]
        relations = [pad(level + 1) + text for text in (*[f"{c}," for c in each[:-1]], each[-1])]
        if len(line) + len(" where") <= room:
            return Multi(f"{line} where", relations, "")
        middle = [*fill(params, level + 1, self.width), f"{pad(level)}){result} where"]
        return Multi(opening, [*middle, *relations], "")
