"""Programs as text.

The printer reads the graph once and writes lines.  `parse(print(m))` is structurally equal to `m`, and
printing that again gives the same text:

- A node that several places share prints once, as `%0 = …;` in the scope that evaluates it, before its first
  use.  Numbers count through one definition.
- An expression that does not fit on its line gives its longest parts names in the same way: `%0 = …;` for a
  node that is used once reads back as the same graph.  So even 100,000 nested calls print flat.
- A variable keeps its name unless it would capture a reference to another one of that name; then it gets a
  suffix.
- Solved numbers print with the suffix of their base type, open literals without.
- Constants of up to 64 elements, and filled ones, print in place; larger ones as `meta[relay.Constant][i]`,
  with their data in a `#[metadata]` section at the end.  `show_meta_data=False` leaves that section out: the
  text is then short, and does not read back.

`dialect="tvm"` writes version 0.0.5 (see `relay.text.print_tvm`).
"""

from collections.abc import Callable
from typing import Any, Literal

from relay.ir import hooks
from relay.ir.collector import paused
from relay.ir.expr import Clause, Constant, Function, GlobalVar, Pattern, RelayExpr, Var
from relay.ir.module import IRModule, TypeData
from relay.text import names
from relay.text.attributes import value_text
from relay.text.layout import Multi, broken, flatten, wrapped
from relay.text.print_expr import ExprPrinter
from relay.text.print_scope import Steps, run
from relay.text.print_types import type_repr, type_text
from relay.text.survey import Survey

__all__ = ["Printer", "expr_text", "module_text", "type_repr", "type_text"]

Dialect = Literal["relay", "tvm"]
VERSION = "1"


class Printer(ExprPrinter):
    """Prints modules, and expressions alone, in the full language."""

    version = VERSION

    def definition(self, name: GlobalVar, e: Any, survey: Survey) -> list[Any]:
        """The lines of `def @name…`."""
        self.begin(survey)
        return self.whole(lambda: self._definition(name, e))

    def _definition(self, name: GlobalVar, e: Any) -> Steps:
        start = f"def {names.global_(name.name_hint)}"
        t = None if self.mod is None else self.mod.constant_types.get(name)
        if isinstance(e, Function) and t is None:
            text = yield self.function(e, self.width, start)
        else:
            start += "" if t is None else f": {self.types.argument(t)}"
            around = self.enter(None)
            last = yield self.body(e)
            if self.block.lines:
                self.statement("", last, "")
                text = Multi(f"{start} = {{", self.leave(around), "}")
            else:
                self.leave(around)
                text = wrapped(last, f"{start} = ", "")
        self.statement("", text, "")
        return self.block.lines

    def type_data(self, data: TypeData) -> list[str]:
        """The lines of a data type."""
        undo = self.types.enter(data.type_vars)
        head = f"type {names.type_name(data.header.name_hint)}{self.types.parameters(data.type_vars)}"
        lines = [f"extern {head}"] if data.is_extern else [f"{head} {{"]
        for c in data.constructors:
            fields = ", ".join([self.types.argument(t) for t in c.inputs])
            lines.append(f"  {names.constructor(c.name_hint)}{f'({fields})' if c.inputs else ''},")
        self.types.leave(undo)
        return lines if data.is_extern else [*lines, "}"]

    def free_vars(self, several: list[Var]) -> list[str]:
        """`free_var %x: T;` for each."""
        return [
            f"free_var {names.local(self.free[v])}"
            + ("" if v.type_annotation is None else f": {self.types.argument(v.type_annotation)}")
            + ";"
            for v in several
        ]

    def module(self, mod: IRModule) -> list[list[str]]:
        """The items of a module, each with its lines; those that are one line stand together."""
        items: list[list[str]] = []
        short = [f"import {names.quote(i.path)}" for i in mod.imports]
        short += self.settings("attributes", mod.attrs) + self.settings("options", mod.options)
        items += [short] if short else []
        own = [d for d in mod.type_definitions.values() if d.header.name_hint not in mod.imported]
        items += [self.type_data(d) for d in own]
        defined = [(v, f) for v, f in mod.functions.items() if v.name_hint not in mod.imported]
        surveys = [Survey(f) for _, f in defined]
        free = self.name_free(zip([f for _, f in defined], surveys, strict=True))
        if free:
            items.append(self.free_vars(free))
        for (v, f), survey in zip(defined, surveys, strict=True):
            items.append(flatten(self.definition(v, f, survey)))
        return [broken(lines, self.width) for lines in items]

    def settings(self, word: str, values: dict[str, Any]) -> list[str]:
        """The module's own attributes or options."""
        if not values:
            return []
        pairs = [
            f"{key if names.is_plain(key) else names.quote(key)}: {value_text(v)}"
            for key, v in values.items()
        ]
        return [f"{word} {{ {', '.join(pairs)} }}"]

    def expression(self, e: Any) -> list[str]:
        """The lines of an expression alone, free variables declared first."""
        survey = Survey(e)
        free = self.name_free([(e, survey)])
        self.begin(survey)

        def steps() -> Steps:
            last = yield self.body(e)
            self.statement("", last, "")
            return self.block.lines

        return broken(self.free_vars(free) + flatten(self.whole(steps)), self.width)

    def metadata(self) -> list[str]:
        """The section that holds the large constants."""
        from relay.text.json_format import save_json

        return ["#[metadata]", save_json({"relay.Constant": self.large})] if self.large else []


