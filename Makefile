# Needs Python 3.11+ and nothing else; everything below installs what it uses into .venv/ and .tools/.
SHELL := /bin/sh
.DEFAULT_GOAL := help
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
BOOTSTRAP = $(if $(PYTHON),$(PYTHON) tools/bootstrap.py,$(error Python 3.11 or newer is needed and none is on PATH))

.PHONY: help install serve test lint openapi contract release docs bench soak truth calibrate audit image lock

help: ## List the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | while IFS='	' read -r name text; do \
		printf '  %-10s %s\n' "$$name" "$$text"; done

install: ## Create .venv with the pinned runtime dependencies and the package itself
	@$(BOOTSTRAP) runtime

serve: install ## Serve on 127.0.0.1:8000 with the bundled catalogue
	@exec $(BIN)/cardmatch serve

test: ## Everything that must hold: lint, types, import contracts, tests
	@$(BOOTSTRAP) dev redis
	@exec $(BIN)/python tools/check.py lint types contracts tests

lint: ## Formatting, lint, types and import contracts
	@$(BOOTSTRAP) dev
	@exec $(BIN)/python tools/check.py lint types contracts

docs: ## Write docs/notices.md, docs/presets.md and the answers of docs/guides-versus-figures.md
	@$(BOOTSTRAP) runtime
	@$(BIN)/python tools/document_codes.py
	@$(BIN)/python tools/document_presets.py
	@exec $(BIN)/python tools/document_guides.py

openapi: ## Write openapi/openapi.json from the operations and their structs
	@$(BOOTSTRAP) runtime
	@exec $(BIN)/python tools/openapi.py

contract: ## Lint the document, generate Python and TypeScript clients, let them ask the service; needs Node.js
	@$(BOOTSTRAP) dev contract
	@exec $(BIN)/python -m tests.clients

release: ## Keep the document and the examples of this version under openapi/released, for the tests to replay
	@$(BOOTSTRAP) runtime
	@exec $(BIN)/python tools/release.py

bench: ## Measure engine, server, memory and start-up against their marks, in one run (ARGS=--write-docs: docs/scaling.md)
	@$(BOOTSTRAP) runtime
	@exec $(BIN)/python -m tools.bench $(ARGS)

soak: ## Load, ill treatment and thousands of drawn requests (MINUTES=10 of mixed traffic)
	@$(BOOTSTRAP) dev faketime
	@SOAK_EXAMPLES=150 $(BIN)/python -m pytest -q tests/contract/test_schemathesis.py
	@exec $(BIN)/python -m tests.soak --minutes $(or $(MINUTES),10)

truth: ## Score predictions against measured cases, every source left out of its own fit (ARGS= passes options)
	@$(BOOTSTRAP) runtime
	@exec $(BIN)/python -m tests.truth $(ARGS)

calibrate: ## Fit the constants of catalogue/data/calibration from the truth cases
	@$(BOOTSTRAP) runtime
	@exec $(BIN)/python -m tools.calibrate $(ARGS)

audit: ## Ask about known vulnerabilities of what is pinned; says so where no advisories can be reached
	@$(BOOTSTRAP) dev
	@exec $(BIN)/python tools/audit.py

image: ## Build the container image and try it; needs docker or podman
	@$(BOOTSTRAP) runtime
	@exec $(BIN)/python tools/image.py

lock: ## Pin the dependencies of pyproject.toml with their hashes
	@$(BOOTSTRAP) dev
	@exec $(BIN)/python tools/lock.py
