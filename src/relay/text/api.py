"""Parsing and printing, by the names and argument order that people know."""

from typing import Any

from relay.ir import hooks
from relay.ir.expect import expect_text
from relay.ir.expr import Expr, RelayExpr
from relay.ir.module import IRModule
from relay.ir.type import Type
from relay.text import parser, printer
from relay.text.parser import parse_type

__all__ = ["astext", "fromtext", "import_standard", "parse", "parse_expr", "parse_type"]


def parse(
    source: str,
    source_name: str = "<string>",
    init_module: IRModule | None = None,
    init_meta_table: dict[str, Any] | None = None,
) -> IRModule:
    """The module that a text says, together with the definitions of `init_module` where one is given.

    Raises one `RelayError` with everything that is wrong in the text.
    """
    return parser.parse_module(
        expect_text(source), source_name, init_module=init_module, init_meta=init_meta_table
    )


def parse_expr(source: str, source_name: str = "<string>", mod: IRModule | None = None) -> Expr:
    """The expression that a text says; locals that nothing binds become free variables."""
    return parser.parse_expression(expect_text(source), source_name, mod=mod)


def fromtext(data: str, source_name: str | None = None) -> IRModule:
    """The module that a text says."""
    return parse(data, source_name or "<string>")


def import_standard(mod: IRModule, name: str) -> None:
    """Add a standard module (`"list"`, or by an old file name `"nat.rly"`) to `mod`, as `import` does."""
    short = name.removesuffix(".rly").removesuffix(".relay").removeprefix("std/")
    grown = parser.parse_module(f'import "std/{short}"', init_module=mod)
    mod.functions.update(grown.functions)
    mod.type_definitions.update(grown.type_definitions)
    mod.constant_types.update(grown.constant_types)
    mod.imports[:] = grown.imports
    mod.imported |= grown.imported


hooks.import_standard = import_standard


def astext(node: IRModule | RelayExpr | Type, **options: Any) -> str:
    """A module, expression or type as text.

    Options: `show_types`, `show_spans`, `show_meta_data` (False), `dialect` (`"relay"` or `"tvm"`),
    `width` (100), `header` (False: without the version line).
    """
    if isinstance(node, IRModule):
        return printer.module_text(node, **options)
    return printer.type_text(node) if isinstance(node, Type) else printer.expr_text(node, **options)
