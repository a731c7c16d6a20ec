"""What programs of tensor operations are written in there, which has no counterpart: each name says so."""

from typing import NoReturn

from relay.diagnostic import caller_span, fail

OPERATOR = "an operator of your own is a class: `relay.operator`, in Adding an operator"
TUNING = "leave tuning out: `relay.build` chooses kernels itself, for this processor"
PLACES = "`relay.write_library` makes libraries for C, for this machine and others"

REFUSED = {
    "te": ("tensor expressions", OPERATOR),
    "tir": ("tensor programs", OPERATOR),
    "topi": ("tensor expressions", OPERATOR),
    "script": ("tensor programs as Python", OPERATOR),
    "arith": ("arithmetic on indices of tensor programs", "dimensions have arithmetic: `relay.Dim`"),
    "autotvm": ("tuning", TUNING),
    "auto_scheduler": ("tuning", TUNING),
    "meta_schedule": ("tuning", TUNING),
    "driver": ("compiling tensor programs", "`relay.build` compiles programs of Relay"),
    "micro": ("microcontrollers", PLACES),
    "rpc": ("running on other machines", PLACES),
    "relax": ("Relax, another language", "programs in Relay run here"),
    "contrib.cc": ("C compilers", PLACES),
    "contrib.nvcc": ("CUDA", 'programs for accelerators are built by `relay.build(mod, "xla gpu")`'),
    "contrib.hexagon": ("Hexagon processors", PLACES),
    "contrib.micro": ("microcontrollers", PLACES),
    "relay.op.contrib": (
        "what certain compilers take",
        "`relay.backend.register_compiler` and `register_pattern_table` say it of another compiler",
    ),
    "relay.op.strategy": ("how operators become tensor programs", OPERATOR),
    "relay.backend.te_compiler": ("how operators become tensor programs", "`relay.build` compiles them"),
    "relay.collage": ("choosing between external compilers", "`relay.build` compiles whole programs"),
}
"""What belongs to other levels than Relay: what it is for, and what to do instead."""


def subject_of(where: str) -> str | None:
    """The refused module that a module is or lies in, if any."""
    parts = where.split(".")
    return next((p for n in range(len(parts), 0, -1) if (p := ".".join(parts[:n])) in REFUSED), None)


def refuse(where: str, name: str) -> NoReturn:
    """Report a name of a refused module (`tensor-program`)."""
    subject = subject_of(where)
    assert subject is not None
    what, instead = REFUSED[subject]
    message = f"`tvm.{where}.{name}` is about {what}, which is below the level of Relay"
    fail("tensor-program", message, caller_span(), label="this is used here", hint=instead)
