"""Functions with weights that are stored in another way, by the names that people know:
`relay.data_dep_optimization.bsr_dense.convert(func, params, (16, 1), 0.8)`.
"""

from types import SimpleNamespace

from relay.transform.weights.sparse_conv2d import with_sparse_conv2d
from relay.transform.weights.sparse_dense import with_sparse_dense
from relay.transform.weights.transposed_dense import with_transposed_dense

__all__ = ["bsr_conv2d", "bsr_dense", "simplify_fc_transpose"]

bsr_conv2d = SimpleNamespace(convert=with_sparse_conv2d)
"""`convert(func, params, blocksize, sparsity_threshold, layout, kernel_size)`: sparse convolutions."""
bsr_dense = SimpleNamespace(convert=with_sparse_dense)
"""`convert(func, params, blocksize, sparsity_threshold)`: sparse dense layers."""
simplify_fc_transpose = SimpleNamespace(convert=with_transposed_dense)
"""`convert(func, params)`: weights that dense layers read transposed, stored so."""
