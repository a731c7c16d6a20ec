"""Ask a model that `relay serve` serves, with arrays sent and received as bytes; needs NumPy alone.

    relay serve examples/digits.relay &
    python examples/infer_client.py http://127.0.0.1:8000 digits examples/digits.npz

Each array of the file goes to the input of its name.
"""

import json
import sys
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np

JSON_SIZE = "Inference-Header-Content-Length"
DATATYPES = {"bool": "BOOL", "float16": "FP16", "float32": "FP32", "float64": "FP64"}
DATATYPES |= {f"{s}int{b}": f"{s.upper()}INT{b}" for s in ("", "u") for b in (8, 16, 32, 64)}
DTYPES = {datatype: dtype for dtype, datatype in DATATYPES.items()}


def infer(url: str, model: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """The outputs of a model for arrays by the names of its inputs (RuntimeError: what the server says)."""
    inputs = [
        {
            "name": name,
            "datatype": DATATYPES[x.dtype.name],
            "shape": x.shape,
            "parameters": {"binary_data_size": x.nbytes},
        }
        for name, x in arrays.items()
    ]
    head = json.dumps({"inputs": inputs, "parameters": {"binary_data_output": True}}).encode()
    body = head + b"".join([np.ascontiguousarray(x).tobytes() for x in arrays.values()])
    request = Request(f"{url}/v2/models/{model}/infer", body, {JSON_SIZE: str(len(head))})
    try:
        with urlopen(request, timeout=60) as response:
            found, size = response.read(), int(response.headers[JSON_SIZE])
    except HTTPError as error:
        raise RuntimeError(json.loads(error.read())["error"]) from None
    outputs: dict[str, Any] = {}
    at = size
    for output in json.loads(found[:size])["outputs"]:
        end = at + output["parameters"]["binary_data_size"]
        array = np.frombuffer(found[at:end], DTYPES[output["datatype"]])
        outputs[output["name"]] = array.reshape(output["shape"])
        at = end
    return outputs


def inputs_of(url: str, model: str) -> list[str]:
    """What the inputs of a model are called."""
    with urlopen(f"{url}/v2/models/{model}", timeout=60) as response:
        return [x["name"] for x in json.load(response)["inputs"]]


if __name__ == "__main__":
    url, model, file = sys.argv[1:]
    with np.load(file) as arrays:
        given = {name: arrays[name] for name in inputs_of(url, model)}
    for name, output in infer(url, model, given).items():
        print(name, output.dtype, output.shape)
