"""`relay ops`: a page for each operator, tables of all and of a group."""

import re

import pytest

import relay
from relay.cli.explain import pages
from relay.cli.op_errors import errors
from relay.cli.ops import operator_page, operator_table
from relay.op.registry import alias_of, registry
from support import cli

NAMES = sorted(registry)


@pytest.mark.parametrize("name", NAMES)
def test_page_says_all_there_is_to_know(name: str) -> None:
    text = operator_page(registry[name])
    assert text.startswith(f"{name}(")
    for title in ("Operands", "Dtypes", "Attributes", "Errors", "Derivative", "Fusion", "In Python"):
        assert re.search(rf"^{title}:", text, re.MULTILINE), title
    assert re.search(rf"^  relay> .*\b{re.escape(name)}\(", text, re.MULTILINE), "a page has an example"
    assert re.search(r"^  : ", text, re.MULTILINE), "and the type of its value"
    assert max(len(line) for line in text.partition("\nAttributes:")[0].splitlines()) <= 100


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("nn.conv2d(ones(shape=(1, 3, 4, 4), dtype=float32), ones(shape=(2, 2, 3, 3), dtype=float32))", ""),
        ("nn.conv2d([[[[1.0]]]], [[[[1.0]]]], groups=2)", ""),
        ("nn.conv2d([[[[1.0]]]], [[[[1.0]]]], data_layout=\"NCHX\")", ""),
        ("add([1, 2], [1, 2, 3])", ""),
        ("add([1i32, 2i32], 1i64)", ""),
        ("add(True, True)", ""),
        ("add((1, 2), 3)", ""),
        ("nn.dense([[1.0]], [[1.0, 2.0]])", ""),
        ("concatenate((), axis=0)", ""),
        ("concatenate(1)", ""),
        ("reshape([1, 2, 3], newshape=(2, 2))", ""),
        ("split([1, 2, 3], indices_or_sections=2)", ""),
        ("1 / 0", "divide"),
        ("take([1], 5, mode=\"fast\")", ""),
        ("sum([1], axis=3)", ""),
        ("broadcast_to([1, 2], shape=(3,))", ""),
    ],
)  # fmt: skip
def test_errors_of_a_page_are_those_that_happen(call: str, name: str) -> None:
    with pytest.raises(relay.RelayError) as error:
        relay.parse(f"def @main() {{ {call} }}").evaluate("main")
    assert error.value.codes[0] in errors(registry[name or call.partition("(")[0]], pages())


def test_errors_of_pages_are_codes_with_pages() -> None:
    known = pages()
    for name in NAMES:
        assert set(errors(registry[name], known)) <= set(known), name


def test_table_has_every_operator_once() -> None:
    ran = cli("ops")
    assert ran.status == 0
    assert ran.output.rstrip("\n") == operator_table(NAMES)
    listed = re.findall(r"^  ([\w.]+)\(", ran.output, re.MULTILINE)
    assert listed == sorted(NAMES, key=lambda n: (n.rpartition(".")[0], n))
    assert all(line == line.rstrip() for line in ran.output.splitlines())


def test_group_has_a_table_of_its_own() -> None:
    text = cli("ops", "random").output
    assert re.findall(r"^  ([\w.]+)\(", text, re.MULTILINE) == [n for n in NAMES if n.startswith("random.")]


def test_alias_leads_to_the_page_of_the_operator() -> None:
    alias, name = next(iter(alias_of.items()))
    ran = cli("ops", alias)
    assert ran.output.startswith(f"{name}(")
    assert re.search(rf"Also called: .*{re.escape(alias)}", ran.output)


def test_part_of_a_name_finds_the_operators_that_have_it() -> None:
    ran = cli("ops", "adaptive_max")
    assert ran.status == 1
    assert "hint: there are `nn.adaptive_max_pool1d`, `nn.adaptive_max_pool" in ran.output
    assert "did you mean `nn.softmax`?" in cli("ops", "sofmax").output


def test_lines_of_the_table_end_where_the_terminal_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    lines = operator_table(NAMES).splitlines()
    assert max(map(len, lines)) == 60
    assert any(line.endswith("…") for line in lines)
