"""`tvm` for tests: nodes answer as its programs know them meanwhile, and as always afterwards."""

from collections.abc import Iterator
from typing import Any

import pytest

from relay.ir import hooks
from relay.text.printer import expr_text, module_text


@pytest.fixture
def tvm() -> Iterator[Any]:
    data = hooks.constant_data
    from relay.compat import tvm
    from relay.compat.tvm.nodes import answer_as_known

    answer_as_known()
    yield tvm
    hooks.module_text, hooks.expr_text, hooks.constant_data = module_text, expr_text, data
