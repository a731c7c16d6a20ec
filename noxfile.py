"""The tests on several versions of Python: `nox`, or `nox -s tests-3.13`; `nox -s lint` for the linters.

It needs `pip install nox`, and takes the versions of Python that are there.
"""

import nox

nox.options.sessions = ["lint", "tests"]
nox.options.error_on_missing_interpreters = False


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def tests(session):
    """All tests of a bare install, or those that are named: `nox -s tests -- tests/text`."""
    session.install("-e", ".[test]")
    session.run("pytest", "-n", "2", *session.posargs)


@nox.session
def lint(session):
    """The linters, and the types."""
    session.install("-e", ".[dev,onnx]")
    session.run("make", "lint", "types", f"BIN={session.bin}", external=True)
