"""Random numbers: PyTorch draws them before the compiled program runs, in the order of the graph.

So a seed gives the numbers that it gives in eager mode, and the state of the generator is as after it.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from relay.frontend.torch import registry
from relay.frontend.torch.library import pytorch
from relay.frontend.torch_compile.sizes import SizesOfCall

BY_SHAPE = {
    f"aten.{name}" for name in (
        "rand_like", "randn_like", "randint_like", "uniform", "normal_functional", "exponential", "geometric",
        "cauchy", "log_normal",
    )
} | {"aten.bernoulli.p"}  # fmt: skip
"""Operators to which a tensor gives its shape, dtype and strides alone."""
BY_SIZES = {f"aten.{name}" for name in ("rand", "randn", "randint", "randperm", "normal.float_float")}
"""Operators without tensors."""


def is_named(target: Any, names: set[str]) -> bool:
    """Whether an operator, or one of its overloads, is among names."""
    name = registry.name_of(target)
    return name in names or name.rpartition(".")[0] in names


class Draw:
    """One operator that draws, and its arguments of a call."""

    def __init__(self, fx: Any, sizes: SizesOfCall) -> None:
        """`fx` is the node of the graph."""
        self.target = fx.target
        self.sizes = sizes
        self.args = [described(x) for x in fx.args]
        self.options = {name: described(x) for name, x in fx.kwargs.items()}

    def __call__(self, given: Sequence[Any]) -> Any:
        """The numbers for the arguments of a call."""
        args = [self.value(x, given) for x in self.args]
        return self.target(*args, **{name: self.value(x, given) for name, x in self.options.items()})

    def value(self, x: Any, given: Sequence[Any]) -> Any:
        """An argument: for a tensor one of its shape, dtype and strides, a number for a symbolic one."""
        if isinstance(x, list):
            return [self.value(part, given) for part in x]  # pyright: ignore[reportUnknownVariableType]
        if hasattr(x, "shape"):
            shape, strides = (self.sizes.numbers(n, given) for n in (x.shape, x.stride()))
            return pytorch().empty_strided(shape, strides, dtype=x.dtype)
        return self.sizes.number(x, given) if hasattr(x, "node") else x

    def is_known(self) -> bool:
        """Whether the arguments of the graph decide all sizes."""
        pending = [*self.args, *self.options.values()]
        while pending:
            x = pending.pop()
            if isinstance(x, list):
                pending += x  # pyright: ignore[reportUnknownArgumentType]
            elif hasattr(x, "shape"):
                pending += [*x.shape, *x.stride()]
            elif hasattr(x, "node") and not self.sizes.knows(x):
                return False
        return True


def described(x: Any) -> Any:
    """An argument of a node, with what PyTorch traced in the place of nodes."""
    if isinstance(x, list | tuple):
        return [described(part) for part in x]  # pyright: ignore[reportUnknownVariableType]
    return x.meta["val"] if hasattr(x, "op") else x


def without_draws(module: Any) -> tuple[Any, list[Draw]]:
    """A graph whose random numbers are further arguments, after the others, and what draws them."""
    wanted = [fx for fx in module.graph.nodes if fx.op == "call_function" and draws(fx)]
    if not wanted:
        return module, []
    module = deepcopy(module)
    nodes = list(module.graph.nodes)
    placeholders = [fx for fx in nodes if fx.op == "placeholder"]
    sizes = SizesOfCall([fx.meta["val"] for fx in placeholders])
    first = next(fx for fx in nodes if fx.op != "placeholder")
    made: list[Draw] = []
    for fx in nodes:
        draw = Draw(fx, sizes) if fx.op == "call_function" and draws(fx) else None
        if draw is None or not draw.is_known():
            continue
        made.append(draw)
        with module.graph.inserting_before(first):
            drawn = module.graph.placeholder(f"{fx.name}_drawn")
        drawn.meta = dict(fx.meta)
        fx.replace_all_uses_with(drawn)
        module.graph.erase_node(fx)
    module.graph.eliminate_dead_code()
    return module, made


def draws(fx: Any) -> bool:
    """Whether a node draws numbers by shapes alone."""
    return is_named(fx.target, BY_SHAPE) or is_named(fx.target, BY_SIZES)
