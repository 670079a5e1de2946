# `make` alone lists the targets. What else there is for developers: scripts/dev
# SWIFT, JOBS, FILTER and INFO (dwarf for a debugger) are read by the scripts.
DEV := HANDSTAMP_DEPS=installed python3 scripts/dev
ifneq ($(wildcard /usr/bin/python3),)
# The system's, for which scripts/deps installs modules.
DEV := HANDSTAMP_DEPS=installed /usr/bin/python3 scripts/dev
endif
PREFIX ?= /usr/local

.PHONY: help run build test lint format check check-deep docs dist install uninstall clean

help: ## lists the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12
	@echo "scripts/dev lists what else there is"

run: ## starts a server, signs in, and proves step by step that the session stays signed in
	@sh scripts/deps && $(DEV) run

build: ## builds the libraries, the programs and the tests
	@sh scripts/deps && $(DEV) build

test: ## runs all tests (FILTER=HandstampCoreTests for some)
	@sh scripts/deps --tests && $(DEV) test

lint: ## checks the format and a few rules that no compiler checks
	@sh scripts/deps && $(DEV) lint

format: ## formats the sources
	@sh scripts/deps && $(DEV) format

check: ## runs the same checks as CI, and shows the time of each step
	@sh scripts/deps --tests && $(DEV) check

check-deep: ## ThreadSanitizer, each trait alone, 40 processes under SIGKILL, every damaged home, long explorations and simulations, the release build, the package, all attacks
	@sh scripts/deps --tests && $(DEV) check-deep

docs: ## builds reference and guides (.build/docs/site), checks every link, and compiles the guides' Swift code
	@sh scripts/deps && $(DEV) docs

dist: ## builds the stripped program, its manual and completions, and a Debian package: .build/dist/out (Linux)
	@sh scripts/deps --dist && $(DEV) dist

install: ## installs what `make dist` has built: PREFIX=/usr/local, DESTDIR=
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" sh scripts/install

uninstall: ## removes what `make install` installed, with the same PREFIX and DESTDIR
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" sh scripts/install --uninstall

clean: ## removes all build products
	rm -rf .build Examples/*/.build
