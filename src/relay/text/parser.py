"""Text to programs: `parse`, `parse_expr`, `parse_type`.

One pass over the tokens makes the nodes; names are resolved as they are read.  All errors of a text come in
one `RelayError`, in the order of the text; lints go to the `warnings` report.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import relay.op  # pyright: ignore[reportUnusedImport]  # noqa: F401  (the operators that a text may name)
from relay.diagnostic import Diagnostic, RelayError, Report, Source, fail
from relay.ir.collector import paused
from relay.ir.expr import Constant, Expr
from relay.ir.module import IRModule
from relay.ir.type import Type, TypeVar
from relay.text.cursor import GivenUpError, ParseError
from relay.text.imports import Loader, loader
from relay.text.lexer import lex
from relay.text.parse_items import Items


def parse_module(
    text: str,
    source_name: str = "<string>",
    *,
    path: Path | None = None,
    init_module: IRModule | None = None,
    init_meta: Mapping[str, list[Any]] | None = None,
    weights: Callable[[], list[Constant]] | None = None,
    warnings: Report | None = None,
    implicit_params: set[TypeVar] | None = None,
) -> IRModule:
    """The module that a text describes.

    `path` is the file it is in, for imports; `init_module` has definitions that it may use and that are part
    of the result; `init_meta` is metadata in place of a `#[metadata]` section.  Without that section,
    `weights` reads the constants that the text refers to.  `implicit_params` receives the dimensions that
    functions declare by the types of their parameters.
    """
    imports = loader(imported, path)
    return _parse_with_imports(
        text, source_name, imports, init_module, init_meta, warnings, weights, implicit_params
    )


def imported(text: str, source_name: str, inner: Loader) -> IRModule:
    """The module of a text that another one imports: what a `Loader` calls."""
    return _parse_with_imports(text, source_name, inner, None, None, None)


def _parse_with_imports(
    text: str,
    source_name: str,
    imports: Loader,
    init_module: IRModule | None,
    init_meta: Mapping[str, list[Any]] | None,
    warnings: Report | None,
    weights: Callable[[], list[Constant]] | None = None,
    implicit_params: set[TypeVar] | None = None,
) -> IRModule:
    with paused():
        mod = IRModule() if init_module is None else init_module.copy()
        items = _read_items(text, source_name, imports, mod, init_meta, weights)
        _raise_errors(items, Items.finish_module)
        _hand_over(items.report, warnings)
        if implicit_params is not None:
            implicit_params |= items.implicit_params
        return items.mod


def parse_expression(
    text: str,
    source_name: str = "<string>",
    *,
    mod: IRModule | None = None,
    init_meta: Mapping[str, list[Any]] | None = None,
    warnings: Report | None = None,
) -> Expr:
    """The expression that a text is; unknown locals become fresh free variables.

    `mod` has the globals and data types it may mention; without one, any global may be.
    """
    with paused():
        items = _read_items(
            text,
            source_name,
            loader(imported, None),
            IRModule() if mod is None else mod.copy(),
            init_meta,
            is_open=True,
            checks_globals=mod is not None,
        )
        _raise_errors(items, None)
        _hand_over(items.report, warnings)
        if items.result is None:
            fail(
                "unexpected-token",
                "expected an expression, found the end of the text",
                items.here(len(items.kinds) - 1),
                hint="write a value, such as 3, [1.0, 2.0] or f(2)",
            )
        return items.result


def parse_type(text: str, *, type_vars: Iterable[TypeVar] = (), mod: IRModule | None = None) -> Type:
    """The type that a text is, which may mention the parameters `type_vars` and the data types of `mod`."""
    with paused():
        report = Report()
        tokens = lex(Source("<type>", text), report)
        items = Items(tokens, report, IRModule() if mod is None else mod)
        for p in type_vars:
            items.bind(f"'{p.name_hint}", p)
        found: Any = None
        try:
            found = items.type_()
            items.take("END", what="the end of the text")
        except ParseError as fault:
            items.recovered(fault)
        report.check()
        return found


def _read_items(
    text: str,
    source_name: str,
    imports: Loader,
    mod: IRModule,
    init_meta: Mapping[str, list[Any]] | None,
    weights: Callable[[], list[Constant]] | None = None,
    *,
    is_open: bool = False,
    checks_globals: bool = True,
) -> Items:
    report = Report()
    items = Items(
        lex(Source(source_name, text), report), report, mod, is_open=is_open, checks_globals=checks_globals
    )
    items.loader = imports
    items.meta = None if init_meta is None else dict(init_meta)
    items.weights = weights
    with suppress(GivenUpError):
        items.text_()
    return items


_UNKNOWN = ("unknown-global", "unknown-name", "unknown-type", "unknown-constructor")
"""What names of a module that could not be imported lead to."""


def _raise_errors(items: Items, finish: Any) -> None:
    if not items.report.errors and finish is not None:
        finish(items)
    errors = errors_of(items)
    if errors:
        raise RelayError(errors)


def errors_of(items: Items) -> list[Diagnostic]:
    """The errors of a text that has been read, in its order, without those that a failed import led to."""
    errors = items.report.errors
    if items.lacks_import:
        errors = [d for d in errors if d.code not in _UNKNOWN]
    return sorted(errors, key=_place)


def _place(d: Diagnostic) -> tuple[bool, int]:
    """Errors in the order of the text; the one that ends a run comes last."""
    return d.code == "too-many-errors", -1 if d.span is None else d.span.start


def _hand_over(report: Report, warnings: Report | None) -> None:
    if warnings is not None:
        warnings.diagnostics += sorted(report.diagnostics, key=_place)
