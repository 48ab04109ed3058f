# make demo installs only what the demonstration needs; make test installs every extra.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast laws lint layers types docs bench clean

help:
	@echo "make demo       identify a trotting quadruped and its payload, write demo/report.html"
	@echo "make test-fast  tests without those marked slow or study, for use while you edit"
	@echo "make test       lint, layers, types, documentation, all tests"
	@echo "make laws       the numerical tests alone; OPENBLAS_CORETYPE=Nehalem make laws runs them with another processor's arithmetic"
	@echo "make docs       the documentation as a site, in site/; a dead link is an error"
	@echo "make setup      .venv with every extra"
	@echo "make bench      times of identification, solvers, kernels, streams, online steps and simulations against peers (installs those)"

$(STAMPS)/venv:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	mkdir -p $(STAMPS) && touch $@

$(STAMPS)/demo: pyproject.toml $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --editable ".[report,sim]"
	touch $@

$(STAMPS)/setup: pyproject.toml $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --editable ".[robots,sim,report,bags,qp,search,scale,docs,dev]"
	touch $@ $(STAMPS)/demo

$(STAMPS)/bench: pyproject.toml $(STAMPS)/setup
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	touch $@

setup: $(STAMPS)/setup

demo: $(STAMPS)/demo
	$(BIN)/steelyard demo -o demo

lint: $(STAMPS)/setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

layers: $(STAMPS)/setup
	$(BIN)/lint-imports

types: $(STAMPS)/setup
	$(BIN)/mypy

docs: export NO_MKDOCS_2_WARNING = 1
docs: $(STAMPS)/setup
	$(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html; search needs a server: $(BIN)/python -m http.server --bind 127.0.0.1 --directory site"

# One thread a process: two test processes share the cores.
test test-fast laws: export OPENBLAS_NUM_THREADS = 1
test: lint layers types docs
	$(BIN)/python -m pytest -n 2 --other-words

test-fast: $(STAMPS)/setup
	$(BIN)/python -m pytest -n 2 -m "not slow and not study"

laws: $(STAMPS)/setup
	$(BIN)/python -m pytest -n 2 -m numerical

# One thread, as most of those compared with have.
bench: export OPENBLAS_NUM_THREADS = 1
bench: $(STAMPS)/bench
	$(BIN)/python -m bench identify
	$(BIN)/python -m bench solvers
	$(BIN)/python -m bench kernels
	$(BIN)/python -m bench stream
	$(BIN)/python -m bench online
	$(BIN)/python -m bench search

clean:
	rm -rf $(VENV) demo site .mypy_cache .ruff_cache .pytest_cache
