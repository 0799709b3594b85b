# Front door: one line per target, what it does stands behind the ##. `make` alone prints the list.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
bin := .venv/bin
logs = $(or $(LOGS),../shared/corpus/logs)
meson := PATH="$(CURDIR)/$(bin):$$PATH" $(bin)/meson
module_tomls = $(filter-out modules/template/%,$(wildcard modules/*/*.toml))
c_sources = $(shell find format runtime ranges cli api modules deploy python tests bench -name '*.[ch]')

campaigns = campaign-tests seeded-faults generated sanitize stress transparency pydarshan fuzz damage fleet-kills kernel-kills \
	kernel-programs truth truth-lines truth-real slurm-tests spark-tests version-tests portal-malformed portal-soak install-tests growth bench

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /  \1|/p' Makefile | expand -t 4 | sed 's/|/\t/' | expand -t 18

build: ## install what is missing, build, install into .venv
	./bootstrap build

test: ## build, lint and run the quick tier of the tests
	./bootstrap test

full: ## build, lint and run every test but the campaigns
	./bootstrap full

affected: build ## the quick tests that can notice what has changed SINCE=HEAD: prints which and why
	$(bin)/python tests/affected.py --since $(or $(SINCE),HEAD)

slowest: ## the slowest files and tests of the last runs: COUNT=25
	@python3 tests/timings.py $(or $(COUNT),25)

campaigns: $(campaigns) ## everything that takes long, one after the other, for a night; each has its own target

lint: ## formatting, ruff, mypy, architecture
	./bootstrap lint

demo: ## observe a real program (HMMER)
	./bootstrap demo

format: build ## format C and Python in place, wrap the prose of the pages
	$(bin)/clang-format -i $(c_sources)
	$(bin)/ruff check -q --fix . || true
	$(bin)/ruff format -q .
	$(bin)/python tools/wrap.py

campaign-tests: ## install what they need, and run the tests that tests/tiers.toml keeps for campaigns
	./bootstrap campaign

sanitize: ## unit tests and the preload library under ASan + UBSan, then under TSan
	@$(MAKE) sanitize-asan kinds=address,undefined
	@$(MAKE) sanitize-tsan kinds=thread
	STRESS_SECONDS=$(or $(SECONDS),60) $(bin)/python -m pytest -q tests/transparency/test_hostile.py \
		tests/reliability/test_stress.py -k sanitizer

sanitize-%: build
	[ -d build-$* ] || $(meson) setup build-$* -Db_sanitize=$(kinds) -Db_lundef=false
	$(meson) test -C build-$* --print-errorlogs

stress: build ## threads at work while others fork, exec, spawn and jump: SECONDS=60
	STRESS_SECONDS=$(or $(SECONDS),60) $(bin)/python -m pytest -q tests/reliability/test_stress.py

generated: build ## COUNT=1000 random programs of system calls, compared with a model of every counter; SEED=7 COUNT=1 repeats one
	PYTHONPATH=tests $(bin)/python -m generated --count $(or $(COUNT),1000) $(if $(SEED),--seed $(SEED))

transparency: build ## other people's tests, with and without iolens: CASES="NAME..."
	$(bin)/python tests/transparency/suite.py $(CASES)

pydarshan: build ## PyDarshan's own tests, on its reader and on iolens.pydarshan: ARGS="-k report"
	$(bin)/python tests/interop/pydarshan_suite.py $(ARGS)

fuzz: build ## fuzz the log reader for SECONDS=60 (needs clang)
	tests/fuzz/run $(or $(SECONDS),60)

damage: build ## every command on COUNT=20000 damaged logs, SEED=1, those in Python on a tenth of them
	$(bin)/python tests/fuzz/mutate.py --seed $(or $(SEED),1) --count $(or $(COUNT),20000)
	$(bin)/python tests/fuzz/mutate.py --seed $(or $(SEED),1) --count $(or $(COUNT),20000) --python
	$(bin)/python tests/fuzz/mutate.py --seed $(or $(SEED),1) --count $$(($(or $(COUNT),20000) / 10)) --analysis

seeded-faults: lint ## put the faults of tests/seeded into a copy of the tree, one by one: which does the quick tier catch? ARGS="ID --tests PATH"
	$(bin)/python tests/seeded/run.py $(ARGS)

fleet-kills: build ## ingest and archiver are killed at COUNT=200 random moments: nothing lost, nothing double
	FLEET_KILLS=$(or $(COUNT),200) $(bin)/python -m pytest -q tests/fleet/test_lake_upkeep.py tests/fleet/test_archive.py -k kills

kernel-kills: build ## COUNT=200 static programs whose companion (run --kernel) is killed: none is disturbed. Root
	KERNEL_KILLS=$(or $(COUNT),200) PATH="$(CURDIR)/$(bin):$$PATH" $(bin)/python -m pytest -q tests/kernel/test_kernel.py -k killed_companion

kernel-programs: build ## every POSIX program of tests/programs, static, under run --kernel: does it count as under preload? glibc and musl, ten minutes. Root
	KERNEL_ALL=1 PATH="$(CURDIR)/$(bin):$$PATH" $(bin)/python -m pytest -q tests/kernel/test_kernel.py -k count_what_they_count

truth: build ## programs with one known cause each: do findings name it, and predict the gain? compared with Drishti. WORDS="..." REPEAT=3
	[ -x .venv/truth/bin/drishti ] || { python3 -m venv .venv/truth && .venv/truth/bin/pip install -q drishti-io==0.8 h5py; }
	$(bin)/python tests/truth/injected.py --repeat $(or $(REPEAT),3) --drishti .venv/truth/bin/drishti $(if $(WORDS),,--page docs/findings-truth.md) $(WORDS)

truth-real: build ## real programs and an expert's verdict of each: does iolens give the same? 10 to 90 minutes, installs packages. WORDS="git io"
	[ -x .venv/real/bin/python ] || python3 -m venv .venv/real
	.venv/real/bin/pip install -q $(shell $(bin)/python tests/truth/real/run.py --packages pypi)
	[ $$(id -u) != 0 ] || ! command -v apt-get > /dev/null || apt-get install -qq -y --no-install-recommends $(shell $(bin)/python tests/truth/real/run.py --packages debian)
	[ -x .venv/truth/bin/drishti ] || { python3 -m venv .venv/truth && .venv/truth/bin/pip install -q drishti-io==0.8 h5py; }
	$(bin)/python tests/truth/real/run.py --json build/real.json --logs build/real --drishti .venv/truth/bin/drishti --page docs/findings-real.md $(WORDS)

truth-lines: build ## real programs and the line that a person names: is it the first of iolens lines? packages as for truth-real. WORDS="csv-rows"
	$(bin)/python tests/truth/real/lines.py $(if $(WORDS),,--page docs/findings-truth.md) $(WORDS)

bench: build ## measure what iolens costs, in minutes; FULL=1 takes the sizes of docs/performance/: BENCHES="NAME..."
	bench/run $(if $(FULL),--full) $(BENCHES)

growth: build ## how time grows with records, ranks, threads, logs and traced accesses, with a picture (build/growth.svg): FULL=1 for that of the docs
	$(bin)/python bench/growth/run.py $(if $(FULL),--full --picture docs/pictures/growth.svg,--picture build/growth.svg)

.PHONY: slurm-tests
slurm-tests: build ## JOBS=200 jobs of mixed kinds on a Slurm of two nodes, every one observed (root, Debian's Slurm)
	SLURM_JOBS=$(or $(JOBS),200) $(bin)/python -m pytest -q tests/deploy/test_slurm.py -k all_kinds

spark-tests: ## metrics and ingest on Spark and DuckDB: identical rows? installs Spark (480 MB) below .venv/spark
	./bootstrap spark
	SPARK_TESTS=1 PATH="$(CURDIR)/$(bin):$$PATH" PYTHONPATH="$(CURDIR)/.venv/spark" $(bin)/python -m pytest -q tests/fleet/spark

version-tests: build ## the quick tests that depend on other packages, with their oldest and newest releases; installs 700 MB each below build: VERSIONS="oldest newest"
	for which in $(or $(VERSIONS),oldest newest); do $(bin)/python tests/install/versions.py $$which || exit 1; done

outside-checks: build ## what other projects publish, installed for it: Intel MPI (129 MB), Grafana's types, conda's builder (83 MB): CHECKS="intel-mpi grafana-types conda-recipe"
	for check in $(or $(CHECKS),intel-mpi grafana-types conda-recipe); do tests/install/outside.sh $$check || exit 1; done

module: ## start a module: NAME=x copies modules/template to modules/x
	@python3 tools/newmodule.py modules "$(NAME)"

docs: build ## write the generated pages below docs/reference
	$(bin)/python tools/modgen --docs format/registry.toml docs/reference/counters.md $(module_tomls)
	$(bin)/python tools/modgen --docs-old format/registry.toml docs/reference/old-logs.md $(module_tomls) format/records/cp.toml
	$(bin)/python tools/metricpage.py docs/reference/metrics.md
	$(bin)/python tools/querypage.py docs/reference/queries.md
	$(bin)/python tools/tablepage.py docs/reference/tables.md
	$(bin)/python tools/rulepage.py docs/reference/rules.md
	$(bin)/python tools/commandpage.py docs/reference/commands.md
	$(bin)/python tools/settingpage.py docs/reference/settings.md
	$(bin)/python tools/modulepage.py docs/reference/modules.md

samples: build ## make the sample outputs of README and first-look.md again, by running what they show
	$(bin)/python tools/samplepages.py README.md docs/guide/first-look.md

site: build ## the documentation as a site, into build/site
	./bootstrap site

pictures: build ## take the pictures of docs/pictures and the screens of top and watch again (root, Chromium, tmux, FUSE, LOGS=../shared/corpus/logs)
	$(bin)/python tools/screenshots.py docs/pictures $(logs)/imbalanced-io.darshan=report \
		"$(logs)/mpi-io-test-dxt.darshan=timeline:#timeline-dxt_mpiio"
	PATH="$(CURDIR)/$(bin):$$PATH" $(bin)/python tools/portalpictures.py docs/pictures
	$(bin)/python tools/terminalpages.py docs/guide/top.md docs/guide/watch.md

portal-malformed: build ## send the portal COUNT=10000 malformed requests: none may cause an internal error or reveal data
	PATH="$(CURDIR)/$(bin):$$PATH" PORTAL_MALFORMED=$(or $(COUNT),10000) $(bin)/python -m pytest -q tests/portal/test_intrusion.py -k noise

portal-soak: build ## SECONDS=300 of 24 people at a portal whose lake is compacted, thinned, damaged and filled while it restarts
	PATH="$(CURDIR)/$(bin):$$PATH" PORTAL_SOAK=$(or $(SECONDS),300) $(bin)/python -m pytest -q tests/portal/test_soak.py

fresh_parts = $(or $(PARTS),bootstrap user modules slurm fleet kernel)
fresh-machine: ## prove ./bootstrap, then README and the guide line by line, on a bare Debian in a chroot (root, debootstrap, network): PARTS="bootstrap user modules slurm fleet kernel"
	$(if $(filter bootstrap,$(fresh_parts)),tests/house/fresh_machine.sh)
	$(if $(filter-out bootstrap,$(fresh_parts)),tests/house/first_hour.sh $(filter-out bootstrap,$(fresh_parts)))

install: ## install everything below PREFIX=/usr/local, by Meson; over an older version, too: DESTDIR=
	./bootstrap build
	$(bin)/python tools/install.py --prefix "$(or $(PREFIX),/usr/local)" --destdir "$(DESTDIR)"

uninstall: ## remove what make install put below PREFIX, and nothing else
	@$(or $(wildcard $(bin)/python),python3) tools/install.py --uninstall --prefix "$(or $(PREFIX),/usr/local)" --destdir "$(DESTDIR)"

wheel: ## wheels for every Linux, into dist
	./bootstrap wheel

sdist: ## the source distribution, into dist
	./bootstrap sdist

sbom: ## bill of materials of the build (CycloneDX), into dist
	./bootstrap sbom

deb: ## Debian packages of the last commit, into dist
	./bootstrap deb

deb-tests: deb ## install the Debian packages on a bare Debian in a chroot, make a report, purge them (root, debootstrap, network): OLDER=FOLDER
	tests/install/deb.sh $(OLDER)

container-tests: ## build the images of deploy/containers, make a report, observe programs in containers from outside (root, network)
	./bootstrap containers
	PATH="$$PATH:$(CURDIR)/.venv/apptainer/bin" tests/install/containers.sh

install-tests: wheel sdist reproducible deb-tests container-tests ## each way to install, here and in chroots of other distributions (root, debootstrap, network): SUITES="..."
	tests/install/paths.sh "$$(ls -t dist/*manylinux*.whl | head -n 1)" venv moved user target pipx uvx
	tests/install/chroots.sh $(SUITES)

arm-tests: build ## a cross build for AArch64: unit tests and a preloaded program in an emulator (gcc-aarch64-linux-gnu, qemu-user, network)
	tests/install/aarch64.sh

reproducible: wheel sdist deb ## two builds in different folders: are installed files, wheel, source distribution and packages the same, byte for byte?
	tests/install/reproducible.sh

release: ## a release: VERSION=1.2.3, ARGS=--dry-run (docs/versioning.md)
	@$(bin)/python tools/release.py $(ARGS) "$(VERSION)"

clean: ## remove what was built, keep .venv
	rm -rf build build-asan build-tsan build-fuzz build-seeded

.PHONY: help build test full affected slowest campaigns campaign-tests lint demo format outside-checks module spark-tests version-tests sanitize stress transparency fuzz damage kernel-programs truth truth-lines truth-real pydarshan bench growth docs site pictures fresh-machine install uninstall wheel sdist sbom deb deb-tests container-tests install-tests arm-tests reproducible release clean seeded-faults portal-malformed portal-soak generated
