"""Monomorphisation as a pass: each use of a polymorphic function calls a copy with its types put in."""

from collections.abc import Sequence

from relay.ir.module import IRModule
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.monomorphisation import is_monomorphic, monomorphic
from relay.transform.rewriting.registry import module_pass


@module_pass("monomorphize")
def monomorphize(
    mod: IRModule, *, max_instances: int = 64, entry_functions: Sequence[str] = ("main",)
) -> IRModule:
    """Specialise each polymorphic function for its uses: one copy for each combination of type arguments.

    A size that is only known at run time stays a parameter of the copy, also in the place of a shape, whose
    rank copies know; and so does each type parameter of an entry function (`@main` unless others are named).
    A function that calls itself at ever larger types stays polymorphic, as does one that already has
    `max_instances` copies, for its other uses.  Definitions whose uses all have copies are removed.  A module
    without polymorphism is left alone; any other is converted to A-normal form.

    >>> show(monomorphize, "def @id(%x) { %x } def @main(%y: int32) { (@id(%y), @id(True)) }")
    def @main(%y: int32) -> (int32, bool) {
      let %x1: int32 = @id_1(%y);
      let %x2: bool = @id_2(True);
      (%x1, %x2)
    }
    <BLANKLINE>
    def @id_1(%x: int32) -> int32 {
      %x
    }
    <BLANKLINE>
    def @id_2(%x: bool) -> bool {
      %x
    }
    """
    if is_monomorphic(mod):
        return mod
    return monomorphic(mod, max_instances, entry_functions)
