"""`import relay` is quick and brings in nobody; every public name is there."""

import json
import subprocess
import sys
from importlib import metadata

import pytest

import relay

ALLOWED = {"numpy", "ml_dtypes", "relay"}
FRESH = """
import sys, time
before = set(sys.modules)
start = time.perf_counter()
import relay
seconds = time.perf_counter() - start
import json
print(json.dumps([seconds, sorted({m.partition('.')[0] for m in set(sys.modules) - before})]))
"""


def in_fresh_process(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_version_is_that_of_the_distribution():
    assert relay.__version__ == metadata.version("relay-ir")


def test_import_takes_less_than_300_ms_and_loads_numpy_and_ml_dtypes_alone():
    runs = [in_fresh_process(FRESH) for _ in range(3)]
    assert min(seconds for seconds, _ in runs) < 0.3
    third_parties = set(runs[0][1]) - set(sys.stdlib_module_names) - ALLOWED
    assert not {m for m in third_parties if not m.startswith("_")}


def test_interpreting_programs_needs_numpy_and_ml_dtypes_alone():
    code = """
import sys, json
before = set(sys.modules)
import relay
mod = relay.parse("def @main(%x: int32) -> int32 { %x + 1 }")
relay.infer(mod)
str(mod)
assert relay.create_executor("debug", mod).evaluate()(2) == 3
print(json.dumps(sorted({m.partition('.')[0] for m in set(sys.modules) - before})))
"""
    loaded = {m for m in in_fresh_process(code) if not m.startswith("_")}
    assert not loaded - set(sys.stdlib_module_names) - ALLOWED


@pytest.mark.parametrize("name", sorted(relay.__all__))
def test_public_name(name):
    assert getattr(relay, name) is not None


def test_what_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = relay.no_such_thing


def test_dir_lists_names_and_builders():
    listed = dir(relay)
    assert {"Function", "parse", "add", "nn"} <= set(listed)
