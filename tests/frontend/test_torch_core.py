"""The operators that PyTorch calls core: each gives what PyTorch gives, or the page says why not."""

import re

import pytest

pytest.importorskip("torch", reason="needs the torch extra")

import torch

from frontend import torch_core_cases as cases
from frontend.torch_operands import Calling
from relay import RelayError
from relay.frontend import from_pytorch
from support import ROOT

pytestmark = pytest.mark.torch
CORE = cases.core()


def left_out() -> set[str]:
    """The operators in the table of the page."""
    section = (ROOT / "docs" / "pytorch.md").read_text().partition("## Core operators")[2]
    rows = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`aten\.([\w.]+)`", row.split("|")[1])}


ABSENT = {name for name in CORE if name in left_out() or name.partition(".")[0] in left_out()}
GIVEN = [(n, cases.operands(n, CORE[n])) for n in sorted(CORE) if n not in ABSENT] + cases.FURTHER


def leaves(x):
    if isinstance(x, tuple | list):
        return [v for part in x for v in leaves(part)]
    return [] if x is None else [x]


def imported(name, operands):
    """A module of the operator alone, its operands that are tensors as inputs; and what it gives."""
    tensors = [x for x in leaves(operands) if isinstance(x, torch.Tensor)]
    further = cases.BY_NAME.get(name, {})

    def function(*given):
        left = iter(given)

        def placed(x):
            if isinstance(x, tuple | list):
                return [placed(v) for v in x]
            return next(left) if isinstance(x, torch.Tensor) else x

        results = {"out": given[0].clone()} if name.endswith(".out") else further
        found = CORE[name](*placed(operands), **results)
        return found[0] if name in cases.FIRST_RESULT else found

    program = from_pytorch(Calling(function), copies(tensors))
    return program, copies(tensors), leaves(function(*copies(tensors)))


def copies(tensors):
    """Tensors of their own for a call, since some operators write to their operands."""
    return tuple(t.clone() for t in tensors)


def assert_same(name, found, expected):
    for x, y in zip(leaves(found), expected, strict=True):
        if name in cases.WITHOUT_VALUES:
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
        else:
            torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize(("name", "operands"), GIVEN, ids=[n for n, _ in GIVEN])
def test_the_interpreter_gives_what_pytorch_gives(name, operands):
    program, tensors, expected = imported(name, operands)
    assert_same(name, program.interpret(*tensors), expected)


@pytest.mark.long
@pytest.mark.parametrize(("name", "operands"), GIVEN, ids=[n for n, _ in GIVEN])
def test_machine_code_gives_what_pytorch_gives(name, operands):
    program, tensors, expected = imported(name, operands)
    assert_same(name, program(*tensors), expected)


def test_operators_of_the_table_are_core_and_have_no_conversion():
    from relay.frontend.torch import registry

    registry.load_families()
    names = {f"aten.{n.partition('.')[0]}" for n in CORE}
    assert {f"aten.{n}" for n in left_out()} <= names
    assert not [n for n in ABSENT if registry.find(CORE[n]) is not None]


def test_the_page_says_how_many_there_are():
    numbers = f"{len(CORE)} overloads of {len({n.partition('.')[0] for n in CORE})} names in 2.13"
    assert numbers in (ROOT / "docs" / "pytorch.md").read_text()


def test_what_is_left_out_is_refused():
    with pytest.raises(RelayError, match="torch-unsupported"):
        from_pytorch(Calling(lambda x: x + torch.rand(3)), (torch.ones(3),))
