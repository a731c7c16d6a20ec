"""Python arguments that public functions can do nothing with."""

from collections.abc import Callable
from typing import Any

import pytest

import relay

CASES: list[tuple[Callable[[Any], object], str]] = [
    (relay.parse, "not text"), (relay.parse_expr, "not text"), (relay.infer, "not a module"),
    (relay.infer_expr, "not an expression"), (relay.check, "not a module"), (relay.grad, "not an expression"),
    (relay.vjp, "not an expression"), (relay.jvp, "not an expression"),
    (relay.IRModule.from_expr, "not an expression"), (relay.transform.FuseOps(), "not a module"),
    (lambda x: relay.create_executor("debug", x), "not a module"),
    (lambda x: relay.transform.Sequential([x]), "not a pass"), (relay.var, "name of a variable is text"),
    (lambda x: relay.transform.PassContext(str(x)), "opt_level is a number"),  # pyright: ignore[reportArgumentType]
]  # fmt: skip


@pytest.mark.parametrize(("function", "message"), CASES)
def test_what_it_is_not_is_said(function: Callable[[Any], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        function(3)
