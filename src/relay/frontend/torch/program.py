"""An imported program: a module and its parameters, callable on tensors of PyTorch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relay.diagnostic import fail
from relay.frontend.torch.arrays import array_of, as_tensor, result_of
from relay.frontend.torch.library import pytorch
from relay.ir.module import IRModule

Params = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Signature:
    """What the call of an exported program takes and gives."""

    exported: Any
    inputs: tuple[str | None, ...]
    """The parameter of `@main` for each leaf of the arguments; None for one that is part of the program."""
    state: tuple[tuple[str, Any], ...]
    """Parameters that are tensors of the module, and those tensors."""
    outputs: tuple[Any, ...]
    """What PyTorch traced of each result of `@main`; None for a number."""
    fixed: tuple[tuple[int, Any], ...] = ()
    """Leaves of the result that are not tensors, by their places among all leaves."""
    updated: tuple[Any, ...] = field(default=())
    """The tensors, or numbers of inputs, that the further results of `@main` are written to."""


class TorchProgram(tuple[IRModule, Params]):
    """`mod, params`, as `from_onnx` gives; and a function on tensors, as the module was.

    It is compiled when it is first called.  Buffers that the module changes are parameters of `@main`, whose
    new values are further results; a call writes them back, as one of the module does.
    """

    signature: Signature
    _built: Any

    def __new__(cls, mod: IRModule, params: Params, signature: Signature) -> "TorchProgram":
        """From its parts."""
        made = super().__new__(cls, (mod, params))
        made.signature = signature
        made._built = None
        return made

    @property
    def mod(self) -> IRModule:
        """The module."""
        return self[0]

    @property
    def params(self) -> Params:
        """Values of parameters of `@main`, by name, that share the memory of PyTorch's tensors."""
        return self[1]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results, as tensors in the structure that the module gives (`argument-type`)."""
        if self._built is None:
            from relay.driver.compilation import build

            self._built = build(self.mod)
        return self.run(self._built, args, kwargs)

    def interpret(self, *args: Any, **kwargs: Any) -> Any:
        """As a call, by the reference interpreter."""
        from relay.driver.executor import create_executor

        return self.run(create_executor("debug", self.mod).evaluate("main"), args, kwargs)

    def run(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The results of a function on arrays for tensors."""
        pytree = pytorch("torch.utils._pytree")

        s = self.signature
        leaves = self.leaves(args, kwargs)
        given = {n: array_of(as_tensor(x)) for n, x in zip(s.inputs, leaves, strict=True) if n is not None}
        given.update({n: array_of(t) for n, t in s.state})
        found = function(**given)
        results: list[Any] = list(found) if isinstance(found, tuple) else [found]  # pyright: ignore[reportUnknownArgumentType]
        tensors = [result_of(x, like) for x, like in zip(results, s.outputs, strict=True)]
        count = len(tensors) - len(s.updated)
        for target, new in zip(s.updated, tensors[count:], strict=True):
            (leaves[target] if isinstance(target, int) else target).data.copy_(new)
        whole = tensors[:count]
        for place, x in s.fixed:
            whole.insert(place, x)
        return pytree.tree_unflatten(whole, s.exported.call_spec.out_spec)

    def leaves(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """The tensors in the arguments (`argument-type`)."""
        pytree = pytorch("torch.utils._pytree")

        spec = self.signature.exported.call_spec.in_spec
        names = list(spec.children()[1].context) if spec.num_children == 2 else []
        ordered = {n: kwargs[n] for n in names if n in kwargs} | kwargs
        leaves, found = pytree.tree_flatten((tuple(args), ordered))
        if found != spec:
            fail("argument-type", "the structure of the arguments differs from that of the exported module")
        return leaves
