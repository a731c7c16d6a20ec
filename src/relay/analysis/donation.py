"""Which arguments the caller of a definition gives up: `attributes @step { donate: ("w1", "b1") }`."""

from collections.abc import Sequence
from typing import Any, cast

from relay.diagnostic import did_you_mean, fail
from relay.ir.expr import Expr, Function

DONATE = "donate"
"""The attribute: a name of a parameter, or several."""


def donated_params(definition: Expr) -> tuple[int, ...]:
    """The numbers of the parameters that a definition's attribute names (`donated`, `attribute-value`)."""
    if not isinstance(definition, Function) or DONATE not in definition.attrs:
        return ()
    names = [p.name_hint for p in definition.params]
    found: list[int] = []
    for name in donated_names(definition.attrs[DONATE], definition):
        name = name.removeprefix("%")
        if name not in names:
            listing = ", ".join([f"`%{n}`" for n in names]) or "none"
            hint = did_you_mean(name, names) or f"its parameters are {listing}"
            fail("donated", f"`donate` names `%{name}`, which is not a parameter", definition.span, hint=hint)
        found.append(names.index(name))
    return tuple(sorted(set(found)))


def donated_names(value: Any, definition: Function) -> Sequence[str]:
    """The names in the value of the attribute (`attribute-value`)."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple):
        names = cast("Sequence[Any]", value)
        if all(isinstance(name, str) for name in names):
            return names
    hint = 'write donate: ("w", "b")'
    fail(
        "attribute-value", f"`donate` names parameters as strings, not {value!r}", definition.span, hint=hint
    )
