# One command for everything. `make` alone lists the targets.
SWIFT ?= swift
JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
# Everything that is optional is built and tested: libraries, programs and tests share one .build.
BUILD := -j $(JOBS) --enable-all-traits
DEBUG = "$$($(SWIFT) build $(BUILD) --show-bin-path)"
RELEASE = "$$($(SWIFT) build $(BUILD) -c release --show-bin-path)"
# Tests wait for real servers and processes; all of them at once, on few cores, keep each other waiting.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 8
# SwiftPM 6.3 passes a package's traits to the compiler in the order of a set: in another one whenever it plans anew, and
# then compiles everything anew. Tests keep the hashing that programs have.
export SWIFT_DETERMINISTIC_HASHING = 1
SOURCES := Package.swift Sources Tests $(wildcard Examples/*/Package.swift Examples/*/Sources Examples/*/Tests)

.PHONY: help deps test-deps build run test plain outside forum forum-tour forum-bench fuzz check check-deep release explore simulate server examples lint format bench clean apple docs

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

deps: ## installs the system libraries that the build needs (Debian), or names them
	@sh scripts/deps

test-deps: ## the same, and what the tests talk to: a keyring, an OAuth server of others, a terminal, a browser
	@sh scripts/deps --tests

build: deps ## builds the libraries, the programs and the tests
	$(SWIFT) build $(BUILD) --build-tests

run: deps ## signs someone in and proves that they stay signed in
	@$(SWIFT) build $(BUILD) --product handstamp
	@$(DEBUG)/handstamp tour

test: test-deps ## all tests
	$(SWIFT) build $(BUILD) --build-tests
	env -u SWIFT_DETERMINISTIC_HASHING $(SWIFT) test $(BUILD) --skip-build
	$(SWIFT) test --package-path Examples/ForumReader -j $(JOBS)

explore: ## every order of events within bounds, client and server together (release; some minutes)
	$(SWIFT) run $(BUILD) -c release HandstampExplorer

simulate: ## SEEDS=n histories of client, server, user and thief, on all cores; SEED=n shows one
	@$(SWIFT) build $(BUILD) -c release --product HandstampSimulator
	@$(RELEASE)/HandstampSimulator \
	  $(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),20000))

server: deps ## a server for trying things out, on http://127.0.0.1:8080
	@$(SWIFT) build $(BUILD) --product handstamp
	@$(DEBUG)/handstamp serve --data .build/server --port 8080

forum: deps ## a forum on loopback, and a program that reads it in the terminal
	@JOBS=$(JOBS) sh scripts/forum

forum-tour: test-deps ## a whole life of an account in the forum reader, played in tmux
	@JOBS=$(JOBS) sh scripts/forum --tour

forum-bench: deps ## measures the store and the scrapers with a million posts, in release (ROWS=n: with fewer)
	$(SWIFT) build --package-path Examples/ForumReader -j $(JOBS) -c release --product forum-bench
	@"$$($(SWIFT) build --package-path Examples/ForumReader -c release --show-bin-path)/forum-bench" $(ROWS)

fuzz: deps ## fuzzes the scrapers for SECONDS=60
	sh scripts/fuzz $(SECONDS)

examples: deps ## builds the examples, whose code is the README's
	sh scripts/readme --check
	sh scripts/examples

apple: deps ## type-checks what is for Apple's systems alone
	@JOBS=$(JOBS) sh scripts/apple

docs: deps ## builds the guides, and compiles what is Swift in them
	@sh scripts/docs

lint: ## the format, and a few rules that no compiler knows
	$(SWIFT) format lint --strict --recursive --parallel $(SOURCES)
	@sh scripts/rules

format: ## puts the format right
	$(SWIFT) format --in-place --recursive --parallel $(SOURCES)

plain: ## builds the package without traits, and sees that a forgotten trait is named
	$(SWIFT) build -j $(JOBS) --traits Strict --scratch-path .build/plain
	@sh scripts/forgotten

outside: test-deps ## builds and runs a package of a stranger on a clone of this one: without traits, and with all
	@SWIFT="$(SWIFT)" JOBS=$(JOBS) sh scripts/outside

CHECKS := test-deps lint plain test apple docs examples outside run forum-tour release
check: ## what CI runs; says what each step took
	@MAKE="$(MAKE)" sh scripts/check $(CHECKS)

check-deep: test-deps ## ThreadSanitizer, each trait alone, 40 processes under SIGKILL, every damaged home, the long explorations and simulations
	TSAN_OPTIONS=suppressions=scripts/tsan-suppressions \
	  $(SWIFT) test $(BUILD) --sanitize=thread --scratch-path .build/tsan \
	  --filter 'HandstampTests|HandstampCoreTests|HandstampVaultsTests'
	HANDSTAMP_DEEP=1 $(SWIFT) test $(BUILD) --filter 'fifty expiries|has one way out'
	SWIFT="$(SWIFT)" JOBS=$(JOBS) sh scripts/outside --deep
	$(MAKE) explore
	$(MAKE) simulate SEEDS=$(or $(SEEDS),200000)

release: deps ## builds handstamp and the bench as they are deployed: the optimiser sees a module whole, and says more
	$(SWIFT) build $(BUILD) -c release --product handstamp
	$(SWIFT) build $(BUILD) -c release --product HandstampBench

bench: release ## measures, in release
	@$(RELEASE)/HandstampBench

clean: ## removes what was built
	rm -rf .build Examples/*/.build
