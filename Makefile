# Everything sets up .venv by itself; nothing needs anything installed by hand but python3 (>= 3.11) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Compiled once, and not again by every process that a test starts.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test types tests quick test-long test-machines test-peers test-frameworks test-gpu test-engines check bench bench-peers docs fuzz clean

# The demo needs plots alone; the tools of the tests take another GB.
$(VENV)/.demo: extras := plot
$(VENV)/.installed: extras := test,plot
$(VENV)/.demo $(VENV)/.installed: pyproject.toml
	@echo "setting up $(VENV): half a minute or so, once"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$(extras)]"
	touch $(VENV)/.demo $@

demo: $(VENV)/.demo  ## the story on a built-in arm
	$(BIN)/forearm demo

test: $(VENV)/.installed  ## every test but the long sweeps
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(MAKE) --no-print-directory -j2 types tests

# Without collections of garbage, a fifth of mypy's time, which it turns on again by itself; for 1 GB of memory.
types: $(VENV)/.installed
	$(BIN)/python -c "import gc; gc.disable(); gc.enable = gc.disable; from mypy.__main__ import console_entry as run; run()"

tests: $(VENV)/.installed
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not long"

test-long: $(VENV)/.installed  ## the long sweeps, and new examples for the random tests
	@echo "the long sweeps: about five minutes on two cores"
	FOREARM_COMPILE=optimised $(BIN)/python -m pytest -n auto --dist worksteal -m "long or hypothesis" --hypothesis-profile=fresh

test-machines: $(VENV)/.installed  ## the tests in some thirty circumstances (hours), recorded in docs/machines.md; ONLY=NAME for one
	$(BIN)/python tools/machines.py $(if $(ONLY),--only '$(ONLY)')

test-peers: $(VENV)/.installed  ## Pinocchio live: installs it and some 300 robots (over 4 GB) into .venv-peers and compares
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	.venv-peers/bin/python tools/record_pinocchio.py .venv-peers/pinocchio.json
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --no-deps "example-robot-data>=4"
	.venv-peers/bin/python tools/compare_robots.py
	.venv-peers/bin/python tools/compare_robots.py --fetch .venv-peers/robots
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check xacro
	.venv-peers/bin/python tools/compare_xacro.py .venv-peers/robots
	FOREARM_PINOCCHIO=$(CURDIR)/.venv-peers/pinocchio.json $(BIN)/python -m pytest tests/dynamics/test_pinocchio_recorded.py

test-frameworks: $(VENV)/.installed  ## PyTorch, JAX and CasADi live: installs them (7 GB, most of it for GPUs) into .venv-frameworks
	test -x .venv-frameworks/bin/python || $(PYTHON) -m venv .venv-frameworks
	.venv-frameworks/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[test,torch,jax,casadi]"
	.venv-frameworks/bin/python -m pytest -n auto --dist worksteal -m frameworks tests/frameworks

test-gpu: $(VENV)/.installed  ## the tests on an NVIDIA GPU; if they pass, writes the receipt that make test reads
	$(BIN)/python tools/gpu_receipt.py

test-engines: $(VENV)/.installed  ## Dask, Ray, MPI, loky and submitit live: installs them (800 MB) into .venv-engines; kills 200 processes
	test -x .venv-engines/bin/python || $(PYTHON) -m venv .venv-engines
	.venv-engines/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[dask,ray,mpi]" hypothesis jsonschema loky mpich pytest submitit
	.venv-engines/bin/python -m pytest tests/studies/test_engines.py tests/studies/test_engines_page.py tests/studies/test_killing.py

check: $(VENV)/.installed  ## format, lint, types, import order and the quick tests
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(MAKE) --no-print-directory -j2 types quick

quick: $(VENV)/.installed
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow and not long"

bench: $(VENV)/.installed  ## figures, measured now
	$(BIN)/forearm bench

bench-peers:  ## the same beside Pinocchio, MuJoCo and the Robotics Toolbox, installed (over 1 GB) into .venv-peers
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	test -e .venv-peers/casadi || ! command -v c++ || .venv-peers/bin/python tools/write_casadi.py
	.venv-peers/bin/forearm bench --peers

fuzz: $(VENV)/.installed  ## 20,000 hostile files for each reader and calls of each function, ten million requests for each planner
	$(BIN)/python tools/fuzz.py --count 20000
	$(BIN)/python tools/fuzz_calls.py --count 20000
	$(BIN)/python tools/fuzz_trajectories.py --count 10000000
	$(BIN)/python tools/fuzz_trajectories.py --jerk --count 10000000

.PHONY: coverage release

TESTS ?= tests
coverage: $(VENV)/.installed  ## branch coverage of TESTS, processes that they start included: the table here, pages in htmlcov
	$(BIN)/coverage erase
	status=0; $(BIN)/coverage run -m pytest -n auto $(TESTS) || status=$$?; \
	$(BIN)/coverage combine --quiet && $(BIN)/coverage report && $(BIN)/coverage html --quiet && exit $$status

release: $(VENV)/.installed  ## wheel and sdist into dist, checked and tried in an empty environment; TAG=v1.2.3 checks that too
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[release]"
	$(BIN)/python tools/check_release.py $(if $(TAG),--tag '$(TAG)')

docs: $(VENV)/.installed  ## pictures, schemas and generated pages made anew, then the site, warnings as errors
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	$(BIN)/python docs/make_pictures.py
	$(BIN)/python docs/make_api.py
	$(BIN)/python docs/make_stub.py
	$(BIN)/python docs/make_documents.py
	$(BIN)/python docs/make_recipes.py
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) .venv-peers .venv-frameworks .venv-engines .machines site build dist demo-output htmlcov .coverage .coverage.*
