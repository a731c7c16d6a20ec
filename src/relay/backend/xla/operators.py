"""Operators on arrays that are traced, and on what is known already."""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy

from relay.backend.xla.data import FUNCTIONS, REFERENCES, flatten, is_known
from relay.backend.xla.forms import form_of
from relay.diagnostic import RelayError
from relay.ir.tensor_parts import tensor_parts
from relay.ir.type import Type
from relay.op.arrays import unboxed
from relay.op.debugging import Effect
from relay.op.traced import UntraceableError

if TYPE_CHECKING:
    from relay.backend.xla.namespace import Namespace

MAX_KNOWN = 1_024
"""Up to how many elements are computed by NumPy while the program is traced."""


def applied_operator(np: "Namespace", op: Any, args: Sequence[Any], t: Type | None = None) -> Any:
    """The value of an operator on operands; `t` is its static type, where that is at hand.

    What is known and small stays known: sizes, shapes, conditions on these.
    """
    leaves, structure = flatten(tuple(args))
    if structure.has((*FUNCTIONS, *REFERENCES)):
        raise UntraceableError(f"`{op.name}` takes a function or a reference")
    texts = structure.has((str,))
    if not isinstance(op, Effect) and is_known(tuple(args)) and (texts or may_be_small(leaves, t)):
        try:
            found = op.evaluate(*args)
        except RelayError as error:
            if texts:
                raise UntraceableError(error.diagnostics[0].message) from None
        else:
            if texts or size_of(found) <= MAX_KNOWN:
                return found
    if texts:
        raise UntraceableError("strings")
    try:
        return traced(np, op, structure(*[np.array(x) for x in leaves]))
    except UntraceableError:
        if not any(map(is_known, leaves)):
            raise
        return traced(np, op, args)


def may_be_small(leaves: Sequence[Any], t: Type | None) -> bool:
    """Whether an operator on known operands may give few elements, as far as its type says."""
    sizes = [x.size for x in leaves] if t is None else [static_size(t), *[x.size for x in leaves]]
    return bool(sizes) and max(sizes) <= MAX_KNOWN


def static_size(t: Type) -> int:
    """How many elements tensors of a type have, of an unknown size counts as one."""
    shapes = [part.shape for _, part in tensor_parts(t) if isinstance(part.shape, tuple)]
    return sum([prod([d for d in shape if isinstance(d, int)]) for shape in shapes])


def size_of(value: Any) -> int:
    """How many elements a value has."""
    return sum([x.size for x in flatten(value)[0]])


def traced(np: "Namespace", op: Any, operands: Any) -> Any:
    """The value of an operator by XLA's own form, or by its rule for arrays that are traced."""
    try:
        form = form_of(op, operands)
        found = op.traced(np, *operands) if form is None else form(np, op, *operands)
    except UntraceableError:
        raise
    except RelayError:
        if has_symbols(operands):
            raise UntraceableError(f"`{op.name}` needs sizes that are numbers") from None
        raise
    except Exception as error:
        if has_symbols(operands):
            raise UntraceableError(f"`{op.name}` needs sizes that are numbers") from None
        # The reference of a user's operator may be for NumPy alone.
        reason = str(error).partition("\n")[0]
        raise UntraceableError(f"`{op.name}` is not for arrays that are traced: {reason}") from None
    return unboxed_known(found)


def has_symbols(value: Any) -> bool:
    """Whether an array in a value has a size that is not a number."""
    return any(not isinstance(d, int) for x in flatten(value)[0] for d in x.shape)


def unboxed_known(value: Any) -> Any:
    """A value in which what is known is as NumPy has it: numbers of rank 0."""
    leaves, structure = flatten(value)
    return structure(*[unboxed(x) if isinstance(x, numpy.ndarray) else x for x in leaves])
