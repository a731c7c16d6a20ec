"""The stubs of what is found on demand are those that the registry gives."""

import re

import pytest

import relay
import stubs
from support import ROOT

HERE = ROOT / "src" / "relay"
STUBS = dict(stubs.stubs())


@pytest.mark.parametrize(("file", "text"), list(STUBS.items()), ids=list(STUBS))
def test_stub_is_current(file: str, text: str, bless: bool) -> None:
    if bless:
        (HERE / file).parent.mkdir(exist_ok=True)
        (HERE / file).write_text(text, encoding="utf-8")
    assert (HERE / file).read_text(encoding="utf-8") == text, "write it with --bless"


def test_every_public_name_is_in_the_stub() -> None:
    text = STUBS["__init__.pyi"]
    missing = [name for name in relay.__all__ if not re.search(rf"( as |^){name}\b", text, re.MULTILINE)]
    assert missing == []
