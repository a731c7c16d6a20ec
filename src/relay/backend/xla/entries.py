"""Programs as people hold them: called by the names of their entries."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from relay.diagnostic import did_you_mean, fail
from relay.interpreter.value import Value


class EntryPoint(Protocol):
    """A definition that is called from Python."""

    def __call__(self, /, *args: Any, **named: Any) -> Value:
        """Its value on arguments."""
        ...

    def put(self, named: Mapping[str, Any]) -> tuple[Value, ...]:
        """Arguments by name on the device."""
        ...


E = TypeVar("E", bound=EntryPoint)


class Entries(Generic[E]):
    """A program: `built(…)` calls `@main`, or its only entry, and `built["f"]` is the entry `@f`."""

    def __init__(self, by_name: Mapping[str, E]) -> None:
        """The definitions that can be called, by name."""
        self.by_name = by_name

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of the definitions that can be called."""
        return tuple(self.by_name)

    def default(self) -> str:
        """The entry that is called without a name."""
        return "main" if "main" in self.entries else self.entries[0]

    def __call__(self, /, *args: Any, **named: Any) -> Value:
        return self.by_name[self.default()](*args, **named)

    def __getitem__(self, name: str) -> Callable[..., Value]:
        """An entry (`unknown-global`)."""
        name = name.removeprefix("@")
        if name not in self.by_name:
            listing = ", ".join([f"`@{n}`" for n in self.entries])
            hint = did_you_mean(name, self.entries) or f"it has {listing}; `entries=` chooses them"
            fail("unknown-global", f"the compiled program has no entry `@{name}`", hint=hint)
        return self.by_name[name]

    def put(self, **named: Any) -> Any:
        """Arguments of the entry that is called without a name, on the device: of one its value, of several a
        tuple (`unknown-input`, `argument-type`).

        `w, b = built.put(w=…, b=…)`, then `built(w, b, x)`: `w` and `b` are brought there once.
        """
        found = self.by_name[self.default()].put(named)
        return found[0] if len(found) == 1 else found

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a program for XLA is not pickled: build it again in the other process, or load it from the file "
            "that `export_library` writes"
        )
