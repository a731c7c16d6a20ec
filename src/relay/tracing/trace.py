"""One trace: a Python function run on variables of known types, and what can be run of it."""

import re
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from relay.diagnostic import Diagnostic, RelayError, Span, fail
from relay.interpreter.array_kinds import ArrayLibrary, in_kind
from relay.interpreter.machine import Interpreter
from relay.interpreter.value import Closure
from relay.ir.expr import Expr, Function, NotAnOperandError, RelayExpr, replace
from relay.ir.module import IRModule
from relay.tracing.diagnostics import BRANCH_HINT
from relay.tracing.nested import as_leaf, flattened, traced
from relay.tracing.pytree import LEAF, Leaf, Node, Tree, Where, flatten, is_plain, unflatten
from relay.tracing.signature import Header, line_of
from relay.tracing.types import TypesOfTrace, around, current
from relay.typecheck.infer import infer


class Specialised:
    """A Python function traced for one structure and types of its arguments."""

    def __init__(
        self,
        name: str,
        function: Function,
        arguments: Sequence[Tree],
        result: Tree,
        has_effects: bool = False,
    ) -> None:
        """`function` takes a value for each argument, whose structure is in `arguments`."""
        self.name = name
        self.function = function
        self.arguments = tuple(arguments)
        self.result = result
        self.is_plain = is_plain(result)
        self.has_effects = has_effects
        self._mod: IRModule | None = None
        self._closure: Closure | None = None

    @property
    def mod(self) -> IRModule:
        """A module in which it is `@main`, with its types inferred."""
        if self._mod is None:
            self._mod = infer(IRModule.from_expr(self.function))
        return self._mod

    @property
    def closure(self) -> Closure:
        """What runs it."""
        if self._closure is None:
            closure = Interpreter(self.mod).value_of(self.mod.get_global_var("main"))
            assert isinstance(closure, Closure)
            closure.code.name = self.name
            self._closure = closure
        return self._closure

    def run(self, values: Sequence[Any], kind: ArrayLibrary | None = None) -> Any:
        """The result, as Python has it, on one value for each argument; its arrays of a library."""
        return self.restored(in_kind(self.closure(*values), kind))

    def restored(self, value: Any) -> Any:
        """What a program gave, in the structure that the Python function returned."""
        if self.is_plain:
            return value
        return _restored(self.result, value)


def _restored(tree: Tree, value: Any) -> Any:
    return unflatten(tree, value, _restored_leaf, lambda v, i: v[i])


def _restored_leaf(value: Any, leaf: Leaf) -> Any:
    if leaf.box is not None:
        return leaf.box.known(value)
    if leaf.trees is None:
        return value
    arguments, result = leaf.trees
    assert isinstance(arguments, Node)

    def call(*args: Any) -> Any:
        flat = [flatten(a, lambda x, _: (x, LEAF), "argument")[0] for a in args]
        return _restored(result, value(*flat))

    return call


def trace(python: Callable[..., Any], header: Header, trees: Sequence[Tree]) -> Specialised:
    """`python` run on the parameters of a header, whose values have these structures.

    Raises `traced-control-flow`, `traced-type`, `bad-signature`, and what `python` raises.
    """
    types = TypesOfTrace()
    args = [traced(t, p, types) for t, p in zip(trees, header.function.params, strict=True)]
    before = current.set(types)
    try:
        result = header.call(python, args)
    except (TypeError, NameError, RecursionError) as error:
        raise _explained(error, header) from None
    finally:
        current.reset(before)
    body, tree = _result(result, header)
    (effects,) = types.effects
    function = replace(header.function, body=around(effects, body))
    return Specialised(header.name, function, trees, tree, bool(effects))


def _result(value: Any, header: Header) -> tuple[Expr, Tree]:
    """What a Python function returned, as the body of the Relay one, and its structure (`bad-signature`)."""
    name, span = header.name, header.span
    if value is None:
        hint = "return the expression that is its result; `return ()` is the empty tuple"
        fail("bad-signature", f"`{name}` returns nothing", span, hint=hint)
    if isinstance(value, bool):
        hint = "`is`, and `==` on nodes, compare Python objects: write relay.equal(…); else relay.const(…)"
        fail(
            "bad-signature", f"`{name}` returns Python's {value}, whatever its arguments are", span, hint=hint
        )

    def leaf(x: Any, where: Where) -> tuple[Expr, Leaf]:
        try:
            if isinstance(x, str):  # as an f-string has it, which knows no values: an operand may be one
                raise TypeError
            return as_leaf(x)
        except TypeError:
            at = str(where).removeprefix(RESULT)
            hint = "return an expression, a number, an array, or a tuple, list, dict or dataclass of these"
            what = f"{x!r:.80} at {at}" if at else f"{x!r:.80}"
            fail("bad-signature", f"`{name}` returns {what}, which is not an expression", span, hint=hint)

    return flattened(value, leaf, RESULT)


RESULT = "result"


UNTRACEABLE = {
    "__bool__": ("Python cannot branch on a traced value", BRANCH_HINT),
    "__iter__": (
        "Python cannot loop over a traced value",
        "project the fields of a tuple with e[0], e[1], …; for a loop use relay.scan or relay.fori",
    ),
}


def _explained(error: Exception, header: Header) -> BaseException:
    """A `traced-control-flow` diagnostic where Python asked what an expression is; else the error."""
    frames = list(traceback.walk_tb(error.__traceback__))
    name, span = header.name, header.span
    if isinstance(error, RecursionError) or (isinstance(error, NameError) and error.name == name):
        message = f"`{name}` calls itself while it is traced"
        hint = "a loop is relay.while_loop; write any other recursion in text, for relay.parse(…)"
        return _refusal(message, span, hint)
    inner, line = frames[-1]
    if isinstance(inner.f_locals.get("self"), RelayExpr) and inner.f_code.co_name in UNTRACEABLE:
        message, hint = UNTRACEABLE[inner.f_code.co_name]
        inner, line = frames[-2]
        return _refusal(message, line_of(inner.f_code.co_filename, line), hint)
    if isinstance(error, NotAnOperandError):
        hint = "operands are traced values, expressions, numbers, texts and arrays"
        return RelayError(Diagnostic("bad-argument", str(error), error.span, hint=hint))
    if isinstance(error, TypeError) and re.search(rf"'({'|'.join(NODES)})'", str(error)):
        message = f"Python cannot use a traced value: {error}"
        hint = "use the operators of Relay: relay.sin(…) for numpy.sin(…), relay.shape_of(…) for len(…)"
        return _refusal(message, line_of(inner.f_code.co_filename, line), hint)
    return error


NODES = [r"Traced\w+", *[c.__name__ for c in RelayExpr.__subclasses__()]]


def _refusal(message: str, span: Span | None, hint: str) -> RelayError:
    return RelayError(Diagnostic("traced-control-flow", message, span, hint=hint))
