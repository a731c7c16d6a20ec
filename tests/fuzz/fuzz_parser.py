"""Coverage-guided fuzzing of the parser with atheris: no input may cause anything but a `RelayError`.

    pip install atheris
    python tests/fuzz/fuzz_parser.py -max_total_time=600 tests/fuzz/corpus

The first bytes that libFuzzer finds interesting land in the corpus folder; the seeds that stay in the
repository are small texts that reach each construct.  A parsed module is printed and read again, which must
give the same module.
"""

import sys

import atheris

with atheris.instrument_imports(include=["relay.text"]):
    import relay
    from relay.text.parser import parse


def one_input(data: bytes) -> None:
    """Parse the bytes as text; what parses must survive printing."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        mod = parse(text, "<fuzz>")
    except relay.RelayError:
        return
    relay.assert_structural_equal(parse(mod.astext()), mod)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
