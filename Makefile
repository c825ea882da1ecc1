# `make` alone lists the targets. Needs Python 3.11 or newer; `test`, `cluster-up` and what builds on them need Go 1.26.
# Everything that is written lies in .venv and in one cache folder, $(CACHE), but for `cases`, `generate` and `lock`.

PYTHON ?= python3
CACHE := $(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME),$(HOME)/.cache)/workloadrun
BIN := .venv/bin
UV_VERSION := 0.13.9
IMAGE ?= workloadrun:dev
WORKERS ?= auto

export PYTHONPYCACHEPREFIX := $(CACHE)/pycache
export HYPOTHESIS_STORAGE_DIRECTORY := $(CACHE)/hypothesis
export MYPY_CACHE_DIR := $(CACHE)/mypy
export RUFF_CACHE_DIR := $(CACHE)/ruff

PYTEST := $(BIN)/python -m pytest -o cache_dir=$(CACHE)/pytest --numprocesses=$(WORKERS)
CODE := webhook sync_hooks certs cli tools tests

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Make .venv with the locked packages; the command is then .venv/bin/workloadrun
	@$(PYTHON) tools/setup.py

.PHONY: demo
demo: setup ## Check a WorkloadRun as admission would, then run it in memory on eight nodes
	$(BIN)/workloadrun validate examples/nccl-all-reduce-bandwidth.yaml
	$(BIN)/workloadrun simulate examples/nccl-all-reduce-bandwidth.yaml --nodes aws/h100x8

.PHONY: test
test: setup tools ## Run all tests but `e2e`, on a real control plane (Go builds it once)
	$(PYTEST) -m "not e2e and not soak"

.PHONY: test-fast
test-fast: setup ## Run the tests that need no control plane
	$(PYTEST) -m "not cluster and not e2e"

.PHONY: tools
tools: setup
	@$(BIN)/python -m tests.cluster.build test || { \
	  if [ -n "$$CI" ]; then exit 1; fi; \
	  echo "left out: every test of tests/cluster, which needs the control plane"; }

.PHONY: lint
lint: setup ## Check style, types, import layers and the length of functions and files
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/mypy tools
	$(BIN)/mypy tests/conftest.py tests/cluster tests/e2e tests/support tests/tools
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/structure.py

.PHONY: generate
generate: setup ## Write what is made from the sources: CRDs, reference
	$(BIN)/python tools/generate.py
	$(BIN)/python tools/chart_readme.py

.PHONY: verify
verify: setup ## Fail where what is generated is not up to date
	$(BIN)/python tools/generate.py --verify
	$(BIN)/python tools/chart_readme.py --verify

.PHONY: cases
cases: setup ## Rewrite the expected results of tests/cases; read the difference before you keep it
	CASES_REWRITE=1 $(PYTEST) -m "not cluster and not e2e"

.PHONY: cluster-up
cluster-up: setup ## Start a control plane with JobSet, Trainer and KWOK on loopback; prints KUBECONFIG
	@$(BIN)/python -m tests.cluster.controlplane up

.PHONY: cluster-down
cluster-down: setup ## Stop it and remove what it wrote
	@$(BIN)/python -m tests.cluster.controlplane down

.PHONY: image
image: ## Build the image with Docker
	docker build --tag $(IMAGE) .

.PHONY: lock
lock: $(CACHE)/uv-$(UV_VERSION)/bin/uv ## Resolve the dependencies anew within the lock files; add UPGRADE=--upgrade for newer ones
	$(LOCK) --extra dev pyproject.toml --output-file requirements.lock
	$(LOCK) pyproject.toml --constraint requirements.lock --output-file requirements-runtime.lock
	$(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
	  | $(LOCK) - --output-file requirements-build.lock

LOCK = $< pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url $(UPGRADE)

$(CACHE)/uv-$(UV_VERSION)/bin/uv:
	$(PYTHON) -m venv $(CACHE)/uv-$(UV_VERSION)
	$(CACHE)/uv-$(UV_VERSION)/bin/pip install --quiet uv==$(UV_VERSION)

UV = $(CACHE)/uv-$(UV_VERSION)/bin/uv

.PHONY: sbom
sbom: $(CACHE)/uv-$(UV_VERSION)/bin/uv ## Print the Python packages of the image as CycloneDX
	@$(UV) tool run --quiet --from cyclonedx-bom==7.5.0 cyclonedx-py requirements requirements-runtime.lock --output-reproducible

.PHONY: audit
audit: $(CACHE)/uv-$(UV_VERSION)/bin/uv ## Ask the package index for advisories about the Python packages of the image; fails where it has none to give
	@$(UV) tool run --quiet --from pip-audit==2.9.0 pip-audit --requirement requirements-runtime.lock --require-hashes --disable-pip --strict

.PHONY: bench
bench: setup tools ## Measure against named references in the same run; GROUPS="logs startup" for some of it
	@$(BIN)/python -m tools.bench $(GROUPS)

.PHONY: e2e
e2e: setup ## Run what is rendered on two real nodes: Linux, root; says which Debian packages it installs; TESTS="..." for some
	@$(BIN)/python -m tests.e2e $(TESTS)

.PHONY: kind
kind: setup ## Install everything into a kind cluster and run a check there: needs Docker, kind, kubectl, Helm; no part of the tests
	@$(BIN)/python -m tools.kind up

.PHONY: kind-down
kind-down: setup ## Remove the kind cluster
	@$(BIN)/python -m tools.kind down

SOAK_SECONDS ?= 1800
SOAK_RUNS ?= 50

.PHONY: soak
soak: setup tools ## Runs under faults on the real control plane: half an hour, 50 runs; SOAK_SECONDS=60 SOAK_RUNS=8 for less
	SOAK_SECONDS=$(SOAK_SECONDS) SOAK_RUNS=$(SOAK_RUNS) $(PYTEST) --numprocesses=0 -m soak -s tests/cluster/soak
