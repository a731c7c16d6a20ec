"""Libraries for C: they compute what Python computes, to the bit; errors come as codes and texts."""

import ctypes
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import relay
from library_calls import CallError, DLManagedTensor, Library, as_array, as_dltensor, library_of, rows
from relay.backend.native.library.targets import is_linux_here

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None or not is_linux_here(), reason="needs a C compiler, cc, on Linux"
)
X = np.random.default_rng(0).standard_normal((37, 64)).astype("float32")
WEIGHTS = np.random.default_rng(1).standard_normal((64, 64)).astype("float32")

CONTROL_FLOW = """
def @newton(%x: float64, %guess: float64, %left: int32) -> float64 {
  if (%left == 0) { %guess } else { @newton(%x, (%guess + %x / %guess) / 2.0f64, %left - 1) }
}
def @main(%x: float64, %steps: int32) -> float64 { @newton(%x, 1f64, %steps) }
"""
DYNAMIC = """
def @main(%x: Tensor[(n, 64), float32], %w: Tensor[(m, 64), float32]) -> Tensor[(n, m), float32] {
  nn.softmax(nn.dense(%x, %w), axis=1)
}
"""
TUPLES = """
def @main(%p: (Tensor[(n, 64), float32], (Tensor[(64,), float32], float32))) {
  let %y = tanh(%p.0 + %p.1.0) * %p.1.1;
  (%y, (sum(%y, 0), sum(%y)), %p.0)
}
"""
BYTES = """
def @main(%x: Tensor[(n, 64), int8], %y: Tensor[(n, 64), bfloat16], %m: Tensor[(n, 64), bool], %h: float16) {
  (sum(cast(%x, "int32"), 1), where(%m, %y * %y, -%y), %x > 3i8, %h * 2f16, cast(%y, "float8_e4m3fn"))
}
"""
DATA_TYPES = """
import "std/list"
def @main(%x: Tensor[(n, 64), float32]) {
  @foldl(fn (%sum, %c) { %sum + %x * %c }, zeros_like(%x), Cons(1.0, Cons(2.5, Cons(-3.0, Nil))))
}
"""
TEXTS = """
def @main(%i: int32) -> int32 {
  let %names = ["ant", "bee", "centipede"];
  let %here = %names[%i];
  if (%here == "bee") { 10 } else { 1 }
}
"""
PROGRAMS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "control flow": (CONTROL_FLOW, (np.float64(2), np.int32(6))),
    "bytes": (
        BYTES,
        (
            np.arange(128, dtype="int8").reshape(2, 64),
            X[:2].astype(ml_dtypes.bfloat16),
            X[:2] > 0,
            np.float16(1.5),
        ),
    ),
    "data types inside": (DATA_TYPES, (X,)),
    "strings inside": (TEXTS, (np.int32(1),)),
}


@pytest.fixture(scope="module")
def dynamic(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return library_of(DYNAMIC, tmp_path_factory.mktemp("dynamic"), prefix="dynamic")


def flat(value: Any) -> list[Any]:
    """The arrays of nested tuples."""
    return [a for v in value for a in flat(v)] if isinstance(value, tuple) else [np.asarray(value)]


def same_bits(found: Any, wanted: Any) -> bool:
    return found.shape == wanted.shape and found.tobytes() == wanted.astype(found.dtype).tobytes()


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_python_to_the_bit(name: str, tmp_path: Path) -> None:
    text, args = PROGRAMS[name]
    wanted = flat(relay.build(relay.parse(text, "model.relay"))(*args))
    library = library_of(text, tmp_path)
    found = library.run(*args)
    assert len(found) == len(wanted)
    assert all(map(same_bits, found, wanted))
    library.close()


@pytest.mark.parametrize(("height", "columns"), [(37, 5), (370, 64), (0, 64)])
def test_sizes_are_those_of_each_call(height: int, columns: int, dynamic: Library) -> None:
    x, w = np.resize(X, (height, 64)), WEIGHTS[:columns]
    (found,) = dynamic.run(x, w)
    assert same_bits(found, relay.build(relay.parse(DYNAMIC))(x, w))


def test_fields_of_tuples_are_inputs_and_outputs_of_their_own(tmp_path: Path) -> None:
    library = library_of(TUPLES, tmp_path)
    assert [name for name, _, _ in library.info("input")] == ["p.0", "p.1.0", "p.1.1"]
    assert library.info("output") == [
        ("result.0", "float32", (-1, 64)),
        ("result.1.0", "float32", (64,)),
        ("result.1.1", "float32", ()),
        ("result.2", "float32", (-1, 64)),
    ]
    bias, scale = WEIGHTS[0], np.float32(0.5)
    found = library.run(X, bias, scale)
    wanted = flat(relay.build(relay.parse(TUPLES))((X, (bias, scale))))
    assert all(map(same_bits, found, wanted))
    library.close()


def test_entries_are_told_apart(tmp_path: Path) -> None:
    text = "def @double(%x: float32) { %x * 2.0 }\ndef @half(%x: float32) { %x / 2.0 }"
    library = library_of(text, tmp_path, ("double", "half"))
    assert library.function("entry_count")() == 2
    assert [library.text("entry_name", i) for i in range(2)] == ["double", "half"]
    assert [library.run(np.float32(3), entry=i)[0] for i in range(2)] == [6.0, 1.5]
    assert library.function("entry_name", ctypes.c_char_p)(2) is None
    assert library.function("input_count")(-1) == -1


def test_an_error_of_the_program_is_a_code_and_a_text_with_its_place(tmp_path: Path) -> None:
    text = "def @main(%x: Tensor[(n,), float32], %i: int32) -> float32 {\n  %x[%i]\n}"
    library = library_of(text, tmp_path)
    with pytest.raises(CallError) as found:
        library.run(X[0], np.int32(64))
    assert (found.value.status, found.value.code) == (2, "index-out-of-range")
    assert "model.relay:2:3" in found.value.text
    assert library.run(X[0], np.int32(63))[0] == X[0, 63]


def test_a_recursion_without_end_is_an_error(tmp_path: Path) -> None:
    text = "def @f(%x: int32) -> int32 { if (%x == -1) { 0 } else { @f(%x + 2) * 3 + @f(%x + 4) } }\n"
    library = library_of(f"{text}def @main(%x: int32) {{ @f(%x) }}", tmp_path)
    with pytest.raises(CallError) as found:
        library.run(np.int32(0))
    assert (found.value.status, found.value.code) == (4, "recursion-limit")


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return library_of(SIZES, tmp_path_factory.mktemp("sizes"), prefix="sizes")


SIZES = "def @main(%a: Tensor[(n, 2 * n + m), float32], %b: Tensor[(m,), float32]) { (sum(%a), %b) }"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((X[:3, :10], X[0, :4]), ""),
        ((X[:3, :9], X[0, :4]), "input 0 (`a`): its axis 1 has size 9, but `2 * n + m` is 10"),
        ((X[0], X[0]), "input 0 (`a`): its rank is 1, not 2"),
        ((X, X[0].astype("float64")), "input 1 (`b`): its dtype is float64, not float32"),
        ((X,), "`main` takes 2 inputs, and 1 is given"),
    ],
)
def test_inputs_are_checked(args: tuple[Any, ...], said: str, sizes: Library) -> None:
    library = sizes
    if not said:
        library.run(*args)
        return
    with pytest.raises(CallError) as found:
        library.run(*args)
    assert found.value.status == 1
    assert said in found.value.text


