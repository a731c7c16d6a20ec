from collections.abc import Iterator

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite the expected output of golden files")


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    return request.config.getoption("--bless")


@pytest.fixture(autouse=True)
def _registrations_end_with_the_test() -> Iterator[None]:
    """Operators and relations that a test registers are gone after it."""
    from relay.op.base import alias_of, builders, registry
    from relay.op.relation import relations

    tables = (registry, builders, alias_of, relations)
    before = [dict(table) for table in tables]
    yield
    for table, kept in zip(tables, before, strict=True):
        if len(table) != len(kept):
            for name in set(table) - set(kept):
                del table[name]
