"""Coverage-guided fuzzing of the parser with atheris: no input gives anything but a `RelayError`, none hangs.

    pip install atheris
    mkdir -p /tmp/corpus
    python tests/fuzz/fuzz_parser.py -max_total_time=600 -timeout=20 /tmp/corpus tests/fuzz/corpus

What libFuzzer finds interesting lands in the first folder.  The seeds in the second one stay in the project:
small texts that reach each construct, and those that once led to a fault.  A parsed module is printed and
read again, which must give the same module.
"""

import sys

import atheris

with atheris.instrument_imports(include=["relay.text"]):
    import relay
    from relay.text.parser import parse_module


def one_input(data: bytes) -> None:
    """Parse the bytes as text; what parses must survive printing."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        mod = parse_module(text, "<fuzz>")
    except relay.RelayError:
        return
    again = parse_module(mod.astext())
    assert relay.structural_equal(again, mod, map_free_vars=True)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
