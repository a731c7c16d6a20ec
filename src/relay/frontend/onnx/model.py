"""Reading models: files, versions, and what they contain."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relay.diagnostic import Diagnostic, RelayError, fail
from relay.frontend.named_nodes import ALL_NAMES, MAX_NAMED, users
from relay.frontend.onnx import functions, registry
from relay.frontend.onnx.schemas import schema_of
from relay.text.files import read_file

if TYPE_CHECKING:
    from relay.frontend.onnx.graph import Importer

AGAIN = "export the model again, or copy the whole file"


def read_model(model: Any) -> tuple[Any, str, Path | None]:
    """A model, what it is called, and the folder it is in (`onnx-model`, `cannot-read`)."""
    try:
        import onnx
    except ImportError:
        fail(
            "cannot-read",
            "reading ONNX models needs the package `onnx`",
            hint="pip install 'relay-ir[onnx]'",
        )
    if isinstance(model, onnx.ModelProto):
        return model, model.graph.name or "model.onnx", None
    if isinstance(model, bytes):
        data, name, folder = model, "model.onnx", None
    else:
        path = Path(model)
        data, name, folder = read_file(str(path)), str(path), path.parent
    return parsed(data, name), name, folder


def parsed(data: bytes, name: str) -> Any:
    """The model that some bytes hold (`onnx-model`)."""
    import onnx
    from google.protobuf.message import DecodeError

    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except (DecodeError, ValueError, RuntimeError, UnicodeDecodeError):
        fail("onnx-model", f"`{name}` is not an ONNX model, or is truncated", hint=AGAIN)
    if not proto.HasField("graph"):
        fail("onnx-model", f"`{name}` holds no graph", hint=AGAIN)
    check_names(proto, name)
    return proto


def check_names(proto: Any, name: str) -> None:
    """Demand that all names are texts: where bytes are not UTF-8, the package gives them as they are."""
    graphs = [proto.graph]
    names: list[Any] = [o.domain for o in proto.opset_import]
    for f in proto.functions:
        names += [f.name, f.domain, *f.input, *f.output, *[o.domain for o in f.opset_import]]
        names += [a.name for a in f.attribute_proto]
    for node, _ in all_nodes(proto):
        names += [node.name, node.op_type, node.domain, *node.input, *node.output]
        names += [s for a in node.attribute for s in (a.name, a.ref_attr_name)]
        graphs += [g for a in node.attribute for g in ([a.g] if a.HasField("g") else a.graphs)]
    for g in graphs:
        names += [g.name, *[v.name for v in (*g.input, *g.output, *g.initializer)]]
        dims = [d for v in g.input for d in v.type.tensor_type.shape.dim]
        names += [d.dim_param for d in dims]
    if not all(isinstance(n, str) for n in names):
        fail("onnx-model", f"`{name}` has a name that is not text", hint=AGAIN)


def opsets_of(proto: Any, opset: int | None = None) -> dict[str, int]:
    """The version of each domain's operator set (`onnx-model`)."""
    import onnx

    found = {("" if o.domain == "ai.onnx" else o.domain): int(o.version) for o in proto.opset_import}
    newest = onnx.defs.onnx_opset_version()
    if opset is not None:
        found[""] = opset
    found.setdefault("", 1 if proto.ir_version < 3 else newest)
    if not 1 <= found[""] <= newest:
        fail(
            "onnx-model",
            f"the model uses version {found['']} of ONNX's operators; the package `onnx` knows 1 to {newest}",
            hint="install a newer `onnx`, or export the model for an older version",
        )
    return found


def all_nodes(proto: Any) -> Iterator[tuple[Any, dict[str, int] | None]]:
    """Every node of the model and of graphs within it; those of functions with their operator sets."""
    stack: list[tuple[Any, dict[str, int] | None]] = [(n, None) for n in reversed(proto.graph.node)]
    for f in proto.functions:
        own = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in f.opset_import}
        stack += [(n, own) for n in f.node]
    while stack:
        node, own = stack.pop()
        yield node, own
        for a in node.attribute:
            graphs = [*([a.g] if a.HasField("g") else []), *a.graphs]
            stack += [(n, own) for g in graphs for n in reversed(g.node)]


def unsupported(proto: Any, importer: "Importer") -> dict[tuple[str, str], list[str]]:
    """The operators that have no conversion, with the names of their nodes."""
    registry.load_families()
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for node, own in all_nodes(proto):
        domain = "" if node.domain == "ai.onnx" else node.domain
        if not is_supported(domain, node.op_type, importer, own or importer.opsets):
            name = node.name or next((o for o in node.output if o), "?")
            found[domain, node.op_type].append(name)
    return found


def is_supported(domain: str, name: str, importer: "Importer", opsets: dict[str, int]) -> bool:
    """Whether a node of an operator can be converted."""
    version = importer.version_of(domain, opsets)
    if (domain, name) in importer.functions or registry.find(domain, name, version) is not None:
        return True
    return functions.has_body(schema_of(domain, name, version))


def unconverted(operator: tuple[str, str], nodes: Sequence[str]) -> Diagnostic:
    """That an operator, of a domain, has no conversion, and which nodes use it."""
    domain, name = operator
    where = f' of "{domain}"' if domain else ""
    message = f"unsupported operator `{name}`{where}, which {users(nodes)}"
    hint = way_to_add(operator) + (f"; {ALL_NAMES}" if len(nodes) > MAX_NAMED else "")
    return Diagnostic("onnx-unsupported", message, hint=hint)


def way_to_add(operator: tuple[str, str]) -> str:
    """How a conversion of an operator, of a domain, is added."""
    domain, name = operator
    full = f"{name!r}, domain={domain!r}" if domain else f"{name!r}"
    return f"add one: @relay.frontend.onnx.registry.converts({full}) over a function of a node"


def check_supported(proto: Any, importer: "Importer") -> None:
    """Raise one diagnostic for each operator that has no conversion (`onnx-unsupported`)."""
    found = unsupported(proto, importer)
    if found:
        raise RelayError([unconverted(operator, nodes) for operator, nodes in found.items()])
