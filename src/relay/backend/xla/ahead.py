"""Exported programs compiled for TPUs that are not here, in a process of its own, which the compiler may end
where it meets what it does not know.

`python -m relay.backend.xla.ahead FILE TOPOLOGY` prints what became of each entry, as JSON.
"""

import json
import sys
from importlib import import_module
from typing import Any

from relay.analysis.sharding import Sharding
from relay.backend.xla.collectives import collectives_in
from relay.backend.xla.export_platforms import load_export
from relay.backend.xla.exported import LoadedEntry
from relay.backend.xla.exported_file import StoredEntry, StoredProgram, read_exported
from relay.backend.xla.layout import OverMesh
from relay.backend.xla.program import first_line, xla_context

ALONE = "device"
"""The axis of the mesh of one device that a program without a mesh is compiled for."""


def compiled(program: StoredProgram, entry: StoredEntry, jax: Any, devices: Any) -> dict[str, Any]:
    """What became of an entry on devices, as values that JSON has."""
    name = entry.signature.name
    sharding = entry.signature.sharding or Sharding(name, {ALONE: 1}, {}, None)
    if sharding.size > len(devices):
        return {"name": name, "devices": sharding.size, "there": len(devices)}
    sizes, names = tuple(sharding.mesh.values()), tuple(sharding.mesh)
    types = (jax.sharding.AxisType.Auto,) * len(names)
    mesh = jax.make_mesh(sizes, names, types, devices=devices[: sharding.size])
    loaded = LoadedEntry(program, entry, jax, OverMesh(jax, sharding, lambda: mesh))
    with xla_context(jax, jax.devices("cpu")[0]):
        code = loaded.lowered().compile()
    found = collectives_in(code.as_text())
    memory, cost = code.memory_analysis(), code.cost_analysis()
    return {
        "name": name,
        "collectives": dict(found.counts),
        "collective_bytes": found.bytes,
        "flops": cost.get("flops", 0.0),
        "argument_bytes": memory.argument_size_in_bytes,
        "temporary_bytes": memory.temp_size_in_bytes,
    }


def main(path: str, topology: str) -> None:
    """Compile the entries of a file, and print what became of them."""
    jax = load_export()
    program = read_exported(path)
    topologies = import_module("jax.experimental.topologies")
    try:
        devices = list(topologies.get_topology_desc(topology, platform="tpu").devices)
    except Exception as error:
        # Which it raises for names of no topology is not said anywhere.
        print(json.dumps({"topology": first_line(error)}))
        return
    try:
        found = [compiled(program, entry, jax, devices) for entry in program.entries.values()]
    except (ValueError, NotImplementedError, jax.errors.JaxRuntimeError) as error:
        print(json.dumps({"refused": first_line(error)}))
        return
    print(json.dumps({"entries": found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
