"""Compiled definitions as functions of Python: what goes in, what comes out, what is refused."""

import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host.native_program import NativeProgram

ADD = "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) { %x + %y }"


def function(text: str) -> Any:
    return NativeProgram(relay.parse(text), direct=True).function("main")


def test_numbers_are_those_of_numpy() -> None:
    f = function(
        'def @main(%x: float64, %n: int32, %b: bool) { if (%b) { %x * 2f64 } else { cast(%n, "float64") } }'
    )
    assert f(1.5, 3, True) == 3.0
    assert f(1.5, 3, False) == 3.0
    assert type(f(1.5, 3, True)) is np.float64
    assert f(np.float64(1.5), np.int32(3), np.bool_(True)) == 3.0
    assert type(function("def @main(%n: int64) { %n + 1 }")(5)) is np.int64
    assert function("def @main(%n: int8) { %n < 1 }")(5) is np.False_


INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *FLOATS])
def test_a_number_of_numpy_is_read_by_its_dtype(dtype: str) -> None:
    f = function(f"def @main(%n: {dtype}, %m: {dtype}) {{ (%m, %n) }}")
    one, two = np.dtype(dtype).type(1), np.dtype(dtype).type(0 if dtype == "bool" else 2)
    assert f(one, two) == (two, one)
    assert f(one, two.item()) == (two, one)
    if np.dtype(dtype).kind in "iu":
        last = np.dtype(dtype).type(np.iinfo(dtype).max)
        assert f(last, one) == (one, last)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_a_result_keeps_its_dtype(dtype: str) -> None:
    """As the interpreter returns them, so that further arithmetic keeps to the dtype."""
    text = f"def @main(%n: {dtype}) {{ %n + %n }}"
    found, wanted = function(text)(100), relay.parse(text).evaluate("main", 100)
    assert type(found) is type(wanted) is np.dtype(dtype).type
    assert found == wanted


@pytest.mark.parametrize("dtype", INTEGERS)
def test_whole_numbers_of_any_size(dtype: str) -> None:
    f = function(f"def @main(%n: {dtype}) {{ %n }}")
    info = np.iinfo(dtype)
    for n in (info.min, info.max, 0, 1, 7):
        assert f(int(n)) == int(n)
    for n in (int(info.min) - 1, int(info.max) + 1, 2**70, -(2**70)):
        with pytest.raises(relay.RelayError) as found:
            f(n)
        assert found.value.codes == ("argument-type",)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e5m2", "int4"])
def test_numbers_of_short_types(dtype: str) -> None:
    f = function(f"def @main(%x: {dtype}) {{ %x + %x }}")
    plain = [2] if dtype == "int4" else [2, 2.0]
    for x in (*plain, relay.ir.dtype.to_numpy(dtype).type(2)):
        assert float(f(x)) == 4.0


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "uint32", "bool", "int64"])
def test_arrays(dtype: str) -> None:
    f = function(f"def @main(%x: Tensor[(2, 3), {dtype}]) {{ transpose(%x) }}")
    x = np.arange(6).reshape(2, 3).astype(relay.ir.dtype.to_numpy(dtype))
    found = f(x)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, x.T)
    assert found.flags.owndata


def test_arrays_that_are_laid_out_otherwise() -> None:
    f = function(ADD)
    x = np.arange(6, dtype="float32").reshape(2, 3)
    odd = np.frombuffer(b"\0" + x.tobytes(), "uint8")[1:].view("float32").reshape(2, 3)
    still = x.copy()
    still.flags.writeable = False
    for other in (
        np.asfortranarray(x),
        np.repeat(x, 2, axis=1)[:, ::2],
        odd,
        still,
        x.tolist(),
        x.astype(">f4"),
    ):
        np.testing.assert_array_equal(f(x, other), x + x)


@pytest.mark.parametrize(
    "bad", [np.ones((3, 2), "float32"), np.ones((2, 3)), np.ones(6, "float32"), "text", None]
)
def test_arrays_that_do_not_fit_are_refused(bad: Any) -> None:
    f = function(ADD)
    with pytest.raises(relay.RelayError) as found:
        f(np.ones((2, 3), "float32"), bad)
    assert found.value.codes == ("argument-type",)
    with pytest.raises(relay.RelayError) as found:
        f(np.ones((2, 3), "float32"))
    assert found.value.codes == ("argument-count",)


def test_an_argument_beside_one_that_is_refused_is_let_go() -> None:
    f = function(ADD)
    x = np.ones((2, 3), "float32")
    count = sys.getrefcount(x)
    f(x, np.asfortranarray(x * 2))
    with pytest.raises(relay.RelayError):
        f(x, "text")
    assert sys.getrefcount(x) == count


