"""Calls of segments that are recorded as a program runs, and made together when a value is wanted."""

from collections import Counter
from collections.abc import Iterable, Sequence
from threading import RLock
from typing import Any, Protocol
from weakref import ref

import numpy as np

from relay.backend.xla.banks import Bank, Renewal, power_of_two, renewal_program
from relay.backend.xla.data import Known, flatten
from relay.backend.xla.groups import Place, calls_program, places, sums_program, touched
from relay.backend.xla.host_operators import HOST_ELEMENTS, on_host
from relay.backend.xla.later import Later, RowType, RowTypes
from relay.backend.xla.levels import Group, Needed, needed
from relay.backend.xla.program import first_line
from relay.backend.xla.records import Record, Recordable, maker
from relay.diagnostic import fail
from relay.interpreter.value import RefValue, is_array, is_tuple

MAX_RECORDS = 65_536
"""After how many recorded calls these are made."""
MAX_RECORDED_BYTES = 1 << 26
"""After how many bytes of results recorded calls are made."""
MAX_RESULT_BYTES = 1 << 20
"""Up to which size of results calls are recorded."""
MAX_PLACED = 1_024
"""How many arrays that calls have in common are kept on the device."""


class Machine(Protocol):
    """What the recorder asks of the machine that runs the program."""

    jax: Any
    device: Any
    types: RowTypes
    programs: dict[Any, Any]
    """Those that are made for many calls, by what they do."""

    def dispatched(self, calls: int) -> None:
        """Note that a program of XLA runs, which makes some recorded calls."""
        ...


