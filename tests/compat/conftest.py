"""`tvm` for tests: nodes answer as its programs know them meanwhile, and as always afterwards."""

from collections.abc import Iterator
from typing import Any

import pytest

import relay.text.printer  # fills the hooks that are kept
from relay.ir import hooks

ANSWERS = ("module_text", "expr_text", "constant_data")


@pytest.fixture
def tvm() -> Iterator[Any]:
    before = {name: getattr(hooks, name) for name in ANSWERS}
    from relay.compat import tvm
    from relay.compat.tvm.nodes import answer_as_known

    answer_as_known()
    yield tvm
    for name, answer in before.items():
        setattr(hooks, name, answer)
