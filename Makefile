# Postroom's commands. Each brings what it needs by itself, on a machine that has Python 3.11 and make
# (and, for Debian packages, root or sudo).

.DEFAULT_GOAL := help
SHELL := bash
# The environment of $(PYTHON), if one is named; else the one that is there. `scripts/set-up environment` tells which.
ENVIRONMENT := $(shell PYTHON='$(PYTHON)' scripts/set-up environment)
ifeq ($(ENVIRONMENT),)
$(error no environment can be made)
endif
VENV := $(ENVIRONMENT)/bin
# One more than the two cores it is planned for: many tests wait for something.
PYTEST_WORKERS ?= 3
export PYTHON ENVIRONMENT
ARGS ?=

.PHONY: help demo portals outreach test pythons storm check format bench judges screenshots constraints clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(ENVIRONMENT)/installed ## everything in one process on SQLite: outage and recovery, admin app, dev inbox
	$(VENV)/postroom demo

portals: $(ENVIRONMENT)/installed-all ## an application of four portals in three regions, with their mail (ARGS="--postgres", "--once", "--help")
	$(if $(findstring --postgres,$(ARGS)),scripts/set-up postgres)
	$(VENV)/python -m examples.portals $(ARGS)

outreach: $(ENVIRONMENT)/installed-all ## a team's campaign on SQLite, with desk and dev inbox (ARGS="--once" plays its weeks in seconds, "--fresh", "--help")
	$(VENV)/python -m examples.outreach $(ARGS)

test: export TMPDIR := $(shell scripts/set-up scratch)
# Compiled code is kept, whatever the shell says: tests start a thousand processes, and each would compile it anew.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(ENVIRONMENT)/installed-dev ## run all tests, on SQLite, a private PostgreSQL and RabbitMQ (ARGS="-k lease" for some)
	scripts/set-up postgres
	scripts/set-up pgbouncer
	scripts/set-up rabbitmq
	scripts/set-up chromium
	$(VENV)/python -m tests.servers.postgres --run -- \
		$(VENV)/python -m tests.servers.rabbitmq --run -- \
		$(VENV)/python -m pytest -n $(PYTEST_WORKERS) $(ARGS)

pythons: ## run what differs between versions of Python on every other one that is found here (ARGS="3.13" for some)
	scripts/test-pythons $(ARGS)

storm: $(ENVIRONMENT)/installed-dev ## kill workers and applications a thousand times and count every copy (ARGS="--kills 5000" for more)
	scripts/set-up postgres
	scripts/set-up rabbitmq
	$(VENV)/python -m tests.work.storm $(ARGS)

check: $(ENVIRONMENT)/installed-dev ## lint, formatting, types, and the direction of imports
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(VENV)/mypy
	$(VENV)/lint-imports --no-cache

format: $(ENVIRONMENT)/installed-dev ## put code into the common format
	$(VENV)/ruff check --fix .
	$(VENV)/ruff format .

bench: $(ENVIRONMENT)/installed-bench ## measure speed, raw figures and ratios (ARGS="--help" for its options)
	scripts/set-up postgres
	scripts/set-up rabbitmq
	scripts/set-up smtp-sink
	$(VENV)/python -m bench $(ARGS)

judges: $(ENVIRONMENT)/installed-dev ## ask caniemail, html-validate, axe and SpamAssassin about the example's emails, and real bounces about our reader (ARGS="--pictures FOLDER" to look yourself)
	scripts/set-up chromium
	scripts/set-up spamassassin
	scripts/set-up judges build/judges
	$(VENV)/python -m tests.judges build/judges $(ARGS)

screenshots: $(ENVIRONMENT)/installed-dev ## take pictures of every page; the best are kept in docs/images
	scripts/set-up chromium
	$(VENV)/python -m tests.browser.screenshots build/screenshots docs/images

constraints: ## resolve all dependencies anew and pin them in constraints.txt
	scripts/pin-constraints

clean: ## remove everything that these commands made
	rm -rf .venv .venv-3.* build dist portals-data outreach-data .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# One environment for a Python, which grows with what is asked of it: each stamp tells that it holds at least those extras.
$(ENVIRONMENT)/installed: pyproject.toml constraints.txt
	scripts/set-up venv web
	@touch $@

$(ENVIRONMENT)/installed-all: pyproject.toml constraints.txt
	scripts/set-up venv all
	@touch $(ENVIRONMENT)/installed $@

$(ENVIRONMENT)/installed-dev: pyproject.toml constraints.txt
	scripts/set-up venv all,dev
	@touch $(ENVIRONMENT)/installed $(ENVIRONMENT)/installed-all $@

$(ENVIRONMENT)/installed-bench: pyproject.toml constraints.txt
	scripts/set-up venv all,dev,bench
	@touch $(ENVIRONMENT)/installed $(ENVIRONMENT)/installed-all $(ENVIRONMENT)/installed-dev $@
