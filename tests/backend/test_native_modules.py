"""Partition of programs into LLVM modules, by what their functions say they refer to."""

import re

import numpy as np
import pytest

import relay
from relay.backend.native.host.compiler import Compiler
from relay.backend.native.host.native_program import NativeProgram
from relay.backend.native.llvm import modules
from relay.backend.native.llvm.builder import POINTER, VOID, Code, Value, quoted
from relay.backend.native.llvm.codegen import Optimised
from relay.backend.native.llvm.modules import Effort, Piece, exported_functions, split_modules
from relay.backend.native.memory.objects import cancel_retain, retain

INNER = quoted("a function")


def functions() -> list[Piece]:
    """`first` calls `a function`, which reads data; `apart` calls `first`."""
    inner = Code(INNER, VOID, [])
    inner.refer("@table")
    inner.do("store i64 1, ptr @table")
    first, apart = Code("first", VOID, []), Code("apart", VOID, [])
    first.call(VOID, f"@{inner.name}", ())
    apart.call(VOID, "@first", ())
    for code in (inner, first, apart):
        code.do("ret void")
    return [inner.piece(), first.piece(), apart.piece()]


def test_a_function_that_reads_data_stays_with_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(modules, "MIN_MODULE_CHARACTERS", 1)
    parts = split_modules("", [Piece("@table = internal global i64 0")], functions(), {0, 1, 2}, ())
    assert [part.exports for part in parts] == [{f"@{INNER}"}, {"@first"}, set()]
    assert [part.effort for part in parts] == [Effort.ALL, Effort.LOOPS, Effort.LOOPS]
    exported = exported_functions(parts)
    for part in parts:
        made = Optimised(part.text, part.effort, part.exports, exported)
        linkages = {f"@{quoted(f.name)}": f.linkage.name for f in made.module.functions}
        assert all(linkages[name] == "external" for name in part.exports)


def test_programs_in_many_modules_compute_the_same(monkeypatch: pytest.MonkeyPatch):
    body = "let %c = [1.0, 2.0, 3.0]; let %s = nn.softmax(%x + %c); let %t = sin(%s * 1e8); (sum(%t), %t)"
    mod = relay.parse(f"def @main(%x: Tensor[(n, 3), float32]) {{ {body} }}")
    x = np.arange(12, dtype="float32").reshape(4, 3)
    whole = relay.build(mod, cache=False)(x)
    monkeypatch.setattr(modules, "MIN_MODULE_CHARACTERS", 1)
    monkeypatch.setattr(modules, "MAX_MODULE_CHARACTERS", 1)
    for a, b in zip(relay.build(mod, cache=False)(x), whole, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_code_of_a_closure_may_be_in_another_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """The closures take nothing along: they are data of the first module."""
    monkeypatch.setattr(modules, "MIN_MODULE_CHARACTERS", 1)
    compiler = Compiler(
        relay.parse("""def @main(%b: bool) -> fn(float32) -> float32 {
            if (%b) { fn (%x: float32) { %x * 2f } } else { fn (%x: float32) { %x + 1f } }
        }"""),
        ["main"],
    )
    compiler.program.plain.update(range(len(compiler.program.pieces)))
    first, *others = compiler.modules_of_program()
    wrappers = [name for part in others for name in part.exports if f"ptr {name} }}" in first.text]
    assert len(wrappers) == 2
    main = NativeProgram.of(compiler.artefact())
    assert [float(main(b)(np.float32(3))) for b in (True, False)] == [6.0, 4.0]


def test_functions_that_use_tables_of_the_program_say_so() -> None:
    mod = relay.parse(
        "def @f(%a: Tensor[(2, 2), float32]) { sum(linalg.qr(%a).1 + linalg.eigh(%a).1 + linalg.inv(%a)) }\n"
        "def @main(%a: Tensor[(2, 2), float32]) { grad(@f)(%a) }"
    )
    tables = ("relay.references", "relay.regions", "relay.routines", "relay.callbacks", "relay.launches")
    pieces = Compiler(mod, ["main"]).program.pieces
    uses = [(f"@{t}", p) for p in pieces for t in tables if re.search(rf"@{t}\b", p.text)]
    assert {t for t, _ in uses} >= {"@relay.references", "@relay.routines"}
    assert [p.functions for t, p in uses if t not in p.symbols] == []


@pytest.mark.parametrize(
    ("line", "cancels"),
    [
        ("%v9 = load float, ptr %v2, align 4", True),
        ("%v9 = load i32, ptr %v12", True),
        ("%v9 = getelementptr i8, ptr %v1, i64 8", True),
        ("%v9 = fadd reassoc float %v7, %v8", True),
        ("call void @relay.retain(ptr %v12)", True),
        ("%v9 = load i32, ptr %v1", False),
        ("%v9 = load i32, ptr %v1, align 4", False),
        ("%v9 = atomicrmw sub ptr %v2, i32 1 monotonic", False),
        ("%v9 = cmpxchg ptr %v2, i32 1, i32 0 monotonic monotonic", False),
        ("%v9 = invoke i32 @f(ptr %v1) to label %b1 unwind label %b2", False),
        ("%v9 = musttail call i32 @f(ptr %v1)", False),
        ("store i32 0, ptr %v2", False),
        ("call void @relay.release(ptr %context, ptr %v12)", False),
    ],
)
def test_a_reference_is_not_counted_where_only_values_are_computed_meanwhile(
    line: str, cancels: bool
) -> None:
    code = Code("f", VOID, [])
    v = Value(POINTER, "%v1")
    retain(code, [v])
    code.do(line)
    assert cancel_retain(code, v) is cancels
    assert code.lines == [f"  {line}"] if cancels else len(code.lines) == 2
