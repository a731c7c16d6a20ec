"""Positions of editors, and offsets of a text in a later one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.lsp.edits import Edit
from relay.lsp.lines import Lines

TEXTS = st.text(st.sampled_from("ab%\n\ré\u0301\U0001f600\u2028\u5b57"), max_size=30)
ENCODINGS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


@given(TEXTS, st.sampled_from(list(ENCODINGS)))
def test_a_position_counts_the_units_of_its_encoding(text: str, encoding):
    codec, size = ENCODINGS[encoding]
    lines = Lines(text, encoding)
    for offset in range(len(text) + 1):
        if text[max(offset - 1, 0) : offset + 1] == "\r\n":
            continue
        line, units = lines.position(offset)
        before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
        assert line == before.count("\n")
        assert units == len(before.rpartition("\n")[2].encode(codec)) // size
        assert lines.offset(line, units) == offset


def test_positions_outside_of_the_text_are_its_nearest_places():
    lines = Lines("a\U0001f600b\nc")
    assert lines.offset(0, 99) == 3
    assert lines.offset(0, 2) == 1
    assert lines.offset(9, 0) == 5
    assert lines.position(99) == (1, 1)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_offsets_around_an_edit_are_where_they_were(before: str, old: str, new: str, after: str):
    edit = Edit(before + old + after, before + new + after)
    assert edit.start <= min(edit.old_end, edit.new_end)
    for offset in range(len(before)):
        assert edit.new(offset) == offset
        assert edit.old(offset) == offset
    for offset in range(len(after)):
        old_offset, new_offset = (len(before + x + after) - offset for x in (old, new))
        if edit.old_end < old_offset and edit.new_end < new_offset:
            assert edit.new(old_offset) == new_offset
            assert edit.old(new_offset) == old_offset


@pytest.mark.parametrize("text", ["", "a", "aa"])
def test_no_edit_moves_nothing(text: str):
    edit = Edit(text, text)
    assert [edit.new(i) for i in range(len(text) + 1)] == list(range(len(text) + 1))
