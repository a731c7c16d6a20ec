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
from peer_models import RATE, Model

Run = Callable[[], Any]


def relay_native(model: Model, threads: int) -> Run:
    """Relay's native backend."""
    import relay

    if model.trains:
        step = relay.build(model.mod, threads=threads)
        params = tuple(model.params.values())
        state: list[Any] = [params, relay.optim.initial_state(relay.optim.sgd(RATE), params)]

        def run() -> Any:
            loss, *state[:] = step(*state, *model.inputs.values())
            return loss

        return run
    built = relay.build(model.mod, params=model.params, threads=threads)
    main, inputs = built["main"], list(model.inputs.values())
    return lambda: main(*inputs)


def onnx_model(model: Model) -> Any:
    """The model as ONNX."""
    from relay.frontend import to_onnx

    return model.onnx(model.params) if model.onnx is not None else to_onnx(model.mod, model.params)


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
                self.register_parameter(name, torch.nn.Parameter(tensor(x), requires_grad=model.trains))

        def forward(self, *inputs: Any) -> Any:
            weights = dict(self.named_parameters())
            return model.forward(nn, weights, dict(zip(model.inputs, inputs, strict=True)))

    return Net().eval(), [tensor(x) for x in model.inputs.values()]


def torch_eager(model: Model, threads: int) -> Run:
    """PyTorch as it is."""
    net, inputs = torch_module(model, threads)
    return training(net, net, inputs) if model.trains else inferring(net, inputs)


def training(net: Any, forward: Any, inputs: list[Any]) -> Run:
    """A step of gradient descent."""
    from peer_models import RATE

    torch: Any = import_module("torch")
    descent = torch.optim.SGD(net.parameters(), RATE, fused=True)

    def run() -> Any:
        descent.zero_grad()
        loss = forward(*inputs)
        loss.backward()
        descent.step()
        return loss.detach()

    return run


def inferring(net: Any, inputs: list[Any]) -> Run:
    """A call in inference mode."""
    torch: Any = import_module("torch")

    def run() -> Any:
        with torch.inference_mode():
            return net(*inputs)

    return run


def torch_inductor(model: Model, threads: int) -> Run:
    """PyTorch compiled, weights frozen into the code; after the eighth model it would compile no more."""
    torch: Any = import_module("torch")
    import_module("torch._inductor.config").freezing = not model.trains
    import_module("torch._dynamo").reset()
    net, inputs = torch_module(model, threads)
    compiled = torch.compile(net)
    if model.trains:
        return training(net, compiled, inputs)

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
    if model.trains:
        return jax_training(jax, model, nn, weights, inputs)
    if sum([x.nbytes for x in model.folded.values()]) <= CLOSED:
        closed = jax.jit(lambda xs: model.forward(nn, weights, xs))
        return lambda: jax.block_until_ready(closed(inputs))
    opened = jax.jit(lambda p, xs: model.forward(nn, p, xs))
    return lambda: jax.block_until_ready(opened(weights, inputs))


def jax_training(jax: Any, model: Model, nn: Any, weights: Any, inputs: Any) -> Run:
    """A step of gradient descent; the memory of the old weights goes to the new ones."""
    from peer_models import RATE

    def step(p: Any, xs: Any) -> Any:
        loss, slope = jax.value_and_grad(lambda q: model.forward(nn, q, xs))(p)
        return loss, jax.tree.map(lambda w, d: w - RATE * d, p, slope)

    jitted = jax.jit(step, donate_argnums=0)
    state = [weights]

    def run() -> Any:
        loss, state[0] = jitted(state[0], inputs)
        return jax.block_until_ready(loss)

    return run


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
    fixed = {"RELAY_CACHE": "off", "JAX_PLATFORMS": "cpu", "OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}
    return os.environ | dict.fromkeys(names, count) | fixed


def results(value: Any) -> list[Any]:
    """The arrays of a result."""
    parts = value if isinstance(value, list | tuple) else [value]
    return [np.asarray(x) for x in parts]
