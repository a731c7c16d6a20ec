"""Operators: importing this package registers all of them and offers their builders (`relay.op.nn.dense`)."""

# ruff: noqa: F401, I001 -- to import is to register; the order is that of the operator manual
# pyright: reportUnusedImport=false
from relay.op import (
    math, error_function, trigonometry, rounding, arithmetic, division, compare, logic, cast, create,
    sizes, one_hot, reshape, join, broadcast, slice, dynamic_shape, dynamic_slice, take, index, subscript,
    update, scatter, arrange, pad, layout, einsum, fixed_point, gradient, reduce, arg_reduce, statistics,
    scan, sort, unique, running_extremes, frequencies, random_keys, random, annotation, fast, nn, qnn, image,
    dynamic, coordinates, signal, strings, vision, linalg, debugging, tap,
)  # fmt: skip
from relay.ir.build import const
from relay.op.blocks import dequantize as dequantize_blocks_and_groups
from relay.op.blocks import rounding as rounding_of_groups
from relay.op import computed_draws, computed_windows, dimension, infix, op
from relay.op.column import Column
from relay.op.fourier import named as fourier_named
from relay.op.fourier import pairs as fourier_pairs
from relay.op.fourier import transform as fourier_transform
from relay.op.image import resize
from relay.op.image import sample as image_sample
from relay.op.linalg import cholesky, determinant, least_squares, qr, solve, spectral
from relay.op.namespace import install
from relay.op.nn import (
    activation, adaptive_pool, adaptive_pool_grad, attention, basic, bits, buffer, class_loss, conv,
    conv_transpose, conv_weight, correlation, deformable, dense, dropout, embedding, gemm_weights,
    global_pool, linear_units, loss, magnitude, norm, packed, pairwise_loss, pool, pool_grad, sparse,
    upsample, winograd,
)  # fmt: skip
from relay.op.qnn import arithmetic as qnn_arithmetic
from relay.op.qnn import convert as qnn_convert
from relay.op.qnn import functions as qnn_functions
from relay.op.qnn import product as qnn_product
from relay.op.op import OpPattern, register_alter_op_layout, register_convert_op_layout
from relay.op.op import register_infer_correct_layout, register_legalize
from relay.op.op import register_mixed_precision_conversion, register_op_attr, register_pattern
from relay.op.op import register_stateful
from relay.op.registry import get, operator
from relay.op.relation import relation
from relay.op.vision import anchors, nms, regions, suppression

__all__ = [
    "Column", "OpPattern", "const", "get", "op", "operator", "register_alter_op_layout",
    "register_convert_op_layout", "register_infer_correct_layout", "register_legalize",
    "register_mixed_precision_conversion",
    "register_op_attr", "register_pattern", "register_stateful", "relation",
]  # fmt: skip

install()
