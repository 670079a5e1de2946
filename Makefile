# `make` alone lists the targets.
SWIFT ?= swift
JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
# All optional parts are built and tested: libraries, programs and tests share one .build.
# Debug information would take a fifth of a build's time: `make build INFO=dwarf` for a debugger.
INFO ?= none
OPTIONS := -j $(JOBS) -debug-info-format $(INFO)
# Takes a quarter off the compiler's time in a first build, and makes later ones compile whole modules.
WHOLE := -Xswiftc -whole-module-optimization -Xswiftc -num-threads -Xswiftc 2 -Xswiftc -no-emit-module-separately-wmo
# Where packages or traits share a folder: SwiftPM would build by the plan of the one before.
ANEW := --disable-build-manifest-caching
# In CI every build is a first one, and none is kept: the dependencies are built once, for all packages and traits.
IN_CI := $(filter-out false,$(CI))
ifneq ($(IN_CI),)
QUICK := $(OPTIONS) $(WHOLE)
TOGETHER := .build
APART := $(ANEW)
else
QUICK := $(OPTIONS)
# SwiftPM finds tests by the index.
APART := $(WHOLE) --disable-index-store --scratch-path .build
TOGETHER := .build/examples
endif
BUILD := --enable-all-traits $(QUICK)
# Exploration and simulation compute for long: see Package.swift.
ifeq ($(INFO),none)
export HANDSTAMP_OPTIMIZED = 1
endif
UNOPTIMIZED := env -u HANDSTAMP_OPTIMIZED $(SWIFT)
# For the scripts: with other options SwiftPM would build everything again.
export HANDSTAMP_BUILD = $(BUILD)
export HANDSTAMP_QUICK = $(OPTIONS) $(WHOLE) $(ANEW)
# The packages that depend on this one have the same dependencies.
export HANDSTAMP_TOGETHER = $(TOGETHER)
DEBUG = "$$($(SWIFT) build $(BUILD) --show-bin-path)"
RELEASE = "$$($(SWIFT) build $(BUILD) -c release --show-bin-path)"
# Tests wait for real servers and processes; on few cores, running all of them at once slows each of them down.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 8
# SwiftPM 6.3 passes a package's traits to the compiler in the order of a set, which changes with every build plan and causes a full
# rebuild. Tests run with the usual random hashing.
export SWIFT_DETERMINISTIC_HASHING = 1
SOURCES := Package.swift Sources Programs Tests $(wildcard Examples/*/Package.swift Examples/*/Sources Examples/*/Server Examples/*/Tests)

.PHONY: help manual manual-check bench-peers bench-deps instructions schemathesis attack-short openid passkeys pages shots cluster cluster-short capacity deps test-deps build run test plain outside forum forum-tour forum-bench fuzz check check-deep release explore diagram simulate guides server examples lint format bench memory attack clean apple docs api api-breakage pictures dist dist-check install uninstall

help: ## lists the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

deps: ## installs the system libraries needed to build (Debian), or lists them
	@sh scripts/deps

test-deps: ## the same, plus the programs the tests use: a keyring, a third-party OAuth server, a terminal, a browser
	@sh scripts/deps --tests

build: deps ## builds the libraries, the programs and the tests
	$(SWIFT) build $(BUILD) --build-tests

# Of the optional parts only those that the tour needs, in a folder of its own: traits concern every module.
TOUR := --traits Command,Strict $(QUICK) $(APART:.build=.build/tour)
run: deps ## starts a server, signs in, and proves step by step that the session stays signed in
	@$(UNOPTIMIZED) build $(TOUR) --product handstamp
	@$(UNOPTIMIZED) build $(TOUR) --product HandstampTour
	@$(if $(IN_CI),.build,.build/tour)/debug/HandstampTour

# Those of the forum reader first: each build leaves the modules of this package with its own traits.
test: test-deps ## runs all tests (FILTER=HandstampCoreTests for some)
	$(if $(FILTER),,$(UNOPTIMIZED) test --package-path Examples/ForumReader --scratch-path $(TOGETHER) $(HANDSTAMP_QUICK))
	$(SWIFT) build $(BUILD) $(ANEW) --build-tests
	@env -u SWIFT_DETERMINISTIC_HASHING SWIFT="$(SWIFT)" FILTER="$(FILTER)" sh scripts/tests $(BUILD)

explore: ## explores every order of events within bounds, client and server together (release; some minutes)
	python3 docs/rotation_model.py --check
	$(SWIFT) run $(BUILD) -c release HandstampExplorer

diagram: ## draws the states of a session from an exploration: docs/session-machine.md and .svg
	@sh scripts/diagram

pictures: deps ## draws the tour and a refresh from real runs: docs/tour.svg and refresh.svg
	@SWIFT="$(SWIFT)" sh scripts/pictures

simulate: ## runs SEEDS=n histories of client, server, user and thief on all cores; SEED=n shows one
	@$(SWIFT) build $(BUILD) -c release --product HandstampSimulator
	@$(RELEASE)/HandstampSimulator \
	  $(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),20000))

