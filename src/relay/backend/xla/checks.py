"""What a program requires of values as it runs, as one number on the device.

It is 0 until something that is required does not hold; then it is the number of that requirement, and stays
so.  Who called the program looks at it afterwards, and has the interpreter say what is wrong.
"""

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from relay.diagnostic import Span, fail


@dataclass(frozen=True, slots=True)
class Requirement:
    """What an operator requires: the diagnostic where it does not hold, as far as it is known before."""

    code: str
    message: str
    span: Span | None
    hint: str

    def fail(self) -> NoReturn:
        """The diagnostic, for arguments that are out of reach."""
        fail(self.code, self.message, self.span, hint=self.hint)


class Checks:
    """The requirements of a program that is traced."""

    def __init__(self, jax: Any) -> None:
        """None so far."""
        self.jax = jax
        self.requirements: list[Requirement] = []
        """By their numbers, from 1 on."""
        self.span: Span | None = None
        """Where the operator stands that is traced."""
        self.failed: Any = np.int32(0)
        """A scalar int32."""

    def require(self, ok: Any, code: str, message: str, hint: str) -> None:
        """Let the program fail where an element of `ok` is false, an array of bool."""
        if isinstance(ok, np.ndarray | np.generic) and ok.all():
            return
        self.requirements.append(Requirement(code, message, self.span, hint))
        number = np.int32(len(self.requirements))
        jnp = self.jax.numpy
        self.failed = jnp.where((self.failed == 0) & ~jnp.all(ok), number, self.failed)
