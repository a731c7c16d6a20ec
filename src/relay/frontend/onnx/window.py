"""The windows that the attributes of convolutions and pooling describe."""

from relay.frontend.onnx.node import Node
from relay.frontend.value import Value
from relay.frontend.window import Window


def geometry(node: Node, x: Value, kernel: tuple[int, ...]) -> Window:
    """The windows that a node's attributes describe."""
    rank = len(kernel)
    strides = tuple(node.ints("strides", [1] * rank))
    dilations = tuple(node.ints("dilations", [1] * rank))
    pads = node.ints("pads", [0] * (2 * rank))
    before, after = tuple(pads[:rank]), tuple(pads[rank:])
    auto = node.text("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        widths = [
            max((-(-x.size(i + 2) // s) - 1) * s + d * (k - 1) + 1 - x.size(i + 2), 0)
            for i, (k, s, d) in enumerate(zip(kernel, strides, dilations, strict=True))
        ]
        less, more = tuple([w // 2 for w in widths]), tuple([w - w // 2 for w in widths])
        before, after = (less, more) if auto == "SAME_UPPER" else (more, less)
    elif auto == "VALID":
        before = after = (0,) * rank
    return Window(kernel, strides, dilations, before, after, bool(node.int("ceil_mode", 0)))
