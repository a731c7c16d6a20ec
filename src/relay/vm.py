"""Whole programs as machine code, by the name that people know: `relay.vm.compile`."""

from collections.abc import Mapping
from typing import Any

from relay.driver.compilation import build
from relay.ir.module import IRModule, expect_module

__all__ = ["compile"]


def compile(
    mod: IRModule, target: Any = None, target_host: Any = None, params: Mapping[str, Any] | None = None
) -> Any:
    """A module with `@main` as a compiled program: what `relay.build` gives, which is to be called.

    `params` binds parameters of `@main` by name; `target_host` is where the host's part would run, which is
    here always.  Raises what `relay.build` does.
    """
    del target_host
    make: Any = build  # its overloads are for targets that are known
    whole = expect_module(mod)
    return make(whole, params=params) if target is None else make(whole, target, params=params)
