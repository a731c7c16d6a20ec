"""What a model consists of, and how each of its operators is converted."""

from collections import Counter
from typing import Any

from relay.frontend.named_nodes import MAX_NAMED, paragraph
from relay.frontend.onnx import functions, registry
from relay.frontend.onnx.graph import Importer
from relay.frontend.onnx.model import all_nodes, opsets_of, read_model, unconverted, unsupported, way_to_add
from relay.frontend.onnx.schemas import schema_of


def coverage(model: Any, opset: int | None = None) -> str:
    """A table of the operators of a model: how many nodes each has, and what converts them.

    After it, for each operator that nothing converts, the nodes that use it and how to add a conversion.
    """
    proto, name, folder = read_model(model)
    importer = Importer(name, opsets_of(proto, opset), folder)
    for f in proto.functions:
        importer.functions["" if f.domain == "ai.onnx" else f.domain, f.name] = f
    registry.load_families()
    counts: Counter[tuple[str, str]] = Counter()
    ways: dict[tuple[str, str], str] = {}
    for node, own in all_nodes(proto):
        key = ("" if node.domain == "ai.onnx" else node.domain, node.op_type)
        counts[key] += 1
        ways[key] = way(key, importer, own or importer.opsets)
    rows = [("operator", "nodes", "converted by")]
    rows += [(".".join(filter(None, k)), str(counts[k]), ways[k]) for k in sorted(counts)]
    widths = [max(len(r[i]) for r in rows) for i in range(3)]
    lines = ["  ".join([r[0].ljust(widths[0]), r[1].rjust(widths[1]), r[2]]).rstrip() for r in rows]
    good = sum(n for k, n in counts.items() if ways[k] != NONE)
    total = counts.total()
    missing: list[str] = []
    for operator, nodes in unsupported(proto, importer).items():
        every = [paragraph(nodes)] if len(nodes) > MAX_NAMED else []
        missing += ["", unconverted(operator, nodes).message, *every, f"  {way_to_add(operator)}"]
    return "\n".join([f"{name}: {good} of {total} nodes can be converted", "", *lines, *missing])


NONE = "nothing"


def way(key: tuple[str, str], importer: Importer, opsets: dict[str, int]) -> str:
    """What converts an operator."""
    version = importer.version_of(key[0], opsets)
    if key in importer.functions:
        return "a function of the model"
    if registry.find(*key, version) is not None:
        return "Relay"
    return "ONNX's definition by others" if functions.has_body(schema_of(*key, version)) else NONE
