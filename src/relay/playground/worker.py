"""A process that answers questions, one a line, under limits: `python -m relay.playground.worker BYTES`.

Lines on standard input are requests in JSON; those on standard output are `{}` at first, then for each
request `{"log": TEXT}` and `{"answer": …}`.  It ends with its input, and with the process that started it.
"""

import json
import os
import sys
import threading
from contextlib import suppress
from time import sleep
from typing import Any, TextIO

WATCHING_S = 1.0
"""How often a worker looks whether the server is still there, in seconds."""
MAX_DESCRIPTORS = 64
WARM_UP = ("about", "check", "hover", "run", "passes")
"""What a worker asks itself first, so that all modules are imported before its time is measured."""


def limit(memory_bytes: int) -> None:
    """Bounds for this process, where the system has them: memory beside what it has now, no files written, no
    core dumps.
    """
    with suppress(ImportError):
        import resource

        limits = [
            (resource.RLIMIT_AS, size_bytes() + memory_bytes),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_NOFILE, MAX_DESCRIPTORS),
        ]
        for what, most in limits:
            with suppress(ValueError, OSError):  # what macOS does not have, or a bound that is lower already
                resource.setrlimit(what, (most, most))


def size_bytes() -> int:
    """The address space of this process, 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def end_with(parent: int) -> None:
    """End this process when its parent has ended, whatever it is doing."""
    while os.getppid() == parent:
        sleep(WATCHING_S)
    os._exit(1)


def answer_lines(requests: TextIO, replies: TextIO) -> None:
    """Answer requests until there are no more."""
    from relay.playground.answers import answer

    def reply(**fields: Any) -> None:
        replies.write(json.dumps(fields) + "\n")
        replies.flush()

    for question in WARM_UP:
        answer({"ask": question, "program": "1 + 2"}, lambda _: None)
    limit(int(sys.argv[1]))
    reply()
    for line in requests:
        reply(answer=answer(json.loads(line), lambda text: reply(log=text)))


def main() -> None:
    """Take standard output for replies alone, and begin."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    answer_lines(sys.stdin, replies)


if __name__ == "__main__":
    main()
