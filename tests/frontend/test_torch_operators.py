"""Operators of PyTorch, imported: PyTorch says what their results are."""

import pytest

pytest.importorskip("torch", reason="needs the torch extra")

import torch

from frontend import torch_cases
from frontend.torch_operands import Calling
from relay.frontend import from_pytorch

pytestmark = pytest.mark.torch

CASES = [(family, *case) for family, cases in torch_cases.FAMILIES.items() for case in cases]
NAMES = [f"{family}: {name}" for family, name, *_ in CASES]


def results(x):
    return [v for part in x for v in results(part)] if isinstance(x, tuple | list) else [x]


def imported(case):
    _, _, function, *inputs = case
    module = Calling(function).eval()
    return from_pytorch(module, tuple(inputs)), inputs, results(module(*inputs))


def assert_same(found, expected):
    for x, y in zip(results(found), expected, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_the_interpreter_gives_what_pytorch_gives(case):
    program, inputs, expected = imported(case)
    assert_same(program.interpret(*inputs), expected)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_machine_code_gives_what_pytorch_gives(case):
    program, inputs, expected = imported(case)
    assert_same(program(*inputs), expected)
