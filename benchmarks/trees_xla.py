"""Programs over trees by XLA: segments of many calls together (`batch="dynamic"`), beside each at once, and
beside machine code that batches.

The models and trees are those of `trees.py`; here programs are given the trees.  Each system has a process of
its own, on as many processors as it has threads; they take turns.  Results are compared first.  What is
reported is the ratio of the others' times to that of XLA's batched program in the same round: its median,
with a 95% bootstrap interval.  One tree is compiled as a whole where calls are not batched, in half a minute.

    python benchmarks/trees_xla.py [--only TEXT] [--threads 1,2] [--rounds 30]
"""

import argparse
from typing import Any

import trees
from peer_systems import Run
from peers import OURS, Worker
from trees import CASES, Case, measured

CALL_BY_CALL, MACHINE_CODE = "XLA, call by call", "machine code, batched"
MAIN = """
def @main(%trees: List[Tree], {params}) {
  let %states = @map(fn (%t) { @state(%t, {args}) }, %trees);
  @foldl(fn (%a, %b) { %a + %b }, zeros(shape=(1, {out}), dtype=float32), %states)
}
"""


def program(case: Case, batch: str | None, target: str, **options: Any) -> Run:
    """The program, built for its weights, and called with the trees."""
    import relay

    mod = relay.parse(trees.program_text(case, MAIN))
    forest = case.forest()
    arrays = (len(forest.roots), forest.roots, forest.xs, forest.left, forest.right)
    given = relay.create_executor("debug", mod).evaluate("forest")(*arrays)
    options |= {"params": trees.weights(case.shapes), "batch": batch}
    built = relay.build(mod, target, entries=["main"], **options)["main"]
    return lambda: built(given)


def of_case(name: str, system: str, threads: int) -> Run:
    """A call of a program."""
    if system == MACHINE_CODE:
        return program(CASES[name], "dynamic", "native", threads=threads)
    return program(CASES[name], "dynamic" if system == OURS else None, "xla cpu")


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
