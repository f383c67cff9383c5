# Everything runs in .venv, which `make setup` makes. Needs only Python 3.11, make and a package index.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test lint bench clean

setup: .venv/.ready

.venv/.ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/python -m mace_marl.demo

test: lint
	$(BIN)/pytest -n 2 --dist worksteal

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright

bench: setup
	$(BIN)/mace bench

clean:
	rm -rf .venv build dist *.egg-info
