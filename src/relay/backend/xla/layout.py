"""Where the arrays of a definition lie: on one device, or split over those of a mesh."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from relay.analysis.sharding import Path, Sharding
from relay.backend.xla.data import LEAF, Known, Structure
from relay.backend.xla.host_operators import is_on_device
from relay.diagnostic import Span, fail


class Layout(Protocol):
    """Where arrays lie.  `device` is that of what is said to lie nowhere."""

    device: Any

    def arguments(self, leaves: Sequence[Any], structure: Structure, names: Sequence[str]) -> list[Any]:
        """The arrays of arguments where calls take them; `names` are those of the parameters."""
        ...

    def put(self, leaves: Sequence[Any], structure: Structure, names: Sequence[str]) -> list[Any]:
        """The arrays of arguments on the devices that they lie on in calls."""
        ...

    def joined(self, leaves: Sequence[Any], structure: Structure, names: Sequence[str]) -> list[Any]:
        """The arrays of arguments of which each process has a part."""
        ...

    def described(self, leaves: Sequence[Any], structure: Structure, names: Sequence[str]) -> list[Any]:
        """What JAX is told of arguments that are not there yet: dtypes, shapes, and where they lie."""
        ...

    def everywhere(self, values: list[Any]) -> list[Any]:
        """Arrays that are whole on each device."""
        ...

    def settle(self, results: Any) -> None:
        """Wait for the results of a call, where another call could not begin before."""
        ...

    def constrained(self, x: Any, spec: Any, span: Span | None) -> Any:
        """An array of the program, split as `shard` says (`bad-sharding`)."""
        ...


class OneDevice:
    """All arrays on one device."""

    def __init__(self, jax: Any, device: Any) -> None:
        """`device` is one that JAX knows."""
        self.jax = jax
        self.device = device
        self.place = jax.sharding.SingleDeviceSharding(device)

    def arguments(self, leaves: Sequence[Any], structure: Structure, names: Sequence[str]) -> list[Any]:
        """Arrays of NumPy stay: JAX brings them there faster in the call itself."""
        del structure, names
        return [
            self.jax.device_put(x, self.device) if is_on_device(x) and x.sharding != self.place else x
            for x in leaves
        ]

    def put(self, leaves: Sequence[Any], structure: Structure, names: Sequence[str]) -> list[Any]:
        """The arrays of arguments, on the device."""
        del structure, names
        return self.jax.device_put(list(leaves), self.device)

    joined = put

    def described(self, leaves: Sequence[Any], structure: Structure, names: Sequence[str]) -> list[Any]:
        """Their dtypes and shapes."""
        del structure, names
        return list(leaves)

    def everywhere(self, values: list[Any]) -> list[Any]:
        """Arrays on the device."""
        return self.jax.device_put(values, self.device)

    def settle(self, results: Any) -> None:
        """Calls follow each other on one device."""
        del results

    def constrained(self, x: Any, spec: Any, span: Span | None) -> Any:
        """The array as it is."""
        del spec, span
        return x

    def __str__(self) -> str:
        return str(self.device)


class OverMesh:
    """Arrays split over the devices of a mesh."""

    def __init__(self, jax: Any, sharding: Sharding, found: Callable[[], Any]) -> None:
        """`found` gives the mesh of JAX, of devices or of none in particular, when it is first needed: a
        program that is exported needs no devices.
        """
        self.jax = jax
        self.sharding = sharding
        self.found = found
        self.deepest = max(map(len, sharding.specs), default=0)
        self.known: dict[Any, list[Any]] = {}
        """Where arrays of certain structures and shapes lie."""

    @cached_property
    def mesh(self) -> Any:
        """The mesh of JAX (`bad-mesh`)."""
        return self.found()

    @cached_property
    def device(self) -> Any:
        """The first device of this process (`bad-mesh`)."""
        is_here = isinstance(self.mesh, self.jax.sharding.Mesh)
        return self.mesh.local_devices[0] if is_here else self.jax.devices("cpu")[0]

    def place(self, spec: Sequence[Any]) -> Any:
        """What JAX is told of an array that is split so."""
        return self.jax.sharding.NamedSharding(self.mesh, self.jax.sharding.PartitionSpec(*spec))

    def places(self, leaves: Sequence[Any], structure: Structure, names: Sequence[str]) -> list[Any]:
        """Where the arrays of arguments lie (`bad-sharding`)."""
        key = (structure, tuple([x.shape for x in leaves]))
        if key not in self.known:
            paths = paths_of(structure, names, self.deepest + 1)
            specs = [self.sharding.spec(p, x.shape) for p, x in zip(paths, leaves, strict=True)]
            self.known[key] = list(map(self.place, specs))
        return self.known[key]

    def arguments(self, leaves: Sequence[Any], structure: Structure, names: Sequence[str]) -> list[Any]:
        """Arrays that lie where they should stay; others are brought there."""
        return self.put(leaves, structure, names)

    def put(self, leaves: Sequence[Any], structure: Structure, names: Sequence[str]) -> list[Any]:
        """The arrays of arguments, each split as its parameter is."""
        return list(map(self.brought, leaves, self.places(leaves, structure, names)))

    def joined(self, leaves: Sequence[Any], structure: Structure, names: Sequence[str]) -> list[Any]:
        """The arrays of arguments of which each process has a part; the parts are in order of rank
        (`bad-sharding`).
        """
        paths = paths_of(structure, names, self.deepest + 1)
        places = [self.place(self.sharding.specs.get(p, ())) for p in paths]
        try:
            return list(map(self.jax.make_array_from_process_local_data, places, leaves))
        except ValueError as error:  # the parts do not make a whole that the mesh divides
            message = f"parts of `%{names[0]}` cannot be joined: {str(error).partition(chr(10))[0]}"
            fail("bad-sharding", message, self.sharding.span)

    def described(self, leaves: Sequence[Any], structure: Structure, names: Sequence[str]) -> list[Any]:
        """Their dtypes and shapes, and how they are split."""
        places = self.places(leaves, structure, names)
        return [
            self.jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=p)
            for x, p in zip(leaves, places, strict=True)
        ]

    def brought(self, x: Any, place: Any) -> Any:
        """An array at a place.  All processes have it, and each brings the parts of its own devices."""
        if is_on_device(x):
            return x if x.sharding == place else self.jax.device_put(x, place)
        return self.jax.make_array_from_callback(x.shape, place, np.asarray(x).__getitem__)

    def everywhere(self, values: list[Any]) -> list[Any]:
        """Arrays that are whole on each device."""
        return [self.brought(x, self.place(())) for x in values]

    def settle(self, results: Any) -> None:
        """Wait on devices that are made of the CPU: they share threads, and several calls at once would each
        keep some and wait for more.
        """
        if self.device.platform == "cpu" and self.sharding.size > 1:
            self.jax.block_until_ready(results)

    def constrained(self, x: Any, spec: Any, span: Span | None) -> Any:
        """An array of the program, split as `shard` says (`bad-sharding`)."""
        fault = self.sharding.fault(spec, x.shape)
        if fault:
            fail("bad-sharding", f"`shard`: {fault}", span)
        return self.jax.lax.with_sharding_constraint(x, self.place(spec))

    def __str__(self) -> str:
        return " by ".join([f"{name} {size}" for name, size in self.sharding.mesh.items()])


def paths_of(structure: Structure, names: Sequence[str], deepest: int) -> list[Path]:
    """The paths to the arrays of arguments, each cut off behind some steps."""
    found: list[Path] = []
    pending: list[Path] = [(name,) for name in reversed(names)]
    for part in structure.parts[1:]:  # behind the tuple of all arguments
        path = pending.pop()
        if part is LEAF:
            found.append(path)
        elif not isinstance(part, Known):
            count = part if isinstance(part, int) else len(part.inputs)
            fields = () if isinstance(part, int) else part.field_names
            steps = fields or [str(i) for i in range(count)]
            pending += [path if len(path) == deepest else (*path, step) for step in reversed(steps)]
    return found
