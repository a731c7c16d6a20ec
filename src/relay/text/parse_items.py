"""Items in text: definitions, data types, imports, attributes, free variables, and a last expression.

Names are declared before anything is parsed: first what is imported, then the names of data types and their
kinds, then their constructors; so definitions may stand in any order.
"""

from typing import Any

from relay.diagnostic import RelayError, did_you_mean
from relay.ir.dtype import canonical
from relay.ir.expr import Constructor, Expr, Function, GlobalVar, Var, replace
from relay.ir.module import Import, TypeData
from relay.ir.type import GlobalTypeVar, Type, TypeCall, TypeVar
from relay.ir.vars import free_vars
from relay.text.cursor import SyntaxFault, run
from relay.text.imports import Loader
from relay.text.parse_body import Bodies
from relay.text.parse_types import BUILT_IN_TYPES

_TYPE_WORDS = ("type", "data")
_OPEN = frozenset({"(", "[", "{"})


class Items(Bodies):
    """The rules of a whole text."""

    loader: Loader
    result: Expr | None = None
    """The expression that the text ends with."""
    result_start: int = 0
    free: tuple[Var, ...] = ()
    """What `free_var` declared."""
    lacks_import: bool = False
    """An import failed, so that names of it are not known."""

    def text_(self) -> None:
        """Everything: items into the module, the last expression into `result`."""
        self.prepare()
        starts = self._item_starts()
        self.item_starts = frozenset(starts)
        self.attributes: dict[str, tuple[int, dict[str, Any]]] = {}
        self.done: dict[int, int] = {}
        for words, rule in (
            (("import",), self._import),
            (("type", "data", "extern"), self._declare_data),
            (("type", "data", "extern"), self._data),
            (("attributes", "options"), self._attributes),
        ):
            for i in starts:
                if self.kinds[i] == "NAME" and self.texts[i] in words:
                    self._attempt(rule, i)
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
        except SyntaxFault as fault:
            self.recovered(fault)
            self.i = self._next_item(max(i, self.i))
        if self.kinds[self.i] == ";":
            self.i += 1
        self.done[i] = self.i

    def _next_item(self, i: int) -> int:
        i += 1 if self.kinds[i] != "END" else 0
        while (
            self.kinds[i] != "END"
            and i not in self.item_starts
            and not (self.kinds[i] == "def" and self.kinds[i + 1] == "GLOBAL")
        ):
            i += 1
        return i

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

    # --- the last expression --------------------------------------------------------------------------------

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
            self._old(
                at, "missing-sigil", f"the local `{self.texts[at]}` has no sigil", f"write %{self.texts[at]}"
            )
        self.i = at + 1
        type_ = None
        if self.kinds[self.i] == ":":
            self.i += 1
            self.implicit = {}
            try:
                type_ = self.type_()
                for name, p in self.implicit.items():
                    self.bind(f"'{name}", p)
            finally:
                self.implicit = None
        var = Var(self.texts[at].removeprefix("%"), type_, span=self.span(at))
        self.free = (*self.free, var)
        self.bind_local(at, var)

    # --- definitions ----------------------------------------------------------------------------------------

    def _declare_functions(self, starts: list[int]) -> None:
        """The names of all definitions, and the kinds of their declared type parameters."""
        for i in starts:
            if self.kinds[i] != "def" or self.kinds[i + 1] not in ("GLOBAL", "NAME"):
                continue
            name = self.texts[i + 1].removeprefix("@")
            if name in self.defined:
                self.mistake("duplicate-name", f"`@{name}` is defined twice", i + 1)
            self.defined.add(name)
            self.globals.add(name)
            if self.kinds[i + 2] in ("<", "["):
                self.i, mark = i + 2, len(self.log)
                try:
                    self.param_kinds[name] = tuple([p.kind for p in self.type_params()])
                except SyntaxFault:
                    pass
                self.leave(mark)

    def _definition(self, i: int) -> None:
        """`def @f(…) { … }` or `def @c : T = e`."""
        at = i + 1
        if self.kinds[at] == "NAME":
            self._old(
                at,
                "missing-sigil",
                f"the definition `{self.texts[at]}` has no sigil",
                f"write @{self.texts[at]}",
            )
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
            self._old(
                at,
                "missing-sigil",
                f"the definition `{self.texts[at]}` has no sigil",
                f"write @{self.texts[at]}",
            )
        self.i = at + 1
        values = self.attribute_value()
        name = self.texts[at].removeprefix("@")
        known = self.attributes.get(name, (at, {}))[1]
        self.attributes[name] = (at, {**known, **values})

    # --- data types -----------------------------------------------------------------------------------------

    def _declare_data(self, i: int) -> None:
        """The name and the kinds of a data type; what follows is parsed when all names are known."""
        self.i = i + 1 + self.is_word(i, "extern")
        at = self.i
        if self.kinds[at] not in ("NAME", "GLOBAL"):
            self.expected("the name of a data type")
        name = self.texts[at].removeprefix("@")
        if (
            canonical(name) is not None
            or name in BUILT_IN_TYPES
            or ("." in self.texts[at] and self.kinds[at] == "NAME")
        ):
            self.fault(
                "reserved-name",
                f"`{name}` cannot be the name of a data type",
                at,
                hint="it has a meaning already",
            )
        if name in self.types_here:
            self.fault("duplicate-name", f"the type `{name}` is defined twice", at)
        self.types_here.add(name)
        self.i += 1
        mark = len(self.log)
        self.headers[i] = self.type_params()
        self.data_kinds[name] = tuple([p.kind for p in self.headers[i]])
        self.leave(mark)

    def _data(self, i: int) -> None:
        """`type List[A] { … }`, `data Nat { … }`, `extern type Storage`."""
        if i not in self.headers:
            self.i = self._next_item(i)
            return
        is_extern = self.is_word(i, "extern")
        at = i + 1 + is_extern
        header = GlobalTypeVar(self.texts[at].removeprefix("@"))
        params = self.headers[i]
        mark = len(self.log)
        self.i = at + 1
        if self.kinds[self.i] in ("<", "["):
            self.i = self._behind_params(self.i)
        for p in params:
            self.bind(f"'{p.name_hint}", p)
        try:
            constructors = [] if is_extern else self._constructors(header, params)
        finally:
            self.leave(mark)
        self.mod.type_definitions.pop(header, None)
        self.mod.type_definitions[header] = TypeData(
            header, tuple(params), tuple(constructors), is_extern, span=self.span(i, at)
        )
        self.mod.imported.discard(header.name_hint)

    def _behind_params(self, opener: int) -> int:
        mark = len(self.log)
        self.i = opener
        self.type_params()
        self.leave(mark)
        return self.i

    def _constructors(self, header: GlobalTypeVar, params: list[TypeVar]) -> list[Constructor]:
        opener = self.take("{")
        found: list[Constructor] = []
        while self.kinds[self.i] != "}":
            i = self.i
            if self.kinds[i] not in ("NAME", "GLOBAL"):
                self.expected("a constructor or `}`", opener=opener)
            name = self.texts[i].removeprefix("@")
            inputs = self._constructor_inputs(header, params)
            c = Constructor(name, inputs, header, len(found), span=self.span(i))
            if name in self.constructors_here:
                self.mistake(
                    "duplicate-name",
                    f"the constructor `{name}` is declared twice",
                    i,
                    hint="constructors of all data types of a module have names of their own",
                )
            self.constructors_here.add(name)
            self.constructors[name] = c
            found.append(c)
            if self.kinds[self.i] in (",", ";"):
                self.i += 1
        self.i += 1
        return found

    def _constructor_inputs(self, header: GlobalTypeVar, params: list[TypeVar]) -> tuple[Type, ...]:
        """What stands behind a constructor's name: `(A, B)`, or `: (A, B) -> T`."""
        self.i += 1
        if self.kinds[self.i] == "(":
            return self._input_types()
        if self.kinds[self.i] != ":":
            return ()
        self.i += 1
        inputs: tuple[Type, ...] = ()
        if self.kinds[self.i] == "(":
            inputs = self._input_types()
            self.take("->")
        at = self.i
        result = self.type_()
        if result is not TypeCall(header, params):
            self.mistake(
                "constructor-result",
                f"a constructor of `{header.name_hint}` gives a `{header.name_hint}`",
                at,
                to=self.i - 1,
                hint="its result type is the data type with its own parameters",
            )
        return inputs

    def _input_types(self) -> tuple[Type, ...]:
        opener = self.i
        self.i += 1
        inputs: list[Type] = []
        while self.kinds[self.i] != ")":
            inputs.append(self.type_())
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        self.take(")", opener=opener)
        return tuple(inputs)

    # --- imports --------------------------------------------------------------------------------------------

    def _import(self, i: int) -> None:
        """`import "std/list"`."""
        self.i = i + 2
        path = self.string(i + 1)
        self.mod.imports.append(Import(path, self.span(i, i + 1)))
        try:
            other = self.loader.load(path, self.span(i + 1))
        except RelayError as error:
            self.lacks_import = True
            for d in error.diagnostics:
                self.add(d)
            return
        if other is not None:
            self._take_over(other, i + 1)

    def _take_over(self, other: Any, i: int) -> None:
        """The definitions and types of an imported module; its `@main` stays there."""
        mod = self.mod
        for var, value in other.functions.items():
            if var.name_hint == "main":
                continue
            known = mod.functions.get(var)
            if known is not None and known is not value:
                self.mistake("duplicate-name", f"`@{var.name_hint}` is defined in two imported modules", i)
            mod.functions[var] = value
            mod.imported.add(var.name_hint)
            self.globals.add(var.name_hint)
            self.imported_here.add(var.name_hint)
            if isinstance(value, Function) and value.type_params:
                self.param_kinds[var.name_hint] = tuple([p.kind for p in value.type_params])
        mod.constant_types.update(other.constant_types)
        for header, data in other.type_definitions.items():
            name = header.name_hint
            known = mod.type_definitions.get(header)
            if known is not None and known is not data:
                self.mistake("duplicate-name", f"the type `{name}` is defined in two imported modules", i)
            mod.type_definitions[header] = data
            mod.imported.add(name)
            self.data_kinds[name] = tuple([p.kind for p in data.type_vars])
            for c in data.constructors:
                self.constructors[c.name_hint] = c

    # --- main -----------------------------------------------------------------------------------------------

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
        if not isinstance(e, Function):
            e = Function(tuple(free_vars(e)) if self.free else (), e, span=e.span)
        self._define(main, e)
