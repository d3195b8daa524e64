# Postroom's commands. Each brings what it needs by itself, on a machine that has Python 3.11 and make
# (and, for Debian packages, root or sudo).

.DEFAULT_GOAL := help
SHELL := bash
VENV := .venv/bin
PYTEST_WORKERS ?= 2
ARGS ?=

.PHONY: help demo test storm check format bench screenshots constraints clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/installed ## everything in one process on SQLite: outage and recovery, admin app, dev inbox
	$(VENV)/postroom demo

test: .venv/installed-dev ## run all tests, on SQLite, a private PostgreSQL and RabbitMQ (ARGS="-k lease" for some)
	scripts/set-up postgres
	scripts/set-up pgbouncer
	scripts/set-up rabbitmq
	scripts/set-up chromium
	$(VENV)/python -m tests.servers.postgres --run -- \
		$(VENV)/python -m tests.servers.rabbitmq --run -- \
		$(VENV)/python -m pytest -n $(PYTEST_WORKERS) $(ARGS)

storm: .venv/installed-dev ## kill workers and applications a thousand times and count every copy (ARGS="--kills 5000" for more)
	scripts/set-up postgres
	scripts/set-up rabbitmq
	$(VENV)/python -m tests.work.storm $(ARGS)

check: .venv/installed-dev ## lint, formatting, types, and the direction of imports
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(VENV)/mypy
	$(VENV)/lint-imports --no-cache

format: .venv/installed-dev ## put code into the common format
	$(VENV)/ruff check --fix .
	$(VENV)/ruff format .

bench: .venv/installed-bench ## measure speed, raw figures and ratios (ARGS="--help" for its options)
	scripts/set-up postgres
	scripts/set-up rabbitmq
	scripts/set-up smtp-sink
	$(VENV)/python -m bench $(ARGS)

screenshots: .venv/installed-dev ## take pictures of every page; the best are kept in docs/images
	scripts/set-up chromium
	$(VENV)/python -m tests.browser.screenshots build/screenshots docs/images

constraints: ## resolve all dependencies anew and pin them in constraints.txt
	scripts/pin-constraints

clean: ## remove everything that these commands made
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# One environment, which grows with what is asked of it: each stamp tells that it holds at least those extras.
.venv/installed: pyproject.toml constraints.txt
	scripts/set-up venv web
	@touch $@

.venv/installed-dev: pyproject.toml constraints.txt
	scripts/set-up venv all,dev
	@touch .venv/installed $@

.venv/installed-bench: pyproject.toml constraints.txt
	scripts/set-up venv all,dev,bench
	@touch .venv/installed .venv/installed-dev $@
