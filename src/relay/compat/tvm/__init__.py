"""The module `tvm`, for programs that were written for Relay as Apache TVM 0.14 has it.

`from relay.compat import tvm` gives `tvm.relay`, `tvm.ir`, `tvm.nd` and the rest, which are Relay by the
names that people know; `python -m relay.compat.tvm script.py` runs a script that says `import tvm`.  From the
import on, nodes answer as such programs know them, in the whole process: `astext()` and `print` write version
0.0.5, and the data of constants has `.numpy()`.
"""

import sys
from typing import Any

from relay.compat.tvm import nodes
from relay.compat.tvm.importer import Finder
from relay.compat.tvm.modules import answer, names

__version__ = "0.14.0"

nodes.answer_as_known()
sys.meta_path.append(Finder(__name__))


def __getattr__(name: str) -> Any:
    """A name of `tvm`."""
    return answer("", name)


def __dir__() -> list[str]:
    """The names of `tvm`."""
    return names("")