class Recorder:
    """The calls of one run."""

    def __init__(self, machine: Machine) -> None:
        """Nothing is recorded yet."""
        self.machine = machine
        self.jax = machine.jax
        self.types = machine.types
        self.banks: dict[RowType, Bank] = {}
        self.placed: dict[int, tuple[Any, Any]] = {}
        """Arrays that calls have in common on the device, by the identity of those in the program."""
        self.recorded: list[ref[Record]] = []
        self.checked: list[Record] = []
        """The calls that may fail."""
        self.count = 0
        self.bytes = 0
        self.lock = RLock()
        """Held while a value is asked for, which other threads may do where it is part of a constant."""

    # --- recording

    def record(
        self, segment: Any, steps: Any, program: Recordable, operands: list[Any]
    ) -> Sequence[Any] | None:
        """The results of some steps of a segment, computed later; None if they are too large for that."""
        leaves, structure = operands, None
        if tuple in map(type, operands):
            leaves, structure = taken_apart(operands)
        types: list[RowType] = []
        for i, x in enumerate(leaves):
            if type(x) is Later:
                if x.home is self and x.value is None:
                    types.append(x.type)
                    continue
                x = leaves[i] = x.host()
            types.append(self.types[x.shape, x.dtype])
        key = (structure, *types)
        signature = program.signatures.get(key)
        if signature is None:
            signature = program.signed(self.jax, self.types, operands, types)
            signature = program.signatures.setdefault(key, signature)
        if signature.out_bytes > MAX_RESULT_BYTES:
            return None
        self.bytes += signature.out_bytes
        if len(self.recorded) >= MAX_RECORDS or self.bytes > MAX_RECORDED_BYTES:
            self.make_all()
            self.bytes = signature.out_bytes
        self.count += 1
        record = Record(self.count, signature, leaves, segment, steps)
        found = [Later(t, self, record) for t in signature.out_types]
        record.outs = [ref(x) for x in found]
        self.recorded.append(ref(record))
        if signature.is_checked:
            self.checked.append(record)
        return found if signature.is_flat else signature.result(*found)

    # --- asking

    def on_host(self, x: Later) -> Any:
        """The value of a tensor, as the interpreter has it."""
        with self.lock:
            if x.record is not None:
                self.make([x.record])
            return x.value if x.bank is None else x.bank.row(x.row)

    def known(self, x: Any) -> Any:
        """A tensor as an array of its own, on the device if a segment has computed it."""
        if type(x) is not Later or x.home is not self:
            return on_host(x) if type(x) is Later else x
        with self.lock:
            if x.record is not None:
                self.make([x.record])
            if x.bank is None:
                return x.value
            self.machine.dispatched(0)
            return x.bank.array[x.row]

    def ask(self, value: Any) -> None:
        """Have all tensors in a value made, and those in its references, and all calls that may fail."""
        with self.lock:
            records = [r for x in tensors_in(value) if (r := maker(x)) is not None]
            self.make([*self.checked, *records])

    def settle(self) -> None:
        """Make all calls that may fail."""
        with self.lock:
            self.make(self.checked)

    def make_all(self) -> None:
        """Make all calls whose results are used."""
        with self.lock:
            records = [x for r in self.recorded if (x := r()) is not None and not x.is_made]
            taken = {m for r in records for x in r.leaves if (m := maker(x)) is not None}
            self.recorded.clear()
            self.make([*self.checked, *[r for r in records if r not in taken]])

    # --- making

    def make(self, targets: Iterable[Record]) -> None:
        """Make some calls, and those that these need."""
        wanted = needed([r for r in targets if not r.is_made])
        if not wanted.groups:
            return
        found = [(group, () if group.terms else places(group)) for group in wanted.groups]
        uploaded = self.make_room(found)
        try:
            failed = [self.make_group(*x, uploaded) for x in found]
            is_repeated = any(x is not None and int(x) for x in failed)
        except self.jax.errors.JaxRuntimeError as error:
            self.give_up(wanted, first_line(error))
            is_repeated = True
        if is_repeated:
            self.repeat(wanted)
        for group in wanted.groups:
            for r in group.records:
                r.leaves.clear()
        self.checked = [r for r in self.checked if not r.is_made]

    def make_room(self, found: Sequence[tuple[Group, Sequence[Place]]]) -> dict[int, int]:
        """Have banks with room for the results of some calls, and with the arrays that calls do not have in
        common; the rows of these by their identities.
        """
        wanted: Counter[RowType] = Counter()
        arrays: dict[RowType, dict[int, Any]] = {}
        for group, where in found:
            for t in group.signature.out_types:
                wanted[t] += group.rows
                if group.terms:
                    several = [x for terms in group.terms for x in terms if type(x) is not Later]
                    arrays.setdefault(t, {}).update({id(x): x for x in several})
            for i, (t, place) in enumerate(zip(group.signature.types, where, strict=False)):
                if place is Place.ROWS:
                    several = [x for r in group.records if type(x := r.leaves[i]) is not Later]
                    arrays.setdefault(t, {}).update({id(x): x for x in several})
        uploaded: dict[int, int] = {}
        renewals: list[tuple[Bank, Any]] = []
        for t in {**wanted, **arrays}:
            bank = self.bank(t)
            values = arrays.get(t, {})
            part = bank.prepared(list(values.values()), wanted[t])
            if part is not None:
                uploaded |= {key: part.first + i for i, key in enumerate(values)}
                renewals.append((bank, part))
        if renewals:
            self.renew(renewals)
        return uploaded

    def renew(self, renewals: Sequence[tuple[Bank, Renewal]]) -> None:
        """Give banks rows and room."""
        sizes = tuple([(bank.type, bank.capacity) for bank, _ in renewals])
        program = self.machine.programs.get(sizes)
        if program is None:
            program = self.machine.programs[sizes] = renewal_program(self.jax, sizes)
        kept = [None if part.is_new else bank.array for bank, part in renewals]
        self.machine.dispatched(0)
        arrays = program(kept, [part.arguments for _, part in renewals])
        for (bank, _), array in zip(renewals, arrays, strict=True):
            bank.array = array

    def make_group(self, group: Group, where: Sequence[Place], uploaded: dict[int, int]) -> Any:
        """Make some calls together; the number of a requirement that failed, None if there are none."""
        signature, records = group.signature, group.records
        firsts = [self.bank(t).taken(group.rows) for t in signature.out_types]
        if group.terms:
            failed = self.add(group, firsts[0], uploaded)
        else:
            arguments = [
                self.argument(records[0].leaves[i]) for i, p in enumerate(where) if p is Place.ARGUMENT
            ]
            columns = [i for i, p in enumerate(where) if p is not Place.ARGUMENT]
            rows = np.empty((len(columns), group.rows), np.int32)
            for at, i in enumerate(columns):
                rows[at, : len(records)] = [row_of(r.leaves[i], uploaded) for r in records]
                rows[at, len(records) :] = rows[at, 0]
            program = signature.programs.get((where, len(records) == 1))
            if program is None:
                program = calls_program(self.jax, signature, where, is_one=len(records) == 1)
                signature.programs[where, len(records) == 1] = program
            written, read = touched(signature, where)
            banks, others = [[self.bank(t).array for t in types] for types in (written, read)]
            made, failed = program(banks, others, arguments, rows, np.array(firsts, np.int32))
            for t, array in zip(written, made, strict=True):
                self.bank(t).array = array
        self.machine.dispatched(len(records))
        for k, r in enumerate(records):
            r.is_made = True
            for t, first, out in zip(signature.out_types, firsts, r.outs, strict=True):
                self.bank(t).hold(out, first + k)
        return failed

    def add(self, group: Group, first: int, uploaded: dict[int, int]) -> None:
        """Make some sums."""
        bank = self.bank(group.signature.out_types[0])
        longest = power_of_two(max(map(len, group.terms)))
        rows = np.full((group.rows, longest), -1, np.int32)
        for i, terms in enumerate(group.terms):
            rows[i, : len(terms)] = [row_of(x, uploaded) for x in terms]
        program = self.machine.programs.get("sums")
        if program is None:
            program = self.machine.programs["sums"] = sums_program(self.jax)
        bank.array = program(bank.array, rows, np.int32(first))

    def bank(self, t: RowType) -> Bank:
        """The bank of a type."""
        found = self.banks.get(t)
        if found is None:
            found = self.banks[t] = Bank(t)
        return found

    def argument(self, x: Any) -> Any:
        """An array that calls have in common, on the device if it is large."""
        if not is_array(x) or x.size <= HOST_ELEMENTS:
            return x
        if len(self.placed) == MAX_PLACED:
            self.placed.clear()
        if id(x) not in self.placed:
            self.placed[id(x)] = (x, self.jax.device_put(x, self.machine.device))
        return self.placed[id(x)][1]

    def give_up(self, wanted: Needed, reason: str) -> None:
        """Leave the steps of calls to the host, since XLA fails with them (`out-of-memory`)."""
        arrays = [bank.array for bank in self.banks.values() if bank.array is not None]
        if any(x.is_deleted() for x in arrays):
            fail("out-of-memory", f"XLA: {reason}", hint="call the program with less data at a time")
        for group in wanted.groups:
            for r in group.records:
                r.segment.give_up(r.steps, f"XLA: {reason}")

    def repeat(self, wanted: Needed) -> None:
        """Have the host make calls in the order of the program, since something fails, or XLA has no form."""
        for r in wanted.records:
            operands = r.signature.structure(*map(on_host, r.leaves))
            for out, x in zip(r.outs, r.segment.on_host(r.steps, operands), strict=True):
                later = out()
                if later is not None:
                    later.value, later.bank, later.record = x, None, None
            r.is_made = True


def taken_apart(operands: Sequence[Any]) -> tuple[list[Any], Any]:
    """The tensors in operands, and what tells how these are tuples of them."""
    leaves: list[Any] = []
    for x in operands:
        if type(x) is tuple:
            leaves += x
        else:
            leaves.append(x)
    if tuple in map(type, leaves):
        return flatten(tuple(operands))
    sizes: list[int | None] = [len(x) if is_tuple(x) else None for x in operands]
    return leaves, tuple(sizes)


def row_of(x: Any, uploaded: dict[int, int]) -> int:
    """The row in which an operand lies."""
    return x.row if type(x) is Later else uploaded[id(x)]


def tensors_in(value: Any) -> list[Later]:
    """The tensors in a value that are computed later, and those in its references."""
    found: list[Later] = []
    pending, seen = [value], set[int]()
    while pending:
        leaves, structure = flatten(pending.pop())
        found += [x for x in leaves if type(x) is Later]
        for part in structure.parts:
            if isinstance(part, Known) and isinstance(part.value, RefValue) and id(part.value) not in seen:
                seen.add(id(part.value))
                pending.append(part.value.value)
    return found
