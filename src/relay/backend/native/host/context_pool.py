"""The contexts of a program, and who has them.

Calls of a program run at the same time, each in a context of its own: they share nothing but constants, whose
references nobody counts.  Only where functions come out of a program, or constants of it hold references, do
its calls have objects in common: such calls run one after the other.
"""

import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from relay.backend.native.host.callbacks import Callbacks
from relay.backend.native.host.context import Context
from relay.backend.native.host.signature import Signature
from relay.backend.native.host.values import Conversion
from relay.backend.native.llvm.jit import LoadedCode
from relay.backend.native.runtime.runtime_library import runtime_library
from relay.ir.type import FuncType


class Contexts:
    """The contexts of a program."""

    def __init__(
        self, signature: Signature, code: LoadedCode, threads: int, function: Callable[[int, FuncType], Any]
    ) -> None:
        """One is free; `threads` is how many parallel loops take (0 leaves it to the process), and `function`
        makes a Python object of a closure.
        """
        self.threads = threads
        self.signature = signature
        self.code = code
        self.function = function
        self.known: dict[int, Context] = {}
        self.callbacks = Callbacks(signature, code.global_address, self.known)
        self.runtime = runtime_library()
        self.layouts = code.global_address("relay.layouts")
        self.home = code.global_address("relay.contexts")
        self.lock = threading.RLock()
        self.is_shared = bool(signature.functions) or signature.parts.keeps
        self.functions = 0
        """How many functions of the program Python has."""
        self.gone: deque[int] = deque()
        """Functions that Python has no more."""
        self.under_way = 0
        self.runtime.give(self.add().address, 1)

    def add(self) -> Context:
        """One more context."""
        parts = self.signature.parts
        made = Context(parts.results, parts.slots)
        made.belong(self.layouts, self.home, self.threads)
        at = made.address
        made.conversion = Conversion(
            self.signature,
            lambda n: self.runtime.new_object(at, n) or 0,
            lambda n: self.runtime.new_tensor(at, n) or 0,
        )
        made.conversion.give_away = partial(self.runtime.give_away, at)
        made.conversion.function = self.function
        made.conversion.callback = partial(self.callbacks.closure, made.conversion)
        self.known[at] = made
        return made

    def one(self) -> AbstractContextManager[Context]:
        """A context for a call."""
        return self.alone() if self.is_shared else self.taken()

    @contextmanager
    def alone(self) -> Generator[Context, None, None]:
        """A context while no other call has one."""
        with self.lock:
            self.under_way += 1
            try:
                with self.taken() as context:
                    yield context
            finally:
                self.under_way -= 1
                self.drop_functions()

    @contextmanager
    def taken(self) -> Generator[Context, None, None]:
        """A context that nobody else has."""
        address = self.runtime.take(self.home)
        context = self.known[address] if address else self.add()
        try:
            yield context
        except BaseException:
            if self.is_over():
                self.runtime.clear(context.address)
            raise
        finally:
            is_over = self.is_over()
            if is_over:
                for c in tuple(self.callbacks.made) if self.is_shared else (context.conversion,):
                    self.callbacks.forget(c)
            self.runtime.give(context.address, is_over)

    def is_over(self) -> bool:
        """Whether nothing that a call has made is needed after it."""
        if self.signature.parts.keeps:
            return False
        return not self.is_shared or (self.under_way == 1 and self.functions == 0)

    def hold(self, p: int) -> None:
        """Python has a function."""
        self.runtime.retain(p)
        self.functions += 1

    def let_go(self, p: int) -> None:
        """Python has a function no more; it may be in the middle of anything.

        Of a cycle with the program, the objects or the code may be gone before.
        """
        if self.code.is_gone or not all(c.objects.alive for c in tuple(self.known.values())):
            return
        self.gone.append(p)
        if self.lock.acquire(blocking=False):
            try:
                self.drop_functions()
            finally:
                self.lock.release()

    def drop_functions(self) -> None:
        """Give functions up that Python has no more."""
        while self.gone:
            self.functions -= 1
            self.runtime.release(next(iter(self.known)), self.gone.popleft())
