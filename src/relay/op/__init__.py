"""Operators: importing this package registers all of them and offers their builders (`relay.op.nn.dense`)."""

from relay.op import (  # noqa: I001 -- the order is that of the operator manual
    math,
    trigonometry,
    rounding,
    arithmetic,
    division,
    compare,
    logic,
    cast,
    create,
    sizes,
    one_hot,
    reshape,
    join,
    broadcast,
    slice,
    dynamic_shape,
    dynamic_slice,
    take,
    index,
    scatter,
    arrange,
    pad,
    layout,
    einsum,
    fixed_point,
    gradient,
    reduce,
    statistics,
    scan,
    sort,
    unique,
    random,
    nn,
)
from relay.ir.build import const
from relay.op import op
from relay.op.base import get, operator
from relay.op.column import Column
from relay.op.namespace import install
from relay.op.nn import (
    activation,
    adaptive_pool,
    adaptive_pool_grad,
    basic,
    conv,
    conv_transpose,
    conv_weight,
    dense,
    global_pool,
    loss,
    magnitude,
    norm,
    pool,
    pool_grad,
    upsample,
)
from relay.op.relation import relation

FILES = (
    math, trigonometry, rounding, arithmetic, division, compare, logic, cast, create, sizes, one_hot, reshape,
    join, broadcast, slice, dynamic_shape, dynamic_slice, take, index, scatter, arrange, pad, layout, einsum,
    fixed_point,
    gradient, reduce, statistics, scan, sort, unique, random, nn, activation, basic, conv, conv_transpose,
    conv_weight, dense, loss, norm, magnitude, pool, global_pool, adaptive_pool, pool_grad,
    adaptive_pool_grad, upsample,
)  # fmt: skip
"""The modules that register operators."""

__all__ = ["FILES", "Column", "const", "get", "op", "operator", "relation"]

install()
