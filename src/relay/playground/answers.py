"""Questions of the page and their answers, as JSON: the same in a local server and in a browser."""

from collections.abc import Callable
from contextlib import redirect_stderr
from io import TextIOBase

from relay.cli.main import out_of_memory
from relay.cli.passes import pass_summary
from relay.diagnostic import Diagnostic, RelayError
from relay.playground.checking import Answer, checked, hovered, plain, typed
from relay.playground.fields import Request, refuse, text_of
from relay.playground.running import drawn, in_canonical_form, run, transformed
from relay.playground.samples import samples
from relay.transform.rewriting.registry import load_all, registry
from relay.version import VERSION

MAX_TEXT_CHARS = 200_000
"""Longer answers are cut, in characters."""
MAX_LOG_CHARS = 50_000
"""How much a program may write by `trace`, in characters; the rest is dropped."""

TEXTS = frozenset({"text", "before", "after"})
"""What may be cut."""

LACK_OF_MEMORY = out_of_memory()

Log = Callable[[str], None]


def about(_: Request) -> Answer:
    """What the page shows before anything is typed: the version, sample programs, and passes."""
    load_all()
    passes = [{"name": name, "summary": pass_summary(registry[name])} for name in sorted(registry)]
    return {"version": VERSION, "samples": samples(), "passes": passes}


QUESTIONS: dict[str, Callable[[Request], Answer]] = {
    "about": about,
    "check": checked,
    "hover": hovered,
    "types": typed,
    "format": in_canonical_form,
    "run": run,
    "passes": transformed,
    "graph": drawn,
}


def answer(request: Request, log: Log) -> Answer:
    """The answer to the question `ask` of a request; what a program writes by `trace` goes to `log` as it is
    written.

    Whatever is wrong is in the `diagnostics` of the answer.
    """
    try:
        question = QUESTIONS.get(text_of(request, "ask"))
        if question is None:
            refuse("the playground does not answer this question")
        with redirect_stderr(Written(log)):
            return cut(question(request))
    except RelayError as error:
        is_spent = LACK_OF_MEMORY.code in error.codes
        return {"diagnostics": [plain(d) for d in error.diagnostics], **({"spent": True} if is_spent else {})}
    except MemoryError:
        return without_memory()


def without_memory() -> Answer:
    """The answer of a process that has no more memory; `spent` is that it should answer nothing else."""
    return {"diagnostics": [plain(LACK_OF_MEMORY)], "spent": True}


def refused(code: str, message: str, hint: str = "") -> Answer:
    """An answer that is one diagnostic."""
    return {"diagnostics": [plain(Diagnostic(code, message, hint=hint))]}


def cut(found: Answer) -> Answer:
    """An answer whose long texts end at `MAX_TEXT_CHARS`."""
    long = [k for k, v in found.items() if k in TEXTS and len(v) > MAX_TEXT_CHARS]
    return {**found, **{k: found[k][:MAX_TEXT_CHARS] for k in long}, **({"cut": long} if long else {})}


class Written(TextIOBase):
    """Standard error while a program runs."""

    def __init__(self, log: Log) -> None:
        """`log` takes each text, up to `MAX_LOG_CHARS` in all."""
        self.log = log
        self.left = MAX_LOG_CHARS

    def write(self, text: str, /) -> int:
        """Hand a text on, or what there is room for."""
        if self.left > 0:
            self.log(text[: self.left])
            self.left -= len(text)
            if self.left <= 0:
                self.log(f"\n… (what follows {MAX_LOG_CHARS:,} characters is left out)\n")
        return len(text)
