"""What names mean at the cursor: one table with an undo log, so that entering and leaving a scope is cheap.

Keys are as written: `%x` for locals, `x` for a local bound without its sigil, `'n` for a type parameter.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

from relay.diagnostic import Report, did_you_mean
from relay.ir.dtype import DTYPES
from relay.ir.expr import Constructor, Expr, GlobalVar, Op, Var
from relay.ir.module import IRModule
from relay.ir.type import Kind, TypeVar
from relay.ir.vars import free_vars
from relay.op.registry import alias_of, registry
from relay.text.cursor import Cursor
from relay.text.imports import Loader
from relay.text.lexer import Tokens
from relay.text.other_languages import CONVERSIONS, OPERATORS, SHORT_NAMES, TOKENS, WORDS

MOST_NAMES = 2000
"""Among more names than this no similar one is looked for: it would take seconds."""


class Names(Cursor):
    """The names in scope: locals, type parameters, graph bindings, globals, constructors, data types."""

    loader: Loader

    def __init__(
        self,
        tokens: Tokens,
        report: Report,
        mod: IRModule,
        *,
        is_open: bool = False,
        checks_globals: bool = True,
    ) -> None:
        """`is_open` makes unknown locals fresh free variables; `checks_globals` reports unknown globals."""
        super().__init__(tokens, report)
        self.mod = mod
        self.is_open = is_open
        self.checks_globals = checks_globals
        self.env: dict[str, Any] = {}
        self.log: list[tuple[str, Any]] = []
        self.graph: dict[str, Expr] = {}
        self.graph_block: dict[str, int] = {}
        self.block = 0
        self.blocks = 0
        self.open_blocks: set[int] = {0}
        self.has_bare = False
        self.implicit: dict[str, TypeVar] | None = None
        """Where parameter types declare dimensions, those declared so far."""
        self.implicit_params: set[TypeVar] = set()
        """The type parameters of functions that parameter types declare."""
        self.in_result = False
        self.data_type_declared: tuple[str, Sequence[TypeVar], str] | None = None
        """The name and the parameters of the data type or alias that is read, and how it goes on."""
        self.plain: dict[str, tuple[Op, Any]] = {}
        """Operators that were called without attributes."""
        self.depth = 0
        """How many functions are open here."""
        self.param_kinds: dict[Any, tuple[Kind, ...]] = {}
        """The kinds of the type parameters of functions, by global name or local variable."""
        self.defined: dict[str, int] = {}
        self.imported_here: set[str] = set()
        self.types_here: dict[str, int] = {}
        self.constructors_here: dict[str, int] = {}
        self.aliases_here: dict[str, int] = {}
        """The aliases of this text, each with the token where its type begins."""
        self.headers: dict[int, list[TypeVar]] = {}
        """Names that this text declares, and by token the type parameters of its data types."""
        self.globals: set[str] = {v.name_hint for v in mod.functions}
        self.constructors: dict[str, Constructor] = mod.constructors()
        self.data_kinds: dict[str, tuple[Kind, ...]] = {
            t.name_hint: tuple([p.kind for p in d.type_vars])
            for t, d in (*mod.type_definitions.items(), *mod.aliases.items())
        }

    # --- entering and leaving -------------------------------------------------------------------------------

    def bind(self, key: str, value: Any) -> None:
        """Give a name a meaning until the scope is left."""
        env = self.env
        self.log.append((key, env.get(key)))
        env[key] = value

    def bind_local(self, i: int, var: Var) -> None:
        """Bind token `i`, a local with or without its sigil."""
        text = self.texts[i]
        if self.kinds[i] == "NAME":
            self.has_bare = True
            self.bind(text, var)
            text = f"%{text}"
        elif self.has_bare and self.env.get(text[1:]) is not None:
            self.bind(text[1:], None)
        self.bind(text, var)

    def leave(self, mark: int) -> None:
        """Undo every binding since the log had length `mark`."""
        env, log = self.env, self.log
        while len(log) > mark:
            key, before = log.pop()
            if before is None:
                del env[key]
            else:
                env[key] = before

    # --- locals ---------------------------------------------------------------------------------------------

    def local(self, i: int) -> Expr:
        """What the local at token `i` means; where it means nothing that is said once."""
        text = self.texts[i]
        found = self.env.get(text)
        if found is not None:
            return found
        var = Var(text[1:], None, span=self.span(i))
        if not self.is_open:
            self._refuse_arrow(i)
            self.mistake(
                "unknown-variable",
                f"`{self.source_text(i)}` is not bound here",
                i,
                hint=self.near_local(text)
                or f"bind it with `let`, make it a parameter, or declare it: free_var {self.source_text(i)};",
            )
        self.env[text] = var
        return var

    def _refuse_arrow(self, i: int) -> None:
        """Where the local at token `i` stands before a `=>`, alone or in parentheses, it is a parameter."""
        close = self.partner.get(self.enclosing[i], i)
        for end in (i, close):
            if self.kinds[end + 1] == "=>":
                self.fault(
                    "unexpected-token",
                    "`=>` belongs to the clauses of a `match`",
                    end + 1,
                    hint=TOKENS["=>"],
                )

    def near_local(self, text: str) -> str:
        """A similar local, as a question."""
        known = [k for k, v in self.env.items() if k.startswith("%") and v is not None]
        return did_you_mean(text, known) if len(known) <= MOST_NAMES else ""

    def graph_node(self, i: int) -> Expr:
        """The node bound to graph variable `i`."""
        text = self.texts[i]
        found = self.graph.get(text)
        if found is None:
            near = "" if len(self.graph) > MOST_NAMES else did_you_mean(text, self.graph)
            before = i and self.kinds[i - 1] in ("LOCAL", "GRAPH", "NUMBER", ")")
            self.fault(
                "unknown-graph-binding",
                f"`{text}` is not bound in this definition",
                i,
                hint="the remainder operator `%` is followed by white space"
                if before
                else near or f"bind it before its first use: {text} = …",
            )
        if self.graph_block[text] not in self.open_blocks:
            self._check_escape(i, found)
        return found

    def _check_escape(self, i: int, node: Expr) -> None:
        """A node bound in a block that is closed by now may mention locals of that block."""
        live = {v for v in (*self.env.values(), *[before for _, before in self.log]) if type(v) is Var}
        for v in free_vars(node):
            if v not in live:
                self.fault(
                    "escaped-variable",
                    f"`{self.texts[i]}` mentions `%{v.name_hint}`, which is not in scope here",
                    i,
                    hint="use it where it is bound, or bind what it needs outside",
                )

    # --- globals and bare names -----------------------------------------------------------------------------

    def global_(self, i: int) -> Expr:
        """The global (or the constructor with an odd name) at token `i`."""
        name = self.texts[i][1:]
        if name not in self.globals and (self.kinds[i + 1] != "." or name not in self.data_kinds):
            if name in self.constructors:
                return self.constructors[name]
            if self.checks_globals:
                near = "" if len(self.globals) > MOST_NAMES else did_you_mean(name, self.globals)
                self.mistake(
                    "unknown-global",
                    f"the module has no `@{name}`",
                    i,
                    hint=near.replace("`", "`@", 1) if near else self.home_hint(f"@{name}", i),
                )
        return GlobalVar(name, span=self.span(i))

    def home_hint(self, name: str, i: int) -> str:
        """The standard module that has a name which is not known here."""
        return self.loader.home_hint(name, self.span(i))

    def list_constructor(self, name: str, i: int) -> Constructor:
        """`Cons` or `Nil` for the list at token `i`."""
        found = self.constructors.get(name)
        if found is None or len(found.inputs) != (2 if name == "Cons" else 0):
            self.fault(
                "unknown-constructor",
                f"a list is made of `Cons` and `Nil`, but there is no such `{name}` here",
                i,
                hint='import "std/list"' if found is None else "`Cons` has two fields, `Nil` has none",
            )
        return found

    def unknown_name(self, i: int, *, is_called: bool) -> NoReturn:
        """Report the bare name at token `i`, with a near one."""
        name = self.source_text(i)
        known = [
            *registry,
            *alias_of,
            *self.constructors,
            "Constant",
            "True",
            "False",
            "ref",
            "ref_read",
            "ref_write",
            "grad",
            "vjp",
            "jvp",
            "return",
        ]
        other = OPERATORS.get(name) or SHORT_NAMES.get(name)
        home = "" if other else self.home_hint(name, i) or self.home_hint(f"@{name}", i)
        other = other or next((n for n in registry if n.endswith(f".{name}")), None)
        local, _, fields = name.partition(".")
        if self.texts[i + 1 : i + 2] == ["="]:
            hint = f"a binding is `let %{name} = e;`, and what follows reads `%{name}`"
        elif name in WORDS:
            hint = WORDS[name]
        elif name in CONVERSIONS:
            hint = CONVERSIONS[name]
        elif name in DTYPES:
            hint = f"a dtype is an attribute: `dtype={name}`"
        elif fields and any(self.env.get(known) is not None for known in (local, f"%{local}")):
            hint = f"fields are read from a local with its sigil: %{name}"
        elif name in self.globals:
            hint = f"a definition has its sigil: `@{name}`"
        elif home:
            hint = home
        elif other is not None:
            hint = f"did you mean `{other}`?"
        else:
            hint = did_you_mean(name, known)
        if not hint:
            hint = self.near_local(f"%{name}") if not is_called else ""
        self.fault("unknown-name", f"there is no operator, constructor or local `{name}`", i, hint=hint)
