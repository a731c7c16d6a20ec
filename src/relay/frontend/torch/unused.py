"""Operators that compute nothing: what PyTorch checks while it runs; and those that are left out."""

from typing import Any

from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts, name_of

DRAWS = {
    f"aten.{name}" for name in (
        "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli",
        "normal", "uniform", "exponential", "multinomial", "normal_functional",
    )
}  # fmt: skip
"""Operators that draw from PyTorch's generator, whose numbers no other program can give."""


@converts(
    "aten._assert_scalar", "aten._assert_async", "aten._assert_tensor_metadata", "aten.sym_constrain_range",
    "aten.sym_constrain_range_for_size", "torch._check", "aten._functional_assert_async",
    "aten._functional_assert_scalar", "torch._check_is_size",
    "aten._linalg_check_errors",
)  # fmt: skip
def checked(node: Node, *_: Any) -> None:
    """Nothing: types say of sizes what these check."""
    return


def is_token(placeholder: Any) -> bool:
    """Return whether an argument at most orders effects: its value is None when the graph is called."""
    return all(name_of(u.target) == "with_effects" and u.args[0] is placeholder for u in placeholder.users)


@converts("with_effects")
def checked_in_order(node: Node, token: Any, operator: Any, *_: Any) -> tuple[Any, None]:
    """The token that orders effects, of a check: what would fail it is an error of the operator itself."""
    if name_of(operator) != "aten._linalg_check_errors.default":
        node.fail(f"`{name_of(operator)}` has an effect")
    return token, None


@converts("torch._set_grad_enabled", "_set_grad_enabled", "aten._set_grad_enabled", "_enter_autocast",
          "_exit_autocast", "torch._C._set_grad_enabled")  # fmt: skip
def mode(node: Node, *_: Any) -> None:
    """Nothing: gradients are asked for, not recorded."""
    return