guides: deps ## follows the guides one after the other on one device, ending the app in between (SEED=n, DEEP=1 for every order of up to four)
	$(SWIFT) build $(BUILD) --build-tests
	@$(if $(DEEP),HANDSTAMP_DEEP=1) $(if $(SEED),SEED=$(SEED)) $(SWIFT) test $(BUILD) --skip-build --filter GuideMovesTests

server: deps ## runs a test server on http://127.0.0.1:8080
	@$(SWIFT) build $(BUILD) --product handstamp
	@$(DEBUG)/handstamp serve --data .build/server --port 8080

forum: deps ## runs a forum on loopback, and a terminal reader for it
	@sh scripts/forum

forum-tour: test-deps ## plays the life of an account in the forum reader, in tmux
	@sh scripts/forum --tour

forum-bench: deps ## measures the store and the scrapers with a million posts (release; ROWS=n for fewer)
	$(UNOPTIMIZED) build --package-path Examples/ForumReader --scratch-path $(TOGETHER) $(OPTIONS) -c release --product forum-bench
	@"$$($(UNOPTIMIZED) build --package-path Examples/ForumReader --scratch-path $(TOGETHER) $(OPTIONS) -c release --show-bin-path)/forum-bench" $(ROWS)

fuzz: deps ## fuzzes the scrapers (SECONDS=60)
	sh scripts/fuzz $(SECONDS)

# In CI the program is there; its modules have given way to those of the forum reader.
examples: deps ## builds the examples, compares README and guides with them, and runs the README's
	sh scripts/readme --check
	@SWIFT="$(SWIFT)" HANDSTAMP=$(if $(IN_CI),$(wildcard .build/debug/handstamp)) sh scripts/examples

apple: deps ## type-checks the package for Apple platforms
	@sh scripts/apple

docs: deps ## builds reference and guides (.build/docs/site), checks every link, and compiles the guides' Swift code
	@sh scripts/docs

lint: ## checks the format and a few rules that no compiler checks
	$(SWIFT) format lint --strict --recursive --parallel $(SOURCES)
	@sh scripts/rules

format: ## formats the sources
	$(SWIFT) format --in-place --recursive --parallel $(SOURCES)

PLAIN := --traits Strict $(QUICK) $(APART:.build=.build/plain)
plain: ## builds the package without traits, and checks that a forgotten trait is named
	$(UNOPTIMIZED) build $(PLAIN)
	@sh scripts/forgotten $$($(UNOPTIMIZED) build $(PLAIN) --show-bin-path)

schemathesis: test-deps ## sends generated requests to a server, and compares its answers with its OpenAPI document (EXAMPLES=8)
	$(SWIFT) build $(BUILD) --product handstamp
	@/usr/bin/python3 scripts/schemathesis $(DEBUG)/handstamp $(EXAMPLES)

manual: deps ## prints the manual, docs/handstamp.1, from the help of the commands and a real run
	@$(SWIFT) build $(BUILD) --product handstamp
	@python3 scripts/manual $(DEBUG)/handstamp

manual-check: test-deps ## compares it
	@$(SWIFT) build $(BUILD) --product handstamp
	@python3 scripts/manual $(DEBUG)/handstamp --check

api: ## counts what `import Handstamp` shows, and compares it with docs/api.txt (UPDATE=1 writes it)
	@$(SWIFT) build $(BUILD) --target HandstampUI
	@python3 scripts/api $(DEBUG)/Modules $$($(SWIFT) -print-target-info | python3 -c 'import json, sys; print(json.load(sys.stdin)["target"]["unversionedTriple"])') $(if $(UPDATE),--update)

api-breakage: deps ## lists what breaks code that uses the public API of BASE=tag
	@python3 scripts/api-breakage "$(BASE)"

outside: test-deps ## builds and runs an external package against a clone of this one, without traits and with all
	@SWIFT="$(SWIFT)" sh scripts/outside

dist: ## builds the stripped program, its manual and completions, and a Debian package: .build/dist/out (Linux)
	@sh scripts/deps --dist
	@SWIFT="$(SWIFT)" JOBS=$(JOBS) sh scripts/dist

dist-check: dist ## proves the package on a minimal Debian in a container: installed, used, removed, purged (root)
	@sh scripts/debian

install: ## installs what `make dist` has built: PREFIX=/usr/local, DESTDIR=
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" sh scripts/install

uninstall: ## removes what `make install` installed, with the same PREFIX and DESTDIR
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" sh scripts/install --uninstall

CHECKS := test-deps lint plain run test schemathesis attack-short instructions openid passkeys pages manual-check cluster-short api apple docs forum-tour examples outside
check: ## runs the same checks as CI, and shows the time of each step
	@MAKE="$(MAKE)" sh scripts/check $(CHECKS)

