"""`from_pytorch`: a module or an exported program as a Relay module."""

from collections.abc import Mapping
from typing import Any

from relay.diagnostic import derived_nodes, fail
from relay.frontend.support import definition
from relay.frontend.torch import exporting
from relay.frontend.torch.arrays import array_of, held_value
from relay.frontend.torch.complex_value import Complex, is_complex
from relay.frontend.torch.graph import Importer, Scope
from relay.frontend.torch.program import Params, Signature, TorchProgram
from relay.frontend.torch.report import check_supported
from relay.frontend.torch.symbols import Symbols, dtype_of
from relay.frontend.value import Value
from relay.ir.collector import paused
from relay.ir.expr import Expr, Tuple, Var
from relay.ir.type import TensorType

WEIGHTS = ("PARAMETER", "BUFFER")
"""What an exported program calls the tensors that a module has by name; others stand in its code."""


def from_pytorch(
    model: Any,
    example_inputs: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    freeze_params: bool = True,
    strict: bool = False,
) -> TorchProgram:
    """A PyTorch module as `mod, params`: a module with a `@main`, and parameters that are not part of it.

    `model` is an `nn.Module` with example inputs, one of TorchScript as far as PyTorch converts it, an
    `ExportedProgram`, or the path of one that was saved.
    `kwargs`, `dynamic_shapes` and `strict` are those of `torch.export.export`; a `Dim` becomes a symbolic
    dimension of its name.  Weights are constants, or with `freeze_params=False` parameters of `@main`; they
    share PyTorch's memory.  The result can be called on tensors, as the module.

    Raises `torch-export`, `torch-unsupported`, `torch-type`, `torch-archive`, `cannot-read`.
    """
    program = exporting.exported(model, example_inputs, kwargs, dynamic_shapes, strict)
    names = exporting.names_of_symbols(program, dynamic_shapes)
    program = exporting.in_known_operators(program)
    check_supported(program.graph_module)
    with paused(), derived_nodes():
        return imported(program, Symbols(names), freeze_params)


class Inputs:
    """The values of placeholders: parameters of `@main`, and constants."""

    def __init__(self, program: Any, symbols: Symbols, freeze: bool) -> None:
        """`freeze` makes constants of weights."""
        self.program = program
        self.symbols = symbols
        self.freeze = freeze
        self.params: list[Var] = []
        self.weights: Params = {}
        self.state: list[tuple[str, Any]] = []
        self.names: list[str | None] = []
        signature = program.graph_signature
        self.mutated = set(signature.buffers_to_mutate.values())
        self.tensors: dict[str, Any] = {**program.constants, **program.state_dict}
        self.traced = {fx.name: fx.meta.get("val") for fx in program.graph.nodes if fx.op == "placeholder"}

    def all(self) -> list[Any]:
        """A value for each placeholder; those of the user come first among the parameters."""
        specs = self.program.graph_signature.input_specs
        for spec in specs:
            if spec.kind.name == "USER_INPUT" and hasattr(self.traced.get(spec.arg.name), "shape"):
                self.symbols.bind(self.traced[spec.arg.name].shape)
        found: dict[int, Any] = {}
        for users in (True, False):
            for i, spec in enumerate(specs):
                if (spec.kind.name == "USER_INPUT") is users:
                    found[i] = self.given(spec) if users else self.held(spec)
        return [found[i] for i in range(len(specs))]

    def given(self, spec: Any) -> Any:
        """An input of the call."""
        traced = self.traced.get(spec.arg.name)
        if not hasattr(traced, "dtype"):
            self.names.append(None)
            if hasattr(traced, "node") and not isinstance(traced, int | float | bool):
                fail(
                    "torch-export",
                    f"the input `{spec.arg.name}` is a number that may vary",
                    hint="give it as a tensor, or export the module for one number",
                )
            return getattr(spec.arg, "value", traced)
        assert traced is not None
        shape, dtype = self.symbols.shape(traced.shape), dtype_of(traced.dtype)
        if is_complex(traced):
            return Complex.of(self.parameter(spec.arg.name, TensorType((*shape, 2), dtype)))
        return self.parameter(spec.arg.name, TensorType(shape, dtype))

    def parameter(self, name: str, t: TensorType, user: bool = True) -> Value:
        """A parameter of `@main`."""
        var = Var(name, t)
        self.params.append(var)
        if user:
            self.names.append(name)
        return Value(var, t, sources=frozenset({name}))

    def held(self, spec: Any) -> Any:
        """A tensor that the module holds: a constant, or a parameter where it changes or shall be one."""
        if spec.kind.name == "TOKEN" or spec.target not in self.tensors:
            return None
        tensor = self.tensors[spec.target]
        if not hasattr(tensor, "dtype"):
            return tensor
        array = array_of(tensor)
        changes = spec.target in self.mutated
        is_weight = spec.kind.name in WEIGHTS and array.dtype.kind in "fV"
        if not changes and (self.freeze or not is_weight):
            return held_value(tensor)
        self.weights[spec.target] = array
        self.state.append((spec.target, tensor))
        found = self.parameter(spec.target, TensorType(array.shape, dtype_of(tensor.dtype)), user=False)
        return Complex.of(found) if tensor.is_complex() else found


def imported(program: Any, symbols: Symbols, freeze_params: bool) -> TorchProgram:
    """The module and its signature."""
    inputs = Inputs(program, symbols, freeze_params)
    importer = Importer("exported program", symbols)
    scope = Scope(importer, program.graph_module)
    results = scope.run(inputs.all())
    nodes = next(iter(fx for fx in reversed(program.graph.nodes) if fx.op == "output")).args[0]
    outs: list[tuple[Value, Any]] = []
    updates: list[tuple[Value, Any, Any]] = []
    fixed: list[tuple[int, Any]] = []
    place = 0
    users = list(program.graph_signature.user_inputs)
    for spec, value, fx in zip(program.graph_signature.output_specs, results, nodes, strict=True):
        traced = fx.meta.get("val") if hasattr(fx, "meta") else None
        value = value.pairs if isinstance(value, Complex) else value
        match spec.kind.name:
            case "BUFFER_MUTATION" | "PARAMETER_MUTATION":
                updates.append((value, traced, inputs.tensors[spec.target]))
            case "USER_INPUT_MUTATION":
                updates.append((value, traced, users.index(spec.target)))
            case "USER_OUTPUT":
                if isinstance(value, Value) and hasattr(traced, "dtype"):
                    outs.append((value, traced))
                elif isinstance(value, Value):
                    outs.append((value, None))
                else:
                    fixed.append((place, value))
                place += 1
            case _:
                pass
    exprs = [v.expr for v, *_ in (*outs, *updates)]
    body: Expr = exprs[0] if len(exprs) == 1 else Tuple(tuple(exprs))
    importer.mod["main"] = definition(inputs.params, scope.bindings.around(body))
    from relay.typecheck.infer import infer

    signature = Signature(
        program, tuple(inputs.names), tuple(inputs.state),
        tuple([t for _, t, *_ in (*outs, *updates)]), tuple(fixed), tuple([u[2] for u in updates]),
    )  # fmt: skip
    return TorchProgram(infer(importer.mod), inputs.weights, signature)
