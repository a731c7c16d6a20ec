"""What definitions say of meshes of devices."""

from typing import Any

import pytest

import relay
from relay.analysis.sharding import sharding_of

STEP = """
type Layer { Layer { w: Tensor[(4, 2), float32], b: Tensor[(4,), float32] } }
attributes @step {
  mesh: {"data": 4, "model": 2},
  shard: %s
}
def @step(
  %%x: Tensor[(n, 6), float32], %%l: Layer, %%s: (float32, Tensor[(8,), float32]), %%t: List[float32]
) { %%x }
"""


def sharding(shard: str) -> Any:
    return sharding_of(relay.infer(relay.parse('import "std/list"\n' + STEP % shard)), "step")


def refused(shard: str) -> relay.Diagnostic:
    with pytest.raises(relay.RelayError) as error:
        sharding(shard)
    assert error.value.codes == ("bad-sharding",)
    return error.value.diagnostics[0]


def test_parameters_and_their_fields_are_split() -> None:
    found = sharding('{"x": ("data", None), "l.w": ("model",), "s.1": ("data",), "t": ("data",)}')
    assert found.mesh == {"data": 4, "model": 2}
    assert found.size == 8
    assert found.spec(("x",), (8, 6)) == ("data", None)
    assert found.spec(("l", "w"), (4, 2)) == ("model",)
    assert found.spec(("l", "b"), (4,)) == ()
    assert found.spec(("s", "1"), (8,)) == ("data",)
    assert found.spec(("s", "0"), ()) == ()


def test_what_is_said_of_a_whole_is_said_of_what_divides() -> None:
    found = sharding('{"l": ("data",), "s": (("data", "model"),)}')
    assert found.spec(("l", "w"), (4, 2)) == ("data",)
    assert found.spec(("l", "b"), (6,)) == ()
    assert found.spec(("s", "0"), ()) == ()
    assert found.spec(("s", "1"), (8,)) == (("data", "model"),)


@pytest.mark.parametrize(
    ("shard", "said", "under"),
    [
        ('{"y": ("data",)}', "there is no parameter `y`", "shard"),
        ('{"l.v": ("data",)}', "there is no field `v`", "shard"),
        ('{"s.2": ("data",)}', "there is no field `2`", "shard"),
        ('{"x.0": ("data",)}', "there is no field `0`", "shard"),
        ('{"x": ("date",)}', "the mesh has no axis `date`", "shard"),
        ('{"x": ("data", "data")}', "the axis `data` of the mesh is used twice", "shard"),
        ('{"x": (None, None, "data")}', "3 axes are named of a tensor of rank 2", '"x"'),
        ('{"x": (None, "data")}', "the size 6 of axis 1 is not a multiple of the 4 devices of `data`", '"x"'),
        ('{"s.1": (("model", "data"), None)}', "2 axes are named of a tensor of rank 1", '"s.1"'),
        ('{"x": 3}', "`shard` of `@step` cannot say 3 of 'x'", "shard"),
        ('("x", "data")', "`shard` of `@step` cannot be ('x', 'data')", "shard"),
    ],
)
def test_what_cannot_be_split_has_a_diagnostic_with_its_place(shard: str, said: str, under: str) -> None:
    found = refused(shard)
    assert said in found.message
    assert found.span is not None
    assert found.span.source.text[found.span.start : found.span.end] == under


def test_sizes_that_are_known_in_calls_are_checked_there() -> None:
    found = sharding('{"x": ("data", None)}')
    with pytest.raises(relay.RelayError, match="the size 7 of axis 0 is not a multiple"):
        found.spec(("x",), (7, 6))


@pytest.mark.parametrize("mesh", ["{}", '{"data": 0}', '{"data": 2.5}', '{"data": true}', "8", '("data", 8)'])
def test_a_mesh_has_numbers_by_names(mesh: str) -> None:
    mod = relay.infer(relay.parse(f"attributes @f {{ mesh: {mesh} }}\ndef @f(%x: float32) {{ %x }}"))
    with pytest.raises(relay.RelayError) as error:
        sharding_of(mod, "f")
    assert error.value.codes == ("bad-mesh",)


def test_parameters_are_split_over_a_mesh_only() -> None:
    mod = relay.infer(relay.parse('def @f(%x: float32, shard={"x": ()}) { %x }\ndef @c = 3'))
    with pytest.raises(relay.RelayError, match="needs a mesh"):
        sharding_of(mod, "f")
    assert sharding_of(mod, "c") is None


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ('shard(%x, spec=("data", "data"))', "used twice"),
        ('shard(%x, spec=(None, None, "data"))', "names 3 axes of a tensor of rank 2"),
    ],
)
def test_shard_is_checked_by_its_type(call: str, said: str) -> None:
    with pytest.raises(relay.RelayError, match=said) as error:
        relay.infer(relay.parse(f"def @f(%x: Tensor[(2, 3), float32]) {{ {call} }}"))
    assert error.value.codes == ("bad-sharding",)


def test_rows_of_a_batch_are_split_as_one_is() -> None:
    text = """
    def @f(%x: Tensor[(2, 3), float32]) { shard(%x, spec=("data",)) }
    def @main(%x: Tensor[(5, 2, 3), float32]) { vmap(@f)(%x) }"""
    assert 'spec=(None, "data")' in str(relay.transform.expand_grad(relay.infer(relay.parse(text))))


def test_shard_is_the_operand_in_machine_code() -> None:
    text = """
    def @f(%y: Tensor[(2,), float32]) { sum(shard(%y, spec=("a",)) * %y) }
    def @main(%x: Tensor[(2,), float32]) { grad(@f)(%x) }"""
    built = relay.build(relay.parse(text))
    assert built([1.0, 2.0])[1][0].tolist() == [2.0, 4.0]
