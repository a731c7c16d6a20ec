# Development: `make install` once, then `make check` before every commit.
PYTHON ?= python3
BIN ?= .venv/bin
PATHS := src tests examples benchmarks docs
PROGRAMS ?= 20000

.PHONY: install check lint format types test coverage check-long runtime site

install: $(BIN)/basedpyright

.venv/bin/basedpyright:
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet -e '.[dev,onnx]'

# What CI runs, on this checkout.
check: install lint types test

lint:
	$(BIN)/ruff check $(PATHS)
	$(BIN)/ruff format --check $(PATHS)

format:
	$(BIN)/ruff check --fix $(PATHS)
	$(BIN)/ruff format $(PATHS)

types:
	$(BIN)/basedpyright --threads 2 --pythonpath $(BIN)/python --level error src/relay

test:
	$(BIN)/pytest -n 2

# The documentation as a site, build/site/html/index.html; any warning is an error.
site: install
	$(BIN)/pip install --quiet -e '.[docs]'
	PYTHONPATH=docs $(BIN)/python -m website

# Which lines no test runs, in build/coverage; fewer than the floor in pyproject.toml run is a failure.
coverage:
	$(BIN)/pytest -n 2 --cov --cov-report=term:skip-covered --cov-report=html

# LLVM IR of the native runtime, of its C sources: needs Debian's clang-19 and libc6-dev-arm64-cross, and ziglang.
runtime:
	$(BIN)/python tests/native_runtime.py

# The long sizes and properties too, on 20,000 random programs each (hours; `PROGRAMS=1000` for less), and what needs
# torch where it is installed: `make check-long BIN=…/bin` for another environment.  docs/check-long.md has results.
check-long: install lint types
	$(BIN)/pytest -n 2 -m "long or not long" --programs $(PROGRAMS)
