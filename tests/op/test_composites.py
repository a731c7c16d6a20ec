"""Composite operators: their decompositions have the same types and values as what they say themselves."""

import numpy as np
import pytest

from op.concrete import Concrete, decomposed, infer
from op.operands import operands_of
from relay.ir.type import Kind, TensorType, TupleType, Type, TypeVar
from relay.op.arrays import array_type
from relay.op.composite import Composite
from relay.op.registry import instance, registry

KNOWN: dict[str, dict[int, tuple[int, ...]]] = {
    # a shape that is an operand: how many sizes it has is the rank of the result
    "dyn.ones": {0: (0,)},
    "dyn.zeros": {0: (0,)},
    "dyn.full": {1: (0,)},
    "dyn.squeeze": {1: (0,)},
    "dyn.tile": {1: (0,)},
    # groups of heads: how many heads there are
    "nn.attention": {0: (1,), 1: (1,), 2: (1,)},
    # coordinates: how many a point has
    "sparse_to_dense": {0: (1,)},
    "dyn.sparse_to_dense": {0: (1,), 1: (0,)},
    "sparse_reshape": {0: (1,), 1: (0,), 2: (0,)},
    "sparse_fill_empty_rows": {0: (1,), 2: (0,)},
    # a map is 2 by 3, a box has two corners
    "image.affine_grid": {0: (1, 2)},
    "vision.regular_non_max_suppression": {0: (2,)},
    # windows, and what they move over
    "image.dilation2d": {0: (1, 2, 3), 1: (0, 1, 2)},
    "nn.deformable_conv2d": {0: (1, 2, 3), 1: (1, 2, 3), 2: (0, 1, 2, 3)},
    "nn.contrib_conv2d_winograd_weight_transform": {0: (2, 3)},
    "nn.contrib_conv3d_winograd_weight_transform": {0: (2, 3, 4)},
    "nn.contrib_conv2d_winograd_nnpack_weight_transform": {0: (2, 3)},
    "nn.contrib_conv2d_winograd_without_weight_transform": {0: (1, 2, 3), 1: (0, 1, 2, 3)},
    "nn.contrib_conv3d_winograd_without_weight_transform": {0: (1, 2, 3, 4), 1: (0, 1, 2, 3, 4)},
    "nn.contrib_conv2d_gemm_weight_transform": {0: (0, 1, 2, 3)},
    "nn.contrib_conv2d_gemm_without_weight_transform": {0: (1, 2, 3), 1: (0, 1, 2, 3)},
}
"""The axes of operands whose sizes are part of the program."""
COMPOSITES = sorted(name for name, cls in registry.items() if issubclass(cls, Composite))


@pytest.mark.parametrize("name", COMPOSITES)
def test_the_decomposition_has_the_value(name: str) -> None:
    for s in registry[name].samples:
        operands = operands_of(s)
        found = instance(name, s.attrs).evaluate(*operands)
        want = decomposed(name, *operands, **s.attrs)
        for a, b in zip(fields(found), fields(want), strict=True):
            assert array_type(a) is array_type(b), s
            tolerance = 5e-3 if a.dtype.itemsize == 2 else 1e-5
            np.testing.assert_allclose(
                np.asarray(a, "float64"),
                np.asarray(b, "float64"),
                rtol=tolerance,
                atol=tolerance,
                err_msg=str(s),
            )


def fields(value: object) -> tuple:
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("name", COMPOSITES)
def test_the_decomposition_has_the_type_symbolic_sizes_included(name: str) -> None:
    for s in registry[name].samples:
        types = [array_type(x) for x in operands_of(s)]
        for given in (types, symbolic(types, KNOWN.get(name, {}))):
            t = Concrete()
            found = t.resolve(Composite.infer(instance(name, s.attrs), t, *given))
            assert found is infer(name, *given, **s.attrs), s


def symbolic(types: list[Type], known: dict[int, tuple[int, ...]]) -> list[Type]:
    """The same types with a variable for each size but 0, 1 and the known ones, given as axes of operands."""
    sizes: dict[int, TypeVar] = {}

    def opened(t: Type, fixed: tuple[int, ...]) -> Type:
        if isinstance(t, TupleType):
            return TupleType([opened(f, fixed) for f in t.fields])
        assert isinstance(t, TensorType)
        shape = [
            d if d < 2 or axis in fixed else sizes.setdefault(d, TypeVar(f"n{d}", Kind.Dim))
            for axis, d in enumerate(t.concrete_shape)
        ]
        return TensorType(shape, t.dtype)

    return [opened(t, known.get(i, ())) for i, t in enumerate(types)]
