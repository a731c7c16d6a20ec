"""Facts about operators are said on operators: no other module asks what attributes they have, or lists them
by name.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import relay
from relay.op.base import Operator
from relay.op.composite import Composite
from relay.op.kind import NativeRule
from relay.op.registry import alias_of, registry

ROOT = Path(relay.__file__).parent
NAMES = {*registry, *alias_of}

ASKED_OF_OTHERS = {
    ("runtime/threads.py", "os"), ("llvm/codegen.py", "process"), ("llvm/codegen.py", "found"),
    ("program/instrumentation.py", "time"),
    ("program/instrumentation.py", "self.program.mod.functions[e.op]"),
    ("program/groups.py", "self.program.types(e)"), ("program/groups.py", "self.program.types(u)"),
    ("host/native_program.py", "found"), ("host/values.py", "v"), ("host/donation.py", "base"),
}  # fmt: skip
"""Modules of Python, foreign functions, definitions, types and values: files, and what is asked there."""

TABLES = {
    "frontend": "importers and exporters: the names of other formats beside ours",
    "text/print_leaves.py": "the symbols of the language's operators, `+` and `<`",
    "text/other_languages.py": "what users of other languages write, beside the operators that it means",
    "text/names.py": "words of types that are names of operators as well",
    "backend/native/math/vector_math.py": "functions that `b.function` has, not operators",
    "backend/native/loops/emit_values.py": "functions of the loop IR, which `b.add` makes, not operators",
    "backend/native/loops/text.py": "the symbols of functions of the loop IR",
    "backend/native/host/timing.py": "statistics of measured times",
    "compat/tvm/operators.py": "builders that scripts import from there, in `__all__`",
}
"""Files and folders that list names which are operators', and why no operator of a user is missing there."""


def asked(file: Path) -> Iterator[tuple[str, int]]:
    """What `hasattr`, and `getattr` with a default, are asked of, with the lines."""
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Call(func=ast.Name("hasattr"), args=[of, *_]):
                yield ast.unparse(of), node.lineno
            case ast.Call(func=ast.Name("getattr"), args=[of, _, _]):
                yield ast.unparse(of), node.lineno
            case _:
                pass


def test_backends_read_what_operators_declare():
    folder = ROOT / "backend" / "native"
    found = [
        f"{file.relative_to(folder)}:{line} asks `{of}`"
        for file in sorted(folder.rglob("*.py"))
        for of, line in asked(file)
        if (str(file.relative_to(folder)), of) not in ASKED_OF_OTHERS
    ]
    assert not found, "\n".join([*found, "declare it on `Operator`, as `native_rule` and `extent` are"])


def names_in(node: ast.AST) -> set[str]:
    """The operators that a literal names, in strings of their own or as all the words of one."""
    match node:
        case ast.Set(elts) | ast.List(elts) | ast.Tuple(elts):
            parts = elts
        case ast.Dict(keys, values):
            parts = [*keys, *values]
        case _:
            parts = [node]
    texts = [x.value.split() for x in parts if isinstance(x, ast.Constant) and isinstance(x.value, str)]
    return {word for words in texts if NAMES.issuperset(words) for word in words}


def test_no_table_of_names_outside_of_op():
    found: list[str] = []
    for file in sorted(ROOT.rglob("*.py")):
        place = file.relative_to(ROOT).as_posix()
        if place.startswith(("op/", *TABLES)):
            continue
        found += [
            f"{place}:{node.lineno} lists {', '.join(sorted(names)[:4])}"
            for node in ast.walk(ast.parse(file.read_text()))
            if isinstance(node, ast.expr) and len(names := names_in(node)) >= 3
        ]
    assert not found, "\n".join([*found, "make it an attribute of `Operator`, or a `Column`"])


@pytest.mark.parametrize("place", TABLES)
def test_tables_that_may_stay_are_there(place: str):
    files = [ROOT / place] if place.endswith(".py") else sorted((ROOT / place).rglob("*.py"))
    tables = [n for f in files for n in ast.walk(ast.parse(f.read_text())) if len(names_in(n)) >= 3]
    assert tables


def test_every_operator_has_a_native_rule_or_a_decomposition():
    without = [op for op in registry.values() if op.native_rule is NativeRule.REFERENCE]
    assert all(issubclass(op, Composite) for op in without if op.__module__.startswith("relay."))


def test_rules_are_told_from_methods_along_the_classes():
    class Numbers(relay.op.family.Elementwise):
        pass

    class Twice(Numbers):
        def native(self, b, x):
            return b.add(x, x)

    class Mirrored(Twice):
        def element(self, b, index, data):
            return data.at(index[::-1])

    class Sorted(Mirrored):
        def compute(self, b, out, data): ...

    found = [(c.native_rule, c.is_pointwise) for c in (Operator, Numbers, Twice, Mirrored, Sorted)]
    assert found == [
        (NativeRule.REFERENCE, False),
        (NativeRule.REFERENCE, True),
        (NativeRule.ELEMENT, True),
        (NativeRule.ELEMENT, False),
        (NativeRule.WHOLE, False),
    ]
