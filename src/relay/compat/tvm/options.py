"""What scripts say of executors, runtimes and passes where there is one of each here."""

from collections.abc import Mapping, Sequence
from typing import Any

from relay.transform.rewriting.context import PassContext as Context
from relay.transform.rewriting.context import PassInstrument

__all__ = ["Executor", "PassContext", "Runtime", "build_config"]

ELSEWHERE = ("tir.", "te.", "relay.backend.", "relay.ext.", "relay.fallback_device_type", "relay.collage.")
"""How keys of `config` begin that are about tensor programs, their tuning and where they run."""


class Executor:
    """`Executor("graph")`: what runs a program; there is one here, whatever is chosen."""

    def __init__(self, name: str = "graph", options: Mapping[str, Any] | None = None) -> None:
        """`name` is "graph", "aot" or "vm"."""
        if name not in self.list_registered():
            raise ValueError(f"there is no executor {name!r}; there are {', '.join(self.list_registered())}")
        self.name = name
        self.options = dict(options or {})

    @staticmethod
    def list_registered() -> list[str]:
        """The names that are taken."""
        return ["aot", "graph", "vm"]

    @staticmethod
    def list_registered_options(name: str) -> dict[str, str]:
        """The options of one that make a difference here: none."""
        return {}

    def __getitem__(self, name: str) -> Any:
        return self.options[name]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(self.name)


class Runtime(Executor):
    """`Runtime("cpp")`: what machine code calls; there is one here, whatever is chosen."""

    def __init__(self, name: str = "cpp", options: Mapping[str, Any] | None = None) -> None:
        """`name` is "cpp" or "crt"."""
        super().__init__(name, options)

    @staticmethod
    def list_registered() -> list[str]:
        """The names that are taken."""
        return ["cpp", "crt"]


class PassContext(Context):
    """`with PassContext(opt_level=3): …`; keys of `config` about tensor programs are taken and do nothing."""

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Sequence[str] | None = None,
        disabled_pass: Sequence[str] | None = None,
        instruments: Sequence[PassInstrument] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        """Raises `unknown-option` for what is not an option in `config`."""
        kept = {key: value for key, value in (config or {}).items() if not key.startswith(ELSEWHERE)}
        super().__init__(opt_level, required_pass, disabled_pass, instruments, kept)


def build_config(
    opt_level: int = 2,
    required_pass: Sequence[str] | None = None,
    disabled_pass: Sequence[str] | None = None,
    trace: Any = None,
) -> PassContext:
    """How passes run inside: `with relay.build_config(opt_level=3): …`."""
    del trace
    return PassContext(opt_level, required_pass, disabled_pass)
