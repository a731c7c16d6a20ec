"""Exported programs: from modules, in operators that have conversions."""

from collections.abc import Mapping, Sequence
from typing import Any

from relay.diagnostic import fail
from relay.frontend.torch import registry
from relay.frontend.torch.library import pytorch
from relay.frontend.torch.node import all_nodes


def exported(
    model: Any, example_inputs: Any, kwargs: Mapping[str, Any] | None, dynamic_shapes: Any, strict: bool
) -> Any:
    """The exported program of a module; one that is given is taken as it is (`torch-export`)."""
    torch = installed_pytorch()
    if isinstance(model, torch.export.ExportedProgram):
        return model
    if isinstance(model, str) or hasattr(model, "__fspath__"):
        from relay.frontend.torch.archive import read_exported

        return read_exported(model)
    is_script = isinstance(model, torch.jit.ScriptModule | torch.jit.ScriptFunction)
    if not isinstance(model, torch.nn.Module) and not is_script:
        fail(
            "torch-export",
            f"a value of type {type(model).__name__} is not a module, an exported program or its path",
            hint="wrap a function in a torch.nn.Module",
        )
    if example_inputs is None and kwargs is None:
        fail("torch-export", "exporting a module needs example inputs", hint="from_pytorch(module, (x,))")
    args = (example_inputs,) if isinstance(example_inputs, torch.Tensor) else tuple(example_inputs or ())
    if is_script:
        model = from_script(model, args, kwargs)
    try:
        with torch.no_grad():
            return torch.export.export(
                model, args, dict(kwargs or {}), dynamic_shapes=dynamic_shapes, strict=strict
            )
    except Exception as error:  # what it raises is not a type of its own
        said = str(error).strip().split("\n\n")[0]
        fail("torch-export", f"torch.export cannot export the module: {said}", hint=CAUSES)


def installed_pytorch() -> Any:
    """PyTorch (`cannot-read` where it is not installed)."""
    try:
        return pytorch()
    except ImportError:
        fail(
            "cannot-read",
            "reading modules of PyTorch needs the package `torch`",
            hint="pip install 'relay-ir[torch]'",
        )


