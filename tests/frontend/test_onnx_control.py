"""Choices, loops, scans and sequences of ONNX models."""

from typing import Any

import numpy as np
import pytest

import relay
from frontend.onnx_models import model, node

pytestmark = pytest.mark.onnx
EXECUTORS = ("debug", "native")


@pytest.fixture(autouse=True)
def _needs_onnx() -> None:
    pytest.importorskip("onnx", reason="needs the onnx extra")


def imported(proto: Any) -> Any:
    return relay.frontend.from_onnx(proto)


def value(proto: Any, *arrays: Any) -> Any:
    mod, _ = imported(proto)
    return relay.create_executor("debug", mod=mod).evaluate()(*arrays)


def graph(nodes: Any, inputs: dict[str, Any], outputs: Any) -> Any:
    """A graph within a node; inputs have numbers of dtypes and sizes."""
    from onnx import helper

    declared = [helper.make_tensor_value_info(n, *what) for n, what in inputs.items()]
    return helper.make_graph(
        nodes, "body", declared, [helper.make_empty_tensor_value_info(n) for n in outputs]
    )


def test_a_loop_is_a_function_that_calls_itself() -> None:
    from onnx import TensorProto, helper

    body = helper.make_graph(
        [node("Add", ["s", "s"], ["s2"]), node("Identity", ["c"], ["c2"]), node("Identity", ["s2"], ["row"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("s", TensorProto.FLOAT, [1]),
        ],
        [helper.make_empty_tensor_value_info(n) for n in ("c2", "s2", "row")],
    )
    proto = model(
        [node("Loop", ["n", "", "x"], ["last", "rows"], body=body)],
        {"n": ("int64", []), "x": ("float32", [1])},
        ["last", "rows"],
    )
    last, rows = value(proto, np.int64(3), np.array([1], "float32"))
    np.testing.assert_array_equal(last, [8])
    np.testing.assert_array_equal(rows, [[2], [4], [8]])


def test_a_choice_between_graphs() -> None:
    from onnx import helper

    def graph(kind: str) -> Any:
        return helper.make_graph(
            [node(kind, ["x"], ["out"])], kind, [], [helper.make_empty_tensor_value_info("out")]
        )

    proto = model(
        [node("If", ["c"], ["y"], then_branch=graph("Neg"), else_branch=graph("Abs"))],
        {"c": ("bool", []), "x": ("float32", [2])},
        ["y"],
    )
    x = np.array([1, -2], "float32")
    np.testing.assert_array_equal(value(proto, True, x), [-1, 2])
    np.testing.assert_array_equal(value(proto, False, x), [1, 2])


def test_sequences_of_open_length_are_lists() -> None:
    from onnx import TensorProto, helper

    element = helper.make_tensor_type_proto(TensorProto.FLOAT, [None])
    proto = model(
        [node("SequenceInsert", ["xs", "x"], ["more"]), node("SequenceAt", ["more", "i"], ["y"])],
        {"x": ("float32", [2]), "i": ("int64", [])},
        ["y"],
    )
    proto.graph.input.append(helper.make_value_info("xs", helper.make_sequence_type_proto(element)))
    mod, _ = imported(proto)
    call = relay.create_executor("debug", mod=mod).evaluate()
    xs, x = [np.zeros(3, "float32"), np.ones(1, "float32")], np.array([5, 6], "float32")
    np.testing.assert_array_equal(call(x, np.int64(-1), xs), x)
    np.testing.assert_array_equal(call(x, np.int64(0), xs), xs[0])


def summing(most: float | None) -> Any:
    """A loop that adds 1 up to `most`, or so many times, and collects the sums and their squares."""
    from onnx import TensorProto

    number: Any = (TensorProto.FLOAT, [])
    more = node("Identity", ["c"], ["c2"]) if most is None else node("Less", ["s2", "most"], ["c2"])
    nodes = [node("Add", ["s", "one"], ["s2"]), more, node("Mul", ["s2", "s2"], ["square"])]
    inputs: dict[str, Any] = {"i": (TensorProto.INT64, []), "c": (TensorProto.BOOL, []), "s": number}
    body = graph(nodes, inputs, ["c2", "s2", "s2", "square"])
    loop = node("Loop", ["", "go", "x"] if most else ["n", "", "x"], ["last", "sums", "squares"], body=body)
    return model(
        [loop],
        {**({"go": ("bool", [])} if most else {"n": ("int64", [])}), "x": ("float32", [])},
        ["last", "sums", "squares"],
        {"one": np.float32(1), "most": np.float32(most or 0)},
    )


@pytest.mark.parametrize("executor", EXECUTORS)
def test_what_rounds_give_is_stacked(executor: str) -> None:
    several = relay.create_executor(executor, mod=imported(summing(None))[0]).evaluate()
    until = relay.create_executor(executor, mod=imported(summing(7.0))[0]).evaluate()
    for n in (-1, 0, 1, 2, 7, 33):
        wanted = np.arange(1, max(n, 0) + 1, dtype="float32")
        for found, one in zip(
            several(np.int64(n), np.float32(0)), (max(n, 0), wanted, wanted**2), strict=True
        ):
            np.testing.assert_array_equal(found, one)
    for start, going in ((0.0, True), (6.0, True), (9.0, True), (0.0, False)):
        wanted = np.arange(start + 1, max(start + 2, 8), dtype="float32") if going else np.ones(0, "float32")
        last, sums, squares = until(going, np.float32(start))
        assert last == (wanted[-1] if going else start)
        np.testing.assert_array_equal(sums, wanted)
        np.testing.assert_array_equal(squares, wanted**2)


def test_many_rounds_take_no_longer_each() -> None:
    call = relay.create_executor("native", mod=imported(summing(None))[0]).evaluate()
    last, sums, _ = call(np.int64(1_000_000), np.float32(0))
    assert last == 1_000_000
    assert sums.shape == (1_000_000,)


def test_the_number_of_rounds_of_a_scan_is_a_size() -> None:
    from onnx import TensorProto

    row = (TensorProto.FLOAT, [2])
    body = graph([node("Add", ["s", "x"], ["t"])], {"s": row, "x": row}, ["t", "t"])
    scan = node(
        "Scan", ["s", "xs"], ["last", "sums"], body=body, num_scan_inputs=1, scan_input_directions=[1]
    )
    proto = model([scan], {"s": ("float32", [2]), "xs": ("float32", ["n", 2])}, ["last", "sums"])
    mod, _ = imported(proto)
    assert "-> (Tensor[(2,), float32], Tensor[(n, 2), float32])" in str(mod)
    xs = np.arange(10, dtype="float32").reshape(5, 2)
    wanted = np.cumsum(xs[::-1], axis=0)
    for executor in EXECUTORS:
        last, sums = relay.create_executor(executor, mod=mod).evaluate()(np.zeros(2, "float32"), xs)
        np.testing.assert_array_equal(last, wanted[-1])
        np.testing.assert_array_equal(sums, wanted)


OUTSIDE = [("SequenceInsert", 3), ("SequenceInsert", -3), ("SequenceErase", 2), ("SequenceAt", -3)]


@pytest.mark.parametrize(("kind", "place"), OUTSIDE)
def test_places_outside_of_a_sequence_are_refused(kind: str, place: int) -> None:
    operands = ["xs", "x", "place"] if kind == "SequenceInsert" else ["xs", "place"]
    nodes = [node("SequenceConstruct", ["x", "x"], ["xs"]), node(kind, operands, ["y"])]
    if kind != "SequenceAt":
        nodes.append(node("SequenceLength", ["y"], ["z"]))
    proto = model(nodes, {"x": ("float32", [2])}, [nodes[-1].output[0]], {"place": np.int64(place)})
    with pytest.raises(relay.RelayError, match=f"there is no place {place} in a sequence of 2"):
        imported(proto)


@pytest.mark.parametrize("sizes", [[2, 2], [2, 3, 1], [6, -1], [4]])
def test_parts_must_be_those_of_the_whole(sizes: list[int]) -> None:
    outputs = [f"y{k}" for k in range(len(sizes))]
    split = node("Split", ["x", "sizes"], outputs)
    proto = model([split], {"x": ("float32", [5])}, outputs, {"sizes": np.array(sizes)})
    with pytest.raises(relay.RelayError, match="are not those of parts of 5"):
        imported(proto)


def test_a_loop_lengthens_a_sequence_of_several_ranks() -> None:
    from frontend.onnx_suites import cases
    from relay.frontend.onnx.backend import prepare

    case = next(c for c in cases("node") if c.name == "test_loop16_seq_none")
    ((inputs, (expected,)),) = case.data_sets
    for executor in EXECUTORS:
        (found,) = prepare(case.model, "CPU", executor).run(inputs)
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
