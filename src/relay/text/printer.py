"""Programs as text.

The printer reads the graph once and writes lines.  `parse(print(m))` is structurally equal to `m`, and
printing that again gives the same text:

- A node that several places share prints once, as `%0 = …;` in the scope that evaluates it, before its first
  use.  Numbers count through one definition.
- An expression that does not fit on its line gives its longest parts names in the same way: `%0 = …;` for a
  node that is used once reads back as the same graph.  So even 100,000 nested calls print flat.
- A variable keeps its name unless it would capture a reference to another one of that name; then it gets a
  suffix.
- Solved numbers print with the suffix of their dtype, open literals without.
- Constants of up to 64 elements, and filled ones, print in place; larger ones as `meta[relay.Constant][i]`,
  with their data in a `#[metadata]` section at the end.  `show_meta_data=False` leaves that section out: the
  text is then short, and does not read back.  `str` and `print` leave it out where it is long
  (`show_meta_data="short"`), and say so in a comment.

`dialect="tvm"` writes version 0.0.5 (see `relay.text.print_tvm`).
"""

from collections.abc import Callable, Set
from typing import Any, Literal

from relay.ir import hooks
from relay.ir.collector import paused
from relay.ir.expr import Clause, Constant, GlobalVar, Pattern, RelayExpr
from relay.ir.module import IRModule, TypeData
from relay.ir.type import TypeVar
from relay.ir.walk import run
from relay.text.layout import broken, flatten
from relay.text.print_items import VERSION, Printer
from relay.text.print_types import type_repr, type_text
from relay.text.survey import Survey

__all__ = ["expr_text", "module_text", "type_repr", "type_text"]

Dialect = Literal["relay", "tvm"]


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
    show_meta_data: bool | Literal["short"] | None = None,
    dialect: Dialect = "relay",
    width: int = 100,
    header: bool = False,
    keep: Callable[[Constant], str] | None = None,
    implicit_params: Set[TypeVar] = frozenset(),
) -> str:
    """A module as text that reads back as an equal module.

    `show_types` and `show_spans` add what is known of each node as a comment.  `header` writes the version
    line (the 0.0.5 dialect always has one).  `show_meta_data=False` leaves the data of large constants out;
    `keep` stores them elsewhere and says how the text refers to them.  Functions do not list their type
    parameters in `implicit_params`, which the types of their parameters declare.
    """
    p = _printer(dialect, width=width, show_types=show_types, show_spans=show_spans, mod=mod, keep=keep)
    p.types.implicit = implicit_params
    items = p.module(mod)
    if header or p.version != VERSION:
        items.insert(0, [f'#[version = "{p.version}"]'])
    if p.large and show_meta_data is not False:
        items.append(p.metadata_or_note("mod") if show_meta_data == "short" else p.metadata())
    return "".join([("\n" if i else "") + "\n".join(lines) + "\n" for i, lines in enumerate(items)])


@paused()
def expr_text(
    e: Any,
    *,
    show_types: bool = False,
    show_spans: bool = False,
    show_meta_data: bool | Literal["short"] | None = None,
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
    if p.large and show_meta_data is not False:
        lines += p.metadata_or_note("e") if show_meta_data == "short" else p.metadata()
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
