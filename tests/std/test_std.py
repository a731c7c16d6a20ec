"""The prelude, by value; expected values are what the same Python would give."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relay.diagnostic import RelayError
from relay.driver.executor import run
from relay.interpreter.show import show
from relay.ir.equal import assert_structural_equal, structural_hash
from relay.text.parser import parse_module
from relay.typecheck.check import check
from relay.typecheck.infer import infer


def value(text: str) -> Any:
    return run(infer(parse_module('import "std/prelude"\n' + text)), "main", ())


def shown(text: str) -> str:
    return show(value(text))


def the_list(*items: Any) -> str:
    return f"[| {', '.join(map(str, items))} |]" if items else "Nil"


def a_range(n: int) -> str:
    """The numbers 0 .. n - 1, made in the language."""
    return f"@unfoldl(fn(%k: int32) {{ if (%k <= 0) {{ None }} else {{ Some((%k - 1, %k - 1)) }} }}, {n})"


XS = the_list(5, 3, 9)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"@hd({XS})", "5"),
        (f"@tl({XS})", the_list(3, 9)),
        (f"@nth({XS}, 2)", "9"),
        (f"@length({XS})", "3"),
        ("@length((Nil: List[float32]))", "0"),
        (f"@update({XS}, 1, 7)", the_list(5, 7, 9)),
        (f"@insert_at({XS}, 1, 7)", the_list(5, 7, 3, 9)),
        (f"@insert_at({XS}, 3, 7)", the_list(5, 3, 9, 7)),
        (f"@remove_at({XS}, 1)", the_list(5, 9)),
        (f"@map(fn(%x) {{ %x * 2 }}, {XS})", the_list(10, 6, 18)),
        (f"@map(negative, {XS})", the_list(-5, -3, -9)),
        (f"@foldl(fn(%a, %b) {{ %a - %b }}, 100, {XS})", "83"),
        (f"@foldr(fn(%a, %b) {{ %a - %b }}, 100, {XS})", str(5 - (3 - (9 - 100)))),
        (f"@foldr1(fn(%a, %b) {{ %a - %b }}, {XS})", str(5 - (3 - 9))),
        (f"@foldr1(add, {the_list(4)})", "4"),
        (f"@sum({XS})", "17"),
        ("@sum(Nil)", "0"),
        ("@sum(Cons(1.5, Cons(2.0, Nil)))", "3.5"),
        (f"@concat({XS}, {the_list(1, 2)})", the_list(5, 3, 9, 1, 2)),
        (f"@filter(fn(%x) {{ %x > 4 }}, {XS})", the_list(5, 9)),
        (f"@zip({XS}, {the_list('True', 'False')})", the_list("(5, True)", "(3, False)")),
        (f"@rev({XS})", the_list(9, 3, 5)),
        (f"@map_accuml(fn(%acc, %x) {{ (%acc + %x, %acc) }}, 0, {XS})", f"(17, {the_list(0, 5, 8)})"),
        (f"@map_accumr(fn(%acc, %x) {{ (%acc + %x, %acc) }}, 0, {XS})", f"(17, {the_list(12, 9, 0)})"),
        (
            "@unfoldr(fn(%k: int32) { if (%k > 3) { None } else { Some((%k + 1, %k * %k)) } }, 1)",
            the_list(1, 4, 9),
        ),
        (
            "@unfoldl(fn(%k: int32) { if (%k > 3) { None } else { Some((%k + 1, %k * %k)) } }, 1)",
            the_list(9, 4, 1),
        ),
    ],
)
def test_list_function_gives(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@id(3)", "3"),
        ("@compose(fn(%x) { %x * 2 }, fn(%x) { %x + 1 })(5)", "12"),
        ("@flip(fn(%a, %b) { %a - %b })(1, 10)", "9"),
        ("@iterate(fn(%x) { %x * 2 }, 10)(1)", "1024"),
        ("@iterate(fn(%x) { %x * 2 }, 0)(1)", "1"),
        ("@tmap(fn(%x) { %x + 1 }, Rose(1, Cons(Rose(2, Nil), Nil)))", "Rose(2, [| Rose(3, Nil) |])"),
        ("@size(Rose(1, Cons(Rose(2, Cons(Rose(3, Nil), Nil)), Cons(Rose(4, Nil), Nil))))", "4"),
        ("@nat_double(S(S(Z)))", "S(S(S(S(Z))))"),
        ("@nat_add(S(S(Z)), S(Z))", "S(S(S(Z)))"),
        (f"@nat_nth({XS}, S(Z))", "3"),
        (f"@nat_update({XS}, S(S(Z)), 0)", the_list(5, 3, 0)),
        ("@nat_iterate(fn(%x) { %x + 3 }, S(S(Z)))(1)", "7"),
    ],
)
def test_other_function_gives(text: str, expected: str) -> None:
    assert shown(text) == expected


ROWS = the_list("[1, 2]", "[3, 4]", "[5, 6]")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@tensor_array(2, [0, 0])", the_list("[0, 0]", "[0, 0]")),
        (f"@tensor_array_read({ROWS}, 1)", "[3, 4]"),
        (f"@tensor_array_write({ROWS}, 1, [9, 9])", the_list("[1, 2]", "[9, 9]", "[5, 6]")),
        ("@tensor_array_unstack([[1, 2], [3, 4], [5, 6]])", ROWS),
        ("@tensor_array_unstack([1, 2])", the_list(1, 2)),
        (f"@tensor_array_stack({ROWS})", "[[1, 2],\n [3, 4],\n [5, 6]]"),
        (f"@tensor_array_stack({the_list(1.5, 2.5)})", "[1.5, 2.5]"),
        (f"@tensor_array_concat({ROWS})", "[1, 2, 3, 4, 5, 6]"),
        (f"@tensor_array_concat({the_list('[[1, 2]]', '[[3, 4]]')})", "[[1, 2],\n [3, 4]]"),
        (f"@tensor_array_gather({ROWS}, [2, 0])", "[[5, 6],\n [1, 2]]"),
        (f"@tensor_array_scatter({ROWS}, [2, 0], [[7, 8], [9, 9]])", the_list("[9, 9]", "[3, 4]", "[7, 8]")),
        ("@tensor_array_split([1, 2, 3, 4, 5], [2, 3])", the_list("[1, 2]", "[3, 4, 5]")),
        ("@tensor_take([[1], [2], [3], [4]], 1, 3)", "[[2],\n [3]]"),
        ("@tensor_concatenate([[1, 2]], [[3, 4]])", "[[1, 2],\n [3, 4]]"),
        ("@tensor_expand_dims([1, 2])", "[[1, 2]]"),
    ],
)
def test_tensor_array_function_gives(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "@hd((Nil: List[int32]))",
        "@tl((Nil: List[int32]))",
        f"@nth({XS}, 3)",
        f"@update({XS}, 3, 1)",
        "@foldr1(add, (Nil: List[int32]))",
    ],
)
def test_partial_function_reports_that_nothing_matches(text: str) -> None:
    from relay.diagnostic import RelayError

    with pytest.raises(RelayError) as error:
        value(text)
    assert error.value.codes == ("match-failure",)


def test_lists_may_be_long() -> None:
    n = 50_000
    text = f"let %xs = {a_range(n)}; (@sum(%xs), @length(@map(fn(%x) {{ %x + 1 }}, @rev(@concat(%xs, %xs)))))"
    total = np.arange(n, dtype=np.int32).sum(dtype=np.int32)
    assert value(text) == (total, 2 * n)


def test_iterate_runs_in_constant_space() -> None:
    assert value("@iterate(fn(%x: int32) { %x + 1 }, 100000)(0)") == 100_000


@pytest.mark.parametrize(
    "name", ["option", "list", "tree", "nat", "iterate", "tensor_list", "derivatives", "prelude"]
)
def test_module_can_be_imported_by_itself(name: str) -> None:
    check(infer(parse_module(f'import "std/{name}"\n1')))


@pytest.mark.parametrize("name", ["list", "option", "tree", "nat", "iterate", "tensor_list", "prelude"])
def test_annotated_module_with_an_import_is_what_its_text_says(name: str) -> None:
    annotated = infer(parse_module(f'import "std/{name}"\ndef @main(%x: int32) {{ %x }}'))
    assert_structural_equal(parse_module(str(annotated)), annotated)
    assert structural_hash(parse_module(str(annotated))) == structural_hash(annotated)


def test_ill_typed_import_is_reported_with_the_program(tmp_path: Path) -> None:
    (tmp_path / "part.relay").write_text("def @part() { 1 + True }\n")
    main = tmp_path / "main.relay"
    mod = parse_module('import "part.relay"\n1i32 + 1i64', path=main)
    with pytest.raises(RelayError) as caught:
        infer(mod)
    assert [d.code for d in caught.value.diagnostics] == ["literal-kind", "dtype-mismatch"]


@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("Cons(1, Nil)", "list"),
        ("@map(negative, 1)", "list"),
        ("(1: Option[int32])", "option"),
        ("S(Z)", "nat"),
    ],
)
def test_hint_names_the_module_that_has_a_name(text: str, module: str) -> None:
    with pytest.raises(RelayError, match=f'in the standard library: import "std/{module}"'):
        parse_module(text)
