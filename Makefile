# One command for everything. `make` alone lists the targets.
SWIFT ?= swift
JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
TOOLS := --package-path Tools -j $(JOBS)
# Everything that is optional is built and tested with.
TRAITS := --enable-all-traits
ROOT := -j $(JOBS) $(TRAITS)
# Tests wait for real servers and processes; all of them at once, on few cores, keep each other waiting.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 8
SOURCES := Package.swift Sources Tests Tools/Package.swift Tools/Sources Tools/Tests \
  $(wildcard Examples/*/Package.swift Examples/*/Sources Examples/*/Tests)

.PHONY: help deps test-deps build run test plain forum forum-tour forum-bench fuzz check check-deep release explore simulate server examples lint format bench clean apple docs

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

deps: ## installs the system libraries that the build needs (Debian), or names them
	@sh scripts/deps

test-deps: ## the same, and what the tests talk to: a keyring, an OAuth server of others, a terminal, a browser
	@sh scripts/deps --tests

build: deps ## builds both packages and their tests
	$(SWIFT) build $(ROOT) --build-tests
	$(SWIFT) build $(TOOLS) --build-tests

run: deps ## signs someone in and proves that they stay signed in
	@$(SWIFT) build $(TOOLS) --product handstamp
	@"$$($(SWIFT) build --package-path Tools --show-bin-path)/handstamp" tour

test: test-deps ## all tests of all packages
	$(SWIFT) test $(ROOT)
	$(SWIFT) test $(TOOLS)
	$(SWIFT) test --package-path Examples/ForumReader -j $(JOBS)

explore: ## every order of events within bounds, client and server together (release; some minutes)
	$(SWIFT) run $(ROOT) -c release HandstampExplorer

simulate: ## SEEDS=n histories of client, server, user and thief, on all cores; SEED=n shows one
	@$(SWIFT) build $(ROOT) -c release --product HandstampSimulator
	@"$$($(SWIFT) build $(TRAITS) -c release --show-bin-path)/HandstampSimulator" \
	  $(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),20000))

server: deps ## a server for trying things out, on http://127.0.0.1:8080
	@$(SWIFT) build $(TOOLS) --product handstamp
	@"$$($(SWIFT) build --package-path Tools --show-bin-path)/handstamp" serve --data .build/server --port 8080

forum: deps ## a forum on loopback, and a program that reads it in the terminal
	@JOBS=$(JOBS) sh scripts/forum

forum-tour: test-deps ## a whole life of an account in the forum reader, played in tmux
	@JOBS=$(JOBS) sh scripts/forum --tour

forum-bench: deps ## measures the store and the scrapers with a million posts, in release (ROWS=n: with fewer)
	$(SWIFT) build --package-path Examples/ForumReader -j $(JOBS) -c release --product forum-bench
	@"$$($(SWIFT) build --package-path Examples/ForumReader -c release --show-bin-path)/forum-bench" $(ROWS)

fuzz: deps ## fuzzes the scrapers for SECONDS=60
	sh scripts/fuzz $(SECONDS)

examples: ## builds the examples, whose code is the README's
	sh scripts/readme --check
	sh scripts/examples

apple: ## type-checks what is for Apple's systems alone
	@sh scripts/apple

docs: ## builds the guides, and compiles what is Swift in them
	@sh scripts/docs

lint: ## the format, and a few rules that no compiler knows
	$(SWIFT) format lint --strict --recursive --parallel $(SOURCES)
	@sh scripts/rules

format: ## puts the format right
	$(SWIFT) format --in-place --recursive --parallel $(SOURCES)

plain: ## builds what an app gets that asks for nothing optional
	$(SWIFT) build -j $(JOBS) --scratch-path .build/plain

check: test-deps lint examples plain apple docs test run forum-tour release ## what CI runs

check-deep: ## ThreadSanitizer, 40 processes under SIGKILL, the long explorations and simulations
	TSAN_OPTIONS=suppressions=$(CURDIR)/scripts/tsan-suppressions \
	  $(SWIFT) test $(ROOT) --sanitize=thread --scratch-path .build/tsan \
	  --filter 'HandstampTests|HandstampCoreTests|HandstampVaultsTests'
	HANDSTAMP_DEEP=1 $(SWIFT) test $(TOOLS) --filter 'fifty expiries'
	$(MAKE) explore
	$(MAKE) simulate SEEDS=$(or $(SEEDS),200000)

release: deps ## builds handstamp and the bench as they are deployed: the optimiser sees a module whole, and says more
	$(SWIFT) build $(TOOLS) -c release --product handstamp
	$(SWIFT) build $(TOOLS) -c release --product handstamp-bench

bench: release ## measures, in release
	@"$$($(SWIFT) build --package-path Tools -c release --show-bin-path)/handstamp-bench"

clean: ## removes what was built
	rm -rf .build Tools/.build Examples/*/.build
