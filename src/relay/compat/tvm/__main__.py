"""`python -m relay.compat.tvm script.py args…` runs a script whose `import tvm` is answered by Relay.

`python -m relay.compat.tvm -m pytest tests/` runs a module so.
"""

import runpy
import sys
from pathlib import Path

from relay.compat.tvm.checks import FIXTURES
from relay.compat.tvm.importer import Finder
from relay.diagnostic import RelayError

USAGE = "usage: python -m relay.compat.tvm SCRIPT [ARGS…], or: python -m relay.compat.tvm -m MODULE [ARGS…]"


def main(argv: list[str]) -> int:
    """Run a script, or a module behind `-m`; its exit status, or 1 where it fails with a diagnostic."""
    if not argv or argv[0] in ("-h", "--help") or argv == ["-m"]:
        print(USAGE, file=sys.stderr if not argv or argv == ["-m"] else sys.stdout)
        return 2 if not argv or argv == ["-m"] else 0
    sys.meta_path.insert(0, Finder("tvm"))
    try:
        if argv[0] == "-m":
            name, *rest = argv[1:]
            sys.argv = [name, *(FIXTURES if name == "pytest" else ()), *rest]
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        else:
            sys.argv = argv
            sys.path[0] = str(Path(argv[0]).resolve().parent)
            runpy.run_path(argv[0], run_name="__main__")
    except RelayError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


raise SystemExit(main(sys.argv[1:]))
