"""The loop that runs instructions, on a stack of its own."""

from collections.abc import Sequence
from typing import Any

from relay.diagnostic import fail
from relay.interpreter.backtrace import Frame
from relay.interpreter.code import GLOBAL, Code
from relay.interpreter.functions import ConstructorFunction, OperatorValue
from relay.interpreter.value import Closure, ConstructorValue, FunctionValue, RefValue


class Cell:
    """A global constant: evaluated when first reached."""

    __slots__ = ("busy", "code", "ready", "value")

    def __init__(self, code: Code) -> None:
        self.code = code
        self.ready = False
        self.busy = False
        self.value: Any = None


def execute(code: Code, frame: list[Any], limit: int, world: Any, stack: list[Frame] | None = None) -> Any:
    """The value that `code` returns, started on `frame` (its arguments and environment).

    The opcodes stand in the order of how often programs use them.  Faults become diagnostics with the place
    and the calls that led there.  The open calls are kept on `stack`, which a debugger reads.
    """
    stack = [] if stack is None else stack
    push, pop = stack.append, stack.pop
    r = frame + code.rest
    steps = code.instructions
    at = 0
    try:
        while True:
            o, d, f, a, b = steps[at]
            at += 1
            if o == 0:  # OP2
                r[d] = f(r[a], r[b])
            elif o == 1:  # BRANCH
                if not r[a]:
                    at = d
            elif o == 2:  # RETURN
                value = r[a]
                if not stack:
                    return value
                steps, at, r, d = pop()
                r[d] = value
            elif o == 3:  # CALL1
                push((steps, at, r, d))
                if len(stack) > limit:
                    _too_deep(limit)
                r = [r[a], *f.rest]
                steps = f.instructions
                at = 0
            elif o == 4:  # OP1
                r[d] = f(r[a])
            elif o == 5:  # CALL2
                push((steps, at, r, d))
                if len(stack) > limit:
                    _too_deep(limit)
                r = [r[a], r[b], *f.rest]
                steps = f.instructions
                at = 0
            elif o == 6:  # SWITCH
                at = f[r[a].tag]
            elif o == 7:  # FIELD
                r[d] = r[a].fields[b]
            elif o == 8:  # SELF
                r[:f] = a(r)
                at = 0
            elif o == 9:  # MOVE
                r[d] = r[a]
            elif o == 10:  # JUMP
                at = d
            elif o == 11:  # CALL
                push((steps, at, r, d))
                if len(stack) > limit:
                    _too_deep(limit)
                r = [*a(r), *f.rest]
                steps = f.instructions
                at = 0
            elif o == 12:  # TAIL
                r = [*a(r), *f.rest]
                steps = f.instructions
                at = 0
            elif o == 13:  # CON
                r[d] = ConstructorValue(f, a(r))
            elif o == 14 or o == 15:  # CALL_VALUE, TAIL_VALUE
                callee = r[f]
                args = a(r)
                if type(callee) is Closure:
                    if o == 14:
                        push((steps, at, r, d))
                        if len(stack) > limit:
                            _too_deep(limit)
                    code = callee.code
                    r = [*args, *callee.env, *code.rest]
                    steps = code.instructions
                    at = 0
                else:
                    value = apply_builtin(callee, args)
                    if o == 14:
                        r[d] = value
                    else:
                        if not stack:
                            return value
                        steps, at, r, d = pop()
                        r[d] = value
            elif o == 16:  # CALL_GROUP
                push((steps, at, r, d))
                if len(stack) > limit:
                    _too_deep(limit)
                env = r[b.params : b.params + b.captures]
                r = [*a(r), *env, *f.rest]
                steps = f.instructions
                at = 0
            elif o == 17:  # TAIL_GROUP
                env = r[b.params : b.params + b.captures]
                r = [*a(r), *env, *f.rest]
                steps = f.instructions
                at = 0
            elif o == 18:  # GET
                r[d] = r[a][b]
            elif o == 19:  # OPN
                r[d] = f(*a(r))
            elif o == 20:  # IF_TAG
                if r[a].tag != f:
                    at = d
            elif o == 21:  # TUPLE
                r[d] = a(r)
            elif o == 22:  # CLOSURE
                r[d] = Closure(f, a(r), world)
            elif o == 23:  # GROUP
                r[d] = Closure(f, tuple(r[b.params : b.params + b.captures]), world)
            elif o == 24:  # READ
                r[d] = r[a].value
            elif o == 25:  # WRITE
                r[a].value = r[b]
                r[d] = ()
            elif o == 26:  # REF
                r[d] = RefValue(r[a])
            elif o == 27:  # GLOBAL
                if f.ready:
                    r[d] = f.value
                elif f.busy:
                    fail("constant-cycle", f"the value of `{f.code.name}` depends on itself")
                else:
                    f.busy = True
                    push((steps, at - 1, r, d))
                    r = [*f.code.rest]
                    steps = f.code.instructions
                    at = 0
            elif o == 28:  # LOWER
                f.lower()
                r += f.rest
                at = 0
            else:  # SETTLE
                f.value = r[a]
                f.ready = True
                f.busy = False
                steps, at, r, d = pop()
    except BaseException as error:
        for steps_there, there, _, _ in stack:
            if steps_there[there][0] == GLOBAL:
                steps_there[there][2].busy = False
        raise world.fault(error, [*stack, (steps, at, r, 0)]) from None


def apply_builtin(callee: FunctionValue, args: Sequence[Any]) -> Any:
    """Apply an operator or a constructor that came as a value."""
    if isinstance(callee, OperatorValue):
        return callee.apply(*args)
    if isinstance(callee, ConstructorFunction):
        return ConstructorValue(callee.constructor, tuple(args))
    other: Any = callee
    return other(*args)


def _too_deep(limit: int) -> None:
    fail(
        "recursion-limit",
        f"stack overflow: more than {limit:,} active calls",
        hint="end the recursion sooner, make it a tail call, or raise the"
        " limit: Interpreter(mod, max_depth=…)",
    )
