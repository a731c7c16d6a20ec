"""Results in arrays of the caller's, `f(x, out=array)`: where they come to lie, and what is refused."""

from typing import Any

import numpy as np
import pytest

import relay
from backend.reuse import peak
from generators.reuse import reusing
from relay.backend.native.host.context import read_leaf
from relay.backend.native.memory.layout import OUTPUTS_OFFSET

LAYER = """
def @main(%x: Tensor[(n, 64), float32], %w: Tensor[(512, 64), float32]) {
  (nn.relu(nn.dense(%x, %w)), (sum(%x), tanh(%w)))
}
"""


def draw(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype("float32")


def refused(call: Any) -> str:
    """The message of a call's only diagnostic."""
    with pytest.raises(relay.RelayError) as error:
        call()
    assert error.value.codes == ("output-array",)
    return error.value.diagnostics[0].message


def test_results_are_computed_in_the_arrays() -> None:
    built = relay.build(relay.parse(LAYER))
    x, w = draw(512, 64), draw(512, 64)
    out = np.empty((512, 512), "float32"), (np.empty((), "float32"), np.empty((512, 64), "float32"))
    expected = relay.parse(LAYER).evaluate("main", x, w)
    (a, (b, c)) = built(x, w, out=out)
    assert (a is out[0], b is out[1][0], c is out[1][1]) == (True, True, True)
    np.testing.assert_allclose(a, expected[0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(b, expected[1][0], rtol=1e-4)
    np.testing.assert_allclose(c, expected[1][1], rtol=1e-5)
    with_arrays = peak(built)
    assert with_arrays < a.nbytes / 2
    for at in built.program.contexts.known:
        assert read_leaf(at + OUTPUTS_OFFSET, "i64") == 0
    again = built(x, w)
    assert peak(built) - with_arrays >= a.nbytes, "no tensor is made for a result"
    assert again[0] is not a
    np.testing.assert_array_equal(again[0], a)
    (found, (number, _)) = built(x, w, out=(None, out[1]))
    assert found is not a
    assert number is out[1][0]


@pytest.mark.parametrize(
    "body",
    [
        "%x",
        "(%x, %x)",
        "(%y, %x)",
        "{ let %z = sort(%x); (%z, %z) }",
        "(if (%k > 0) { tanh(%x) } else { %y }, %x * 2f)",
        "@swap(%k, sort(%x), sort(%y))",
        "@down(%k, %x)",
        "(%x with { [0]: 7f }, %x @ transpose(%y))",
        "(reshape(%x, (8, 8)), reverse(%x, 0))",
        "zeros(shape=(8, 8), dtype=float32)",
    ],
)
def test_however_results_come_about(body: str) -> None:
    mod = relay.parse(f"""
    def @main(%k: int32, %x: T, %y: T) {{ {body} }}
    def @swap(%k: int32, %x: T, %y: T) -> (T, T) {{
      if (%k == 0) {{ (%x, %y) }} else {{ @swap(%k - 1, %y, %x * 0.5f) }}
    }}
    def @down(%k: int32, %x: T) -> T {{ if (%k == 0) {{ %x + 1f }} else {{ tanh(@down(%k - 1, %x)) }} }}
    """.replace("T,", "Tensor[(8, 8), float32],").replace("T)", "Tensor[(8, 8), float32])").replace(
        "T {", "Tensor[(8, 8), float32] {"
    ))  # fmt: skip
    built, x, y = relay.build(mod), draw(8, 8), draw(8, 9)[:, :8].copy()
    for k in (0, 3):
        expected = mod.evaluate("main", np.int32(k), x, y)
        is_tuple = isinstance(expected, tuple)
        a, b = np.full((8, 8), 9, "float32"), np.full((8, 8), 9, "float32")
        found = built(k, x, y, out=(a, b) if is_tuple else a)
        assert (found[0] if is_tuple else found) is a
        for p, q in zip((a, b) if is_tuple else (a,), expected if is_tuple else (expected,), strict=True):
            np.testing.assert_allclose(p, q, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(x, draw(8, 8))


def test_arrays_that_are_not_written_to_by_the_program_are_copied_to() -> None:
    """One that is an argument too, or whose elements lie apart."""
    mod = relay.parse("def @main(%x: Tensor[(6, 6), float32]) { reverse(%x, 0) + cumsum(%x, 0) }")
    built, x = relay.build(mod), draw(6, 6)
    expected = mod.evaluate("main", x)
    whole = np.zeros((6, 12), "float32")
    assert built(x, out=whole[:, ::2]).base is whole
    np.testing.assert_allclose(whole[:, ::2], expected, rtol=1e-6)
    assert not whole[:, 1::2].any()
    assert built(x, out=x) is x
    np.testing.assert_allclose(x, expected, rtol=1e-6)
    longer = np.zeros((7, 6), "float32")
    longer[:6] = draw(6, 6)
    built(longer[:6], out=longer[1:])
    np.testing.assert_allclose(longer[1:], expected, rtol=1e-6)


def test_donated_arrays_may_be_those_of_results() -> None:
    text = "def @main(%w: Tensor[(64,), float32], %x: Tensor[(64,), float32]) { (%w * 2f, %w + %x) }"
    built = relay.build(relay.parse(text), donate="w")
    w, x, other = np.ones(64, "float32"), np.ones(64, "float32"), np.zeros(64, "float32")
    a, b = built(w, x, out=(w, other))
    assert (a is w, b is other, a[0], b[0]) == (True, True, 2, 2)
    w[:] = 1
    a, b = built(w, x, out=(None, w))
    assert (b is w, a is w, a[0], b[0]) == (True, False, 2, 2)


@pytest.mark.parametrize(("n", "dtype"), [(0, "float32"), (3, "bfloat16"), (5, "int4"), (4, "bool")])
def test_zero_sizes_and_dtypes(n: int, dtype: str) -> None:
    kind = relay.const(0, dtype).value.dtype
    text = f"def @main(%x: Tensor[(n,), {dtype}], %y: Tensor[(m,), {dtype}]) {{ concatenate((%x, %y), 0) }}"
    built, x = relay.build(relay.parse(text)), np.ones(n, kind)
    out = np.zeros(2 * n, kind)
    assert built(x, x, out=out) is out
    assert out.astype("float32").tolist() == [1] * (2 * n)
    assert refused(lambda: built(x, x, out=np.zeros(2 * n + 1, kind))).startswith("`out` has the shape")


def test_sizes_that_are_known_afterwards() -> None:
    built = relay.build(relay.parse("def @main(%x: Tensor[(n,), int32]) { (%x + 1, unique(%x)) }"))
    x = np.asarray([3, 1, 3], "int32")
    fields = [v if i in (0, 1) else None for i, v in enumerate(built(x)[1])]
    out = np.zeros(3, "int32"), np.zeros(2, "int32")
    a, rest = built(x, out=(out[0], (out[1], *[None] * (len(fields) - 1))))
    assert a.tolist() == [4, 2, 4]
    assert rest[0] is out[1]
    assert sorted(out[1].tolist()) == [1, 3]
    out[0][:] = 0
    wrong = out[0], (np.zeros(3, "int32"), *[None] * (len(fields) - 1))
    assert refused(lambda: built(x, out=wrong)) == "`out[1][0]` has the shape (3,), the result (2,)"
    assert not out[0].any(), "nothing is written"


def test_what_cannot_take_a_result_is_refused_before_anything_is_written() -> None:
    built = relay.build(relay.parse(LAYER))
    x, w = draw(2, 64), draw(512, 64)
    y, z = np.zeros((2, 512), "float32"), np.zeros((512, 64), "float32")
    frozen = y.copy()
    frozen.flags.writeable = False
    both = np.zeros(2 * 512 + 512 * 64 - 8, "float32")
    for out, message in [
        ((np.zeros((2, 511), "float32"), None), "`out[0]` has the shape (2, 511), the result (2, 512)"),
        ((y, (None, np.zeros((512, 64)))), "`out[1][1]` has the dtype float64, the result float32"),
        ((y.astype(">f4"), None), "`out[0]` has the dtype >f4, the result float32"),
        ((frozen, None), "`out[0]` is read-only"),
        ((y, z), "`out[1]` is an array of float32 with the shape (512, 64), for a tuple of 2 results"),
        (y, "`out` is an array of float32 with the shape (2, 512), for a tuple of 2 results"),
        ((y, (None,)), "`out[1]` is a tuple of 1, for a tuple of 2 results"),
        ((y.tolist(), None), "`out[0]` is a list of 2: results are written to NumPy's arrays"),
        ((y, (1.0, None)), "`out[1][0]` is a Python float: results are written to NumPy's arrays"),
        (
            (both[:1024].reshape(2, 512), (None, both[1016:].reshape(512, 64))),
            "`out[0]` and `out[1][1]` share memory",
        ),
    ]:
        assert refused(lambda out=out: built(x, w, out=out)) == message
    assert not y.any()
    assert not both.any()
    listed = relay.parse('import "std/prelude"\ndef @main(%x: int32) { ([| %x |], %x) }')
    found = refused(lambda: relay.build(listed)(1, out=(y, None)))
    assert found == "`out[0]` is for a value of type List[int32], which is not a tensor"


def test_a_call_that_fails_leaves_nothing_behind() -> None:
    text = "def @main(%x: Tensor[(n,), int32], %y: int32) { (%x + 1, %x / reshape(%y, (1,))) }"
    built, out = relay.build(relay.parse(text)), (np.zeros(4, "int32"), np.zeros(4, "int32"))
    x = np.ones(4, "int32")
    for _ in range(3):
        with pytest.raises(relay.RelayError, match="divi"):
            built(x, 0, out=out)
        a, b = built(x, 1)
        assert a is not out[0]
        assert b is not out[1]
        assert built(x, 1, out=out)[1] is out[1]


def test_python_functions_files_and_parameters_of_that_name(tmp_path: Any) -> None:
    @relay.compile
    def step(x: Any) -> Any:
        return {"y": [relay.tanh(x), relay.sum(x)], "none": None}

    out = {"y": [np.zeros(3, "float32"), None], "none": None}
    x = np.ones(3, "float32")
    found = step(x, out=out)
    assert found["y"][0] is out["y"][0]
    assert found["y"][1] == 3
    np.testing.assert_allclose(out["y"][0], np.tanh(x), rtol=1e-6)
    assert refused(lambda: step(x, out={"y": [None]})) == (
        "`out` is a Python dict, for a result {'none': None, 'y': [*, *]}"
    )
    named = relay.compile(lambda out: out + 1.0)
    assert named(out=x).tolist() == [2, 2, 2]
    built = relay.build(relay.parse("def @main(%x: Tensor[(n,), float32]) { tanh(%x) }"))
    built.export_library(tmp_path / "f.rlo")
    y = np.zeros(3, "float32")
    assert relay.load_module(tmp_path / "f.rlo")(x=x, out=y) is y
    assert y[0] == np.tanh(np.float32(1))


@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed: int) -> None:
    check(seed)


@pytest.mark.long
def test_many_random_programs(seeds: range) -> None:
    for seed in seeds:
        check(seed)


def check(seed: int) -> None:
    """A random program leaves in arrays what it returns without them, also where these are arguments."""
    made = reusing(seed)
    built = relay.build(relay.parse(made.text), threads=1 + seed % 2)
    expected = built(*made.args)
    rng = np.random.default_rng(seed)
    given = [np.array(x) for x in made.args]
    mine = [*given[1:], *[np.zeros_like(given[1]) for _ in range(3)]]
    order = [mine[i] for i in rng.permutation(len(mine))]

    def arrays(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(arrays, value))
        return None if rng.random() < 0.3 else order.pop()

    def compare(value: Any, array: Any, was: Any) -> None:
        if isinstance(value, tuple):
            for v, a, w in zip(value, array or [None] * len(value), was, strict=True):
                compare(v, a, w)
        else:
            assert array is None or value is array
            np.testing.assert_array_equal(value, was, err_msg=f"seed {seed}")

    out = arrays(expected)
    compare(built(*given, out=out), out, expected)
