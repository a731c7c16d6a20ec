"""Which attributes may be dimensions: all that are sizes."""

import re
import typing
from typing import Any

from relay.op.attribute import attribute_types, mentions_size
from relay.op.computed_sizes import computed
from relay.op.registry import registry
from typecheck.dimension_programs import codes


def test_every_attribute_that_is_a_size_may_be_a_dimension() -> None:
    for cls in registry.values():
        if any(map(mentions_size, attribute_types(cls).values())):
            assert computed[cls] is not computed.default, cls.name


NO_SIZES = {
    "an axis, or a range of axes": "axis axes batch_axis seq_axis lhs_axis rhs_axis pack_axis bit_axis "
    "lhs_begin lhs_end rhs_begin rhs_end batch_dims index_rank num_newaxis coord_start id_index score_index",
    "the diagonals of a matrix": "matrix_set_diag.k",
    "an index, not a size": "ignore_index padding_idx feature_stride tap.number",
    "subscripts, whose places are operands": "items",
    "how far apart things are": "strides stride stride1 stride2 dilation dilations hop_length",
    "borders of windows, which `nn.pad` adds by dimensions": "padding output_padding max_displacement",
    "a number of equal groups": "groups num_groups deformable_groups group_size sample_ratio "
    "dequantize_groups.group round_groups.group",
    "the factors of a rearrangement": "block_size block_shape paddings crops",
    "sizes that the weight has": "channels kernel_size units",
    "windows of sums over channels and of signals, whose code is made for one size": "size n_fft win_length",
    "bits, and numbers of fixed point": "bits data_bits weight_bits activation_bits multiplier shift seed "
    "cubic_exclude",
    "tiles and blocks that weights were transformed for": "tile_size tile_N tile_K convolution_algorithm",
    "limits to how many boxes are kept": "top_k max_detections max_detections_per_class num_classes "
    "rpn_min_size rpn_pre_nms_top_n rpn_post_nms_top_n",
}
"""Why attributes with integers take no dimensions: by their names, or those of operator and attribute."""
WRITTEN_BY_DERIVATIVES = re.compile(r"nn\.(adaptive_)?(max|avg)_pool\dd_(grad|tangent)")
"""Operators that derivatives are written in, after inference has computed sizes; sizes are the operands'."""
QUANTISED = {("qnn.avg_pool2d", "pool_size")}
"""Windows of quantised data, whose means are rounded once."""


def has_integers(hint: Any) -> bool:
    return hint is int or any(map(has_integers, typing.get_args(hint)))


def test_an_attribute_with_integers_takes_dimensions_or_there_is_a_reason() -> None:
    known = {name for names in NO_SIZES.values() for name in names.split()}
    used: set[str] = set()
    for cls in registry.values():
        for name, hint in attribute_types(cls).items():
            if mentions_size(hint) or not has_integers(hint):
                continue
            found = {name, f"{cls.name}.{name}"} & known
            used |= found
            excused = WRITTEN_BY_DERIVATIVES.fullmatch(cls.name) or (cls.name, name) in QUANTISED
            assert found or excused, f"{cls.name} {name}"
    assert used == known


def test_an_attribute_that_is_no_size_cannot_be_a_dimension() -> None:
    assert codes("def @main(%x: Tensor[(n, 4), float32]) { sum(%x, axis=n) }") == ["attribute-type"]


# --- text and other forms -----------------------------------------------------------------------------------
