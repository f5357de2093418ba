# Everything sets itself up: a virtual environment in .venv, made once per pyproject.toml.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help demo test test-all lint types check bench clean

help:            ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/ \t/'

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(READY)   ## run an analyst's program on generated data; show results, budget and refusals
	$(BIN)/python examples/demo.py

test: $(READY)   ## all tests that belong to every change
	$(BIN)/python -m pytest -n 2 -m 'not slow'

test-all: $(READY)  ## the slow, exhaustive tests too
	$(BIN)/python -m pytest -n 2

lint: $(READY)   ## ruff
	$(BIN)/ruff check src tests examples bench

types: $(READY)  ## mypy --strict
	$(BIN)/mypy

check: lint types test  ## what CI runs

bench: $(READY)  ## accuracy and speed beside hand-written code
	$(BIN)/python bench/run.py

clean:           ## remove the environment and caches
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
