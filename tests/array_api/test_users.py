"""What is written for the standard runs on arrays of `relay.numpy`."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import relay

xp = relay.numpy


@pytest.mark.long
@pytest.mark.parametrize("library", ["scipy", "sklearn"])
def test_libraries_agree_with_themselves_on_numpy(library: str) -> None:
    pytest.importorskip(library, reason=f"needs {library}, which `.ci/run-extras scipy` installs")
    program = Path(__file__).with_name("users.py")
    done = subprocess.run([sys.executable, program, library], capture_output=True, text=True, check=False,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})  # fmt: skip
    assert done.stdout == "done\n", done.stdout + done.stderr


def test_array_api_compat_knows_the_namespace() -> None:
    compat = pytest.importorskip("array_api_compat", reason="needs array-api-compat, of the test extra")
    x = xp.asarray([[1.0, 2.0]])
    assert compat.is_array_api_obj(x)
    assert compat.array_namespace(x, xp.ones(3), 1.0, None) is xp
    assert compat.device(x) == "cpu"
    assert compat.to_device(x, "cpu") is x
    assert compat.size(x) == 2
    assert not compat.is_lazy_array(x)


def test_a_function_for_any_namespace_is_traced() -> None:
    compat = pytest.importorskip("array_api_compat", reason="needs array-api-compat, of the test extra")

    def softmax(x):
        ns = compat.array_namespace(x)
        e = ns.exp(x - ns.max(x, axis=-1, keepdims=True))
        return e / ns.sum(e, axis=-1, keepdims=True)

    x = xp.asarray([[1.0, 2.0, 3.0]], dtype=xp.float64)
    expected = softmax(np.asarray(x))
    for found in (softmax(x), relay.function(softmax)(x), relay.compile(softmax)(x)):
        assert isinstance(found, xp.Array)
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)
