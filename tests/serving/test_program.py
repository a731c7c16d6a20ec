"""Programs as models: their inputs and outputs, how their requests are joined, and what cannot be served."""

import numpy as np
import pytest

import relay
from relay.serving.joining import kind_of, run_joined
from relay.serving.model import Joining
from relay.serving.program import ProgramModel, compiled_model, program_model

ROWS = "def @main(%x: Tensor[(n, 4), float32]) { (nn.relu(%x) * 2.0, sum(%x, axis=1)) }"
FAILING = 'def @main(%x: Tensor[(n,), int32]) { take([1.0, 2.0, 3.0], %x, mode="fast") }'


def model(text: str, **options: object) -> ProgramModel:
    return program_model(relay.parse(f'#[version = "0.0.5"]\n{text}', "model.relay"), **options)


def joined(made: ProgramModel, requests: list[list[np.ndarray]]) -> list[object]:
    assert len({kind_of(made, arrays)[0] for arrays in requests}) == 1
    return run_joined(made, requests)


def test_specs_are_those_of_the_protocol() -> None:
    made = model("def @main(%a: Tensor[(n, 2), bfloat16], %t: string) { ((%t, 1i8), sum(%a, axis=1)) }")
    assert [spec.metadata() for spec in made.inputs] == [
        {"name": "a", "datatype": "BF16", "shape": [-1, 2]},
        {"name": "t", "datatype": "BYTES", "shape": []},
    ]
    assert [(s.name, s.datatype, s.shape) for s in made.outputs] == [
        ("output0", "BYTES", ()), ("output1", "INT8", ()), ("output2", "BF16", ("n",)),
    ]  # fmt: skip
    found = made(
        [np.ones((3, 2), "float32").astype(relay.ir.dtype.to_numpy("bfloat16")), np.array("a", object)]
    )
    assert [x.shape for x in found] == [(), (), (3,)]
    assert found[0][()] == "a"


def test_requests_of_independent_rows_are_joined_along_them() -> None:
    made = model(ROWS)
    assert made.joining is Joining.ROWS
    requests = [[np.full((i, 4), i, "float32")] for i in (1, 0, 3)]
    for (x,), found in zip(requests, joined(made, requests), strict=True):
        np.testing.assert_array_equal(found[0], 2 * x)
        np.testing.assert_array_equal(found[1], 4 * x[:, 0])


def test_other_requests_of_equal_shapes_are_stacked() -> None:
    made = model("def @main(%x: Tensor[(n, 2), float32], %k: float32) { (%x - mean(%x, axis=0)) * %k }")
    assert made.joining is Joining.STACKED
    rng = np.random.default_rng(0)
    requests = [[rng.random((3, 2), "float32"), np.float32(i) + np.zeros((), "float32")] for i in range(4)]
    for (x, k), (found,) in zip(requests, joined(made, requests), strict=True):
        np.testing.assert_allclose(found, (x - x.mean(0)) * k, rtol=1e-6)
    assert kind_of(made, [np.zeros((2, 2), "float32"), requests[0][1]]) != kind_of(made, requests[0])


@pytest.mark.parametrize(
    ("text", "options", "why"),
    [
        (ROWS, {"join": "off"}, ""),
        ("def @main(%x: Tensor[(4,), float32]) { argwhere(%x > 0.0) }", {}, "row by row"),
    ],
)
def test_what_is_computed_alone_says_why(text: str, options: dict[str, str], why: str) -> None:
    made = model(text, **options)
    assert made.joining is Joining.ALONE
    assert why in made.why_alone


def test_whoever_serves_a_model_may_say_that_its_rows_are_independent() -> None:
    made = model("def @main(%x: Tensor[(n, 4), float32]) { cumsum(%x, axis=1) }", join="rows")
    assert made.joining is Joining.ROWS
    with pytest.raises(relay.RelayError, match="serve-model"):
        model("def @main(%x: Tensor[(4,), float32]) { %x }", join="rows")


def test_a_request_that_fails_fails_alone() -> None:
    made = model(FAILING)
    assert made.joining is Joining.ROWS
    good, bad, other = joined(made, [[np.array([i], "int32")] for i in (0, 9, 2)])
    assert good[0].tolist() == [1.0]
    assert other[0].tolist() == [3.0]
    assert bad.codes == ("index-out-of-range",)


def test_arrays_that_do_not_fit_are_refused_before_they_are_joined() -> None:
    made = model("def @main(%x: Tensor[(n, d), float32], %y: Tensor[(n, d), float32]) { %x + %y }")
    made.check([np.zeros((2, 3), "float32"), np.zeros((2, 3), "float32")])
    with pytest.raises(relay.RelayError, match="argument-type"):
        made.check([np.zeros((2, 3), "float32"), np.zeros((2, 4), "float32")])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def @main(%f: fn(int32) -> int32) { %f(3) }", "is of type fn(int32) -> int32"),
        ("def @main(%x: Tensor[(2,), int4]) { %x }", "is of int4"),
        ("type T { A, B }\ndef @main(%x: int32) { A }", "the result is of type T"),
        ("def @main() { 3 }", ""),
    ],
)
def test_what_the_protocol_does_not_have_cannot_be_served(text: str, said: str) -> None:
    if not said:
        assert model(text)([])[0].tolist() == 3
        return
    with pytest.raises(relay.RelayError, match="serve-model") as caught:
        model(text)
    assert said in str(caught.value)
    assert "model.relay:" in str(caught.value)


def test_a_compiled_file_is_served_by_its_entry(tmp_path) -> None:
    relay.build(relay.parse(f'#[version = "0.0.5"]\n{ROWS}')).export_library(tmp_path / "rows.rlo")
    built = relay.load_module(tmp_path / "rows.rlo")
    assert compiled_model(built).joining is Joining.ALONE
    made = compiled_model(built, join="rows")
    assert made.joining is Joining.ROWS
    assert joined(made, [[np.ones((1, 4), "float32")]] * 2)[1][1].tolist() == [4.0]
