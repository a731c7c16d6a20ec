"""How passes are run: which are enabled, with what options, and who watches."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Self

from relay.diagnostic import did_you_mean, fail
from relay.ir.module import IRModule
from relay.transform.rewriting.registry import Rule, load_all, public_names, registry


@dataclass(frozen=True)
class PassInfo:
    """The name of a pass, its level, and the passes that run before it."""

    name: str
    opt_level: int = 0
    required: tuple[str, ...] = ()


class PassInstrument:
    """Watches passes; override what you want to see."""

    def enter_pass_ctx(self) -> None:
        """A context begins."""

    def exit_pass_ctx(self) -> None:
        """A context ends."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        """Whether a pass may run."""
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """A pass is about to run on `mod`."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """A pass has made `mod`."""

    def pass_failed(self, mod: IRModule, info: PassInfo, error: Exception) -> None:
        """A pass broke on `mod`, by a mistake of its own."""


_entered: ContextVar[tuple["PassContext", ...]] = ContextVar("relay_pass_contexts", default=())
"""The contexts that this thread is in, the innermost last; one context may be entered by several threads."""


class PassContext:
    """`with PassContext(opt_level=3): …` says how passes run inside.

    A pass of a `Sequential` runs if its level is at most `opt_level` or it is in `required_pass`, but not if
    it is in `disabled_pass`.  `config` sets defaults of options: `{"inline.max_size": 20}`, or
    `{"relay.Inline.max_size": 20}`.  `instruments` watch every pass.
    """

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Sequence[str] | None = None,
        disabled_pass: Sequence[str] | None = None,
        instruments: Sequence[PassInstrument] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        """Raises `unknown-option` for what is not an option in `config`."""
        if not isinstance(opt_level, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"an opt_level is a number from 0 on, not {opt_level!r:.80}")
        self.opt_level = opt_level
        self.required_pass = tuple(required_pass or ())
        self.disabled_pass = tuple(disabled_pass or ())
        self.instruments = list(instruments or ())
        self.config = dict(config or {})
        self.options: dict[tuple[str, str], Any] = {_option(key): v for key, v in self.config.items()}

    @staticmethod
    def current() -> "PassContext":
        """The innermost context, or the default one."""
        entered = _entered.get()
        return entered[-1] if entered else PassContext()

    @staticmethod
    def list_configs() -> dict[str, dict[str, str]]:
        """Every key that `config` takes, with the type of its value."""
        load_all()
        return {
            f"{rule.name}.{option}": {"type": getattr(hint, "__name__", str(hint))}
            for rule in registry.values()
            for option, hint in rule.option_types.items()
        }

    def override_instruments(self, instruments: Sequence[PassInstrument] | None) -> None:
        """Let others watch from now on."""
        self._end(self.instruments)
        self.instruments = list(instruments or ())
        self._begin()

    def is_enabled(self, info: PassInfo, level: int | None = None) -> bool:
        """Whether a sequence runs that pass; `level` instead of `opt_level` if it is given."""
        if self.is_disabled(info):
            return False
        most = self.opt_level if level is None else level
        return info.opt_level <= most or canonical(info.name) in map(canonical, self.required_pass)

    def is_disabled(self, info: PassInfo) -> bool:
        """Whether `disabled_pass` names that pass."""
        return canonical(info.name) in map(canonical, self.disabled_pass)

    def defaults(self, rule: Rule) -> dict[str, Any]:
        """The options that `config` sets for a pass."""
        return {option: value for (name, option), value in self.options.items() if name == rule.name}

    def __enter__(self) -> Self:
        _entered.set((*_entered.get(), self))
        try:
            self._begin()
        except BaseException:
            _entered.set(_entered.get()[:-1])
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        _entered.set(_entered.get()[:-1])
        self._end(self.instruments)

    def _begin(self) -> None:
        """Tell the instruments that the context begins; where one fails, those told end, and none is left."""
        for i, instrument in enumerate(self.instruments):
            try:
                instrument.enter_pass_ctx()
            except BaseException:
                told, self.instruments = self.instruments[:i], []
                self._end(told)
                raise

    def _end(self, instruments: Sequence[PassInstrument]) -> None:
        for instrument in instruments:
            instrument.exit_pass_ctx()


def canonical(name: str) -> str:
    """The name of a pass for either spelling."""
    return public_names.get(name, name)


OTHER_NAMES = {"relay.FuseOps.max_depth": "relay.FuseOps.max_ops"}
"""Keys of `config` that people know, for options that have another name here."""


def _option(key: str) -> tuple[str, str]:
    """The pass and the option that a key of `config` means."""
    load_all()
    name, _, option = OTHER_NAMES.get(key, key).removeprefix("relay.").rpartition(".")
    rule = registry.get(canonical(name))
    if rule is None or option not in rule.options:
        hint = did_you_mean(key, PassContext.list_configs()) or "PassContext.list_configs() has them all"
        fail("unknown-option", f"there is no option `{key}` of a pass", hint=hint)
    return rule.name, option
