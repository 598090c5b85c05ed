PYTHON ?= python3
RUN := .venv/bin/

.DEFAULT_GOAL := help
.PHONY: help install demo test lint verify bench cards

help:
	@echo "make demo     erase a class from a digit classifier; ends with the path of a report"
	@echo "make test     lint, then all tests but the slow ones"
	@echo "make verify   the slow tests: proofs that take minutes"
	@echo "make lint     ruff and mypy"
	@echo "make bench    what erasing costs in time and memory, as ratios"
	@echo "make cards    docs/methods and docs/audit.schema.json, from the code itself"
	@echo "make install  a virtual environment in .venv; the other targets make it when needed"

install: .venv/.installed

.venv/.installed: pyproject.toml constraints.txt
	test -x $(RUN)python || $(PYTHON) -m venv .venv
	$(RUN)python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: install
	@$(RUN)sublimate demo --out demo

test: lint
	$(RUN)python -m pytest -n 2 -m "not slow"

lint: install
	$(RUN)ruff check .
	$(RUN)ruff format --check .
	$(RUN)mypy

verify: install
	$(RUN)python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,cluster]'
	$(RUN)python -m pytest -m slow -rs

bench: install
	$(RUN)python benchmarks/erase.py

cards: install
	$(RUN)python -m sublimate.report.cards docs/methods
	$(RUN)python -m sublimate.report.audit.schema docs/audit.schema.json
