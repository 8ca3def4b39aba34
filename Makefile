# Two commands from a fresh clone: `make app` and `make test`. Everything they install goes into .venv.

PYTHON ?= python3
PORT ?=
TESTS ?=
SHARE ?= 1/1
LISTS ?=
# Tests that mostly wait for a browser, a server or an installation run beside all others, which two
# processes share by files in order: the many short ones with doctests come last, so both end together.
WAITING := tests/browser tests/server tests/test_wheel.py
LAW_WORKERS = $(if $(TESTS),0,2)
# Without what Python keeps of each compiled file, every process the tests start compiles it all.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -p tests.processor

VENV := .venv
PEERS := .venv-bench
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install --constraint constraints.txt
PINS := pyproject.toml constraints.txt

.DEFAULT_GOAL := help
.PHONY: help app test waiting working laws bench rates mutants lint format docs clean chromium image

help:  ## Print this list
	@grep -hE '^[a-z]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z]+):.*## /make \1\t/' | expand -t 14

app: $(VENV)/.app  ## Start the dashboard on this machine and print its address (PORT=8866)
	@$(BIN)/python -m rashomon_explorer --no-browser $(if $(PORT),--port $(PORT))

test: chromium $(VENV)/.test  ## Run the tests, those in a real browser included (TESTS=tests/server/test_cli.py; SLOW=1: all)
ifdef TESTS
	@$(PYTEST) -m "not law" $(TESTS)
else
	@$(MAKE) --no-print-directory --jobs=2 --keep-going waiting working
endif

# Without what runs first, which "test" has seen to: make may forget a target whose prerequisite
# ends while others are started, until one of those ends.
waiting: $(VENV)/.test
	@$(PYTEST) -m "not law" $(WAITING)

working: $(VENV)/.test
	@nice -n 5 env $(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder -m "not law" tests rashomon_explorer $(patsubst %,--ignore=%,$(WAITING))

laws: $(VENV)/.test  ## Run the slow laws only, or a share of them (SHARE=3/40)
	@echo "Share $(SHARE) of the laws, whose seeds are fixed; the same again: make laws SHARE=$(SHARE)"
	@$(PYTEST) -n $(LAW_WORKERS) --dist loadfile -p tests.shares --share $(SHARE) -m law $(TESTS)

bench: $(VENV)/.app  ## Measure the samplers, and what a budget buys, beside their peers: benchmarks/results
	@$(MAKE) --silent --no-print-directory $(PEERS)/.done || \
	    echo "No jax, blackjax, diffprivlib or TreeFARMS to measure against: nothing will stand beside ours" >&2
	@$(BIN)/python -m benchmarks
	@$(BIN)/python -m benchmarks paths
	@$(BIN)/python -m benchmarks utility
	@$(BIN)/python -m benchmarks trees
	@$(BIN)/python -m benchmarks scale

rates: $(VENV)/.app  ## Measure how the excess of one private model falls and draw it: benchmarks/results/rates
	@$(BIN)/python -m benchmarks rates

mutants: $(VENV)/.test  ## Change one constant at a time and list which tests notice: build/mutants.md (LISTS=mine.toml)
	@$(BIN)/python -m mutants $(or $(LISTS),--write)

lint: $(VENV)/.test  ## Check style, formatting, types, and size by tests/house_budget.toml
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/python -m mypy
	@$(BIN)/python .ci/house.py

format: $(VENV)/.test  ## Mend style and formatting
	@$(BIN)/python -m ruff check --fix .
	@$(BIN)/python -m ruff format .

docs: $(VENV)/.docs  ## Build the documentation site, every example executed: docs/_build/html/index.html
	@rm -rf docs/generated docs/_build
	@OMP_NUM_THREADS=1 $(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs docs/_build/html

image:  ## Build the container of docs/team.md
	@docker build --tag rashomon-explorer .

clean:  ## Remove .venv and everything else that was made here
	@rm -rf $(VENV) $(PEERS) build dist docs/_build docs/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.app: $(PINS) | $(BIN)/python
	@echo "Installing into $(VENV), about a minute"
	@$(PIP) --editable '.[app]'
	@touch $@

$(VENV)/.test: $(PINS) | $(BIN)/python
	@echo "Installing into $(VENV) with what the tests need, about a minute"
	@$(PIP) --editable '.[app,test]'
	@touch $@ $(VENV)/.app

$(VENV)/.docs: $(PINS) | $(BIN)/python
	@echo "Installing into $(VENV) with what the site needs, about a minute"
	@$(PIP) --editable '.[app,docs]'
	@touch $@ $(VENV)/.app

$(PEERS)/.done: benchmarks/requirements-peers.txt | $(BIN)/python
	@echo "Installing jax, blackjax and diffprivlib into $(PEERS) to measure against, about a minute"
	@$(BIN)/python -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip --disable-pip-version-check --quiet install --requirement $<
	@touch $@

$(BIN)/python:
	@for python in $(PYTHON) python3.14 python3.13 python3.12 python3.11; do \
	    "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	    "$$python" -c 'import ensurepip, venv' 2>/dev/null || { \
	        echo "$$python cannot make environments: on Debian, apt-get install python3-venv" >&2; exit 1; }; \
	    exec "$$python" -m venv $(VENV); \
	done; \
	echo "Python 3.11 or newer is missing: install one, or name it with make PYTHON=/path/to/python" >&2; exit 1

chromium:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "Installing chromium and chromium-driver"; \
	    apt-get update -qq && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium chromium-driver >/dev/null; \
	else \
	    echo "chromium and chromedriver are missing: on Debian, apt-get install chromium chromium-driver" >&2; exit 1; \
	fi
