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


SUBMODULES = """
import importlib, json, pathlib, pkgutil, relay
root = pathlib.Path(relay.__file__).parent
changed, looked_at = [], 0
for folder in sorted({p.parent for p in root.rglob("*.py")}):
    package = importlib.import_module(".".join(folder.relative_to(root.parent).parts))
    inside = {m.name for m in pkgutil.iter_modules([str(folder)])}
    for name in sorted(inside & set(dir(package))):
        before = getattr(package, name)
        looked_at += 1
        if type(before).__name__ != "module":
            importlib.import_module(f"{package.__name__}.{name}")
            if getattr(package, name) is not before:
                changed.append(f"{package.__name__}.{name}")
print(json.dumps([changed, looked_at]))
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


def test_no_import_of_a_module_changes_what_a_public_name_is():
    changed, looked_at = in_fresh_process(SUBMODULES)
    assert looked_at > 30
    assert changed == []


def test_the_standard_library_does_not_take_the_place_of_the_operator_std():
    code = """
import json, relay
relay.parse('import "std/list"')
print(json.dumps(callable(relay.std)))
"""
    assert in_fresh_process(code)


def test_what_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = relay.no_such_thing


def test_dir_lists_names_and_builders():
    listed = dir(relay)
    assert {"Function", "parse", "add", "nn"} <= set(listed)


def test_a_family_of_exporters_can_be_imported_before_the_others():
    code = """
import json
from relay.frontend.onnx.export import quantization, registry
early = dict(registry.writers)
registry.load_families()
print(json.dumps([len(early), sorted(k for k, v in early.items() if registry.writers[k] != v)]))
"""
    count, changed = in_fresh_process(code)
    assert count > 9
    assert changed == []
