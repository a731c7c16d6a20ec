"""What PyTorch's linear algebra has and Relay's has not is refused with a reason."""

import pytest

pytest.importorskip("torch", reason="needs the torch extra")

import torch
from torch import linalg

from frontend.torch_operands import Calling, f
from relay.diagnostic import RelayError
from relay.frontend import from_pytorch

pytestmark = pytest.mark.torch

REFUSED = [
    (lambda x: linalg.svd(x)[0], f(4, 3), "complete a basis"),
    (lambda x: linalg.qr(x, mode="complete")[0], f(4, 3), "complete basis"),
    (torch.geqrf, f(3, 3), "unsupported operator `aten.geqrf.default`"),
    (linalg.ldl_factor, torch.eye(3), "unsupported operator `aten.linalg_ldl_factor_ex.default`"),
    (lambda x: linalg.pinv(x, atol=1e-3), f(3, 3), "only `rtol`"),
    (lambda x: linalg.eigvals(x).real, f(3, 3), "results are complex numbers"),
]


@pytest.mark.parametrize(("function", "x", "message"), REFUSED)
def test_refused(function, x, message):
    with pytest.raises(RelayError) as caught:
        from_pytorch(Calling(function).eval(), (x,))
    assert {d.code for d in caught.value.diagnostics} == {"torch-unsupported"}
    assert message in str(caught.value)


def test_parts_of_a_full_svd_that_are_complete():
    program = from_pytorch(Calling(lambda x: linalg.svd(x)[1:]).eval(), (f(4, 3),))
    x = f(4, 3)
    s, vh = program.interpret(x)
    torch.testing.assert_close(s, linalg.svdvals(x))
    torch.testing.assert_close(vh @ vh.mT, torch.eye(3))
