"""Quantised models, as files of `QuantizeLinear` and `DequantizeLinear`: Relay, ONNX Runtime and OpenVINO.

Each system has a process of its own, and they take turns as in `peers.py`; what is reported is the median of
the rounds' ratios of the better peer's time to Relay's, with a 95% interval, and milliseconds.  Models by
name are those of `peer_models.py`, with measured statistics of batch normalisation, exported, quantised by
ONNX Runtime's tools (bytes without sign for activations, with sign for weights, scales for each channel,
calibrated on random inputs); others are files.
Results are compared with what the model says, which ONNX Runtime computes in floats when it is told not to
optimise: systems that hold sums of pairs in 16 bits differ.

Usage: `python benchmarks/quantized.py [--threads 1,2] [--rounds 30] [NAME or FILE.onnx ...]`.
"""

import argparse
import tempfile
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from peer_models import model
from peer_systems import Run, onnx_model
from peers import Worker, ratio, take_rounds
from speech_model import quantised_speech

from relay.testing.statistics import with_batch_statistics

SPEECH = "speech"
NAMES = ("ResNet-50", "MobileNetV2", "BERT-base, 128 tokens", SPEECH)
SYSTEMS = ("Relay", "ONNX Runtime", "OpenVINO")
OPEN_SIZE = 96
"""Of dimensions that a file leaves open."""
SAMPLES = 4
"""Random inputs that say how large numbers get."""


def random_inputs(path: str) -> dict[str, Any]:
    """A random input for each of a file's, whose open sizes are all one."""
    onnx: Any = import_module("onnx")
    rng, found = np.random.default_rng(0), dict[str, Any]()
    graph = onnx.load(path, load_external_data=False).graph
    given = {x.name for x in graph.initializer}
    for x in graph.input:
        if x.name not in given:
            t = x.type.tensor_type
            shape = [d.dim_value or OPEN_SIZE for d in t.shape.dim]
            dtype = onnx.helper.tensor_dtype_to_np_dtype(t.elem_type)
            is_float = dtype.kind == "f"
            found[x.name] = (rng.normal(size=shape) if is_float else rng.integers(0, 1000, shape)).astype(
                dtype
            )
    return found


def quantised(name: str, folder: Path) -> str:
    """The file of a model by its name, quantised."""
    if name == SPEECH:
        return quantised_speech(folder)
    onnx, tools = import_module("onnx"), import_module("onnxruntime.quantization")
    of, rng = model(name), np.random.default_rng(1)
    of.params = with_batch_statistics(of.mod, of.params, of.inputs)
    plain, prepared, path = (str(folder / f"{name}.{kind}.onnx") for kind in ("plain", "prepared", "qdq"))
    onnx.save(onnx_model(of), plain)
    tools.shape_inference.quant_pre_process(plain, prepared)

    class Samples(tools.CalibrationDataReader):
        """Inputs like those that the model is measured on."""

        def __init__(self) -> None:
            self.left = SAMPLES

        def get_next(self) -> Any:
            self.left -= 1
            return None if self.left < 0 else {
                k: rng.normal(size=x.shape).astype(x.dtype) if x.dtype.kind == "f" else rng.permutation(x)
                for k, x in of.inputs.items()
            }  # fmt: skip

    tools.quantize_static(
        prepared, path, Samples(), quant_format=tools.QuantFormat.QDQ, per_channel=True,
        activation_type=tools.QuantType.QUInt8, weight_type=tools.QuantType.QInt8,
    )  # fmt: skip
    return path


def of_file(path: str, system: str, threads: int) -> Run:
    """A call of the model in a file."""
    inputs = random_inputs(path)
    if system == "Relay":
        import relay

        imported: Any = relay.frontend.from_onnx(import_module("onnx").load(path))
        main = relay.build(imported[0] if isinstance(imported, tuple) else imported, threads=threads)["main"]
        given = list(inputs.values())
        return lambda: main(*given)
    if system == "OpenVINO":
        ov: Any = import_module("openvino")
        core = ov.Core()
        settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1}
        request = core.compile_model(core.read_model(path), "CPU", settings).create_infer_request()
        return lambda: list(request.infer(inputs, share_inputs=True, share_outputs=True).values())
    ort: Any = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    if system == "definition":
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(path, options, ["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


def gap(found: Any, wanted: Any) -> float:
    """The greatest difference of results, in parts of the greatest value."""
    pairs = zip(found, wanted, strict=True)
    return max(float(np.abs(a.reshape(b.shape) - b).max() / np.abs(b).max()) for a, b in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", default=NAMES)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=30)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = {n: n if n.endswith(".onnx") else quantised(n, Path(folder)) for n in args.models}
        for threads in map(int, args.threads.split(",")):
            workers = {s: Worker(s, threads, of_file) for s in SYSTEMS}
            for name, path in paths.items():
                wanted = of_file(path, "definition", threads)()
                for worker in workers.values():
                    worker.send(path)
                answers = {s: worker.answer() for s, worker in workers.items()}
                failed = {s: a for s, a in answers.items() if isinstance(a, str)}
                times = take_rounds({s: w for s, w in workers.items() if s not in failed}, args.rounds, int)
                of = ratio(times)
                print(f"{Path(name).name}, threads: {threads}")
                for s, t in times.items():
                    apart = gap(answers[s], wanted)
                    print(f"  {s}: {1e3 * median(t):.2f} ms, {apart:.1e} from what the model says")
                for s, why in failed.items():
                    print(f"  {s}: {why}")
                if of:
                    print(f"  {of['best']} / Relay: {of['ratio']:.2f} ({of['low']:.2f}-{of['high']:.2f})")
            for worker in workers.values():
                worker.stop()


if __name__ == "__main__":
    main()
