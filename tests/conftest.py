import gc
import inspect
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

os.environ.setdefault("RELAY_VERIFY_LOOPS", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")  # `cuda,cpu` has programs for XLA run on a GPU
for library in ("OPENBLAS", "OMP"):  # threads that spin take the cores that pytest's processes share
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite the expected output of golden files")
    parser.addoption(
        "--programs", type=int, default=60, help="random programs that each property is tried on"
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Free nothing while tests are collected, and pass over them when garbage is collected later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


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


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return the cache folder that all processes of the session share: each program is compiled once."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "cache"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


@pytest.fixture(autouse=True)
def _programs_are_compiled_once(request: pytest.FixtureRequest, shared_cache: Path) -> Iterator[None]:
    """Give each program the code of earlier ones, and leave nothing in the user's cache.

    Tests that take `monkeypatch` may replace functions that generate code, and have no cache.
    """
    from relay.backend.native.runtime.kept_kernels import KeptKernels

    own = KeptKernels.__init__
    with pytest.MonkeyPatch.context() as patch:
        if "monkeypatch" in inspect.signature(request.function).parameters:
            patch.setenv("RELAY_CACHE", "off")
        else:
            patch.setenv("RELAY_CACHE", str(shared_cache))
            patch.setattr(
                KeptKernels, "__init__", lambda self, folder=None: own(self, folder or shared_cache)
            )
        yield


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
