# Everything sets itself up: a virtual environment in .venv, made again when pyproject.toml changes.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help demo docs changelog coverage lock dist test test-all lint types check bench verify prove bench-histograms bench-engines bench-people bench-tpch spark bench-load audit conformance mutants demo-encrypted bench-encrypted bench-local clean

help:            ## show this list
	@grep -E '^[a-z-]+:.*##' $(firstword $(MAKEFILE_LIST)) | sed -E 's/:[^#]*##/ \t/'

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo 'PrivJail needs Python 3.11 or newer; tried "$(PYTHON)".'; \
	  echo 'Name another one: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)'; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo '$(PYTHON) cannot make virtual environments: its modules venv and ensurepip are missing.'; \
	  echo 'On Debian and Ubuntu: sudo apt install python3.11-venv. Then run make again.'; exit 1; }
	@echo 'setting up .venv (once) …'
	@mkdir -p build
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip uninstall --quiet --yes privjail 2>/dev/null  # PyPI's other package of our import name
	@$(PIP) --constraint requirements.lock --editable '.[dev]' 2> build/pip.log || { \
	  echo 'The versions of requirements.lock cannot be had here (see build/pip.log): taking the newest that fit.'; \
	  $(PIP) --editable '.[dev]'; } || { \
	  echo 'The packages could not be installed. pip needs a package index: see its message above.'; exit 1; }
	@touch $@

demo: $(READY)   ## run an analyst's program on generated data; show results, budget and refusals
	@$(BIN)/python examples/demo.py

demo-encrypted: $(READY)  ## owners, two servers that do not collude, and a histogram that neither could read
	@$(BIN)/python examples/encrypted_demo.py

test: $(READY)   ## all tests that belong to every change
	$(BIN)/python tools/run_tests.py -m 'not slow'

test-all: $(READY)  ## the slow, exhaustive tests too
	$(BIN)/python tools/run_tests.py

lint: $(READY)   ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .

types: $(READY)  ## mypy --strict
	$(BIN)/mypy

check: lint types test  ## what CI runs

bench: $(READY)  ## accuracy and speed beside hand-written code; writes docs/accuracy.md and docs/benchmarks.md
	$(BIN)/python bench/run.py

verify: $(READY) ## try to refute every claim; writes docs/verified.md and docs/proofs.md (minutes)
	$(BIN)/python -m privjail.verify

prove:           ## check every proof in proofs/ with Coq; writes docs/machine-checked.md
	$(PYTHON) proofs/prove.py

SPARK ?= 4.2.1
spark: .spark/$(SPARK)  ## a Spark to test with, in .spark (430 MB; it needs Java): tests then start a cluster of their own

.spark/$(SPARK): $(READY)
	@mkdir -p build
	@$(BIN)/python -m pip download --quiet --no-deps --no-binary pyspark --dest build 'pyspark==$(SPARK)'
	@rm -rf .spark && mkdir .spark
	@tar xzf build/pyspark-$(SPARK).tar.gz -C .spark --strip-components=2 --wildcards '*/deps/bin/*' '*/deps/sbin/*' '*/deps/jars/*'
	@rm build/pyspark-$(SPARK).tar.gz
	@touch $@

bench-engines: $(READY)  ## the same queries on Polars, DuckDB, Sail and Spark; writes docs/engines-benchmarks.md
	$(BIN)/python bench/engines.py

bench-people: $(READY)  ## per-person aggregates and joins of 10,000,000 rows beside plain Polars
	$(BIN)/python bench/people.py

bench-tpch: $(READY)  ## six queries of TPC-H about customers: errors at several ε
	$(BIN)/python bench/tpch.py

bench-load: $(READY)  ## fifty analysts at once, and ledgers of up to a million entries; writes docs/load.md
	$(BIN)/python bench/load.py

bench-encrypted: $(READY)  ## time, memory and bytes of privjail.encrypted; writes docs/encrypted-benchmarks.md
	$(BIN)/python bench/encrypted.py

bench-histograms: $(READY)  ## accuracy and intervals of private histograms; writes docs/histograms-*.md
	$(BIN)/python bench/histograms_coverage.py
	$(BIN)/python bench/histograms_ranges.py
	$(BIN)/python bench/histograms_buckets.py
	$(BIN)/python bench/histograms.py

audit: $(READY)  ## audit our examples and planted leaks; check 5,000 random certificates and every broken rule
	$(BIN)/python -m pytest tests/verify/test_audit.py tests/verify/test_checker.py tests/verify/test_certificates.py

SAMPLE ?= 600
mutants: $(READY)  ## change one thing in the trusted code at a time, and see whether a test notices (SAMPLE=600)
	$(BIN)/python tools/mutants.py --sample $(SAMPLE)

conformance: $(READY)  ## try claims of published packages and of this library; writes docs/conformance.md (goes on if interrupted)
	@mkdir -p build
	$(BIN)/privjail conformance --page docs/conformance.md --keep build/conformance.jsonl
	@rm build/conformance.jsonl

bench-local: $(READY)  ## privjail.local beside pure-ldp and multi-freq-ldpy; writes docs/local-benchmarks.md
	$(BIN)/python bench/local_vs_libraries.py
	$(BIN)/python bench/local_mix.py

$(BIN)/mkdocs: $(READY)
	@$(PIP) --constraint requirements.lock --editable '.[docs]' 2> build/pip.log || $(PIP) --editable '.[docs]'
	@touch $@

docs: $(BIN)/mkdocs  ## build the documentation site into site/; open site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo 'built site/index.html'

COVERED ?= tests/ops tests/plan tests/budget tests/mechanisms tests/pandas tests/laws tests/statistics tests/engines
coverage: $(READY)  ## which lines of the core and the pandas face the fast tests run; fails below the floor in pyproject.toml
	$(BIN)/python -m pytest -n auto --maxprocesses 8 -m 'not slow' --cov --cov-report=term:skip-covered $(COVERED)

VERSION ?=
changelog: $(READY)  ## show what the next release will say; VERSION=0.1.0 writes it into CHANGELOG.md
	$(BIN)/towncrier build $(if $(VERSION),--yes --version $(VERSION),--draft --version next)

lock: $(READY)   ## choose the versions that CI installs anew; writes requirements.lock
	@$(PIP) uv
	$(BIN)/uv pip compile pyproject.toml --extra dev --extra docs --universal --python-version 3.11 --upgrade --quiet \
	  --no-annotate --custom-compile-command 'make lock' --output-file requirements.lock

dist:            ## build a wheel and an sdist into dist/, to install elsewhere: pip install dist/privjail_dp-….whl
	@$(PYTHON) -m venv build/environment
	@build/environment/bin/python -m pip install --quiet --disable-pip-version-check build
	@rm -rf dist
	@build/environment/bin/python -m build --outdir dist . > build/log || { cat build/log; exit 1; }
	@ls dist

clean:           ## remove the environment and caches
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage build dist site
