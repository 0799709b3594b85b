# Front door: one line per target, what it does stands behind the ##. `make` alone prints the list.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
bin := .venv/bin
logs = $(or $(LOGS),../shared/corpus/logs)
meson := PATH="$(CURDIR)/$(bin):$$PATH" $(bin)/meson
c_sources = $(shell find format runtime cli api modules python tests bench -name '*.[ch]')

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /  \1|/p' Makefile | expand -t 4 | sed 's/|/\t/' | expand -t 18

build: ## install what is missing, build, install into .venv
	./bootstrap build

test: ## build, lint and run every test
	./bootstrap test

lint: ## formatting, ruff, mypy, architecture
	./bootstrap lint

demo: ## observe a real program (HMMER)
	./bootstrap demo

format: build ## format C and Python in place
	$(bin)/clang-format -i $(c_sources)
	$(bin)/ruff check -q --fix . || true
	$(bin)/ruff format -q .

sanitize: ## unit tests under ASan + UBSan, then under TSan
	@$(MAKE) sanitize-asan kinds=address,undefined
	@$(MAKE) sanitize-tsan kinds=thread

sanitize-%: build
	[ -d build-$* ] || $(meson) setup build-$* -Db_sanitize=$(kinds) -Db_lundef=false
	$(meson) test -C build-$* --print-errorlogs

transparency: build ## other people's tests, with and without iolens: CASES="NAME..."
	$(bin)/python tests/transparency/suite.py $(CASES)

fuzz: build ## fuzz the log reader for SECONDS=60 (needs clang)
	tests/fuzz/run $(or $(SECONDS),60)

bench: build ## measure what observing costs (bench/run)
	bench/run

intel-mpi: build ## install Intel MPI (129 MB) below .venv/mpi and run programs under it
	$(bin)/python -m pip install -q --no-deps --prefix .venv/mpi/intel impi-rt==2021.19.0
	$(bin)/python -m pytest -q tests/mpi tests/mpiio -k intel

docs: build ## write the generated pages below docs/reference
	$(bin)/python tools/modgen.py --docs format/registry.toml docs/reference/counters.md $(wildcard modules/*/*.toml)
	$(bin)/python tools/modgen.py --docs-old format/registry.toml docs/reference/old-logs.md $(wildcard modules/*/*.toml) format/cp.toml
	$(bin)/python tools/metricpage.py docs/reference/metrics.md
	$(bin)/python tools/rulepage.py docs/reference/rules.md

pictures: build ## take the pictures of docs/pictures again (needs Chromium, and logs in LOGS=../shared/corpus/logs)
	$(bin)/python tools/screenshots.py docs/pictures $(logs)/imbalanced-io.darshan=report \
		"$(logs)/mpi-io-test-dxt.darshan=timeline:#timeline-dxt_mpiio"

fresh-machine: ## prove ./bootstrap on a bare Debian in a chroot (root, debootstrap, network)
	tests/house/fresh_machine.sh

clean: ## remove what was built, keep .venv
	rm -rf build build-asan build-tsan build-fuzz

.PHONY: help build test lint demo format sanitize transparency fuzz bench docs pictures fresh-machine clean