def test_inputs_may_have_strides(dynamic: Library) -> None:
    library = dynamic
    (wanted,) = library.run(np.ascontiguousarray(X[::2]), np.ascontiguousarray(WEIGHTS.T))
    (found,) = library.run(X[::2], WEIGHTS.T)
    assert same_bits(found, wanted)


def test_outputs_go_to_memory_of_the_callers(dynamic: Library) -> None:
    library = dynamic
    (wanted,) = library.run(X, WEIGHTS)
    found = np.empty((37, 64), "float32")
    library.run_into([X, WEIGHTS], [found])
    assert same_bits(found, wanted)
    with pytest.raises(CallError, match="axis 1 of the memory for it has the size 63, and the result 64"):
        library.run_into([X, WEIGHTS], [np.empty((37, 63), "float32")])
    with pytest.raises(CallError, match="its memory has gaps"):
        library.run_into([X, WEIGHTS], [np.empty((64, 37), "float32").T])


def test_outputs_outlive_the_handle(tmp_path: Path) -> None:
    library = library_of(DYNAMIC, tmp_path)
    inputs = np.tile(X, (10, 1)), WEIGHTS
    (wanted,) = library.run(*inputs)
    places = (ctypes.POINTER(DLManagedTensor) * 1)()
    given = rows(list(map(as_dltensor, inputs)))
    library.check(library.function("run")(library.handle, 0, given, 2, places, 1))
    library.close()
    made = places[0].contents
    assert same_bits(as_array(made.dl_tensor), wanted)
    made.deleter(ctypes.addressof(made))


def test_wrong_pointers_and_numbers_are_errors(dynamic: Library) -> None:
    library = dynamic
    run, create = library.function("run"), library.function("create")
    assert create(257, ctypes.byref(ctypes.c_void_p())) == 1
    assert library.text("error_code") == "thread-count"
    assert create(1, None) == 1
    assert library.text("error_code") == "null-pointer"
    assert run(None, 0, None, 0, None, 0) == 1
    assert library.text("error_text") == "error[null-pointer]: the handle is NULL"
    assert run(library.handle, 7, None, 0, None, 0) == 1
    assert library.text("error_text") == "error[no-entry]: there is no entry 7: the library has 1, from 0 on"
    assert run(library.handle, 0, None, 2, None, 1) == 1
    assert library.text("error_code") == "null-pointer"
    assert run(library.handle, 0, None, 2, None, 3) == 1
    said = "error[argument-count]: `main` has 1 output, and there is room for 3"
    assert library.text("error_text") == said
    library.function("destroy", None)(None)


def test_errors_are_of_a_thread_and_empty_before_the_first(dynamic: Library) -> None:
    library = dynamic
    library.function("run")(None, 0, None, 0, None, 0)
    with ThreadPoolExecutor(1) as pool:
        said = pool.submit(lambda: [library.text(f) for f in ("error_code", "error_text")]).result()
    assert said == ["", ""]


def test_eight_threads_call_one_handle(dynamic: Library) -> None:
    library = dynamic
    several = [np.roll(X, i, 0) for i in range(8)]
    wanted = [library.run(x, WEIGHTS)[0] for x in several]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: library.run(several[i % 8], WEIGHTS)[0], range(400)))
    assert all(same_bits(y, wanted[i % 8]) for i, y in enumerate(found))


def test_values_that_stay_between_calls_are_kept(tmp_path: Path) -> None:
    text = """
def @counter = ref(0)
def @main(%by: int32) -> int32 {
  ref_write(@counter, ref_read(@counter) + %by);
  ref_read(@counter)
}
"""
    library = library_of(text, tmp_path)
    assert [int(library.run(np.int32(2))[0]) for _ in range(3)] == [2, 4, 6]
    library.close()
    again = Library(tmp_path / "libmodel.so", "model")
    assert int(again.run(np.int32(1))[0]) == 7
