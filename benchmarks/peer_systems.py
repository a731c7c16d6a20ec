"""The systems that are measured: each makes a function without arguments of a model, at its best settings.

A process holds one system, so that the spinning of one's threads does not disturb another.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np
from peer_models import Model

Run = Callable[[], Any]


def relay_native(model: Model, threads: int) -> Run:
    """Relay's native backend."""
    import relay

    built = relay.build(model.mod, params=model.params, threads=threads)
    main, inputs = built["main"], list(model.inputs.values())
    return lambda: main(*inputs)


def onnx_model(model: Model) -> Any:
    """The model as ONNX."""
    from relay.frontend import to_onnx

    return model.onnx() if model.onnx is not None else to_onnx(model.mod, model.params)


def onnx_runtime(model: Model, threads: int) -> Run:
    """ONNX Runtime with all optimisations; with bound inputs and outputs where that is quicker."""
    ort: Any = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = ort.InferenceSession(onnx_model(model).SerializeToString(), options, ["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, x in model.inputs.items():
        binding.bind_cpu_input(name, x)
    for y in session.get_outputs():
        binding.bind_output(y.name)

    def bound() -> Any:
        session.run_with_iobinding(binding)
        return [y.numpy() for y in binding.get_outputs()]

    return quickest(lambda: session.run(None, model.inputs), bound)


def openvino(model: Model, threads: int) -> Run:
    """OpenVINO for least latency, in float32."""
    ov: Any = import_module("openvino")
    settings = {
        "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
    }  # fmt: skip
    core = ov.Core()
    compiled = core.compile_model(core.read_model(onnx_model(model).SerializeToString()), "CPU", settings)
    request = compiled.create_infer_request()

    def run() -> Any:
        return list(request.infer(model.inputs, share_inputs=True, share_outputs=True).values())

    return run


def quickest(*ways: Run) -> Run:
    """That of several ways to run which takes least."""

    def least(run: Run) -> float:
        run()
        times: list[float] = []
        for _ in range(5):
            start = perf_counter()
            run()
            times.append(perf_counter() - start)
        return min(times)

    return min(ways, key=least)


def torch_module(model: Model, threads: int) -> tuple[Any, list[Any]]:
    """The model as a PyTorch module, convolutions with channels last, and its inputs."""
    torch: Any = import_module("torch")
    torch.set_num_threads(threads)
    with suppress(RuntimeError):
        torch.set_num_interop_threads(1)
    nn = import_module("peer_torch").Ops()

    def tensor(x: Any) -> Any:
        found = torch.from_numpy(np.ascontiguousarray(x))
        return found.contiguous(memory_format=torch.channels_last) if found.ndim == 4 else found

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name, x in model.folded.items():
                self.register_buffer(name, tensor(x))

        def forward(self, *inputs: Any) -> Any:
            weights = dict(self.named_buffers())
            return model.forward(nn, weights, dict(zip(model.inputs, inputs, strict=True)))

    return Net().eval(), [tensor(x) for x in model.inputs.values()]


def torch_eager(model: Model, threads: int) -> Run:
    """PyTorch as it is."""
    return inferring(*torch_module(model, threads))


def inferring(net: Any, inputs: list[Any]) -> Run:
    """A call in inference mode."""
    torch: Any = import_module("torch")

    def run() -> Any:
        with torch.inference_mode():
            return net(*inputs)

    return run


def torch_inductor(model: Model, threads: int) -> Run:
    """PyTorch compiled, weights frozen into the code."""
    torch: Any = import_module("torch")
    import_module("torch._inductor.config").freezing = True
    net, inputs = torch_module(model, threads)
    compiled = torch.compile(net)

    def run() -> Any:
        with torch.no_grad():
            return compiled(*inputs)

    return run


CLOSED = 64 << 20
"""Bytes of weights up to which they are part of JAX's programs; more make compiling take very long."""


def jax_jit(model: Model, threads: int) -> Run:
    """JAX's `jit`."""
    jax: Any = import_module("jax")
    nn = import_module("peer_jax").Ops()
    weights = {name: jax.device_put(nn.weight(x)) for name, x in model.folded.items()}
    inputs = {name: jax.device_put(x) for name, x in model.inputs.items()}
    if sum([x.nbytes for x in model.folded.values()]) <= CLOSED:
        closed = jax.jit(lambda xs: model.forward(nn, weights, xs))
        return lambda: jax.block_until_ready(closed(inputs))
    opened = jax.jit(lambda p, xs: model.forward(nn, p, xs))
    return lambda: jax.block_until_ready(opened(weights, inputs))


SYSTEMS: dict[str, Callable[[Model, int], Run]] = {
    "Relay": relay_native,
    "ONNX Runtime": onnx_runtime,
    "OpenVINO": openvino,
    "PyTorch": torch_eager,
    "inductor": torch_inductor,
    "JAX": jax_jit,
}
PACKAGES = {
    "Relay": "relay-ir", "ONNX Runtime": "onnxruntime", "OpenVINO": "openvino", "PyTorch": "torch",
    "inductor": "torch", "JAX": "jax",
}  # fmt: skip


def environment(threads: int) -> dict[str, str]:
    """What a process of a system is started with."""
    count = str(threads)
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RELAY_NUM_THREADS")
    return os.environ | dict.fromkeys(names, count) | {"RELAY_CACHE": "off", "JAX_PLATFORMS": "cpu"}


def results(value: Any) -> list[Any]:
    """The arrays of a result."""
    parts = value if isinstance(value, list | tuple) else [value]
    return [np.asarray(x) for x in parts]
