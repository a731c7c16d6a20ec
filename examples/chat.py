"""A conversation with a language model: `python examples/chat.py FOLDER`.

The cache keeps what was said, so that a turn reads only what is new.
"""

import sys

import relay.models
from relay.decoding.chat import Conversation


def show(text: str) -> None:
    """Print text as it comes."""
    print(text, end="", flush=True)


def main() -> None:
    """Ask, answer, until the end of the input."""
    talk = Conversation(relay.models.load(sys.argv[1]), system="Answer in a sentence.")
    for line in iter(lambda: input("> "), ""):
        found = talk.say(line, on_text=show, max_tokens=200, temperature=0.7, top_p=0.9)
        print(f"\n({found.read_tokens} of {found.prompt_tokens} tokens were new)")


if __name__ == "__main__":
    main()
