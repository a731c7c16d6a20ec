import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite the expected output of golden files")


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    return request.config.getoption("--bless")
