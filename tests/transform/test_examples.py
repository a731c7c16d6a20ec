"""The example in each pass's docstring is true."""

import doctest
import inspect

import pytest

from relay.transform.rewriting.registry import load_all, registry

load_all()


@pytest.mark.parametrize("name", sorted(registry))
def test_before_and_after(name: str) -> None:
    function = inspect.unwrap(registry[name].run)
    assert function.__doc__, name
    assert ">>> show(" in function.__doc__, f"the docstring of `{name}` shows what it does"
    module = inspect.getmodule(function)
    assert module is not None
    (test,) = doctest.DocTestFinder(recurse=False).find(function, name, globs=vars(module).copy())
    failed, tried = doctest.DocTestRunner().run(test)
    assert tried
    assert not failed
