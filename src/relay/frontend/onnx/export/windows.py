"""Convolutions and pooling.  ONNX has one layout, channels first; others are transposed to it and back."""

from collections.abc import Callable
from typing import Any

from relay.frontend.onnx.export.graph import Graph, Value, refuse
from relay.frontend.onnx.export.registry import exports
from relay.ir.dtype import is_float
from relay.op.nn.layout import SPATIAL, ntuple, pads, positions


def _channels_first(g: Graph, x: Value | str, layout: str, rank: int) -> str:
    """Data with its axes as ONNX has them."""
    wanted = "NC" + SPATIAL[rank]
    if sorted(layout) != sorted(wanted):
        refuse(f'the layout "{layout}"')
    return g.transposed(x, positions(layout, wanted))


def _back(g: Graph, name: str, op: Any, layout: str, rank: int) -> str:
    """A result with its axes as the operator has them."""
    return g.transposed(name, positions("NC" + SPATIAL[rank], op.out_layout or layout))


def _pads(padding: Any, rank: int) -> list[int]:
    """All sizes before, then all sizes after."""
    pairs = pads(padding, rank)
    return [lo for lo, _ in pairs] + [hi for _, hi in pairs]


def _sliding(op: Any, rank: int) -> dict[str, Any]:
    return {
        "strides": list(ntuple(op.strides, rank)),
        "dilations": list(ntuple(op.dilation, rank)),
        "pads": _pads(op.padding, rank),
    }


def _check_data(op: Any, x: Value) -> None:
    if not is_float(x.dtype) or op.out_dtype not in ("", x.dtype):
        refuse(f"{x.dtype} to {op.out_dtype or x.dtype}")


def _conv(rank: int) -> Callable[..., str]:
    def write(g: Graph, op: Any, x: Value, weight: Value) -> str:
        _check_data(op, x)
        kernel = g.transposed(weight, positions(op.kernel_layout, "OI" + SPATIAL[rank]))
        data = _channels_first(g, x, op.data_layout, rank)
        found = g.add("Conv", data, kernel, group=op.groups, **_sliding(op, rank))
        return _back(g, found, op, op.data_layout, rank)

    return write


def _conv_transpose(rank: int) -> Callable[..., str]:
    def write(g: Graph, op: Any, x: Value, weight: Value) -> str:
        _check_data(op, x)
        kernel = g.transposed(weight, positions(op.kernel_layout, "IO" + SPATIAL[rank]))
        data = _channels_first(g, x, op.data_layout, rank)
        extra = list(ntuple(op.output_padding, rank))
        found = g.add(
            "ConvTranspose", data, kernel, group=op.groups, output_padding=extra, **_sliding(op, rank)
        )
        return _back(g, found, op, op.data_layout, rank)

    return write


def _pool(rank: int, kind: str) -> Callable[..., str]:
    def write(g: Graph, op: Any, x: Value) -> str:
        if op.ceil_mode and kind == "AveragePool" and any(_pads(op.padding, rank)):
            refuse("ceil_mode=True and padding")
        how: dict[str, Any] = (
            {"count_include_pad": int(op.count_include_pad)} if kind == "AveragePool" else {}
        )
        data = _channels_first(g, x, op.layout, rank)
        kernel = list(ntuple(op.pool_size, rank))
        found = g.add(
            kind, data, kernel_shape=kernel, ceil_mode=int(op.ceil_mode), **_sliding(op, rank), **how
        )
        return _back(g, found, op, op.layout, rank)

    return write


def _adaptive(rank: int, kind: str) -> Callable[..., str]:
    def write(g: Graph, op: Any, x: Value) -> str:
        space = [x.size(i) for i in positions(op.layout, SPATIAL[rank])]
        given: Any = (None,) if op.output_size is None else op.output_size
        several: tuple[Any, ...] = ntuple(given, rank)
        wanted = [d if n is None else n for d, n in zip(space, several, strict=True)]
        if any(n == 0 or d % n for d, n in zip(space, wanted, strict=True)):
            refuse("parts of different sizes")
        step = [d // n for d, n in zip(space, wanted, strict=True)]
        data = _channels_first(g, x, op.layout, rank)
        return _back(g, g.add(kind, data, kernel_shape=step, strides=step), op, op.layout, rank)

    return write


def _global(kind: str) -> Callable[..., str]:
    def write(g: Graph, op: Any, x: Value) -> str:
        return g.add(kind, x)

    return write


def _has_channels_first(op: Any) -> bool:
    return op.layout.startswith("NC") and op.out_layout in ("", op.layout)


for _rank in SPATIAL:
    exports(f"nn.conv{_rank}d")(_conv(_rank))
    exports(f"nn.conv{_rank}d_transpose")(_conv_transpose(_rank))
    for _name, _kind in (("max", "MaxPool"), ("avg", "AveragePool")):
        exports(f"nn.{_name}_pool{_rank}d")(_pool(_rank, _kind))
        exports(f"nn.adaptive_{_name}_pool{_rank}d")(_adaptive(_rank, _kind))
    for _name, _kind in (("max", "GlobalMaxPool"), ("avg", "GlobalAveragePool")):
        exports(f"nn.global_{_name}_pool{_rank}d", fits=_has_channels_first)(_global(_kind))


@exports("nn.upsampling", fits=lambda op: op.method == "nearest_neighbor" and op.layout == "NCHW")
def upsampling(g: Graph, op: Any, x: Value) -> str:
    """Each element as often as the factors say."""
    factors = g.constant([1, 1, op.scale_h, op.scale_w], "float32")
    way: dict[str, Any] = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return g.add("Resize", x, None, factors, mode="nearest", **way)
