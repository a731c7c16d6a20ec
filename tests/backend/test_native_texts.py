"""Strings in machine code, against the interpreter."""

from typing import Any

import numpy as np
import pytest

import relay
from backend.test_native import agrees, same
from op.operands import operands_of, samples_of
from relay.backend.native.host.native_program import NativeProgram
from relay.interpreter.value import is_tuple, type_of_value
from relay.ir.dtype import to_numpy
from relay.ir.expr import Call, Function, Op, Var
from relay.ir.module import IRModule
from relay.op.registry import instance, registry

WORDS = ["", "a", "b", "ab", "é", "ß", "\u20ac", "\U0001f600", "a\0b", "\ud800", "x" * 1000]


@pytest.mark.parametrize("x", WORDS)
def test_strings_come_in_and_out_and_compare_as_pythons_do(x: str) -> None:
    text = """def @main(%x: string, %l: Tensor[(n,), string]) {
      (%x, %l == %x, %l != %x, %l < %x, %l <= %x, %l > %x, %l >= %x, [%x, "lit"], %x == "", "")
    }"""
    found = agrees(text, x, WORDS)
    wanted = [[y == x for y in WORDS], [y != x for y in WORDS], [y < x for y in WORDS]]
    assert found[0] == x
    assert [f.tolist() for f in found[1:4]] == wanted


def test_strings_in_data_functions_and_references() -> None:
    text = """
    def @twice[A](%x: A) { (%x, %x) }
    def @greeting() -> string { "hello" }
    def @names = ["one", "two"]
    def @pick(%l: List[string], %n: int32) -> string {
      match (%l) { Nil => @greeting(), Cons(%x, %r) => if (%n == 0) { %x } else { @pick(%r, %n - 1) } }
    }
    def @main(%l: List[string], %x: string) {
      let %r = ref(%x);
      let %f = fn (%y: string) { if (%y == ref_read(%r)) { ref_write(%r, "changed") } else { () } };
      %f("no");
      %f("yes");
      (ref_read(%r), @rev(%l), @pick(%l, 1), @pick(%l, 9), @twice(%x), Some(@names), take(@names, 1))
    }
    """
    for x in ("yes", "other"):
        agrees(text, ["p", "q"], x)


def test_functions_that_hold_strings_come_out() -> None:
    text = """def @main(%x: string) { fn (%y: string) { (%x, %y, %x == %y, ["in", %x]) } }"""
    made = NativeProgram(relay.parse(text))("held")
    for y in ("held", "other"):
        found = made(y)
        assert found[:3] == ("held", y, y == "held")
        assert found[3].tolist() == ["in", "held"]


def test_strings_are_in_files_of_compiled_programs(tmp_path: Any) -> None:
    built = relay.build(relay.parse('def @main(%i: int32) { (take(["a", "", "a"], %i), "lone") }'))
    built.export_library(tmp_path / "words.rlo")
    loaded: Any = relay.load_module(tmp_path / "words.rlo")
    assert [loaded(i) for i in range(3)] == [("a", "lone"), ("", "lone"), ("a", "lone")]


@pytest.mark.parametrize("x", [1, 2.5, None, b"bytes", ["a"], np.asarray([1])])
def test_what_is_no_string_is_refused_as_the_interpreter_does(x: Any) -> None:
    mod = relay.parse("def @main(%x: string) { %x }")
    with pytest.raises(relay.RelayError) as wanted:
        mod.evaluate("main", x)
    with pytest.raises(relay.RelayError) as found:
        NativeProgram(mod)(x)
    assert str(found.value) == str(wanted.value)


def as_texts(x: Any) -> Any:
    """Floats as strings; other operands as they are."""
    if is_tuple(x):
        return tuple([as_texts(y) for y in x])
    array = np.asarray(x)
    return array.astype(str).astype(object)[()] if array.dtype == np.float32 else x


def test_operators_that_take_strings() -> None:
    taken: set[str] = set()
    mod = IRModule()
    cases: dict[str, tuple[Any, Any]] = {}
    for name, cls in registry.items():
        for i, s in enumerate(samples_of(cls)):
            operands = as_texts(tuple(operands_of(s)))
            types = [type_of_value(x) for x in operands]
            if not any("string" in str(t) for t in types):
                continue
            params = tuple([Var(f"x{k}", t) for k, t in enumerate(types)])
            fn = Function(params, Call(Op.get(name), params, dict(s.attrs)))
            try:
                relay.infer(IRModule.from_expr(fn))
            except relay.RelayError:
                continue
            mod[f"{name}.{i}"] = fn
            cases[f"{name}.{i}"] = operands, instance(name, s.attrs).evaluate(*operands)
            taken.add(name)
    program = NativeProgram(mod, list(cases))
    for entry, (operands, wanted) in cases.items():
        found = program.evaluate(entry, *operands)
        assert same(found, wanted), entry
    assert {"where", "take", "concatenate", "reshape", "transpose", "equal"} <= taken


