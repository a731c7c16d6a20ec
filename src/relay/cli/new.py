"""`relay new NAME`: a folder with a program, its tests, and what a repository needs beside them."""

import re
from pathlib import Path

import click

from relay.cli.files import write_bytes
from relay.diagnostic import fail

PROGRAM = """// NAME: a linear classifier of four numbers.

type Params {
  Params { w: Tensor[(3, 4), float32], b: Tensor[(3,), float32] },
}

// The scores of three classes: `x @ w.T + b`.
//
//     relay> @scores(Params { w: ones(shape=(3, 4), dtype=float32), b: [0.0, 1.0, 2.0] }, [[1f, 1f, 1f, 1f]])
//     [[4.0, 5.0, 6.0]]
def @scores<n: Dim>(%p: Params, %x: Tensor[(n, 4), float32]) -> Tensor[(n, 3), float32] {
  nn.bias_add(nn.dense(%x, %p.w), %p.b)
}

// The mean of -log of the probability that the right class gets.
def @loss<n: Dim>(
  %p: Params, %x: Tensor[(n, 4), float32], %labels: Tensor[(n,), int32]
) -> float32 {
  let %right = one_hot(%labels, 1f, 0f, depth=3, dtype=float32);
  -mean(sum(%right * nn.log_softmax(@scores(%p, %x)), axis=1))
}

// One step down the gradient: the loss, and the new parameters.
def @step<n: Dim>(
  %p: Params, %x: Tensor[(n, 4), float32], %labels: Tensor[(n,), int32], %rate: float32
) {
  let (%loss, (%d, _, _)) = grad(@loss)(%p, %x, %labels);
  (%loss, Params { w: %p.w - %rate * %d.w, b: %p.b - %rate * %d.b })
}
"""
TESTS = """// The tests of NAME: `relay test .` runs them, and the examples in comments.

import "NAME.relay"

def @start() -> Params {
  Params { w: zeros(shape=(3, 4), dtype=float32), b: zeros(shape=(3,), dtype=float32) }
}

def @test_scores_are_zero_at_first(test=True) {
  all(@scores(@start(), ones(shape=(2, 4), dtype=float32)) == zeros(shape=(2, 3), dtype=float32))
}

def @test_a_step_makes_the_loss_less(test=True) {
  let %x = ones(shape=(2, 4), dtype=float32);
  let (%first, %new) = @step(@start(), %x, [0, 0], 0.5f);
  assert(abs(%first - log(3f)) < 0.001f, message="three classes are equally likely");
  @loss(%new, %x, [0, 0]) < %first
}
"""
PAGE = """# NAME

```sh
relay check .        # every error and warning
relay test .         # the tests, and the examples in comments
relay fmt .          # in the canonical form
```
"""
FILES = {
    "NAME.relay": PROGRAM,
    "tests.relay": TESTS,
    "README.md": PAGE,
    ".gitignore": "*.rlo\n*.rlx\n",
}
"""What is made, with NAME for the name of the folder."""


@click.command()
@click.argument("name")
def new(name: str) -> None:
    """Make the folder NAME with a program, tests of it, and a page that says how to run them."""
    folder = Path(name)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", folder.name):
        raise click.BadParameter("a name is made of letters, digits, - and _", param_hint="NAME")
    if folder.exists():
        fail("cannot-write", f"`{folder}` is there already", hint="choose another name")
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        fail("cannot-write", f"`{folder}` cannot be made: {error.strerror or error}")
    for file, text in FILES.items():
        name_of = folder / file.replace("NAME", folder.name)
        write_bytes(str(name_of), text.replace("NAME", folder.name).encode())
    click.echo(f"{folder}/ has a program and its tests: relay test {folder}", err=True)
