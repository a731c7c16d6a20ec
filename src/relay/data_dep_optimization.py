"""Functions with weights that are stored in another way, by the names that people know:
`relay.data_dep_optimization.bsr_dense.convert(func, params, (16, 1), 0.8)`.
"""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from relay.ir.bind import bind_params_by_name
from relay.ir.expr import Function
from relay.transform.weights.sparse_conv2d import with_sparse_constants, with_sparse_conv2d
from relay.transform.weights.sparse_dense import with_sparse_dense
from relay.transform.weights.transposed_dense import with_transposed_dense

__all__ = ["bsr_conv2d", "bsr_dense", "simplify_fc_transpose"]


def _with_constants(
    func: Function,
    params: Mapping[str, Any],
    layout: str,
    kernel_size: int,
    blocksize: Sequence[int],
    sparsity_threshold: float,
) -> tuple[Function, dict[str, Any]]:
    """A function whose parameters are bound, with sparse convolutions, and the parameters that it lacks."""
    names = {p.name_hint for p in func.params}
    bound = bind_params_by_name(func, params)
    left = {name: x for name, x in params.items() if name not in names}
    return with_sparse_constants(bound, layout, kernel_size, blocksize, sparsity_threshold), left


bsr_conv2d = SimpleNamespace(convert=with_sparse_conv2d, convert2=_with_constants)
"""`convert(func, params, blocksize, sparsity_threshold, layout, kernel_size)`: sparse convolutions.

`convert2(func, params, layout, kernel_size, blocksize, sparsity_threshold)`: with constants for weights.
"""
bsr_dense = SimpleNamespace(convert=with_sparse_dense)
"""`convert(func, params, blocksize, sparsity_threshold)`: sparse dense layers."""
simplify_fc_transpose = SimpleNamespace(convert=with_transposed_dense)
"""`convert(func, params)`: weights that dense layers read transposed, stored so."""
