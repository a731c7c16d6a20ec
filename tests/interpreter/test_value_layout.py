"""Lines of the text of long values."""

import numpy as np

import relay
from relay.interpreter.show import show

LISTS = relay.parse("""
import "std/list"
def @f(%n: int32) -> List[int32] { if (%n == 0) { Nil } else { Cons(%n, @f(%n - 1)) } }
""")


def test_value_that_fits_is_one_line() -> None:
    assert show(((1, 2), np.array([[1, 2], [3, 4]]), (3,))) == "((1, 2), [[1, 2], [3, 4]], (3,))"


def test_long_tuple_has_a_line_for_each_field() -> None:
    row = np.arange(20)
    text = show((row, (1, (row,)), "end"))
    numbers = "[" + ", ".join(map(str, range(20))) + "]"
    assert text == f'(\n  {numbers},\n  (1, ({numbers},)),\n  "end"\n)'
    inner = show((row, (row, row)))
    assert inner == f"(\n  {numbers},\n  (\n    {numbers},\n    {numbers}\n  )\n)"


def test_lines_of_an_instance_are_filled() -> None:
    text = show(relay.run(LISTS, "f", (100,)))
    lines = text.split("\n")
    assert 3 < len(lines) < 20
    assert max(map(len, lines[:-1])) <= 100
    assert "".join(line.strip() + " " for line in lines).split() == text.split()


def test_deep_value_is_cut_and_laid_out() -> None:
    assert len(show(relay.run(LISTS, "f", (20_000,)))) < 20_000
