# `make` alone lists the targets. What else there is for developers: scripts/dev
# SWIFT, JOBS, FILTER and INFO (dwarf for a debugger) are read by the scripts.
# The system's Python, if it is there, for which scripts/deps installs modules.
DEV := { command -v python3 > /dev/null || sh scripts/deps; } && $(firstword $(wildcard /usr/bin/python3) python3) scripts/dev
PREFIX ?= /usr/local

.PHONY: help run build test lint format check check-deep docs dist install uninstall clean

help: ## lists the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12
	@echo "scripts/dev lists what else there is"

run: ## starts a server, signs in, and proves step by step that the session stays signed in
	@$(DEV) run

build: ## builds the libraries, the programs and the tests
	@$(DEV) build

test: ## runs all tests (FILTER=HandstampCoreTests for some)
	@$(DEV) test

lint: ## checks the format and a few rules that no compiler checks
	@$(DEV) lint

format: ## formats the sources
	@$(DEV) format

check: ## runs the same checks as CI, and shows the time of each step
	@$(DEV) check

check-deep: ## ThreadSanitizer, the build of `make run`, each trait alone, 40 processes under SIGKILL, every damaged home, long explorations and simulations, the release build, two storms, a short soak, the package, all attacks
	@$(DEV) check-deep

docs: ## builds reference and guides (.build/docs/site), checks every link, and compiles the guides' Swift code
	@$(DEV) docs

dist: ## builds both programs stripped, an archive with manuals and completions, Debian packages, and a Homebrew formula: .build/dist/out (Linux)
	@$(DEV) dist

install: ## installs what `make dist` has built: PREFIX=/usr/local, DESTDIR=
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" sh scripts/install

uninstall: ## removes what `make install` installed, with the same PREFIX and DESTDIR
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" sh scripts/install --uninstall

clean: ## removes all build products
	rm -rf .build Examples/*/.build
