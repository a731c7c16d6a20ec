"""The backend: AOTAutograd's graphs, compiled one by one."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any

from relay.diagnostic import RelayError, fail
from relay.driver.compilation import build
from relay.frontend.torch.library import pytorch
from relay.frontend.torch_compile.calls import GraphCall
from relay.frontend.torch_compile.decompositions import table
from relay.frontend.torch_compile.draws import without_draws
from relay.frontend.torch_compile.freezing import FrozenGraph, parameters_of_graph
from relay.frontend.torch_compile.imported import import_graph
from relay.frontend.torch_compile.options import Options, options_of
from relay.frontend.torch_compile.records import RECORDS, GraphRecord


def relay_backend(
    module: Any, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None, mode: Any = None
) -> Callable[..., Any]:
    """What `torch.compile(..., backend="relay")` calls for each graph that it captures.

    AOTAutograd takes derivatives and writes graphs without mutation; its graphs are compiled here, forward
    and backward, and one that cannot be is left to PyTorch, with a warning.

    Raises `unknown-option`, `option-value`, `thread-count`, `unknown-precision`; with `fallback=False` also
    what a graph cannot be compiled for.
    """
    chosen = options_of(options, mode)
    torch = pytorch()
    is_training = torch.is_grad_enabled() and any(needs_gradient(x) for x in example_inputs)
    number = RECORDS.number()
    aot_autograd = pytorch("torch._dynamo.backends.common").aot_autograd
    partition = pytorch("functorch.compile").min_cut_rematerialization_partition

    def compiler(part: str) -> Callable[..., Any]:
        return partial(compiled, f"{number}/{part}", chosen)

    backend = aot_autograd(
        fw_compiler=compiler("forward"), bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"), decompositions=table(is_training), partition_fn=partition,
    )  # fmt: skip
    return backend(module, example_inputs)


def needs_gradient(x: Any) -> bool:
    """Whether derivatives may be asked for."""
    return isinstance(x, pytorch().Tensor) and x.requires_grad


def compiled(name: str, options: Options, module: Any, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    """A graph as machine code, or as PyTorch runs it."""
    seen = seen_results(name, module)
    places = parameters_of_graph() if options.freeze and name.endswith("inference") else ()
    if places:
        return FrozenGraph(name, places, partial(compiled_for, name, options, module, seen))
    return compiled_for(name, options, module, seen, {})


def compiled_for(
    name: str, options: Options, module: Any, seen: int, constants: Mapping[int, Any]
) -> Callable[..., Any]:
    """A graph with the values of some arguments, of which programs may see the first results (what it cannot
    be compiled for, without fallback).
    """
    start = perf_counter()
    nodes = sum(fx.op == "call_function" for fx in module.graph.nodes)
    try:
        with pytorch("torch.utils._python_dispatch")._disable_current_modes():
            found = machine_code(options, module, seen, constants)
        RECORDS.enter(GraphRecord(name, nodes, perf_counter() - start))
        return found
    except RelayError as error:
        if not options.fallback:
            raise
        reason = "; ".join(dict.fromkeys([d.message for d in error.diagnostics]))
        RECORDS.enter(GraphRecord(name, nodes, perf_counter() - start, reason))
        return pytorch("torch._functorch.aot_autograd").make_boxed_func(module)


def machine_code(
    options: Options, module: Any, seen: int, constants: Mapping[int, Any]
) -> Callable[..., Any]:
    """A graph as machine code (`torch-unsupported`, `torch-type`, `no-native-code`)."""
    expect_cpu(module)
    without, draws = without_draws(module)
    graph = import_graph(without, constants, seen)
    threads = pytorch().get_num_threads() if options.threads is None else options.threads
    built = build(graph.mod, threads=threads, precision=options.precision)
    traced = [fx.meta["val"] for fx in module.graph.nodes if fx.op == "placeholder"]
    return GraphCall(graph, built["main"], traced, draws, seen)


def expect_cpu(module: Any) -> None:
    """Refuse tensors of other devices (`torch-unsupported`)."""
    for fx in module.graph.nodes:
        traced = fx.meta.get("val")
        several: Any = traced if isinstance(traced, list | tuple) else [traced]  # pyright: ignore[reportUnknownVariableType]
        for one in several:
            device = getattr(getattr(one, "device", None), "type", "cpu")
            if device != "cpu":
                hint = 'move the module and its inputs: `.to("cpu")`'
                fail("torch-unsupported", f"`{fx.name}` is on the device {device}, not the CPU", hint=hint)


def seen_results(name: str, module: Any) -> int:
    """How many results of a graph the program that calls it may see, whose strides matter; others are for
    the derivative.
    """
    if name.endswith("inference"):
        return len(next(fx for fx in reversed(module.graph.nodes) if fx.op == "output").args[0])
    context = pytorch("torch._guards").TracingContext.try_get()
    metadata = None if context is None else context.fw_metadata
    return 0 if metadata is None or name.endswith("backward") else metadata.num_forward_returns
