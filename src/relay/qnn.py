"""Quantised operators and their passes, by the module names that people know: `relay.qnn.op.add`."""

from typing import TYPE_CHECKING, Any

from relay.transform.passes import qnn as transform

if TYPE_CHECKING:
    from relay.op.signatures import qnn as op
    from relay.op.signatures.qnn import *  # noqa: F403
else:
    from relay.op import qnn as op

__all__ = ["op", "transform"]


def __getattr__(name: str) -> Any:
    """A builder of `qnn`, as of the other families."""
    return getattr(op, name)
