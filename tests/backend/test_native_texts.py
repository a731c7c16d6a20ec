"""Strings in machine code, against the interpreter."""

from typing import Any

import numpy as np
import pytest

import relay
from backend.test_native import agrees, same
from op.operands import operands_of, samples_of
from relay.backend.native.host.native_program import NativeProgram
from relay.interpreter.value import is_tuple, type_of_value
from relay.ir.expr import Call, Function, Op, Var
from relay.ir.module import IRModule
from relay.op.base import instance, registry

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
