# Everything sets up .venv by itself; nothing needs anything installed by hand but python3 (>= 3.11) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check bench docs fuzz clean

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test,plot]"
	touch $@

demo: $(VENV)/.installed  ## the story on a built-in arm
	$(BIN)/forearm demo

test: $(VENV)/.installed  ## every test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n auto

check: $(VENV)/.installed  ## format, lint, types, import order and the quick tests
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n auto -m "not slow"

bench: $(VENV)/.installed  ## figures, measured now
	$(BIN)/forearm bench

fuzz: $(VENV)/.installed  ## 20,000 hostile files for each reader
	$(BIN)/python tests/fuzz.py --count 20000

docs: $(VENV)/.installed  ## pictures and schemas made anew, then the site, warnings as errors
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	$(BIN)/python docs/make_pictures.py
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) site build dist demo-output
