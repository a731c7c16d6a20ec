"""Operands for the operators that PyTorch calls core (`torch.Tag.core`): what their test runs."""

from typing import Any

import torch

G = torch.Generator().manual_seed(1)


def p(*shape: int) -> torch.Tensor:
    """Numbers between 0.1 and 0.9, where functions of one operand are defined and smooth."""
    return torch.rand(*shape, generator=G) * 0.8 + 0.1


def whole(*shape: int, below: int = 3) -> torch.Tensor:
    return torch.randint(0, below, shape, generator=G)


def core() -> dict[str, Any]:
    """Every overload with the tag, by its name in `torch.ops.aten`, which `dir` has only once it was used."""
    found: dict[str, Any] = {}
    spaces = [name.partition("::") for name in torch._C._dispatch_get_all_op_names()]
    for name in sorted({name.partition(".")[0] for space, _, name in spaces if space == "aten"}):
        packet = getattr(torch.ops.aten, name)
        for overload in packet.overloads() if hasattr(packet, "overloads") else ():
            operator = getattr(packet, overload)
            if torch.Tag.core in operator.tags:
                found[f"{name}.{overload}"] = operator
    return found


IMAGE, VOLUME, SERIES = p(2, 3, 6, 6), p(1, 2, 4, 4, 4), p(2, 3, 6)
GREATEST = torch.ops.aten.max_pool2d_with_indices(IMAGE, [2, 2])[1]
LAYER = torch.ops.aten.native_layer_norm(p(2, 4), [4], None, None, 1e-5)
PLACES = torch.tensor([[0, 2], [1, 0]])
CONV = ([2, 1], [1, 0], [1, 2], False, [0, 0], 1)
BACK = (p(2, 4, 3, 2), IMAGE, p(4, 3, 3, 3), [4], *CONV, [True, True, True])
TRANSPOSED = (p(2, 4, 13, 8), IMAGE, p(3, 4, 3, 3), [4], [2, 1], [0, 0], [1, 1], True, [0, 0], 1, [True] * 3)