def _printer(dialect: str, **options: Any) -> Printer:
    if dialect == "relay":
        return Printer(**options)
    if dialect != "tvm":
        raise ValueError(f'the dialect is "relay" or "tvm", not {dialect!r}')
    from relay.text.print_tvm import TvmPrinter

    return TvmPrinter(**options)


@paused()
def module_text(
    mod: IRModule,
    *,
    show_types: bool = False,
    show_spans: bool = False,
    show_meta_data: bool | None = None,
    dialect: Dialect = "relay",
    width: int = 100,
    header: bool = False,
    keep: Callable[[Constant], str] | None = None,
) -> str:
    """A module as text that reads back as an equal module.

    `show_types` and `show_spans` add what is known of each node as a comment.  `header` writes the version
    line (the 0.0.5 dialect always has one).  `show_meta_data=False` leaves the data of large constants out;
    `keep` stores them elsewhere and says how the text refers to them.
    """
    p = _printer(dialect, width=width, show_types=show_types, show_spans=show_spans, mod=mod, keep=keep)
    items = p.module(mod)
    if header or p.version != VERSION:
        items.insert(0, [f'#[version = "{p.version}"]'])
    if show_meta_data is not False and p.large:
        items.append(p.metadata())
    return "".join([("\n" if i else "") + "\n".join(lines) + "\n" for i, lines in enumerate(items)])


@paused()
def expr_text(
    e: Any,
    *,
    show_types: bool = False,
    show_spans: bool = False,
    show_meta_data: bool | None = None,
    dialect: Dialect = "relay",
    width: int = 100,
    header: bool = False,
    mod: IRModule | None = None,
) -> str:
    """An expression (or pattern, clause, data type) as text; free variables are declared first."""
    p = _printer(dialect, width=width, show_types=show_types, show_spans=show_spans, mod=mod)
    if isinstance(e, TypeData):
        return "\n".join(broken(p.type_data(e), width))
    if isinstance(e, Pattern | Clause):
        return _clause_text(p, e)
    if not isinstance(e, RelayExpr):
        return repr(e)
    lines = p.expression(e)
    if header or p.version != VERSION:
        lines.insert(0, f'#[version = "{p.version}"]')
    if show_meta_data is not False and p.large:
        lines += p.metadata()
    return "\n".join(lines)


def _clause_text(p: Printer, e: Pattern | Clause) -> str:
    """A pattern or a clause outside its `match`."""
    from relay.ir.expr import Match

    whole = Match(GlobalVar("_", span=None), (e if isinstance(e, Clause) else Clause(e, GlobalVar("_")),))
    p.begin(Survey(whole))
    if isinstance(e, Pattern):
        return p.pattern(e)
    text = run(p.match(whole, p.width))
    return "\n".join([line.removeprefix("  ") for line in flatten(text.middle)]).removesuffix(",")


hooks.expr_text = expr_text
hooks.module_text = module_text
hooks.type_text = type_text
hooks.type_repr = type_repr
