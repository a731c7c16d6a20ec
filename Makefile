# Development: `make install` once, then `make check` before every commit.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install check lint types test check-long

install: $(BIN)/pytest

$(BIN)/pytest:
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -e '.[dev,onnx]'

# What CI runs, on this checkout.
check: install lint types test

lint:
	$(BIN)/ruff check src tests examples

types:
	$(BIN)/basedpyright --level error src/relay

test:
	$(BIN)/pytest -n 2 -m "not long"

# The long sizes and properties too, and what needs torch or jax if they are installed.
check-long: install lint types
	$(BIN)/pytest -n 2 -m "long or not long"
