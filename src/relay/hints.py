"""Default hints of diagnostics, and their form for Python programs."""

import re

HINTS = {
    "argument-count": "pass as many arguments as it takes",
    "argument-type": "give an array of that type: `astype` and `reshape` convert NumPy's",
    "attribute-too-deep": "flatten the value; large data belongs in constants",
    "attribute-value": "`relay ops NAME` shows what an operator takes",
    "cannot-read": "correct the name; it is relative to the current folder",
    "cannot-write": "name a file in a folder that exists and that you may write to",
    "constant-cycle": "make one of them a function with a parameter that says when to stop",
    "dtype-mismatch": "dtypes are never promoted; `cast` converts a tensor",
    "duplicate-attribute": "leave one of them out",
    "duplicate-name": "give one of them another name",
    "expected-function": "functions, operators and constructors can be called",
    "expected-tensor": "a field of a tuple is `e.0`, the content of a reference `ref_read(e)`",
    "expected-tuple": "only tuples have fields; parts of a tensor are `%x[i]` and `%x[1:3]`",
    "grad-not-expanded": "call it from `@main` with a function that is known, which is then differentiated",
    "index-out-of-range": "indices count from 0, negative ones from the end",
    "kind-mismatch": "a tensor has its shape and its dtype: Tensor[(2, 3), float32]",
    "literal-out-of-range": "write a float, `1.0`, or a wider suffix: `f64`, `i64`, `u64`",
    "not-annotated": "infer the module first: `relay.infer(mod)`",
    "not-equal": "`relay.structural_equal` tells without an error",
    "rank-mismatch": "`reshape`, `expand_dims` and `squeeze` change the rank",
    "reshape-size": "one size may be -1, which is computed from the others",
    "shape-check": "give a value of that shape, or write `?` for a size that may vary",
    "shape-constraint": "correct the attribute, or the operand that has another size",
    "shape-mismatch": "`reshape` and `broadcast_to` change the shape; the sizes have to be the same",
    "slice-out-of-range": "`begin` and `end` count from 0, negative ones from the end of the axis",
    "split-size": "a tuple of indices says where to split into unequal parts",
    "temporary-node": "the pass must replace it by the result of its `realize` before it returns",
    "type-mismatch": "change what is expected or what is given; `cast` converts between dtypes alone",
    "unknown-global": "define it, `def @name(…) { … }`, or import the module that does",
    "unknown-grad-target": "write the function itself: `grad(@f)`, `grad(fn (%x) { … })`",
    "unknown-name": "a local is `%x`, bound by `let %x = …;` or a parameter; `relay ops` lists the operators",
}

IN_PYTHON = [(re.compile(pattern), written) for pattern, written in (
    (r"bind it with `let`, or make it a parameter", "make it a parameter, or bind it with `relay.Let`"),
    (r": `let %y: Tensor\[\(\?,\), …\] = if …`", " in the annotation of a function that returns it"),
    (r"; write fn\(%x\) \{ (\S+)\(%x, …\) \}", r"; write `lambda x: relay.\1(x, …)`"),
    (r": fn\(%x\) \{ (\S+)\(%x\) \}", r": `lambda x: relay.\1(x)`"),
    (r"`(\w+)\(fn ?\(%x\) \{ %f\(%x\) \}\)`", r"`relay.\1(lambda x: f(x))`"),
    (r"`(\w+)\(@f\)`, `(\w+)\(fn \(%?x\) \{ … \}\)`", r"`relay.\1(f)`, `relay.\2(lambda x: …)`"),
    (r", or `\(%x : T\)`|`free_var %x: T;`, or | or `%t\.0`", ""),
    (r"`(\w+)\(cast\(x, (\w+)\)\)`", r'`relay.\1(relay.cast(x, "\2"))`'),
    (r"`%(\w+): ([^`]+)`", r'`\1: "\2"`'),
    (r"`cast\(([^`,]+), (\w+)\)`", r'`relay.cast(\1, "\2")`'),
    (r"`nn\.dropout\(%x, %key, rate=0\.5\)\.0`", "`relay.nn.dropout(x, key, rate=0.5)`"),
    (r", or a wider suffix: `f64`, `i64`, `u64`", ", or an array of a wider dtype"),
    (r", the content of a reference `ref_read\(e\)`", ""),
    (r"(?<=`)e\.(\d)\.(\d)(?=`)", r"e[\1][\2]"),
    (r"(?<=`)e\.(\d)(?=`)", r"e[\1]"),
    (r"%(?=[a-z_])", ""),
)]  # fmt: skip
"""Patterns of hints about programs in text, each with its replacement for Python programs."""


def in_python(hint: str) -> str:
    """Return a hint as it is for a Python program."""
    for pattern, written in IN_PYTHON:
        hint = pattern.sub(written, hint)
    return hint
