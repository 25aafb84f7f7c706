# `make demo` and `make test` set up what they need in .venv and need nothing but Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test coverage check audit format clean

demo: $(VENV)/.server
	@$(BIN)/engram demo

test: $(VENV)/.dev
	$(BIN)/pytest -n auto

# Apart from `test`: it takes its time to count lines.
coverage: $(VENV)/.dev
	$(BIN)/pytest -n auto --cov --cov-report=term

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Asks an advisory database on the internet, and so is no part of the tests.
audit: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(BIN)/pip-audit --skip-editable

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.server: pyproject.toml $(VENV)/bin/python
	@echo "Setting up (once, under a minute) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[server]'
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.server

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*
