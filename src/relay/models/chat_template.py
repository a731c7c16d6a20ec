"""Templates of conversations, in Jinja: data from files of models, which runs in a sandbox."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, NoReturn

from relay.diagnostic import fail

MOST_CHARACTERS = 1_000_000
"""Of a template; those of models have some thousands."""


class _RefusedError(Exception):
    """What a template says is wrong with the messages."""


def rendered(template: str, variables: Mapping[str, Any]) -> str:
    """The text that a template makes of variables (`model-file`, `model-unsupported`).

    The sandbox has neither Python's builtins nor attributes of objects that begin with an underscore, and
    nothing that changes what it is given.
    """
    try:
        sandbox = import_module("jinja2.sandbox")
        mistake: type[Exception] = import_module("jinja2.exceptions").TemplateError
    except ImportError:
        hint = "pip install 'relay-ir[lm]'"
        fail(
            "model-unsupported",
            "conversations are written by the package `jinja2`, which is missing",
            hint=hint,
        )
    if len(template) > MOST_CHARACTERS:
        _fails("it is too long")
    environment: Any = sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _as_json
    environment.globals |= {"raise_exception": _refuse, "strftime_now": _now}
    try:
        return environment.from_string(template).render(**variables)
    except _RefusedError as error:
        fail(
            "model-file",
            f"the model does not take these messages: {error}",
            hint="change their roles or order",
        )
    except (mistake, TypeError, ValueError, LookupError, AttributeError) as error:
        _fails(str(error))
    except (RecursionError, OverflowError, ZeroDivisionError, MemoryError) as error:
        _fails(type(error).__name__)


def _fails(why: str) -> NoReturn:
    fail("model-file", f"the template of conversations fails: {why}", hint="give the prompt as a text")


def _refuse(message: Any) -> NoReturn:
    raise _RefusedError(str(message))


def _now(form: str) -> str:
    return datetime.now(UTC).strftime(form)


def _as_json(x: Any, indent: int | None = None, **_: Any) -> str:
    return json.dumps(x, ensure_ascii=False, indent=indent)
