"""Graphs whose parameters are constants of the program, for as long as nobody changes them."""

from collections.abc import Callable, Sequence
from typing import Any

from relay.frontend.torch.arrays import held_value
from relay.frontend.torch.library import pytorch
from relay.frontend.torch_compile.records import LOGGER

HINT = "omit `freeze`"
Call = Callable[[list[Any]], list[Any]]
MAX_QUIET_COMPILATIONS = 3
"""After so many compilations of one graph a warning says that its parameters change."""


def parameters_of_graph() -> tuple[int, ...]:
    """The places of parameters and buffers, which no call changes, among the arguments of the graph that
    AOTAutograd compiles now.
    """
    context = pytorch("torch._guards").TracingContext.try_get()
    metadata = None if context is None else context.fw_metadata
    if metadata is None:
        return ()
    return tuple([i for i in metadata.static_input_indices if not metadata.input_info[i].mutates_data])


def version(x: Any) -> int:
    """How often a tensor was changed; PyTorch does not count it of those that inference mode made."""
    return 0 if x.is_inference() else x._version


class FrozenGraph:
    """A graph that is compiled when it is called first, and anew after its parameters have changed.

    A change is seen by the address and the version that PyTorch counts; one by `tensor.data`, or of a tensor
    that inference mode made, is not counted.
    """

    def __init__(self, name: str, places: Sequence[int], compile: Callable[[dict[int, Any]], Call]) -> None:
        """`places` are those of the parameters, and `compile` takes values for them."""
        self._boxed_call = True
        self.name = name
        self.places = places
        self.compile = compile
        self.made: tuple[Any, Call] | None = None
        self.held: list[Any] = []
        """The memory of the parameters, whose addresses no other tensor gets then."""
        self.count = 0

    def __call__(self, args: list[Any]) -> list[Any]:
        """The results."""
        key = [(args[i].data_ptr(), version(args[i])) for i in self.places]
        made = self.made
        if made is None or made[0] != key:
            self.count += 1
            if self.count == MAX_QUIET_COMPILATIONS + 1:
                LOGGER.warning(
                    "graph %s is compiled often, since its parameters change: omit `freeze`", self.name
                )
            made = (key, self.compile({i: held_value(args[i].detach()) for i in self.places}))
            self.made = made
            self.held = [args[i].untyped_storage() for i in self.places]
        return made[1](args)