def test_every_byte_but_0_is_true() -> None:
    x = np.arange(70, dtype="uint8").view("bool")
    f = function(
        "def @main(%x: Tensor[(n,), bool]) { where(%x, 1f, 2f) + where(reverse(%x, axis=0), 4f, 8f) }"
    )
    np.testing.assert_array_equal(f(x), np.where(x, 1, 2) + np.where(x[::-1], 4, 8))
    assert function("def @main(%x: Tensor[(1,), bool]) { any(%x) }")(x[2:3]) is np.True_


def test_parameters_are_called_anything() -> None:
    mod = relay.parse("def @main(%self: float32, %entry: float32, %what: float32) { %self - %entry * %what }")
    named = {"self": 7.0, "entry": 2.0, "what": 3.0}
    calls = (relay.build(mod), *[relay.create_executor(kind, mod).evaluate() for kind in ("native", "debug")])
    assert [float(call(**named)) for call in calls] == [1.0, 1.0, 1.0]
    assert float(relay.run(mod, named=named)) == 1.0


def test_large_results_are_not_copied_and_can_be_written() -> None:
    f = function("def @main(%x: Tensor[(100, 100), float32]) { %x + 1f }")
    x = np.ones((100, 100), "float32")
    y = f(x)
    assert not y.flags.owndata
    y[0, 0] = 9
    assert f(x)[0, 0] == 2
    assert f(y)[0, 0] == 10


def run_without_memory(body: str) -> subprocess.CompletedProcess[str]:
    """Run a process that calls `@main(%x) { body }` where there is no memory for its result, and prints what
    it gives for a small `%x`.
    """
    code = f"""
import resource
import numpy as np
import relay
f = relay.build(relay.parse("def @main(%x: Tensor[(n,), float32]) {{ {body} }}"))["main"]
x = np.ones(100_000_000, "float32")
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 100_000_000, resource.RLIM_INFINITY))
try:
    f(x)
except MemoryError:
    print(f(x[:2]))
"""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space is limited as on Linux")
def test_no_memory_for_a_copy_is_an_error() -> None:
    ran = run_without_memory("%x")
    assert ran.stdout == "[1. 1.]\n", ran.stderr


def test_an_argument_that_comes_back_is_another_array() -> None:
    f = function("def @main(%x: Tensor[(100, 100), float32]) { %x }")
    x = np.ones((100, 100), "float32")
    count = sys.getrefcount(x)
    y = f(x)
    y[0, 0] = 5
    assert x[0, 0] == 1
    assert sys.getrefcount(x) == count


def test_failures_are_raised() -> None:
    f = function("def @main(%x: int32, %y: int32) { %x / %y }")
    with pytest.raises(relay.RelayError) as found:
        f(1, 0)
    assert found.value.codes == ("divide-by-zero",)
    assert f(7, 2) == 3


def test_threads_call_one_function() -> None:
    f = function("def @main(%x: Tensor[(16,), float32]) { %x * 2f }")
    wrong: list[int] = []

    def work(k: int) -> None:
        x = np.full(16, k, "float32")
        wrong.extend([k for _ in range(2000) if not (f(x) == 2 * k).all()])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_arrays_of_open_sizes_are_read_where_they_are() -> None:
    text = "def @main(%x: Tensor[(n, 3), float32], %y: Tensor[(n, ?), float32]) {"
    program = NativeProgram(relay.parse(text + " concatenate((%x + 1f, %y), axis=1) }"), direct=True)
    assert program.entries["main"].direct
    f = program.function("main")
    for n, m in ((2, 1), (0, 5), (1000, 7), (3, 0)):
        x, y = (np.full((n, k), k, "float32") for k in (3, m))
        for given in (y, np.asfortranarray(y)):
            np.testing.assert_array_equal(f(x, given), np.concatenate([x + 1, y], 1))
    with pytest.raises(relay.RelayError) as found:
        f(np.ones((2, 3), "float32"), np.ones((3, 3), "float32"))
    assert found.value.codes == ("argument-type",)
    same = function("def @main(%x: Tensor[(?,), float32]) { %x }")
    x = np.ones(5000, "float32")
    same(x)[0] = 5
    assert x[0] == 1


def test_tuples_come_out_directly_as_the_long_way_makes_them() -> None:
    program = NativeProgram(
        relay.parse("""
    def @main(%x: Tensor[(n, 4), float32], %k: int64, %b: bool) {
      (%x + 1f, (cast(%k, "uint8"), (), (%x,), %b), %k, %x, cast(%k, "float64"), cast(%x, "float16"),
       (cast(%k, "uint64"), cast(%k, "float32"), cast(%x, "int8"), %x[0]))
    }
    """),
        direct=True,
    )
    assert program.entries["main"].direct
    f = program.function("main")
    for n in (1, 3, 1000):
        x = np.arange(4.0 * n, dtype="float32").reshape(n, 4) % 100
        found, wanted = f(x, 200, True), program.evaluate("main", x, 200, True)
        assert repr(found) == repr(wanted)
        assert found[0].flags.writeable
        np.testing.assert_array_equal(found[3], x)
        assert not any(np.shares_memory(a, b) for a, b in [(found[3], x), (found[3], found[1][2][0])])
        counts = sys.getrefcount(x), sys.getrefcount(x.dtype)
        for _ in range(10):
            f(x, 200, True)
        assert counts == (sys.getrefcount(x), sys.getrefcount(x.dtype))
    y = np.ones((1000, 4), "float32")
    same = f(y, 1, False)
    same[3][:] = 5
    assert (same[1][2][0] == 1).all()
    assert (y == 1).all()


