"""What inference remembers from one program to the next."""

import pytest

import relay


@pytest.mark.parametrize("again", range(2))
def test_operator_that_was_refused_is_refused_again(again: int) -> None:
    for text in ("True + False", "def @f(%x: bool, %y: bool) { %x + %y }", "add(True, True)"):
        with pytest.raises(relay.RelayError) as error:
            relay.infer(relay.parse(text))
        assert error.value.codes == ("dtype-not-supported",)
