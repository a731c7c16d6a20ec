"""Programs over trees by XLA: segments of many calls together (`batch="dynamic"`), beside each at once, and
beside machine code that batches.

The programs are those of `trees.py`.  Each system has a process of its own, on as many processors as it has
threads; they take turns.  Results are compared first.  What is reported is the ratio of the others' times to
that of XLA's batched program in the same round: its median, with a 95% bootstrap interval.

    python benchmarks/trees_xla.py [--only TEXT] [--threads 1,2] [--rounds 30]
"""

import argparse

from peer_systems import Run
from peers import OURS, Worker
from trees import CASES, measured, relay_program

CALL_BY_CALL, MACHINE_CODE = "XLA, call by call", "machine code, batched"


def of_case(name: str, system: str, threads: int) -> Run:
    """A call of a program."""
    if system == MACHINE_CODE:
        return relay_program(CASES[name], "dynamic", threads=threads)
    return relay_program(CASES[name], "dynamic" if system == OURS else None, "xla cpu")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="the cases that have it in their name")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=30)
    args = parser.parse_args()
    for threads in [int(t) for t in args.threads.split(",")]:
        workers = {s: Worker(s, threads, of_case) for s in (OURS, CALL_BY_CALL, MACHINE_CODE)}
        for name in CASES:
            if args.only in name:
                measured(name, threads, workers, args.rounds)
        for worker in workers.values():
            worker.stop()


if __name__ == "__main__":
    main()
