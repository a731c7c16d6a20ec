"""Expressions as lines of text.  How and why is said in `relay.text.printer`.

Nothing recurses: `run` drives generators that yield the generators of their parts.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any

from relay.diagnostic import RelayError, fail
from relay.ir import hooks
from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Function,
    GlobalVar,
    Grad,
    If,
    Let,
    LetRec,
    Match,
    Op,
    Pattern,
    RefCreate,
    RefRead,
    RefWrite,
    RelayExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.module import IRModule
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar, PatternWildcard, pattern_vars
from relay.ir.type import BOOL
from relay.ir.vars import free_vars
from relay.op.base import alias_of, registry
from relay.text import names
from relay.text.attributes import attribute_list, operator_attributes, value_text
from relay.text.layout import DEEPEST, Multi, Text, bracketed, indented, pad, wrapped
from relay.text.print_literals import constant_text
from relay.text.print_types import TypeText
from relay.text.survey import LEAVES, Survey

Steps = Generator[Any, Any, Any]
Key = tuple[Any, int]
"""A scope: the node that opens it and the part that is it, as `relay.ir.scope` counts."""

OR, AND, EQUALITY, COMPARISON, SUM, PRODUCT, UNARY, POWER, BASE, ATOM = range(1, 11)
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
    "power": ("**", POWER, BASE, POWER),
}
"""Operators with a sign: the sign, how tightly it binds, and what it demands of its left and its right side."""
PREFIX = {"negative": "-", "logical_not": "!"}
_OPERANDS = frozenset({Var, Call, TupleGetItem, RefRead})
"""What stands on the right of `&&` and `||`; another branch prints as one of an `if`."""


class Block:
    """Lines being written: the body of a function, a branch, a clause, or a value in braces."""

    __slots__ = ("key", "level", "lines", "margin", "room", "undo")

    def __init__(self, level: int, width: int, key: Key) -> None:
        """`key` is the scope whose text this is, or part of which it is."""
        self.key = key
        self.level = level
        self.margin = pad(level)
        self.room = max(width - len(self.margin), 24)
        self.lines: list[Any] = []
        self.undo: list[tuple[str, Var | None]] = []


def run(steps: Steps) -> Any:
    """Drive a generator that yields generators, on a stack of our own."""
    stack, sent = [steps], None
    while stack:
        try:
            stack.append(stack[-1].send(sent))
            sent = None
        except StopIteration as stop:
            stack.pop()
            sent = stop.value
    return sent


class ExprPrinter:
    """Prints the definitions of one text, one after the other."""

    sugar = True
    """Whether operators print with their signs."""
    name_each_call = False
    """Whether each call gets a line and a number of its own."""

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
        self.width = max(width, 24)
        self.show_types, self.show_spans = show_types, show_spans
        self.comments = show_types or show_spans
        if self.comments:
            self.sugar = False
        self.mod = mod
        self.hidden = frozenset() if mod is None else frozenset(filter(is_operator, mod.constructors()))
        self.large: list[Constant] = []
        self.large_index: dict[Any, int] = {}
        self.keep = keep or self.keep_in_metadata
        self.types = self.type_printer([] if mod is None else [t.name_hint for t in mod.type_definitions])
        self.free: dict[Var, str] = {}
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

    # --- one definition ------------------------------------------------------------------------------------------

    def begin(self, survey: Survey) -> None:
        """Turn to another definition, whose free variables have names."""
        self.survey = survey
        self.shared = survey.shared
        self.homes = set[Key]() if survey.where is None else {_key(survey.where[e]) for e in survey.shared}
        self.var_texts: dict[Var, str] = {v: names.local(name) for v, name in self.free.items()}
        self.renamed: set[Var] = set()
        self.new_names: set[str] = set()
        taken = set(self.free.values())
        self.simple = survey.distinct_names and not (
            taken and any(v.name_hint in taken for v in survey.bound)
        )
        self._restart()

    def _restart(self) -> None:
        self.visible: dict[str, Var | None] = (
            {} if self.simple else {name: v for v, name in self.free.items()}
        )
        self.hides: dict[Var, Var | None] = {}
        """The variable of the same name that each bound variable hides."""
        self.clashed = False
        self.graph: dict[Any, str] = {}
        self.count = 0
        self.block = Block(0, self.width, (None, 0))
        self.open: dict[Key, list[Block]] = {(None, 0): [self.block]}

    def name_free(self, surveys: Iterable[tuple[RelayExpr, Survey]]) -> list[Var]:
        """Give the free variables of all definitions names that are apart; returns them in order."""
        taken: set[str] = set()
        for root, survey in surveys:
            if survey.has_free():
                for v in free_vars(root):
                    if v not in self.free:
                        self.free[v] = names.fresh(v.name_hint, taken)
                        taken.add(self.free[v])
        return list(self.free)

    def whole(self, steps: Callable[[], Steps]) -> Any:
        """Run `steps`, and again as long as names turned out to clash."""
        result = run(steps())
        while self.clashed:
            self._restart()
            result = run(steps())
        return result

    # --- variables -----------------------------------------------------------------------------------------------

    def mention(self, v: Var) -> str:
        """A reference to a variable; where another one of that name hides it, that one will be renamed."""
        if not self.simple and v not in self.renamed:
            name = self.free.get(v, v.name_hint)
            if self.visible.get(name) is not v:
                self._rename_hiders(v, name)
        text = self.var_texts.get(v)
        if text is None:
            text = self.var_texts[v] = names.local(v.name_hint)
        return text

    def _rename_hiders(self, v: Var, name: str) -> None:
        hider = self.visible.get(name)
        while hider is not None and hider is not v and hider not in self.free:
            self._rename(hider)
            self.clashed = True
            hider = self.hides.get(hider)
        self.visible[name] = v

    def binder(self, v: Var) -> str:
        """A variable as it is written where it is bound, with its annotation."""
        text = self.var_texts.get(v)
        if text is None:
            text = self.var_texts[v] = names.local(v.name_hint)
        t = v.type_annotation
        return text if t is None else f"{text}: {self.types.argument(t)}"

    def bind(self, v: Var) -> None:
        """A variable is in scope from here to the end of the block."""
        if not self.simple and v not in self.renamed:
            before = self.visible.get(v.name_hint)
            self.hides[v] = before
            self.block.undo.append((v.name_hint, before))
            self.visible[v.name_hint] = v

    def bind_group(self, several: Sequence[Var]) -> list[str]:
        """Variables that are bound together, and so cannot have one name."""
        if not self.simple:
            known: set[str] = set()
            for v in several:
                if v.name_hint in known and v not in self.renamed:
                    self._rename(v)
                known.add(v.name_hint)
        for v in several:
            self.bind(v)
        return [self.binder(v) for v in several]

    def _rename(self, v: Var) -> None:
        """Give a bound variable a name that no other variable of the definition has."""
        taken = {u.name_hint for u in self.survey.bound} | set(self.free.values())
        new = names.fresh(v.name_hint, taken | self.new_names)
        self.new_names.add(new)
        self.renamed.add(v)
        self.var_texts[v] = names.local(new)

    # --- blocks --------------------------------------------------------------------------------------------------

    def enter(self, key: Key | None, deeper: int = 1) -> Block:
        """Open a block for a scope, or for braces inside the current one; returns the block around it."""
        around = self.block
        self.block = Block(around.level + deeper, self.width, key or around.key)
        if self.survey.where is not None:
            self.open.setdefault(self.block.key, []).append(self.block)
        return around

    def leave(self, around: Block) -> list[Any]:
        """Close the block and return its lines."""
        block = self.block
        for name, was in reversed(block.undo):
            self.visible[name] = was
        if self.survey.where is not None:
            self.open[block.key].pop()
        self.block = around
        return block.lines

    def statement(self, before: str, text: Text, after: str) -> None:
        """Write one statement into the current block."""
        block = self.block
        if isinstance(text, str):
            block.lines.append(f"{block.margin}{before}{text}{after}")
        else:
            block.lines += (
                f"{block.margin}{before}{text.first}",
                text.middle,
                f"{block.margin}{text.last}{after}",
            )

    def body(self, e: Any, shared: bool = True) -> Steps:
        """Write `e` into the current block up to its last expression, which is returned unwritten.

        `shared` is False for a shared `let` whose own text this is.
        """
        while True:
            kind = type(e)
            if kind is not Let and kind is not LetRec:
                text = self.fast(e, self.block.room)
                return (yield self.expr(e, self.block.room)) if text is None else text
            if shared and e in self.shared:
                return (yield self.shared_text(e))
            shared = True
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
        """Whether a function is written out as the value of its `let`: unless it is shared and does not call itself."""
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

    def scope(self, e: Any, key: Key) -> Steps:
        """`e` as a block: a line without its indentation, or a list of lines."""
        around = self.enter(key)
        last = yield self.body(e)
        if isinstance(last, str) and not self.block.lines:
            self.leave(around)
            return last
        self.statement("", last, "")
        return self.leave(around)

    # --- atoms and calls of atoms ----------------------------------------------------------------------------------

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
                return self.operator(e)
            case Constructor():
                return self.constructor(e) if e.inputs else self.qualified(e)
            case _:
                raise AssertionError(f"{e!r} is no leaf")

    def operator(self, e: Op) -> str:
        """The name of an operator, which a constructor may hide."""
        return f"relay.{e.name}" if e.name in self.hidden else e.name

    def constant(self, e: Constant) -> str:
        """A constant in place, or a reference to where a large one is kept."""
        return constant_text(e, self.types, self.keep)

    def fast(self, e: Any, room: int) -> str | None:
        """The text of an unshared call whose parts are atoms, where that is all there is to it; else None."""
        if type(e) is not Call or self.comments or e.type_args or e in self.shared:
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
        more = self.call_attributes(e)
        if type(op) is Op:
            sign = INFIX.get(op.name) if self.sugar and not more and len(args) == 2 else None
            if sign is not None:
                if args[0][0] == "-" and sign[0] == "**":
                    return None
                text = f"{args[0]} {sign[0]} {args[1]}"
            elif op.name in PREFIX and self.sugar:
                return None
            else:
                if more:
                    args.append(more)
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

    def constructor(self, e: Constructor) -> str:
        """The name of a constructor that is called."""
        text = names.constructor(e.name_hint)
        return self.qualified(e) if text[0] == "@" and (self.mod is None or e.name_hint in self.mod) else text

    def qualified(self, e: Constructor) -> str:
        """A constructor that is not called, or has the odd name of a definition: `List.Nil`, `List.@"odd name"`."""
        data, name = e.belong_to.name_hint, e.name_hint
        plain = names.is_plain(data) and names.is_plain(name) and not is_operator(f"{data}.{name}")
        return f"{data}.{name}" if plain else f"{names.type_name(data)}.@{names.quote(name)}"

    def instance(self, op: Constructor, args: list[str], more: str) -> str:
        """A constructor called with its fields."""
        name = self.constructor(op)
        if more:
            args.append(more)
        return f"{name}({', '.join(args)})" if args or op.inputs or "." in name else name

    def call_attributes(self, e: Call) -> str:
        """The attributes of a call, as `key=value` with commas between."""
        attrs = e.attrs
        if isinstance(attrs, Mapping):
            return ", ".join(attribute_list(attrs)) if attrs else ""  # pyright: ignore[reportUnknownArgumentType]
        found = self.operator_texts.get(id(attrs))
        if found is None:
            found = self.operator_texts[id(attrs)] = (attrs, self.operator_attributes(attrs))
        return found[1]

    def operator_attributes(self, op: Any) -> str:
        """The attributes of an operator that differ from their defaults."""
        return operator_attributes(op)

    # --- expressions ---------------------------------------------------------------------------------------------

    def expr(self, e: Any, room: int) -> Steps:
        """The text of any expression: by its name if it is shared."""
        if type(e) in LEAVES:
            text = self.leaf(e)
            return self.filled(text) if len(text) > room and type(e) is Constant else text
        if e in self.shared:
            return (yield self.shared_text(e))
        return (yield self.node(e, room))

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

    def shared_text(self, e: Any) -> Steps:
        """The name of a shared node; at its first use it is written, into the innermost block of its scope."""
        found = self.graph.get(e)
        if found is not None:
            return found
        here = self.block
        if self.survey.where is not None:
            blocks = self.open.get(_key(self.survey.where[e]))
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
            out.append(self.mention(a) if type(a) is Var else (yield self.part(a, room)))
        return out

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
            if not self.sugar or type(e.op) is not Op or e.type_args:
                return ATOM
            if len(e.args) == 2 and e.op.name in INFIX and not self.call_attributes(e):
                return INFIX[e.op.name][1]
            return UNARY if self.is_prefix(e) else ATOM
        if type(e) is If:
            connective = self.connective(e)
            return 0 if connective is None else connective[1]
        return 0 if isinstance(e, Match | Function) else ATOM

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
        """Whether an expression prints as the bare name of a constructor: a call of that would read as `e` itself."""
        return type(e) is Call and type(e.op) is Constructor and not e.type_args and e not in self.graph

    def is_prefix(self, e: Call) -> bool:
        """Whether a call prints as `-x` or `!x`."""
        return (
            self.sugar
            and len(e.args) == 1
            and type(e.op) is Op
            and e.op.name in PREFIX
            and not e.type_args
            and (type(e.args[0]) is not Constant or e.op.name == "logical_not")
            and not self.call_attributes(e)
        )

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

    def node(self, e: Any, room: int) -> Steps:
        """The text of a node itself."""
        name = _RULES.get(type(e))
        if name is None:
            fail(
                "temporary-node",
                f"{e!r} has no text",
                getattr(e, "span", None),
                hint="it is a node of some pass, which has to replace it before it ends",
            )
        text = yield getattr(self, name)(e, room)
        return wrapped(text, "", self.comment(e)) if self.comments else text

    def comment(self, e: RelayExpr) -> str:
        """` /* ty=… span=… */`, as far as it is asked for and known."""
        said: list[str] = []
        if self.show_types:
            try:
                said.append(f"ty={self.types(hooks.checked_type(e, self.mod))}")
            except (RelayError, AssertionError):
                said.append("ty=?")
        if self.show_spans and e.span is not None:
            said.append(f"span={e.span}".replace("*/", "* /"))
        return f" /* {' '.join(said)} */" if said else ""

    # --- a rule for each kind of node ------------------------------------------------------------------------------

    def call(self, e: Call, room: int) -> Steps:
        """A call, or the sign that stands for it."""
        op: Any = e.op
        more = self.call_attributes(e)
        if self.sugar and type(op) is Op and not more and not e.type_args:
            sign = INFIX.get(op.name)
            if sign is not None and len(e.args) == 2:
                return (yield self.infix(sign[0], e.args, sign[2:], room))
            if self.is_prefix(e):
                text = self.guarded(e.args[0], (yield self.part(e.args[0], room - 3)), UNARY)
                return PREFIX[op.name] + (f"({text})" if text[0] in "-!0123456789in" else text)
        if type(op) is Constructor:
            if not e.args and not more and not e.type_args:
                return self.instance(op, [], "")
            head = self.constructor(op)
        elif type(op) in LEAVES and type(op) is not Constant:
            head = self.leaf(op)
        else:
            head = self.guarded(op, (yield self.part(op, room // 2)), ATOM)
            head += "()" if head[-1] != ")" and self.is_instance(op) else ""
        if e.type_args:
            head += f"<{', '.join([self.types.any_kind(t) for t in e.type_args])}>"
        texts = yield self.parts(e.args, room - 4)
        return self.listed(f"{head}(", e.args, texts, [more] if more else [], ")", room)

    def infix(self, sign: str, sides: Sequence[Any], strengths: Sequence[int], room: int) -> Steps:
        """`a + b`, each side in parentheses where it binds more loosely than its place demands."""
        texts = yield self.parts(sides, room - 6)
        excess = len(texts[0]) + len(texts[1]) + 6 - room
        if excess > 0:
            self.shorten(sides, texts, excess)
        left, right = [self.guarded(*side) for side in zip(sides, texts, strengths, strict=True)]
        return f"{left} {sign} {right}"

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

    def let(self, e: Let | LetRec, room: int) -> Steps:
        """A `let` that is a value: a block in braces."""
        around = self.enter(None)
        last = yield self.body(e, shared=False)
        self.statement("", last, "")
        return Multi("{", self.leave(around), "}")

    def if_(self, e: If, room: int) -> Steps:
        """`if (c) { a } else { b }`, `a && b`, `a || b`."""
        connective = self.connective(e)
        if connective is not None:
            sign, strength, other = connective
            return (yield self.infix(sign, (e.cond, other), (strength, strength + 1), room))
        cond = yield self.part(e.cond, room - 10)
        return (yield self.branches(e, cond, room))

    def branches(self, e: If, cond: str, room: int) -> Steps:
        """An `if` whose condition is written; a false branch that is an `if` itself follows as `else if`."""
        start = f"if ({cond}) {{"
        yes = yield self.scope(e.true_branch, (e, 1))
        margin = self.block.margin
        middle: list[Any] = []
        opened: list[Block] = []
        while (
            type(e.false_branch) is If
            and e.false_branch not in self.shared
            and (e, 2) not in self.homes
            and not self.comments
            and not self.name_each_call
            and self.connective(e.false_branch) is None
        ):
            middle.append([f"{pad(self.block.level + 1)}{yes}"] if isinstance(yes, str) else yes)
            around, inner = self.enter((e, 2), deeper=0), e.false_branch
            cond = yield self.part(inner.cond, room - 17)
            if self.block.lines:
                yes, no = None, (yield self.late_block(inner, cond, around))
                break
            opened.append(around)
            middle.append(f"{margin}}} else if ({cond}) {{")
            e = inner
            yes = yield self.scope(e.true_branch, (e, 1))
        else:
            no = yield self.scope(e.false_branch, (e, 2))
            if not middle and isinstance(yes, str) and isinstance(no, str):
                line = f"{start} {yes} }} else {{ {no} }}"
                if len(line) <= room:
                    return line
        for around in reversed(opened):
            self.leave(around)
        inside = pad(self.block.level + 1)
        if yes is not None:
            middle.append([inside + yes] if isinstance(yes, str) else yes)
        middle += [f"{margin}}} else {{", [inside + no] if isinstance(no, str) else no]
        return Multi(start, middle, "}")

    def late_block(self, e: If, cond: str, around: Block) -> Steps:
        """The lines of an `else` that could not be an `else if`, because its condition needed lines of its own."""
        block = self.block
        block.level += 1
        block.margin = pad(block.level)
        block.lines = indented(block.lines) if block.margin != around.margin else block.lines
        text = yield self.branches(e, cond, block.room - 2)
        self.statement("", text, "")
        return self.leave(around)

    def function(self, e: Function, room: int, start: str = "fn ") -> Steps:
        """`fn (%x: T) -> R { body }`; `start` is what stands before the parameters."""
        around = self.enter((e, 0))
        undo = self.types.enter(e.type_params)
        head = self.header(e, start, room)
        last = yield self.body(e.body)
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
        return Multi(head.first, [*head.middle, f"{around.margin}{head.last} {{", lines], "}")

    def header(self, e: Function, start: str, room: int) -> Text:
        """`fn<a>(%x: T, key=1) -> R where C`; binds the parameters."""
        params = self.bind_group(e.params) + attribute_list(e.attrs)
        result = ""
        if e.ret_type is not None:
            text = self.types(e.ret_type)
            result = f" -> ({text})" if e.constraints and text.startswith("fn") else f" -> {text}"
        result += self.types.constraints(e.constraints)
        opening = f"{start.rstrip() if e.type_params else start}{self.types.parameters(e.type_params)}("
        line = f"{opening}{', '.join(params)}){result}"
        if len(line) + 2 <= room or not params:
            return line
        return bracketed(opening, params, f"){result}", self.block.level - 1, self.width)

    def match(self, e: Match, room: int) -> Steps:
        """`match (e) { P => e, }`."""
        data = yield self.part(e.data, room - 12)
        clauses: list[Any] = []
        margin = pad(self.block.level + 1)
        for i, clause in enumerate(e.clauses):
            rhs = clause.rhs
            has_lines = (e, i + 1) in self.homes or (type(rhs) in (Let, LetRec) and rhs not in self.shared)
            around = self.enter((e, i + 1), deeper=2 if has_lines else 1)
            lhs = self.pattern(clause.lhs)
            self.block.room = max(self.block.room - len(lhs) - 5, 24)
            last = yield self.body(rhs)
            clauses += self.clause(lhs, last, margin)
            self.leave(around)
        data = data if type(e.data) is Tuple and data[0] == "(" and len(e.data.fields) > 1 else f"({data})"
        return Multi(f"match{'' if e.complete else '?'} {data} {{", clauses, "}")

    def clause(self, lhs: str, last: Text, margin: str) -> list[Any]:
        """The lines of one clause, whose body is written but for its last expression."""
        block = self.block
        if block.lines or block.margin != margin:
            self.statement("", last, "")
            lines = indented(block.lines) if block.margin == margin and block.level < DEEPEST else block.lines
            return [f"{margin}{lhs} => {{", lines, f"{margin}}},"]
        text = wrapped(last, f"{margin}{lhs} => ", ",")
        return [text] if isinstance(text, str) else [text.first, text.middle, margin + text.last]

    def pattern(self, root: Pattern) -> str:
        """A pattern; binds its variables, which need names of their own, and `%_` would bind nothing."""
        out: list[str] = []
        bound = pattern_vars(root)
        for v in bound:
            if v.name_hint == "_" and v not in self.renamed:
                self._rename(v)
        texts = iter(self.bind_group(bound))
        stack: list[Any] = [root]
        while stack:
            p = stack.pop()
            match p:
                case str():
                    out.append(p)
                case PatternWildcard():
                    out.append("_")
                case PatternVar():
                    out.append(next(texts))
                case PatternConstructor(constructor=constructor, patterns=inner):
                    out.append(names.constructor(constructor.name_hint))
                    if inner:
                        stack += reversed(["(", *_commas(inner), ")"])
                case PatternTuple(patterns=inner):
                    stack += reversed(["(", *_commas(inner), ",)" if len(inner) == 1 else ")"])
                case _:
                    raise AssertionError(f"a pattern of class {type(p).__name__}")
        return "".join(out)


def is_operator(name: str) -> bool:
    """Whether a bare name is that of an operator."""
    return name in registry or name in alias_of


def _commas(several: Sequence[Any]) -> list[Any]:
    pieces: list[Any] = []
    for i, p in enumerate(several):
        pieces += [", ", p] if i else [p]
    return pieces


def _is_bool(e: Any, value: bool) -> bool:
    """Whether `e` is the literal `True` or `False`."""
    return type(e) is Constant and e.type is BOOL and e.value.ndim == 0 and bool(e.value) is value


def _key(scope: Any) -> Key:
    return (scope.owner, scope.index)


_STATEMENTS = frozenset({Call, If, Match, RefWrite})
_SPECIAL = {RefCreate: "ref", RefRead: "ref_read", RefWrite: "ref_write"}
_RULES = {
    Call: "call", Tuple: "tuple", TupleGetItem: "item", Let: "let", LetRec: "let", If: "if_", Function: "function",
    Match: "match", RefCreate: "special", RefRead: "special", RefWrite: "special", Grad: "special",
}  # fmt: skip
"""The method that prints each kind of node."""
