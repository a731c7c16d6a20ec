"""Where a program is to stop, and on what conditions."""

import os
import re
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from relay.debugger.calls import Variable
from relay.debugger.evaluation import Evaluator
from relay.debugger.machine import is_library
from relay.debugger.values import shown
from relay.diagnostic import RelayError

HITS = re.compile(r"\s*(==|=|>=|>|<=|<|%)?\s*(\d+)\s*")
INSERTED = re.compile(r"\{([^{}]*)\}")
_ids = count(1)


@dataclass(eq=False, slots=True)
class Breakpoint:
    """A line (of the file `path`), or a function by its name, to stop at."""

    path: str = ""
    line: int = 0
    function: str = ""
    condition: str = ""
    """An expression over the variables there, a bool."""
    hits: str = ""
    """At which of its hits: `5` or `>= 5`, `% 10`."""
    message: str = ""
    """A text to write instead of stopping; each `{…}` in it is an expression."""
    id: int = field(default_factory=lambda: next(_ids))
    verified_line: int = 0
    """The line where it is: the first at or below that which was asked for with something to evaluate."""
    reached: int = 0
    is_temporary: bool = False

    def __post_init__(self) -> None:
        self.function = self.function.removeprefix("@")

    @property
    def fault(self) -> str:
        """What is wrong with it as it is written."""
        found = HITS.fullmatch(self.hits) if self.hits else None
        if self.hits and (found is None or (found[1] == "%" and int(found[2]) == 0)):
            return f"`{self.hits}` is not a count of hits: write 5, >= 5 or % 5"
        return ""

    def is_due(self) -> bool:
        """Whether this hit, the `reached`th, is one to stop at."""
        found = HITS.fullmatch(self.hits)
        if found is None:
            return True
        n, wanted = self.reached, int(found[2])
        match found[1]:
            case "=" | "==":
                return n == wanted
            case ">":
                return n > wanted
            case "<":
                return n < wanted
            case "<=":
                return n <= wanted
            case "%":
                return n % wanted == 0
            case _:
                return n >= wanted

    def hit(self, variables: list[Variable], evaluator: Evaluator) -> tuple[bool, str]:
        """Whether to stop here, and what to write."""
        try:
            if self.condition and not evaluator.is_true(self.condition, variables):
                return False, ""
        except RelayError as error:
            self.reached += 1
            return True, f"the condition of the breakpoint fails:\n{error}\n"
        self.reached += 1
        if not self.is_due():
            return False, ""
        if not self.message:
            return True, ""
        return False, INSERTED.sub(lambda m: _value_text(m[1], variables, evaluator), self.message) + "\n"


def _value_text(text: str, variables: list[Variable], evaluator: Evaluator) -> str:
    try:
        return shown(evaluator.evaluate(text, variables)[0])
    except RelayError as error:
        return f"<{error.diagnostics[0].message}>"


def resolved(name: str) -> str:
    """The file that the name of a source stands for: its path; of what is not a file, the name."""
    return name if name.startswith("<") or is_library(name) else os.path.realpath(name)


def nearest(line: int, known: Any) -> int:
    """The first of the known lines at or below a line; 0 if there is none."""
    return min([n for n in known if n >= line], default=0)
