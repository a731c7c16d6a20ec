"""Items in text: definitions, data types, imports, attributes, free variables, and a last expression.

Names are declared before anything is parsed: first what is imported, then the names of data types and their
kinds, then their constructors; so definitions may stand in any order.
"""

from contextlib import suppress
from typing import Any

from relay.diagnostic import did_you_mean
from relay.ir.expr import Expr, Function, GlobalVar, Var, replace
from relay.ir.type import Type, TypeVar
from relay.ir.vars import free_vars
from relay.ir.walk import run, type_post_order
from relay.text.cursor import ParseError
from relay.text.parse_import import Imports

_OPEN = frozenset({"(", "[", "[|", "{"})


class Items(Imports):
    """The rules of a whole text."""

    result: Expr | None = None
    """The expression that the text ends with."""
    result_start: int = 0
    free: tuple[Var, ...] = ()
    """What `free_var` declared."""
    free_dims: tuple[TypeVar, ...] = ()
    """The dimensions that the types of free variables name."""

    def text_(self) -> None:
        """Everything: items into the module, the last expression into `result`."""
        starts = self._item_starts()
        self.item_starts = frozenset(starts)
        self.attributes: dict[str, tuple[int, dict[str, Any]]] = {}
        self.done = {}
        for words, rule in (
            (("import",), self.import_),
            (("type", "data", "extern"), self.declare_data),
            (("type",), self.alias),
            (("type", "data", "extern"), self.data_type),
            (("attributes", "options"), self._attributes),
        ):
            named = [i for i in starts if self.kinds[i] == "NAME" and self.texts[i] in words]
            for i in self.alias_order(named) if rule == self.alias else named:
                if rule != self.data_type or not self.is_alias_item(i):
                    self._attempt(rule, i)
        self.sort_aliases()
        self._declare_functions(starts)
        self.i = 0
        while self.kinds[self.i] != "END":
            self._item()
        for name, (i, _) in self.attributes.items():
            near = did_you_mean(name, self.globals) if len(self.globals) < 2000 else ""
            self.mistake(
                "unknown-global", f"the module defines no `@{name}`", i, hint=near.replace("`", "`@", 1)
            )

    def _item_starts(self) -> list[int]:
        """Where items begin, outside all brackets."""
        starts: list[int] = []
        kinds, i = self.kinds, 0
        while kinds[i] != "END":
            kind = kinds[i]
            if kind == "def" or (kind == "NAME" and self._begins_item(i)):
                starts.append(i)
            i = self.partner.get(i, i) + 1 if kind in _OPEN else i + 1
        return starts

    def _begins_item(self, i: int) -> bool:
        next_ = self.kinds[i + 1]
        match self.texts[i]:
            case "type" | "data":
                return (
                    not (i and self.is_word(i - 1, "extern"))
                    and next_ in ("NAME", "GLOBAL")
                    and self.kinds[i + 2] in ("{", "[", "<", ":", "=")
                )
            case "extern":
                return self.is_word(i + 1, "type")
            case "import":
                return next_ == "STRING"
            case "attributes":
                return next_ == "{" or (next_ in ("NAME", "GLOBAL") and self.kinds[i + 2] == "{")
            case "options":
                return next_ == "{"
            case "free_var":
                return next_ in ("LOCAL", "NAME")
            case _:
                return False

    def _attempt(self, rule: Any, i: int) -> None:
        """Parse the item at token `i`; `done` remembers where it ends, or where to go on after a fault."""
        self.i = i
        try:
            rule(i)
        except ParseError as fault:
            self.recovered(fault)
            self.i = self.next_item(max(i, self.i))
        if self.kinds[self.i] == ";":
            self.i += 1
        self.done[i] = self.i

    def _item(self) -> None:
        """The item here, or what is none: the last expression."""
        i = self.i
        if i in self.done:
            self.i = self.done[i]
        elif self.kinds[i] == "def":
            self._attempt(self._definition, i)
        elif i in self.item_starts:
            self._attempt(self._free_var, i)
        elif self.kinds[i] == ";":
            self.i = i + 1
        else:
            self._attempt(self._last_expression, i)

    def _last_expression(self, i: int) -> None:
        if self.result is not None:
            self.fault(
                "unexpected-token",
                f"expected an item or the end of the text, found {self.spelled(i)}",
                i,
                hint="a text ends with one expression",
            )
        self.graph, self.graph_block = {}, {}
        self.result = run(self.sequence(opener=-1))
        self.result_start = i
        if self.kinds[self.i] == ";":
            self.i += 1
        if self.kinds[self.i] != "END":
            self.expected(
                "the end of the text",
                hint="the expression of a module is its last part" if self.i in self.item_starts else "",
            )

    def _free_var(self, i: int) -> None:
        """`free_var %x : T;`."""
        if not self.is_word(i, "free_var"):
            return
        at = i + 1
        if self.kinds[at] == "NAME":
            self.no_sigil(at)
        self.i = at + 1
        type_ = None
        if self.kinds[self.i] == ":":
            self.i += 1
            self.implicit = {}
            try:
                type_ = self.type_()
                for name, p in self.implicit.items():
                    self.bind(f"'{name}", p)
                self.free_dims += tuple(self.implicit.values())
            finally:
                self.implicit = None
        var = Var(self.texts[at].removeprefix("%"), type_, span=self.span(at))
        self.free = (*self.free, var)
        self.bind_local(at, var)

    def _declare_functions(self, starts: list[int]) -> None:
        """The names of all definitions, and the kinds of their declared type parameters."""
        for i in starts:
            if self.kinds[i] != "def" or self.kinds[i + 1] not in ("GLOBAL", "NAME"):
                continue
            name = self.texts[i + 1].removeprefix("@")
            if self.defined.setdefault(name, i + 1) != i + 1:
                self.add(self.defined_twice(f"`@{name}`", i + 1, self.defined[name]).diagnostic)
            self.globals.add(name)
            if self.kinds[i + 2] in ("<", "["):
                self.i, mark = i + 2, len(self.log)
                with suppress(ParseError):  # the definition itself will say it
                    self.param_kinds[name] = tuple([p.kind for p in self.type_params()])
                self.leave(mark)

    def _definition(self, i: int) -> None:
        """`def @f(…) { … }` or `def @c : T = e`."""
        at = i + 1
        if self.kinds[at] == "NAME":
            self.no_sigil(at, "definition", "@")
        elif self.kinds[at] != "GLOBAL":
            self.i = at
            self.expected("the name of a definition", hint="a definition is `def @name(…) { … }`")
        name = self.texts[at].removeprefix("@")
        var = GlobalVar(name, span=self.span(at))
        self.graph, self.graph_block = {}, {}
        self.i = at + 1
        if self.kinds[self.i] in (":", "="):
            self._constant_definition(var)
            return
        fn = run(self.function(i, key=name))
        if name in self.attributes:
            fn = replace(fn, attrs={**fn.attrs, **self.attributes.pop(name)[1]})
        self._define(var, fn)

    def _constant_definition(self, var: GlobalVar) -> None:
        if self.kinds[self.i] == ":":
            self.i += 1
            type_ = self.type_()
            self.mod.constant_types[var] = type_
        self.take("=")
        self._define(var, run(self.expression(by_line=True)))
        if self.kinds[self.i] not in (";", "END") and not self.on_new_line(self.i):
            self.expected("`;` or a new line")

    def _define(self, var: GlobalVar, value: Expr) -> None:
        self.mod.functions.pop(var, None)
        self.mod.functions[var] = value
        self.mod.imported.discard(var.name_hint)

    def _attributes(self, i: int) -> None:
        """`attributes name { key: value }`; without a name the module's own, and `options { … }`."""
        at = i + 1
        if self.kinds[at] == "{":
            self.i = at
            (self.mod.options if self.texts[i] == "options" else self.mod.attrs).update(
                self.attribute_value()
            )
            return
        if self.kinds[at] == "NAME":
            self.no_sigil(at, "definition", "@")
        self.i = at + 1
        values = self.attribute_value()
        name = self.texts[at].removeprefix("@")
        known = self.attributes.get(name, (at, {}))[1]
        self.attributes[name] = (at, {**known, **values})

    def finish_module(self) -> None:
        """The last expression becomes `@main`."""
        e = self.result
        if e is None:
            return
        main = GlobalVar("main", span=e.span)
        if "main" in self.defined:
            self.mistake(
                "main-exists",
                "the last expression becomes `@main`, which is defined already",
                self.result_start,
                hint="leave the definition or the expression out",
            )
            return
        self._define(main, e if isinstance(e, Function) else self._main_function(e))

    def _main_function(self, e: Expr) -> Function:
        """The last expression as a function of what it leaves free."""
        params = tuple(free_vars(e)) if self.free else ()
        inside: set[Type] = set()
        for p in params:
            inside.update(() if p.type_annotation is None else type_post_order(p.type_annotation))
        dims = tuple([d for d in self.free_dims if d in inside])
        return Function(params, e, None, dims, span=e.span)
