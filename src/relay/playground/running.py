"""What runs a program, and what transforms it."""

from time import perf_counter

from relay.cli.calls import entry_of
from relay.cli.files import STDIN
from relay.cli.fmt import formatted
from relay.cli.inputs import ARRAY_FILES, Input, arrange
from relay.cli.run import evaluate
from relay.diagnostic import Source, Span, fail
from relay.interpreter.show import show
from relay.ir.expr import Function
from relay.ir.module import IRModule
from relay.picture.view import view
from relay.playground.checking import NAME, Answer
from relay.playground.fields import Request, refuse, text_of, texts_of, width_of
from relay.text.parser import parse_module
from relay.transform.rewriting.context import PassContext
from relay.transform.rewriting.instruments import Verify
from relay.transform.rewriting.pipeline import parse_pipeline
from relay.typecheck.infer import infer

BACKENDS = ("interpreter", "native")
FILES = (*ARRAY_FILES, ".json")


def module_of(request: Request) -> IRModule:
    """The annotated module of `program`; it imports standard modules only."""
    return infer(parse_module(text_of(request, "program"), NAME))


def run(request: Request) -> Answer:
    """The value of the definition `entry` of `program` on `inputs`, texts by the names of parameters, by
    `backend`; `seconds` is how long the call took, compilation included.

    Raises what is wrong with the program or an input, and what fails as it runs.
    """
    mod = module_of(request)
    entry = (text_of(request, "entry", "") or "main").removeprefix("@")
    main = entry_of(mod, entry)
    params = [p.name_hint for p in main.params] if isinstance(main, Function) else []
    given = texts_of(request, "inputs")
    missing = [name for name in params if not given.get(name, "").strip()]
    if missing:
        names = ", ".join(f"`%{name}`" for name in missing)
        hint = "write a value under Inputs, such as 3, [1.0, 2.0] or ones(shape=(2, 3), dtype=float32)"
        fail("missing-input", f"no value for {names}", hint=hint)
    inputs = arrange(params, (), {name: input_of(name, given[name]) for name in params})
    backend = text_of(request, "backend", BACKENDS[0])
    if backend not in BACKENDS:
        refuse(f"there is no backend `{backend[:40]}`: choose {' or '.join(f'`{b}`' for b in BACKENDS)}")
    start = perf_counter()
    value = evaluate(mod, entry, isinstance(main, Function), inputs, backend)
    seconds = perf_counter() - start
    return {"text": show(value), "seconds": seconds}


def input_of(name: str, text: str) -> Input:
    """An input of a page, which is a literal of the language or JSON, never a file (`input-from-file`)."""
    text = text.strip()
    if text.endswith(FILES):
        fail(
            "input-from-file",
            f"`{name}` is the name of a file, and a page cannot have files read",
            Span(Source(f"<{name}>", text), 0, len(text)),
            hint="write the value, such as [1.0, 2.0]; `relay run` reads files",
        )
    return Input(text, text=text)


def transformed(request: Request) -> Answer:
    """`program` before and after the passes of the text `pipeline`, after each of which it is verified; lines
    have at most `width` columns where that is possible.
    """
    steps = parse_pipeline(text_of(request, "pipeline", ""))
    before = after = module_of(request)
    with PassContext(instruments=[Verify()]):
        for step in steps:
            after = step(after)
    width = width_of(request)
    return {"before": before.astext(width=width), "after": after.astext(width=width)}


def drawn(request: Request) -> Answer:
    """The page that `relay view` makes of `program`."""
    return {"html": view(module_of(request)).html()}


def in_canonical_form(request: Request) -> Answer:
    """`program` as `relay fmt` writes it."""
    return {"text": formatted(text_of(request, "program"), STDIN)}