OPERANDS: dict[str, tuple[Any, ...]] = {
    "adaptive_avg_pool1d.default": (SERIES, [4]),
    "_adaptive_avg_pool2d.default": (IMAGE, [3, 2]),
    "_adaptive_avg_pool2d_backward.default": (p(2, 3, 3, 2), IMAGE),
    "_adaptive_avg_pool3d.default": (VOLUME, [2, 2, 3]),
    "_cdist_forward.default": (p(3, 4), p(5, 4), 2.0, None),
    "_embedding_bag.default": (p(5, 3), whole(6, below=5), torch.tensor([0, 2]), False, 1),
    "_fft_c2r.default": (torch.view_as_complex(p(3, 5, 2)), [1], 1, 8),
    "_fft_r2c.default": (p(3, 7), [0, 1], 2, True),
    "_local_scalar_dense.default": (torch.tensor(3),),
    "_log_softmax.default": (p(3, 4), 1, False),
    "_native_batch_norm_legit.default": (IMAGE, p(3), p(3), p(3), p(3), True, 0.1, 1e-5),
    "_native_batch_norm_legit.no_stats": (IMAGE, p(3), p(3), True, 0.1, 1e-5),
    "_native_batch_norm_legit_no_training.default": (IMAGE, p(3), p(3), p(3), p(3), 0.1, 1e-5),
    "_pdist_forward.default": (p(4, 3), 2.0),
    "_softmax.default": (p(3, 4), 1, False),
    "acosh.default": (p(3) + 1,),
    "addmm.default": (p(5), p(3, 4), p(4, 5)),
    "amax.default": (p(3, 4), [1]),
    "amin.default": (p(3, 4), [0], True),
    "any.dim": (p(3, 4) > 0.5, 1),
    "any.dims": (p(3, 4) > 0.5, [0, 1]),
    "arange.start_step": (1, 9, 3),
    "as_strided.default": (p(3, 4), [2, 2], [1, 2], 1),
    "avg_pool1d.default": (SERIES, [3], [2], [1]),
    "avg_pool2d.default": (IMAGE, [3, 2], [2, 2], [1, 0]),
    "avg_pool2d_backward.default": (p(2, 3, 3, 3), IMAGE, [2, 2], [2, 2], [0, 0], False, True, None),
    "avg_pool3d.default": (VOLUME, [2, 2, 2]),
    "bmm.default": (p(2, 3, 4), p(2, 4, 5)),
    "cat.default": ([p(3, 4), p(2, 4)],),
    "clamp.default": (p(5), 0.3, 0.6),
    "clamp.Tensor": (p(5), p(5), p(5) + 1),
    "col2im.default": (p(1, 8, 9), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1]),
    "constant_pad_nd.default": (p(3, 4), [1, 2, 0, 1], 2.0),
    "convolution.default": (IMAGE, p(4, 3, 3, 3), p(4), *CONV),
    "convolution_backward.default": BACK,
    "cumsum.default": (p(3, 4), 1),
    "diagonal.default": (p(3, 4), 1),
    "div.Tensor_mode": (p(5) * 9, p(5)),
    "div.Scalar_mode": (p(5) * 9, 2),
    "embedding.default": (p(5, 3), whole(2, 4)),
    "embedding_dense_backward.default": (p(4, 3), whole(4, below=5), 5, -1, False),
    "empty.memory_format": ([2, 3],),
    "empty_strided.default": ([2, 3], [3, 1]),
    "expand.default": (p(3, 1), [2, 3, 4]),
    "fill.Scalar": (p(3), 2.0),
    "flip.default": (p(3, 4), [1]),
    "full.default": ([2, 3], 4.0),
    "full_like.default": (p(2, 3), 4.0),
    "gather.default": (p(2, 3), 1, PLACES),
    "grid_sampler_2d.default": (IMAGE, p(2, 4, 5, 2) * 2 - 1, 0, 0, False),
    "index.Tensor": (p(3, 4), [whole(2), whole(2)]),
    "index_put.default": (p(3, 4), [torch.tensor([0, 2])], p(2, 4)),
    "index_select.default": (p(3, 4), 1, whole(5)),
    "masked_scatter.default": (p(3, 4), p(3, 4) > 0.5, p(12)),
    "max.dim": (p(3, 4), 1),
    "max_pool2d_with_indices.default": (IMAGE, [2, 2]),
    "max_pool2d_with_indices_backward.default": (
        p(2, 3, 3, 3), IMAGE, [2, 2], [2, 2], [0, 0], [1, 1], False, GREATEST,
    ),
    "max_pool3d_with_indices.default": (VOLUME, [2, 2, 2]),
    "mean.dim": (p(3, 4), [1]),
    "min.dim": (p(3, 4), 1),
    "mm.default": (p(3, 4), p(4, 5)),
    "native_dropout.default": (p(3, 4), 0.5, False),
    "native_group_norm.default": (IMAGE, p(3), p(3), 2, 3, 36, 3, 1e-5),
    "native_group_norm_backward.default": (
        p(2, 3, 6, 6), IMAGE, p(2, 3), p(2, 3), p(3), 2, 3, 36, 3, [True, True, True],
    ),
    "native_layer_norm.default": (p(2, 4), [4], p(4), p(4), 1e-5),
    "native_layer_norm_backward.default": (p(2, 4), p(2, 4), [4], LAYER[1], LAYER[2], p(4), p(4), [True] * 3),
    "nonzero.default": (p(3, 4) > 0.5,),
    "permute.default": (p(2, 3, 4), [2, 0, 1]),
    "pow.Scalar": (2.0, p(3)),
    "prod.dim_int": (p(3, 4), 1),
    "reflection_pad1d.default": (SERIES, [1, 2]),
    "reflection_pad2d.default": (IMAGE, [1, 2, 0, 1]),
    "reflection_pad3d.default": (VOLUME, [1, 2, 0, 1, 1, 1]),
    "repeat.default": (p(3, 4), [2, 1, 2]),
    "replication_pad2d.default": (IMAGE, [1, 2, 0, 1]),
    "replication_pad3d.default": (VOLUME, [1, 2, 0, 1, 1, 1]),
    "scalar_tensor.default": (3.0,),
    "scatter.value": (p(2, 3), 1, PLACES, 2.0),
    "scatter.src": (p(2, 3), 1, PLACES, p(2, 2)),
    "scatter_add.default": (p(2, 3), 1, PLACES, p(2, 2)),
    "scatter_reduce.two": (p(2, 3), 1, PLACES, p(2, 2), "amax"),
    "select.int": (p(3, 4), 1, 2),
    "select_scatter.default": (p(3, 4), p(3), 1, 2),
    "slice.Tensor": (p(5, 4), 0, 1, 4, 2),
    "slice_scatter.default": (p(5, 4), p(2, 4), 0, 1, 3),
    "split_with_sizes.default": (p(5, 4), [2, 3]),
    "squeeze.dim": (p(3, 1), 1),
    "squeeze.dims": (p(1, 3, 1), [0, 2]),
    "sum.dim_IntList": (p(3, 4), [1]),
    "sym_size.int": (p(3, 4), 0),
    "sym_stride.int": (p(3, 4), 0),
    "topk.default": (p(3, 4), 2),
    "unsqueeze.default": (p(3, 4), 1),
    "upsample_bilinear2d.vec": (IMAGE, [7, 5], False, None),
    "upsample_nearest2d.vec": (IMAGE, [7, 5], None),
    "var.dim": (p(3, 4), [1]),
    "var.correction": (p(3, 4), [1]),
    "view.default": (p(3, 4), [2, 6]),
    "where.self": (p(3, 4) > 0.5, p(3, 4), p(4)),
}  # fmt: skip
"""Those that their schema does not give."""
BY_NAME: dict[str, dict[str, Any]] = {
    "div.Tensor_mode": {"rounding_mode": "floor"},
    "div.Scalar_mode": {"rounding_mode": "trunc"},
    "var.correction": {"correction": 0},
}
FURTHER: list[tuple[str, tuple[Any, ...]]] = [
    ("convolution_backward.default", TRANSPOSED),
    ("convolution_backward.default", (
        p(2, 6, 4), SERIES, p(6, 1, 3), None, [1], [0], [1], False, [0], 3, [True, True, False],
    )),
    ("avg_pool2d_backward.default", (p(3, 3, 3), IMAGE[0], [3, 3], [2, 2], [1, 1], False, False, None)),
    *[("_pdist_forward.default", (p(4, 3), order)) for order in (0.0, 0.5, 1.0)],
    ("_embedding_bag.default", (p(5, 3), whole(6, below=5), torch.tensor([0, 2, 2]), False, 2)),
]  # fmt: skip
WITHOUT_VALUES = ("empty.memory_format", "empty_strided.default")
FIRST_RESULT = ("_embedding_bag.default",)
"""Those whose further results are notes for the backward pass, in a form of each device's own."""


def operands(name: str, operator: Any) -> tuple[Any, ...]:
    """Operands of an operator: those above, or tensors and numbers where its schema asks for nothing else."""
    if name in OPERANDS:
        return OPERANDS[name]
    found: list[Any] = []
    for formal in operator._schema.arguments:
        if formal.kwarg_only or formal.has_default_value():
            break
        kind = str(formal.type)
        assert kind in ("Tensor", "number"), f"{name} needs operands here: {operator._schema}"
        integers = name.startswith("bitwise")
        found.append(2 if kind == "number" else whole(3, 4) if integers else p(3, 4))
    return tuple(found)
