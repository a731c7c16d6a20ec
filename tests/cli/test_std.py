"""`relay std`: a page for each definition of the standard library, with examples that are true."""

import re

import pytest

import relay
from relay.cli.manual import CONTINUED, EXAMPLE
from relay.cli.std import Entry, entries, page
from relay.interpreter.show import show
from relay.text.imports import standard_names
from support import cli

ENTRIES = [e for module in standard_names() for e in entries(module)]
FUNCTIONS = [e for e in ENTRIES if e.name.startswith("@")]


def named(e: Entry) -> str:
    return e.name


def test_nothing_of_the_library_is_missing() -> None:
    mod = relay.parse("\n".join(f'import "std/{name}"' for name in standard_names()))
    functions = [f"@{v.name_hint}" for v in mod.functions]
    assert sorted(functions + [v.name_hint for v in mod.type_definitions]) == sorted(map(named, ENTRIES))


@pytest.mark.parametrize("entry", FUNCTIONS, ids=named)
def test_page_has_a_true_example(entry: Entry) -> None:
    text = page(entry)
    assert text.startswith(entry.name)
    assert max(map(len, text.splitlines())) <= 120
    assert len(text.split("Import:")[0].split("\n\n")[1]) > 10, "it says what the function does"
    typed, printed = rf"{EXAMPLE}(.*\n(?:  {CONTINUED}.*\n)*)", rf"((?:  (?!: |{EXAMPLE}).*\n)+)"
    found = re.findall(rf"^  {typed}{printed}  : (.*)$", text, re.MULTILINE)
    assert found
    for typed, printed, _ in found:
        program = f'import "std/prelude"\nimport "{entry.module}"\ndef @main() {{ {typed} }}'
        assert show(relay.run(relay.parse(program), "main", [])).split() == printed.split()


def test_tables_and_names() -> None:
    every = cli("std").output
    assert all(f'import "std/{m}"' in every for m in ("list", "tree", "autodiff"))
    assert "  @map(%f, %xs)" in every
    assert "  List: Cons, Nil" in every
    assert cli("std", "list").output == cli("std", "std/list").output
    assert "@tmap" not in cli("std", "list").output
    assert cli("std", "@map").output == cli("std", "map").output
    assert cli("std", "Cons").output == cli("std", "List").output


def test_a_name_that_is_nearly_right() -> None:
    ran = cli("std", "mapp")
    assert ran.status == 1
    assert "error[unknown-name]" in ran.output
    assert "did you mean `@map`?" in ran.output


def test_search_of_operators() -> None:
    found = cli("ops", "--search", "sort descending").output
    assert found.startswith("1 operator;")
    assert "sort(data)" in found
    assert "nn.conv2d(" in cli("ops", "nn", "--search", "dilation").output
    ran = cli("ops", "--search", "zebra")
    assert ran.status == 1
    assert "no operator's page has `zebra`" in ran.output
