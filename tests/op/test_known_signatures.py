"""Builders called as in TVM 0.14: by position, with its defaults written out or left out.

`tests/known_tvm_signatures.txt` has its parameters; builders that differ are named on `docs/names.md`.
"""

import inspect
from typing import Any

import pytest

import relay
from op.operands import operands_of
from relay.ir.equal import structural_equal
from relay.ir.expr import Expr, Function, Var
from relay.ir.module import IRModule
from relay.op.arrays import array_type
from relay.op.base import Sample, sample
from relay.op.registry import alias_of, registry
from support import ROOT

LINES = (ROOT / "tests" / "known_tvm_signatures.txt").read_text().splitlines()[1:]
KNOWN: dict[str, list[inspect.Parameter]] = {
    name: list(inspect.signature(eval(f"lambda {parameters}: None")).parameters.values())
    for names, _, parameters in [line.removesuffix(")").partition("(") for line in LINES]
    for name in names.split()
}
DIFFERS = {
    "nn.dropout": "takes a random key before the rate",
    "nn.dropout_raw": "takes a random key before the rate",
    "nn.bitserial_conv2d": "`kernel_size` is that of the weight unless it is given",
    "nn.contrib_dense_pack": "`weight_layout` is `NC8n` unless it is given",
    "image.affine_grid": "`target_shape` has to be given",
}
SAMPLES = {"arange": sample(start=5)}
"""Samples of builders that need more than the operator does."""
RENAMED = {"out_shape": "shape"}
"""Attributes by their names as parameters."""
UNSAID = (None, "", ())
"""Defaults that leave the choice to the operator."""


def builder_of(name: str) -> Any:
    """The builder that is found at a path of the package."""
    home: Any = relay
    for part in name.split("."):
        home = getattr(home, part)
    return home


@pytest.mark.parametrize("name", sorted(KNOWN.keys() - DIFFERS))
def test_parameters_have_the_known_order_and_defaults(name: str) -> None:
    kinds = inspect.Parameter
    ours = [
        p for p in inspect.signature(builder_of(name)).parameters.values() if p.kind != kinds.KEYWORD_ONLY
    ]
    if any(p.kind == kinds.VAR_POSITIONAL for p in ours):
        return  # a sparse matrix, in one argument or in three
    for known, own in zip(KNOWN[name], ours, strict=False):
        assert known.name == own.name
        if known.default is not kinds.empty:
            assert own.default == known.default or {own.default, known.default} <= {*UNSAID}
    assert len(ours) >= len(KNOWN[name])
    assert all(p.default is not kinds.empty for p in ours[len(KNOWN[name]) :])


def arguments(name: str, s: Sample, xs: list[Any]) -> dict[str, Any]:
    """The arguments of a sample by the known names; operands are `xs`."""
    cls, known = registry[alias_of.get(text_name(name), text_name(name))], KNOWN[name]
    names = [*cls.operands[: len(xs)]]
    if cls.variadic:
        names = [p.name for p in known[: len(xs)]]
    elif "nn.sparse_" in name:
        names = [p.name for p in known if p.default is p.empty]
        xs = [*xs[: len(names) - 1], (*xs[len(names) - 1 :],)]
    elif not {*names} <= {p.name for p in known}:
        names = [p.name for p in known[: len(xs)]]
    return {**dict(zip(names, xs, strict=True)), **{RENAMED.get(k, k): v for k, v in s.attrs.items()}}


def text_name(name: str) -> str:
    """The name of the operator of a builder."""
    return name.replace("qnn.op.", "qnn.")


def inferred(params: list[Var], e: Expr) -> IRModule:
    """A module of the expression, typed."""
    return relay.infer(IRModule.from_expr(Function(tuple(params), e)))


@pytest.mark.parametrize("name", sorted(KNOWN.keys() - DIFFERS))
def test_defaults_may_be_given_by_position_or_left_out(name: str) -> None:
    cls, build = registry[alias_of.get(text_name(name), text_name(name))], builder_of(name)
    for s in [SAMPLES[name]] if name in SAMPLES else cls.samples:
        xs = [Var(f"x{i}", array_type(x)) for i, x in enumerate(operands_of(s))]
        required = [p.name for p in KNOWN[name] if p.default is p.empty]
        names = {p.name for p in KNOWN[name]}
        is_listed = cls.variadic or "nn.sparse_" in name or {*cls.operands[: len(xs)]} <= names
        if len(xs) > len(required) and not is_listed:
            continue  # with an operand that the original does not have
        given = arguments(name, s, xs)
        if not given.keys() <= names:
            continue  # with an attribute that the original does not have
        by_position = [given.get(p.name, p.default) for p in KNOWN[name]]
        if not {*required} <= given.keys():
            continue
        assert structural_equal(inferred(xs, build(*by_position)), inferred(xs, build(**given))), s


def test_builders_that_differ_are_on_the_page_of_names() -> None:
    page = (ROOT / "docs" / "names.md").read_text()
    for name in DIFFERS:
        module, _, last = f"relay.{name}".rpartition(".")
        row = next(
            (r for r in page.splitlines() if f"`relay.{name}`" in r or f"| `tvm.{module}` | `{last}` |" in r),
            "",
        )
        assert DIFFERS[name] in row, name