def test_one_large_tensor_twice_in_a_tuple_is_two_arrays() -> None:
    f = function("def @main(%x: Tensor[(n,), float32]) { let %y = %x + 1f; (%y, (%y, ()), %y) }")
    first, (second, unit), third = f(np.zeros(5000, "float32"))
    first[:] = 7
    second[:] = 8
    assert (third == 1).all()
    assert (first == 7).all()
    assert unit == ()
    assert function("def @main(%x: float32) { () }")(1.0) == ()


def test_results_of_many_parts_go_the_long_way() -> None:
    fields = ", ".join(["%x"] * 200)
    program = NativeProgram(
        relay.parse(f"def @main(%x: Tensor[(2,), float32]) {{ ({fields}) }}"), direct=True
    )
    assert not program.entries["main"].direct
    assert len(program.function("main")(np.ones(2, "float32"))) == 200


def test_failures_in_tuples_are_raised() -> None:
    f = function("def @main(%x: int32, %y: int32) { (%x, %x / %y) }")
    with pytest.raises(relay.RelayError) as found:
        f(1, 0)
    assert found.value.codes == ("divide-by-zero",)
    assert f(7, 2) == (7, 3)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space is limited as on Linux")
def test_no_memory_for_a_part_of_a_tuple_is_an_error() -> None:
    ran = run_without_memory("(1f, %x, (%x, 2f))")
    assert ran.stdout.startswith("(np.float32(1.0), array([1., 1.]"), ran.stderr


def test_large_tensors_in_tuples_are_lent_and_given_away() -> None:
    mod = relay.parse("""
    import "std/list"
    def @main(%state: (Tensor[(n, 8), float32], Tensor[(m,), float64]), %k: int64) {
      (%state.0 + %state.0, (%state.1, %state.0), %k, (%state.1 * 2f64, Cons(%state.0, Nil)))
    }
    """)
    f = NativeProgram(relay.infer(mod))
    x, y = np.arange(4096, dtype="float32").reshape(-1, 8), np.arange(700.0)[::-1]
    results = [f((x, y), 7) for _ in range(3)]
    for twice, (same_y, same_x), k, (double, row) in results:
        np.testing.assert_array_equal(twice, x + x)
        np.testing.assert_array_equal(double, 2 * y)
        np.testing.assert_array_equal(same_x, x)
        np.testing.assert_array_equal(same_y, y)
        np.testing.assert_array_equal(row.fields[0], x)
        assert k == 7
        assert twice.flags.writeable
        assert not any(np.shares_memory(x, z) for z in (twice, same_x, row.fields[0]))
    results[0][0][:] = 0
    np.testing.assert_array_equal(results[1][0], x + x)
    np.testing.assert_array_equal(f((x, y), 7)[0], x + x)


def test_arguments_on_the_stack_reach_functions_that_are_called_in_tail_position() -> None:
    names = [f"%w{i}" for i in range(7)]
    params, args = ", ".join([f"{w}: Tensor[(3, 3), float32]" for w in names]), ", ".join(names)
    vector = "Tensor[(3,), float32]"
    text = f"""
    def @cell(%x: {vector}, %h: {vector}, %c: {vector}, {params}) {{
      let %memory = tanh(%w0 @ %x + %w1 @ %h) * sigmoid(%w2 @ %x) + %w3 @ %c;
      (sigmoid(%w4 @ %x - %w5 @ %h) * tanh(%w6 @ %memory), %memory)
    }}
    def @visit(%n: int32, %x: {vector}, {params}) -> ({vector}, {vector}) {{
      if (%n <= 1) {{ @cell(%x, %x, zeros(shape=(3,), dtype=float32), {args}) }} else {{
        let (%h, %c) = @visit(%n / 2, %x * 0.5, {args});
        let (%g, %d) = @visit(%n - %n / 2, 1.0 - %x, {args});
        @cell(%x, %h + %g, tanh(%w0 @ %c) * %d, {args})
      }}
    }}
    def @main(%n: int32, %x: {vector}, {params}) {{ @visit(%n, %x, {args}) }}
    """
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(3).astype("float32")]
    given += [rng.standard_normal((3, 3)).astype("float32") for _ in names]
    mod = relay.parse(text)
    found, wanted = relay.build(mod)(9, *given), relay.run(mod, "main", [9, *given])
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
