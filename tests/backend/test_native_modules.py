"""Partition of programs into LLVM modules, by what their functions say they refer to."""

import re

import numpy as np
import pytest

import relay
from relay.backend.native.host.compiler import Compiler
from relay.backend.native.llvm import modules
from relay.backend.native.llvm.builder import VOID, Code, quoted
from relay.backend.native.llvm.codegen import Optimised
from relay.backend.native.llvm.modules import Effort, Piece, exported_functions, split_modules

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
