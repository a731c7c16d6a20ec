"""Results of a graph that are views of one tensor: they share its memory, as they do in eager mode.

Where derivatives are taken, AOTAutograd makes such views itself; elsewhere it leaves them to the graph.
"""

from collections import defaultdict
from collections.abc import Sequence
from math import prod
from typing import Any

from relay.frontend.torch.library import pytorch


def bases(nodes: Sequence[Any], outs: Sequence[Any]) -> dict[Any, Any]:
    """For nodes among the results `outs` that share memory, the node whose tensor is all of it."""
    groups: dict[Any, list[Any]] = defaultdict(list)
    for fx in dict.fromkeys(fx for fx in outs if hasattr(fx, "op")):
        if is_strided(fx) and fx.op != "placeholder":
            groups[storage_of(fx)].append(fx)
    shared = {storage: members for storage, members in groups.items() if len(members) > 1}
    whole: dict[Any, Any] = {}
    for fx in nodes if shared else ():
        if (
            fx.op == "call_function"
            and is_strided(fx)
            and storage_of(fx) in shared
            and is_whole(fx.meta["val"])
        ):
            whole.setdefault(storage_of(fx), fx)
    return {
        fx: whole[storage]
        for storage, members in shared.items()
        for fx in members
        if storage in whole and fx.meta["val"].dtype == whole[storage].meta["val"].dtype
    }


def is_strided(fx: Any) -> bool:
    """Whether a node gives a tensor that has a storage."""
    traced = fx.meta.get("val")
    return isinstance(traced, pytorch().Tensor) and traced.layout == pytorch().strided


def storage_of(fx: Any) -> Any:
    """What the tensors have in common that share memory."""
    return fx.meta["val"].untyped_storage()._cdata


def is_whole(traced: Any) -> bool:
    """Whether a tensor has each element of its storage once; not where sizes are symbolic."""
    sizes = (*traced.shape, *traced.stride())
    if not all(isinstance(n, int) for n in sizes) or traced.storage_offset() != 0:
        return False
    pairs = sorted((n, s) for s, n in zip(traced.shape, traced.stride(), strict=True) if s != 1)
    is_dense = all(n == prod(s for _, s in pairs[:i]) for i, (n, _) in enumerate(pairs))
    return is_dense and traced.untyped_storage().nbytes() == traced.numel() * traced.element_size()
