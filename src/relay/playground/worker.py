"""A process that answers questions, one a line, under limits: `python -m relay.playground.worker BYTES`.

Lines on standard input are requests in JSON; those on standard output are `{}` at first, then for each
request `{"begun": true}`, any number of `{"log": TEXT}`, and `{"answer": …}`; before `begun`, and while it is
idle, `{"state": TEXT}` says what it loads, "" when it has.  It ends with its input, and with the process that
started it.
"""

import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from queue import Empty, SimpleQueue
from time import sleep
from typing import Any, TextIO

from relay.playground.memory import lift_memory_limit, limit_memory

WATCHING_S = 1.0
"""How often a worker looks whether the server is still there, in seconds."""
IDLE_S = 0.5
"""A new worker that is asked nothing for so many seconds loads what machine code needs."""
MAX_DESCRIPTORS = 64
WARM_UP = ("about", "check", "hover", "run", "passes")
"""What a worker asks itself first, so that all modules are imported before its time is measured."""

LOADING = "loading LLVM…"
"""The state that the page shows while a worker loads what machine code needs."""

WARM_UP_PROGRAM = "1 + 2"
"""The program that it asks about."""


def limit() -> None:
    """Bounds for this process, where the system has them: no files written, no core dumps."""
    with suppress(ImportError):
        import resource

        limits = [
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_NOFILE, MAX_DESCRIPTORS),
        ]
        for what, most in limits:
            with suppress(ValueError, OSError):  # a bound that is lower already
                resource.setrlimit(what, (most, most))


def end_with(parent: int) -> None:
    """End this process when its parent has ended, whatever it is doing."""
    while os.getppid() == parent:
        sleep(WATCHING_S)
    os._exit(1)


def take_lines(requests: TextIO, lines: SimpleQueue[str]) -> None:
    """Put requests in a queue as they come, and an empty line at their end."""
    for line in requests:
        lines.put(line)
    lines.put("")


@cache
def load_machine_code(memory_bytes: int, reply: Callable[..., None]) -> None:
    """Import and load what machine code needs, once, without counting it as memory or time of a program."""
    from relay.playground.answers import answer

    reply(state=LOADING)
    lift_memory_limit()
    answer({"ask": "run", "program": WARM_UP_PROGRAM, "backend": "native"}, ignore)
    limit_memory(memory_bytes)
    reply(state="")


def ignore(_: str) -> None:
    """Take what a program writes, and leave it."""


def answer_lines(requests: TextIO, replies: TextIO, memory_bytes: int) -> None:
    """Answer requests until there are no more."""
    from relay.playground.answers import answer, without_memory

    for question in WARM_UP:
        answer({"ask": question, "program": WARM_UP_PROGRAM}, ignore)
    limit()
    limit_memory(memory_bytes)

    def reply(**fields: Any) -> None:
        replies.write(json.dumps(fields) + "\n")
        replies.flush()

    reply()
    lines: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=take_lines, args=(requests, lines), daemon=True).start()
    try:
        line = lines.get(timeout=IDLE_S)
    except Empty:
        load_machine_code(memory_bytes, reply)
        line = lines.get()
    while line:
        request = json.loads(line)
        if request.get("backend") == "native":
            load_machine_code(memory_bytes, reply)
        reply(begun=True)
        try:
            found = answer(request, lambda text: reply(log=text))
        except MemoryError:  # there is not even enough to say so
            lift_memory_limit()
            found = without_memory()
        reply(answer=found)
        line = lines.get()


def main() -> None:
    """Take standard output for replies alone, and begin."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    answer_lines(sys.stdin, replies, int(sys.argv[1]))


if __name__ == "__main__":
    main()
