"""What a program requires of values as it runs, as one number on the device.

It is 0 until something that is required does not hold; then it is the number of that requirement, and stays
so.  Who called the program looks at it afterwards, and has the interpreter say what is wrong.
"""

from typing import Any

import numpy as np


class Checks:
    """The requirements of a program that is traced."""

    def __init__(self, jax: Any) -> None:
        """None so far."""
        self.jax = jax
        self.count = 0
        self.failed: Any = np.int32(0)
        """A scalar int32."""

    def require(self, ok: Any) -> None:
        """Let the program fail where an element of `ok` is false, an array of bool."""
        if isinstance(ok, np.ndarray | np.generic) and ok.all():
            return
        self.count += 1
        number = np.int32(self.count)
        jnp = self.jax.numpy
        self.failed = jnp.where((self.failed == 0) & ~jnp.all(ok), number, self.failed)