check-deep: test-deps ## runs ThreadSanitizer, each trait alone, 40 processes under SIGKILL, every damaged home, long explorations and simulations, the release build, the package, all attacks
	TSAN_OPTIONS=suppressions=scripts/tsan-suppressions \
	  $(UNOPTIMIZED) test $(BUILD) -debug-info-format dwarf --sanitize=thread --scratch-path .build/tsan \
	  --filter 'HandstampTests|HandstampCoreTests|HandstampVaultsTests'
	HANDSTAMP_DEEP=1 $(SWIFT) test $(BUILD) --filter 'fifty expiries|is fixed by the command|Ten thousand sessions|GuideMovesTests'
	SWIFT="$(SWIFT)" sh scripts/outside --deep
	$(MAKE) release
	/usr/bin/python3 scripts/instructions $(RELEASE)/handstamp release
	$(MAKE) explore
	sh scripts/diagram --check
	SWIFT="$(SWIFT)" sh scripts/pictures --check
	$(MAKE) dist-check
	$(MAKE) attack
	$(MAKE) openid DEEP=1
	$(MAKE) pages DEEP=1
	$(MAKE) cluster
	$(MAKE) simulate SEEDS=$(or $(SEEDS),200000)

release: deps ## builds handstamp and the bench as deployed: whole-module optimization reports more warnings
	$(SWIFT) build $(BUILD) -c release --product handstamp
	$(SWIFT) build $(BUILD) -c release --product HandstampBench

memory: deps ## measures the memory of COUNT idle connections and event streams (release)
	@$(SWIFT) build $(BUILD) -c release --product handstamp
	@/usr/bin/python3 scripts/memory $(RELEASE)/handstamp $(or $(COUNT),9000)

attack: deps ## attacks a server from outside: guesses, floods, slow clients, forged tokens, and so on (NAMES="guesses timing" for some)
	@$(SWIFT) build $(BUILD) --product handstamp
	@/usr/bin/python3 scripts/attack $(DEBUG)/handstamp $(NAMES)

attack-short: deps ## those attacks that take little time and measure none
	@$(SWIFT) build $(BUILD) --product handstamp
	@/usr/bin/python3 scripts/attack $(DEBUG)/handstamp short

openid: test-deps ## lets programs of others sign a person in and out at the OpenID provider (NAMES="logout_latency" for some, DEEP=1 installs and runs all)
	@$(SWIFT) build $(BUILD) --product handstamp
	@/usr/bin/python3 scripts/openid $(DEBUG)/handstamp $(if $(DEEP),--deep) $(NAMES)

passkeys: test-deps ## lets authenticators of others sign a person in: python-fido2 and Chromium (NAMES="chromium" for some)
	@$(SWIFT) build $(BUILD) --product handstamp
	@/usr/bin/python3 scripts/passkeys $(DEBUG)/handstamp $(NAMES)

pages: test-deps ## looks at every page in Chromium: axe-core, accessibility trees, 320 px, keyboard (UPDATE=1 writes docs/pages.txt, DEEP=1 all languages)
	@$(SWIFT) build $(BUILD) --product handstamp
	@/usr/bin/python3 scripts/pages $(DEBUG)/handstamp check $(if $(UPDATE),--update) $(if $(DEEP),--deep)

shots: test-deps ## pictures of every page, light and dark, phone and desktop, in all languages: .build/shots/index.html (FRONT=1: those of README.md)
	$(SWIFT) build $(BUILD) --product handstamp
	@/usr/bin/python3 scripts/pages $(DEBUG)/handstamp $(if $(FRONT),front docs/images,shots .build/shots)

cluster: test-deps ## three nodes on PostgreSQL with a standby, behind a proxy: breaks one thing after another (NAMES="primary_killed" for some)
	@$(SWIFT) build $(BUILD) --product handstamp
	@/usr/bin/python3 scripts/cluster $(DEBUG)/handstamp $(NAMES)

cluster-short: test-deps ## those faults that take little time
	@$(SWIFT) build $(BUILD) --product handstamp
	@/usr/bin/python3 scripts/cluster $(DEBUG)/handstamp short

capacity: test-deps bench-deps ## measures nodes on PostgreSQL with SESSIONS="10000 1000000" (release)
	@$(SWIFT) build $(BUILD) -c release --product handstamp
	@/usr/bin/python3 scripts/capacity $(RELEASE)/handstamp $(SESSIONS)

bench: bench-deps release ## runs the benchmarks (release) and draws docs/bench.svg
	@$(RELEASE)/HandstampBench
	@/usr/bin/python3 scripts/speed $(RELEASE)/handstamp --bench $(RELEASE)/HandstampBench --json .build/speed.json
	@/usr/bin/python3 scripts/drawing/speed.py .build/speed.json docs/bench.svg

bench-peers: bench-deps release ## installs servers of others, glewlwyd and django-oauth-toolkit, and measures them beside this one (Debian)
	@/usr/bin/python3 scripts/peers $(RELEASE)/handstamp --json .build/peers.json

bench-deps:
	@sh scripts/deps --bench

instructions: test-deps ## counts the instructions of requests with callgrind: at most 5 % more than before (UPDATE=1 writes the counts)
	@$(SWIFT) build $(BUILD) --product handstamp
	@/usr/bin/python3 scripts/instructions $(DEBUG)/handstamp debug $(if $(UPDATE),--update)

clean: ## removes all build products
	rm -rf .build Examples/*/.build