TEXTS = """import "std/prelude"
def @grown(%n: int64, %x: string, %more: string) -> string {
  if (%n == 0) { %x } else { @grown(%n - 1, %x + %more, %more) }
}
def @main(%x: string, %y: string, %n: int64) {
  let %grown = @grown(%n, %x, %y);
  let %twice = (%grown + "1", %grown + "2", %y + %grown);
  (%twice, string.length(%grown), @string_slice(%grown, 1, -1) + %x, @string_slice(%grown, 5, 9),
   @string_find(%grown, %y, 2), @string_split(%grown, %y), @string_join([| %x, %y, %grown |], %y),
   @pad_left(%x, 5), @pad_right(%y, 5), %grown < %twice.1, %grown == @string_slice(%twice.0, 0, -1))
}
"""


def test_strings_are_made_as_the_interpreter_makes_them() -> None:
    mod = relay.parse(TEXTS)
    program = NativeProgram(mod)
    words = ("", "b", "déjà vu", "\u20acx", "a\U0001f600")
    for i, x in enumerate(words):
        for y in words:
            n = np.int64((0, 3, 60)[i % 3])
            assert same(program(x, y, n), mod.evaluate("main", x, y, n)), (x, y, n)


def test_a_string_that_grows_at_its_end_takes_the_memory_of_it() -> None:
    grown = TEXTS.partition("def @main")[0]
    text = (
        grown
        + """def @main(%n: int64) {
      let %x = @grown(%n, "", "xyz");
      (%x + "1", %x + "2", "xyz" + %x, string.length(%x))
    }"""
    )
    count = 100_000
    first, second, front, size = NativeProgram(relay.parse(text))(np.int64(count))
    assert size == 3 * count
    assert (first, second, front) == ("xyz" * count + "1", "xyz" * count + "2", "xyz" * (count + 1))


def numbers_of(dtype: str) -> Any:
    """Numbers of a dtype: all of few bits, and some of each size and near the powers of 2 and 10."""
    to = to_numpy(dtype)
    if dtype == "bool" or to.itemsize == 1:
        return np.arange(256, dtype="uint8").astype(to) if dtype == "bool" else np.arange(-8, 8).astype(to)
    bits = np.random.default_rng(7).integers(0, 2**63, 3000, dtype="uint64") * np.uint64(2)
    found = bits.view(to)[: 3000 * 8 // to.itemsize]
    if to.kind in "iu":
        return found[:1000]
    powers = np.concatenate(
        [2.0 ** np.arange(-1074, 1024), 10.0 ** np.arange(-323, 309), [np.nan, 0.0, -0.0]]
    )
    near = np.arange(65536, dtype="uint16").view(to)[::7] if to.itemsize == 2 else found
    with np.errstate(all="ignore"):
        return np.concatenate([near, powers.astype(to), -powers[::50].astype(to)])


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int4", "int8", "uint16", "int64", "uint64", "float16", "bfloat16", "float32", "float64"],
)
def test_numbers_are_the_strings_that_read_back(dtype: str) -> None:
    x = numbers_of(dtype)
    mod = relay.parse(f"def @main(%x: Tensor[(n,), {dtype}]) {{ string.from_value(%x) }}")
    found: Any = NativeProgram(mod)(x)
    wanted: Any = mod.evaluate("main", x)
    assert found.tolist() == wanted.tolist()
    if "float" in dtype:
        with np.errstate(all="ignore"):
            back = np.asarray([float(s) for s in found]).astype(x.dtype)
            assert np.array_equal(np.isnan(back), np.isnan(x))
            assert np.array_equal(back[~np.isnan(x)], x[~np.isnan(x)])


def test_strings_are_read_as_numbers() -> None:
    random = np.random.default_rng(3)
    floats = random.integers(0, 2**63, 2000, dtype="uint64").view("float64")
    numerals = [repr(float(v)) for v in floats] + [f"{v:.25e}" for v in floats[:200]]
    numerals += ["1e999", "-1e-999", "0." + "0" * 400 + "1e400", "1e" + "9" * 30, "0e" + "9" * 30, "5.", ".5"]
    numerals += [".", "e5", "1e", "1e+", "++1", "٣", "1_0", " 1", "infinity", "-nan", "0" * 5000 + "7"]
    numerals += [str(2**63 - 1), str(2**63), str(-(2**63)), str(-(2**63) - 1)]
    mod = relay.parse("""def @main(%x: Tensor[(n,), string]) {
      (string.is_float(%x), string.to_float(%x), string.is_int(%x), string.to_int(%x))
    }""")
    x = np.asarray(numerals, object)
    wanted: Any = mod.evaluate("main", x)
    found: Any = NativeProgram(mod)(x)
    assert all(
        np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(found, wanted, strict=True)
    )
    assert np.array_equal(found[1][:2000], floats, equal_nan=True)
    assert found[3][-5:].tolist() == [7, 2**63 - 1, 0, -(2**63), 0]
