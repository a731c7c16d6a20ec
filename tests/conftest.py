import os
from collections.abc import Iterator

import pytest

os.environ.setdefault("RELAY_VERIFY_LOOPS", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")  # `cuda,cpu` has programs for XLA run on a GPU


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite the expected output of golden files")
    parser.addoption(
        "--programs", type=int, default=100, help="random programs that each property is tried on"
    )


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    return request.config.getoption("--bless")


PARTS = 6
"""Properties run in parts, so that several processes share them."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `seeds` is run on each part of the seeds `0 … programs`."""
    if "seeds" in metafunc.fixturenames:
        count = metafunc.config.getoption("--programs")
        metafunc.parametrize("seeds", [range(i, count, PARTS) for i in range(PARTS)], ids=range(PARTS))


@pytest.fixture(autouse=True)
def _compiled_programs_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests leave nothing in the user's cache, and get nothing from it."""
    monkeypatch.setenv("RELAY_CACHE", "off")


@pytest.fixture(autouse=True)
def _registrations_end_with_the_test() -> Iterator[None]:
    """Operators and relations that a test registers are gone after it."""
    from relay.op.registry import alias_of, builders, registry
    from relay.op.relation import relations

    tables = (registry, builders, alias_of, relations)
    before = [dict(table) for table in tables]
    yield
    for table, kept in zip(tables, before, strict=True):
        if len(table) != len(kept):
            for name in set(table) - set(kept):
                del table[name]
