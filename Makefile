# pg_selfbench: cargo builds the library, PGXS installs and tests it.
# "make help" lists the targets.  make must be able to read this file before a
# server is installed, because "make demo" and "make test" install one.

# Where the sources are.  make -f SOURCES/Makefile builds and installs in a directory of its own, and does no more.
TOP := $(patsubst %/,%,$(dir $(firstword $(MAKEFILE_LIST))))

EXTENSION  = pg_selfbench
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" $(TOP)/$(EXTENSION).control)
SCRIPT     = $(EXTENSION)--$(EXTVERSION).sql
DATA_built = $(SCRIPT)
# Install scripts of released versions, and updates.  One of this version is the same as the built one.
RELEASED   = $(patsubst $(TOP)/%,%,$(wildcard $(TOP)/releases/*.sql))
EARLIER    = $(foreach file,$(RELEASED),$(if $(findstring --,$(file:releases/$(EXTENSION)--%=%)),,$(file)))
DATA       = $(filter-out releases/$(SCRIPT),$(RELEASED))

# Tests.  The order matters in the first two: test_setup and catalog come first.
REGRESS     = test_setup catalog errors results scripts pgio_tables pgio
ISOLATION   = rollback
TAP_TESTS   = test/t
PROVE_TESTS ?= $(TAP_TESTS)/*/*.pl

ISOLATION_OPTS = --load-extension=$(EXTENSION)

# The server to build for: src/compat.rs and Cargo.toml know these versions.
PG_VERSIONS = 15 16 17 18
PG_CONFIG  ?= pg_config
PGXS       := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
export PG_CONFIG

# rustup's cargo comes before the distribution's, which may be too old.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)

# One target directory for each major version, so that switching is cheap.
CARGO_TARGET_DIR ?= target
EXTRA_CLEAN       = $(PG_VERSIONS:%=$(CARGO_TARGET_DIR)/pg%) $(CARGO_TARGET_DIR)/catalog $(CARGO_TARGET_DIR)/fuzz \
  $(CARGO_TARGET_DIR)/browser $(TOP)/test/versions demo.html curves.csv

.DEFAULT_GOAL := build
.PHONY: build dist docs reference release install-library uninstall-library demo test test-browser soak bench fuzz help FORCE

ifneq ($(wildcard $(PGXS)),)
include $(PGXS)
# What is built is not taken from the sources' directory, where another build may have left it.
srcdir := $(TOP)
override VPATH :=
vpath %.control $(TOP)
PG_PROVE_FLAGS += -I $(abspath $(TOP))/test/lib
else
all: build
install installcheck uninstall: ; $(error $(NO_SERVER))
clean: ; rm -rf $(DATA_built) $(EXTRA_CLEAN)
endif

FEATURE = $(addprefix pg,$(filter $(PG_VERSIONS),$(MAJORVERSION)))
OUT     = $(CARGO_TARGET_DIR)/$(FEATURE)
LIBRARY = $(OUT)/release/lib$(EXTENSION).so
SOURCES = $(addprefix $(TOP)/,Cargo.toml Cargo.lock docs/run.schema.json) $(shell find $(TOP)/src $(TOP)/crates -type f)

NO_SERVER = set PG_CONFIG: "$(PG_CONFIG)" leads to $(if $(MAJORVERSION),PostgreSQL $(VERSION)) \
  $(if $(MAJORVERSION),and not to one of $(PG_VERSIONS),no server files; tools/prerequisites.sh installs them)

build: $(LIBRARY) $(SCRIPT)

all: build

# Link and load the server's libpq: its own modules have the same run path, and a process can
# load only one libpq.
LINK_ARGS = $(if $(filter yes,$(enable_rpath)),$(addprefix -C link-arg=,$(rpath)))

$(LIBRARY): $(SOURCES) $(TOP)/Makefile $(OUT)/server
	PGRX_PG_CONFIG_PATH='$(shell command -v $(PG_CONFIG))' PQ_LIB_DIR='$(libdir)' \
	cargo rustc --release --locked --manifest-path $(TOP)/Cargo.toml --target-dir $(OUT) \
	  --no-default-features --features $(FEATURE) -- $(LINK_ARGS)
	@touch $@

# Names the server that the library was built for; another one rebuilds it.
$(OUT)/server: FORCE
	$(if $(FEATURE),,$(error $(NO_SERVER)))
	@mkdir -p $(@D)
	@echo '$(VERSION) in $(bindir)' | cmp -s - $@ || echo '$(VERSION) in $(bindir)' >$@

# Made of the pieces in src/sql and of the lists of options and columns, as text.
CATALOG = cd $(TOP) && cargo run --quiet --locked --target-dir $(abspath $(CARGO_TARGET_DIR)/catalog) -p selfbench_catalog --

$(SCRIPT): $(filter $(TOP)/src/sql/% $(TOP)/crates/%,$(SOURCES)) $(TOP)/Makefile
	$(CATALOG) sql >$(CURDIR)/$@.new
	@mv $@.new $@

# Install scripts of versions that never were, for the test of updates.
$(TOP)/test/versions: $(SCRIPT)
	$(CATALOG) versions test/versions

installcheck: $(TOP)/test/versions

dist:
	+@tools/dist.sh

# Each released version has its install script here, with updates from all versions before. What the program cannot
# compare, it names: such an update is written by hand, and stays.
release: $(SCRIPT)
	@mkdir -p releases
	@cp $(SCRIPT) releases/
	@for old in $(filter-out releases/$(SCRIPT),$(EARLIER)); do \
	  from=$${old#releases/$(EXTENSION)--}; \
	  update=releases/$(EXTENSION)--$${from%.sql}--$(EXTVERSION).sql; \
	  if ($(CATALOG) update $$old $(SCRIPT)) >$$update.new; then mv $$update.new $$update; \
	  else rm -f $$update.new; [ -e $$update ] || exit; fi; \
	done
	@cd releases && sha256sum *.sql >SHA256SUMS

docs:
	$(CATALOG) docs

reference:
	psql -XqAtf tools/reference.sql >docs/reference.md.new
	@mv docs/reference.md.new docs/reference.md
	$(CATALOG) docs

install: install-library

# In one step: a running server may load it at any time.
install-library: $(LIBRARY)
	$(MKDIR_P) '$(DESTDIR)$(pkglibdir)'
	$(INSTALL_SHLIB) $(LIBRARY) '$(DESTDIR)$(pkglibdir)/$(EXTENSION)$(DLSUFFIX).new'
	mv -f '$(DESTDIR)$(pkglibdir)/$(EXTENSION)$(DLSUFFIX).new' '$(DESTDIR)$(pkglibdir)/$(EXTENSION)$(DLSUFFIX)'

uninstall: uninstall-library

uninstall-library:
	rm -f '$(DESTDIR)$(pkglibdir)/$(EXTENSION)$(DLSUFFIX)'

demo:
	+@tools/demo.sh

test:
	+@test/run

test-browser:
	+@test/browser/run

soak:
	+@test/soak

bench:
	+@test/bench/run

fuzz:
	+@tools/fuzz.sh

define HELP
make              build the library and the install script
make install      install both for the server of PG_CONFIG; DESTDIR is honored
make installcheck run the tests on the running server that PGHOST and PGPORT name
make uninstall    remove what make install installed
make docs         write what the documentation has of the lists of options and of errors
make reference    write docs/reference.md, as a superuser of the running server that PGHOST
                  and PGPORT name, where the extension is installed
make dist         pg_selfbench-VERSION.zip of the last commit, with all crates: builds without network
make release      freeze the install script of default_version in releases, with updates to it
make demo         install what is missing, build, benchmark a scratch server in
                  both modes, print the reports, write one of them as a page, clean up
                  DEMO_SECONDS=5 DEMO_SCALE=10 DEMO_CLIENTS=2 DEMO_FILE=demo.html
                  DEMO_PICTURES=docs makes the pictures of README.md, too
                  KEEP=1 leaves the server running
make test         install what is missing, build, run all tests on scratch servers
                  TEST_JOBS=2 TAP tests at a time
                  KEEP=1 leaves the server, its log and the results
                  SEED=1,2 sets the seeds of the differential tests
make test-browser install Chromium and its driver if missing, open all kinds of pages of
                  a scratch server; make test does so where both are installed
                  CHROMIUM=path SCREENSHOTS=directory KEEP=1
test/matrix       make test on all versions, one after the other; a cache keeps servers and results
make soak         end processes of runs at random moments, COUNT=200 times; compare
                  generated scripts and expressions of SEEDS=10 new seeds; SEED= repeats;
                  compare EQUAL=40 times equal arms, SLOWED=20 times one slowed by 5 %
                  observe what grows in ENDURANCE_SECONDS=5400 and SHORT_RUNS=2000
                  SOAK_ONLY=endings, stories, seeds, comparisons, endurance or valgrind
                  runs only these
make bench        install what is missing, build, measure everything beside pgbench
                  and other peers on a scratch server; see docs/performance.md
                  QUICK=1 takes three minutes instead of an hour
                  BENCH_OUT=bench.json BENCH_ONLY=regular-expression KEEP=1
make fuzz         search for texts that break the script language, for
                  FUZZ_SECONDS=60 each as script and as expression
make clean        remove what was built

PG_CONFIG=/path/to/pg_config selects the server (PostgreSQL $(PG_VERSIONS)).
endef
export HELP

help:
	@printf '%s\n' "$$HELP"
