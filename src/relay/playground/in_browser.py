"""What the page's own engine calls: Python in a browser, where texts go to and fro."""

import json
from collections.abc import Callable

from relay.playground.answers import answer


def answer_text(request: str, log: Callable[[str], None]) -> str:
    """The answer to a request, both as JSON; `log` is given what the program writes.

    A browser has no machine code: all programs are interpreted.
    """
    return json.dumps(answer({**json.loads(request), "backend": "interpreter"}, log))
