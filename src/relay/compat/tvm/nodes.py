"""What nodes answer to scripts: text of version 0.0.5, and constants whose data has `.numpy()`.

Nodes are those of Relay; what their methods call is set in `relay.ir.hooks`, for the whole process.
"""

from typing import Any

from relay.compat.tvm.arrays import numpyasarray
from relay.diagnostic import RelayError
from relay.ir import hooks
from relay.text import printer


def module_text(mod: Any, *, show_meta_data: Any = None, **options: Any) -> str:
    """A module as text of version 0.0.5, with its constants in a metadata section.

    `print` shows what that version cannot write in the words of later ones; `astext` refuses it
    (`dialect-cannot-express`).
    """
    return in_known_words(printer.module_text, mod, show_meta_data, options)


def expr_text(e: Any, *, show_meta_data: Any = None, **options: Any) -> str:
    """An expression as text of version 0.0.5, as `module_text` writes modules."""
    return in_known_words(printer.expr_text, e, show_meta_data, options)


def in_known_words(write: Any, node: Any, show_meta_data: Any, options: dict[str, Any]) -> str:
    """Text of version 0.0.5, unless another dialect is asked for."""
    is_printed = show_meta_data == "short"
    known = {"dialect": "tvm", "show_meta_data": False if is_printed else show_meta_data}
    try:
        return write(node, **{**known, **options})
    except RelayError:
        if not is_printed:
            raise
        return write(node, show_meta_data=show_meta_data, **options)


def answer_as_known() -> None:
    """Let nodes answer so from now on."""
    hooks.module_text, hooks.expr_text = module_text, expr_text
    hooks.constant_data = numpyasarray
