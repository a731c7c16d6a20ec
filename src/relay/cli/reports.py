"""What commands print for machines."""

import json
from typing import Any

import click

from relay.diagnostic import Diagnostic, PythonSource

json_option = click.option("--json", "as_json", is_flag=True, help="Print it in JSON.")
"""The option that asks for it."""


def print_json(value: Any) -> None:
    """Print a value in JSON, as the only thing on standard output."""
    click.echo(json.dumps(value, indent=2))


def diagnostic_object(d: Diagnostic, file: str) -> dict[str, Any]:
    """A diagnostic of a file as JSON: `file`, `code`, `severity`, `message`, `label`, `hint`, `notes`, and
    where it is: `source`, `line`, `column`, `end_line` and `end_column`, from 1, null where it has no place.
    """
    notes = [{"message": n.message, **place_object(n.span)} for n in d.notes]
    return {
        "file": file,
        "code": d.code,
        "severity": d.severity,
        "message": d.message,
        "label": d.label,
        "hint": d.advice,
        **place_object(d.span),
        "notes": notes,
    }


def place_object(span: Any) -> dict[str, Any]:
    """Where a span is; `source` names the file that it is in."""
    names = ("line", "column", "end_line", "end_column")
    if span is None:
        return {"source": None, **dict.fromkeys(names)}
    if isinstance(span.source, PythonSource) and span.start == span.end:
        return {"source": span.source.name, **dict.fromkeys(names), "line": span.line}
    return {"source": span.source.name, **{name: getattr(span, name) for name in names}}
