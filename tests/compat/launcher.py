"""A process that has imported Relay and forks for each line of standard input, which says what to run.

Each fork runs as `python -m relay.compat.tvm ARGS…` does from here on, with its own streams, folder and
environment; its exit status is written to standard output.
"""

import json
import os
import runpy
import signal
import sys
from importlib import import_module
from typing import Any

for name in (
    "llvmlite.binding", "numpy.testing", "relay.autodiff", "relay.backend.native.host.compiler",
    "relay.compat.tvm.checks", "relay.compat.tvm.executors", "relay.driver.executor", "relay.expansion",
    "relay.pipelines", "relay.text.json_graph",
):  # fmt: skip
    import_module(name)


def next_request() -> dict[str, Any]:
    """Return what a fork of this process is to run, in that fork; the process itself ends with its input."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            return json.loads(line)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    sys.exit()


request = next_request()
signal.alarm(300)
for number, path in enumerate((os.devnull, request["stdout"], request["stderr"])):
    opened = os.open(path, os.O_RDWR)
    os.dup2(opened, number)
    os.close(opened)
os.environ.clear()
os.environ.update(request["environment"])
os.chdir(request["folder"])
sys.path[0] = request["folder"]
sys.argv[1:] = request["args"]
runpy.run_module("relay.compat.tvm", run_name="__main__", alter_sys=True)
