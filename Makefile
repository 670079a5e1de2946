# One command for everything. `make` alone lists the targets.
SWIFT ?= swift
JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
TOOLS := --package-path Tools -j $(JOBS)
ROOT := -j $(JOBS)

.PHONY: help deps build run test check lint format bench clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

deps: ## installs the system libraries that the build needs (Debian), or names them
	@sh scripts/deps

build: deps ## builds both packages and their tests
	$(SWIFT) build $(ROOT) --build-tests
	$(SWIFT) build $(TOOLS) --build-tests

run: deps ## signs someone in and proves that they stay signed in
	@$(SWIFT) build $(TOOLS) --product handstamp
	@"$$($(SWIFT) build --package-path Tools --show-bin-path)/handstamp" tour

test: deps ## all tests of all packages
	$(SWIFT) test $(ROOT)
	$(SWIFT) test $(TOOLS)

lint: ## the format, and a few rules that no compiler knows
	$(SWIFT) format lint --strict --recursive --parallel Package.swift Sources Tests Tools/Package.swift Tools/Sources Tools/Tests
	@sh scripts/rules

format: ## puts the format right
	$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tests Tools/Package.swift Tools/Sources Tools/Tests

check: deps lint test ## what CI runs

bench: deps ## measures, in release
	$(SWIFT) build $(TOOLS) -c release --product handstamp-bench
	@"$$($(SWIFT) build --package-path Tools -c release --show-bin-path)/handstamp-bench"

clean: ## removes what was built
	rm -rf .build Tools/.build