def from_script(model: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
    """A module that can be exported, of one of TorchScript, traced or scripted (`torch-export`)."""
    hint = "pass the torch.nn.Module that it was made of by torch.jit.trace or torch.jit.script"
    try:
        converter: Any = pytorch("torch._export.converter").TS2EPConverter
    except (ImportError, AttributeError):
        fail("torch-export", f"PyTorch {pytorch().__version__} does not convert TorchScript", hint=hint)
    try:
        return converter(model, tuple(args), dict(kwargs or {})).convert().module()
    except Exception as error:  # what it raises is not a type of its own
        said = str(error).strip().partition("\n")[0] or type(error).__name__
        fail("torch-export", f"PyTorch cannot convert this TorchScript: {said}", hint=hint)


CAUSES = "torch.export.export(module, inputs) says more; draft_export shows every cause"


def in_known_operators(program: Any) -> Any:
    """The program as it is if all its operators are known and none changes its operands, else decomposed."""
    registry.load_families()
    refuse_transforms(program)
    for _ in range(MAX_DECOMPOSITIONS):
        if not any(_must_decompose(fx) for fx in all_nodes(program.graph_module)):
            break
        program = decomposed(program)
    return program


def decomposed(program: Any) -> Any:
    """The program in operators that PyTorch's table decomposes it to (`torch-unsupported`)."""
    try:
        return program.run_decompositions(decompositions(program))
    except Exception as error:  # what it raises is not a type of its own
        said = str(error).strip().partition("\n")[0] or type(error).__name__
        fail("torch-unsupported", f"PyTorch cannot decompose the operators of the program: {said}")


def refuse_transforms(program: Any) -> None:
    """Refuse what PyTorch exports of `jacrev` and its like: programs of tensors of that moment
    (`torch-unsupported`).
    """
    found = [fx.name for fx in all_nodes(program.graph_module) if is_of_functorch(fx.target)]
    if found:
        fail(
            "torch-unsupported",
            f"torch.export does not trace `torch.func` (`grad`, `jacrev`, `vmap`): it left `{found[0]}`",
            hint="import the function and take its derivative: relay.grad, relay.jacobian, relay.hessian",
        )


def is_of_functorch(target: Any) -> bool:
    """Whether a function of a graph is one that PyTorch's transforms are made of."""
    named = getattr(target, "__module__", None) or ""
    return "functorch" in named or getattr(target, "__name__", "") in TRANSFORMS


TRANSFORMS = (
    "_unwrap_for_grad", "_wrap_for_grad", "_add_batch_dim", "_remove_batch_dim", "_vmap_increment_nesting",
    "_grad_increment_nesting", "_jvp_increment_nesting",
)  # fmt: skip


MAX_DECOMPOSITIONS = 3
"""How often the result of a decomposition may be decomposed in its turn."""


def decompositions(program: Any) -> Any:
    """PyTorch's table, with what it has beyond the core operators for those that have no conversion."""
    further = pytorch("torch._decomp").decomposition_table
    table = pytorch().export.default_decompositions()
    for op in list(table.keys()):
        if registry.find(op) is not None:
            table.pop(op)
    for op in {fx.target for fx in all_nodes(program.graph_module)}:
        if registry.find(op) is None and op in further and op not in table:
            table[op] = further[op]
    return table


def _must_decompose(fx: Any) -> bool:
    """Whether a node has no conversion, or changes what it is given."""
    schema = getattr(fx.target, "_schema", None)
    if registry.name_of(fx.target) in UNCHANGING:
        return False
    if schema is not None and schema.is_mutable:
        return not _is_seen_by_none(fx)
    if registry.find(fx.target) is None:
        return True
    if registry.name_of(fx.target) in ("aten.batch_norm.default", "aten.instance_norm.default"):
        return bool(fx.args[5]) and fx.args[3] is not None
    return False


UNCHANGING = {"aten.detach_.default"}
"""Operators that PyTorch says write to their operand, and which leave its numbers as they are."""
FRESH = {f"aten.{n}" for n in ("conv1d", "conv2d", "conv3d", "linear", "batch_norm", "add", "mul", "matmul")}
"""Operators whose results are tensors of their own, never parts of others."""


def _is_seen_by_none(fx: Any) -> bool:
    """Whether a node writes to a result that nothing else reads, and gives it: it need not write."""
    if registry.find_in_place(fx.target) is None:
        return False
    written = fx.args[0]
    fresh = written.op == "call_function" and registry.name_of(written.target).rpartition(".")[0] in FRESH
    return fresh and list(written.users) == [fx]


def names_of_symbols(program: Any, dynamic_shapes: Any) -> dict[str, str]:
    """The names that `Dim`s have, by the symbols that PyTorch made of them."""
    found: dict[str, str] = {}
    if dynamic_shapes is None:
        return found
    traced = [fx.meta.get("val") for fx in program.graph.nodes if fx.op == "placeholder"]
    users = set(program.graph_signature.user_inputs)
    inputs = [
        v for fx, v in zip((f for f in program.graph.nodes if f.op == "placeholder"), traced, strict=True)
        if fx.name in users
    ]  # fmt: skip
    for tensor, spec in zip(inputs, leaves_of(dynamic_shapes), strict=False):
        if spec is None or not hasattr(tensor, "shape"):
            continue
        dims: Any = spec.items() if hasattr(spec, "items") else enumerate(spec)
        for axis, dim in dims:
            name = getattr(dim, "__name__", None)
            size = tensor.shape[axis]
            if name and not isinstance(size, int) and size.node.expr.is_symbol:
                found[str(size.node.expr)] = name
    return found


def leaves_of(spec: Any) -> list[Any]:
    """The dynamic sizes of each tensor, in order: None, `{axis: Dim}`, or a sequence of one for each axis."""
    if spec is None or _is_leaf(spec):
        return [spec]
    parts: list[Any] = list(spec.values()) if isinstance(spec, dict) else list(spec)  # pyright: ignore[reportUnknownArgumentType]
    return [leaf for part in parts for leaf in leaves_of(part)]


def _is_leaf(spec: Any) -> bool:
    if isinstance(spec, dict):
        keys: list[Any] = list(spec)  # pyright: ignore[reportUnknownArgumentType]
        return bool(keys) and all(isinstance(k, int) for k in keys)
    return bool(spec) and all(d is None or isinstance(d, int) or hasattr(d, "__name__") for d in spec)
