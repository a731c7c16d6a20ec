"""Values of the interpreter, by the module name that people know."""

from relay.interpreter.machine import Interpreter
from relay.interpreter.value import Closure, ConstructorValue, RefValue

__all__ = ["Closure", "ConstructorValue", "Interpreter", "RefValue"]
