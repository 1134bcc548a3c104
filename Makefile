# SPDX-License-Identifier: Apache-2.0
# Short names for what CMake does. On a fresh Debian 12 `make demo` and
# `make test` are enough: they install what is missing, build, and run.

.DEFAULT_GOAL := release
.PHONY: build/spark/lib build/spark/lib-aarch64 release demo test \
        test-sanitizers check bench bench-two-stage bench-query bench-scan \
        install install-all docs format fuzz tidy coverage soak clean setup \
        setup-build setup-tool setup-check setup-bench setup-vm \
        setup-coverage setup-cross setup-scan setup-duckdb setup-spark \
        setup-fresh test-aarch64 test-rust test-adbc test-sql test-sql-long \
        sql bench-sql vm test-vm bench-vm bench-grants help test-upgrade \
        mutants sim-mistakes spark test-spark bench-spark soak-spark scan \
        static test-duckdb test-fresh test-all

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
REL := build/release

# Pythons with packages of others, as recipes name them: DuckDB as an opponent;
# opponents of the scan service, its DuckDB that of tools/duckdb.sh; generators
# of TPC-H and TPC-DS, and the DuckDB that they belong to, not one measured.
PYTHON_DUCKDB = $$(tools/venv.sh duckdb)/bin/python
PYTHON_OPPONENTS = $$(tools/venv.sh opponents)/bin/python
PYTHON_TPC = $$(tools/venv.sh tpc)/bin/python

help: ## list these names
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | expand -t 18

setup: ## install all Debian packages
setup: setup-build setup-check setup-bench setup-vm setup-cross setup-scan \
       setup-duckdb setup-spark

setup-build setup-tool setup-check setup-bench setup-vm \
        setup-coverage setup-cross setup-spark setup-fresh: setup-%:
	@tools/setup.sh $*

setup-scan: ## fetch nanoarrow and adbc.h for libweir-scan
	@tools/setup.sh scan
	@tools/arrow.sh build/arrow

setup-duckdb: ## fetch libduckdb.so, for tests and `weir serve`
	@command -v npm >/dev/null || tools/setup.sh duckdb
	@tools/duckdb.sh build/libduckdb

# Configured once; later builds notice by themselves what has changed.
build/%/build.ninja: | setup-build
	@cmake --preset $*

# `make demo` may have configured it without tests.
CONFIGURE_RELEASE := grep -qs WEIR_TESTS:BOOL=ON $(REL)/CMakeCache.txt || \
    cmake --preset release -DWEIR_TESTS=ON -DWEIR_EXAMPLES=ON
CONFIGURE_TOOL := [ -e $(REL)/build.ninja ] || \
    cmake --preset release -DWEIR_TESTS=OFF -DWEIR_EXAMPLES=OFF

release: setup-build ## build (the default)
	@$(CONFIGURE_RELEASE)
	@cmake --build $(REL) -j $(JOBS)

scan: setup-tool setup-scan setup-duckdb ## weir serve and scan, ADBC driver
	@$(CONFIGURE_TOOL)
	@cmake --build $(REL) -j $(JOBS) --target weir_tool weir_adbc_driver

# What crates link.
static: setup-tool
	@$(CONFIGURE_TOOL)
	@cmake --build $(REL) -j $(JOBS) --target weir_static

# The weir command alone needs fewer packages than its tests.
demo: setup-tool ## build and show a shuffle at work
	@$(CONFIGURE_TOOL)
	@cmake --build $(REL) -j $(JOBS) --target weir_tool
	@$(REL)/weir demo $(ARGS)

test: setup-build setup-scan ## build and run the tests
	@$(CONFIGURE_RELEASE)
	@cmake --build $(REL) -j $(JOBS)
	@test/scripts/run_tests.sh $(REL) $(ARGS)

test-duckdb: setup-build setup-scan setup-duckdb ## scans, DuckDB serving
	@$(CONFIGURE_RELEASE)
	@cmake --build $(REL) -j $(JOBS)
	@test/scripts/run_tests.sh $(REL) -R 'scan|adbc'

test-fresh: setup-fresh ## README's commands in bare roots of Debian
	@test/fresh/run.sh $(ARGS)

SANITIZED := -L 'unit|conformance' $(if $(LONG),-C long,)
CHECKED := weir_checked $(if $(LONG),weir_checked_long,)
test-sanitizers: ## unit and conformance tests under asan, ubsan, tsan
test-sanitizers: build/asan/build.ninja build/tsan/build.ninja
	@cmake --build build/asan -j $(JOBS) --target $(CHECKED)
	@test/scripts/run_tests.sh build/asan $(SANITIZED)
	@cmake --build build/tsan -j $(JOBS) --target $(CHECKED)
	@test/scripts/run_tests.sh build/tsan $(SANITIZED)

test-upgrade: setup-build ## clusters of this version and the one before
	@test/upgrade/run.sh

mutants: setup-build ## does a test notice each of 200 mistakes? hours
	@python3 test/mutants/mutants.py $(ARGS)

check: ## rules of the house (layers, labels, sizes ...), models, packages
check: setup-build setup-check setup-scan
	@$(CONFIGURE_RELEASE)
	@cmake --build $(REL) -j $(JOBS)
	@WEIR_MAX_SKIPPED=0 test/scripts/run_tests.sh $(REL) -C check -L check

SECONDS ?= 60
build/fuzz/build.ninja: | setup-check

fuzz: build/fuzz/build.ninja ## feed each fuzz target for SECONDS=60
	@cmake --build build/fuzz -j $(JOBS) --target fuzz
	@test/scripts/fuzz.sh build/fuzz $(SECONDS)

sim-mistakes: release ## does weir sim find 26 planted mistakes? builds each
	@test/scripts/sim_mistakes.sh $(REL)

MINUTES ?= 10
SOAK_FIRST ?= $(shell date +%s)000000

# Half of the time simulated clusters, a quarter each processes over shm, tcp.
soak: release ## clusters under faults, fresh seeds, for MINUTES=10
	@echo "seeds from $(SOAK_FIRST) on (make soak SOAK_FIRST=$(SOAK_FIRST))"
	@$(REL)/weir sim --seeds $(SOAK_FIRST)..$$(($(SOAK_FIRST) + 999999)) \
	    --time $$(($(MINUTES) * 30))
	@for transport in shm tcp; do \
	    $(REL)/test/soak --transport $$transport --seed $(SOAK_FIRST) \
	        --rounds 1000000 --time $$(($(MINUTES) * 15)) || exit 1; \
	done

tidy: setup-check release ## clang-tidy over the library
	@test/scripts/tidy.sh $(REL) $(JOBS)

coverage: ## lines and branches that unit and conformance tests execute
coverage: setup-coverage build/coverage/build.ninja
	@cmake --build build/coverage -j $(JOBS) --target weir_checked
	@test/scripts/run_tests.sh build/coverage -L 'unit|conformance'
	@test/scripts/coverage.sh build/coverage

bench: ## everything against its opponents, 30 minutes: a page with plots
bench: setup-bench build/bench/build.ninja build/tpch-0.2
	@cmake --build build/bench -j $(JOBS)
	@bench/report/report.py --weir build/bench/weir \
	    --duckdb $(PYTHON_DUCKDB) --tpch build/tpch-0.2 \
	    --out build/bench-report $(ARGS)

bench-two-stage: ## two shuffles against opponents and the limit, a minute
bench-two-stage: setup-bench build/bench/build.ninja
	@cmake --build build/bench -j $(JOBS)
	@build/bench/weir bench two-stage --nodes 8 --workers 1 --rows 5000000 \
	    --transports shm,tcp,sockets,mpi --repeat 5 --limit $(ARGS)

bench-query: ## whole queries against DuckDB, and the tables
bench-query: setup-bench build/bench/build.ninja build/tpch-0.2
	@cmake --build build/bench -j $(JOBS) --target weir_tool
	@build/bench/weir bench gen
	@for plan in join aggregation; do \
	    build/bench/weir bench query --plan $$plan --nodes 2 \
	        --against duckdb --python $(PYTHON_DUCKDB) $(ARGS) && \
	    build/bench/weir bench query --plan $$plan --nodes 8 \
	        --transports shm,tcp,sockets $(ARGS) || exit 1; \
	done
	@build/bench/weir bench query --plan tpch --data build/tpch-0.2 --nodes 2 \
	    --against duckdb --python $(PYTHON_DUCKDB) $(ARGS)

# Outside of the tree, as all of others: a fresh clone fetches nothing again.
SCAN_CACHE := $(HOME)/.cache/weir
BENCH_SCAN := build/bench/weir bench scan --rows 6000000 \
    --database $(SCAN_CACHE)/lineitem-6000000.duckdb \
    --python $(PYTHON_OPPONENTS)
bench-scan: ## results of queries against Arrow Flight and others, minutes
bench-scan: setup-bench setup-scan setup-duckdb
	@cmake --preset bench >/dev/null
	@cmake --build build/bench -j $(JOBS) --target weir_tool weir_scan_sum
	@$(BENCH_SCAN) $(ARGS) --contestants \
	    shm,tcp,flight,flight-2,serialized,serialized-unix
	@$(BENCH_SCAN) $(ARGS) --source duckdb --contestants \
	    shm,tcp,flight,serialized,duckdb

build/tpch-0.2: | setup-bench
	@$(PYTHON_TPC) bench/opponents/tpch_files.py 0.2 $@

# Its target folder is outside of the tree: a fresh clone builds no crate again.
CARGO_TARGET_DIR ?= $(HOME)/.cache/weir/cargo
CARGO_RUST := cd bindings/rust && WEIR_BUILD_DIR=$(CURDIR)/$(REL) \
    CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)

# clippy does not come with every cargo.
test-rust: static ## tests, lints and docs of the Rust bindings (needs cargo)
	@$(CARGO_RUST) cargo test --locked -p weir
	@$(CARGO_RUST) RUSTDOCFLAGS="-D warnings" \
	    cargo doc --locked --no-deps --workspace
	@if cargo clippy --version >/dev/null 2>&1; then \
	    $(CARGO_RUST) cargo clippy --locked --workspace --all-targets \
	        -- -D warnings; \
	else echo 'cargo clippy: not installed, left out'; fi

SQL_BUILT := $(CARGO_TARGET_DIR)-datafusion/release/weir-sql
# What the tests of SQL ask, and of whom: made once per user, not per clone.
SQL_DATA := $(HOME)/.cache/weir/sql-duckdb-1.5.5
# One pattern: of two, GNU make takes one run for both folders of a scale.
$(SQL_DATA)/tpc%: | setup-bench
	@$(PYTHON_TPC) connectors/datafusion/tests/tpc.py \
	    $(subst -, ,$(@F)) $@

CARGO_SQL := cd connectors/datafusion && WEIR_BUILD_DIR=$(CURDIR)/$(REL) \
    WEIR_SQL_DATA=$(SQL_DATA) CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)-datafusion
# Without LONG=1 neither the 99 queries of TPC-DS, nor the bench, and of random
# statements, which DuckDB answers as well, some hundreds.
DIFFERENTIAL := connectors/datafusion/tests/differential
test-sql: static ## DataFusion over Weir (needs cargo; LONG=1: all of it)
test-sql: $(SQL_DATA)/tpch-0.02 $(SQL_DATA)/tpcds-0.01
	@$(CARGO_SQL) cargo test --locked \
	    $(if $(LONG),--workspace,-p weir-datafusion -p weir-sql -- \
	        --skip tpcds_)
	@test/install/hardened.sh $(CARGO_TARGET_DIR)-datafusion/debug/weir-sql
	@$(PYTHON_TPC) $(DIFFERENTIAL)/test_differential.py
	@$(PYTHON_TPC) $(DIFFERENTIAL)/run.py --jobs 2 --seed 1 \
	    --weir-sql $(CARGO_TARGET_DIR)-datafusion/debug/weir-sql \
	    --statements $(if $(LONG),5000,200)

test-sql-long: static ## all answers at SF 1, and 1,000 queries with kills
test-sql-long: $(SQL_DATA)/tpch-0.02 $(SQL_DATA)/tpch-0.1 $(SQL_DATA)/tpch-1 \
        $(SQL_DATA)/tpcds-0.01 $(SQL_DATA)/tpcds-1
	@$(CARGO_SQL) cargo build --locked --release --example worker
	@$(CARGO_SQL) cargo test --locked --release --test answers --test kills -- \
	    --include-ignored --nocapture --test-threads=1 $(ARGS)
	@$(CARGO_SQL) cargo build --locked --release -p weir-sql
	@$(PYTHON_TPC) $(DIFFERENTIAL)/run.py --jobs 2 --seed 2 \
	    --weir-sql $(SQL_BUILT) --statements 50000

# Stripped; what debuggers want lies beside it.
sql: static ## build/weir-sql, SQL over files (needs cargo; slow when cold)
	@[ -e $(SQL_BUILT) ] || echo "weir-sql: this compiles DataFusion, some" \
	    "450 crates: some 45 minutes of processor time, once"
	@$(CARGO_SQL) cargo build --locked --release -p weir-sql
	@objcopy --only-keep-debug $(SQL_BUILT) build/weir-sql.debug
	@cd build && objcopy --strip-all --add-gnu-debuglink=weir-sql.debug \
	    $(SQL_BUILT) weir-sql
	@test/install/hardened.sh build/weir-sql
	@ls -sh build/weir-sql

# DataFusion over Weir against its own exchange. The release profile builds
# DataFusion once more: half an hour when cold.
SQL_TPCH := $(SCAN_CACHE)/tpch-1-parquet
$(SQL_TPCH): | setup-bench
	@$(PYTHON_TPC) bench/opponents/tpch_parquet.py 1 $@

BENCH_SQL := $(CARGO_TARGET_DIR)-datafusion/release/weir-sql-bench
bench-sql: ## DataFusion over Weir against gRPC (needs cargo), 5 minutes
bench-sql: setup-bench build/bench/build.ninja $(SQL_TPCH)
	@cmake --build build/bench -j $(JOBS) --target weir_static
	@cd connectors/datafusion && WEIR_BUILD_DIR=$(CURDIR)/build/bench \
	    CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)-datafusion \
	    cargo build --locked --release -j $(JOBS) -p weir-sql-bench
	@$(BENCH_SQL) shuffle $(ARGS)
	@$(BENCH_SQL) tpch --data $(SQL_TPCH) --queries bench/plans/tpch $(ARGS)

test-adbc: scan ## the ADBC driver, under Python
	@connectors/adbc/test/run.sh $(REL) $(ARGS)

build/spark/lib-aarch64: setup-spark setup-cross
	@tools/sysroot.sh build/sysroot-aarch64
	@cmake --preset aarch64 -DWEIR_SPARK=ON >/dev/null
	@cmake --build build/aarch64 -j $(JOBS) --target weir_spark

build/spark/lib: setup-spark setup-tool
	@$(CONFIGURE_TOOL)
	@cmake --preset release -DWEIR_SPARK=ON >/dev/null
	@cmake --build $(REL) -j $(JOBS) --target weir_spark weir_tool

SPARK ?= 3.5.9 4.0.5 4.3.0
spark: ## build/spark/LINE/*.jar, the shuffle manager for Spark
spark: build/spark/lib build/spark/lib-aarch64
	@connectors/spark/build.sh $(REL),build/aarch64 \
	    $$(for v in $(SPARK); do \
	        connectors/spark/test/spark.sh $$v; done | \
	    sed 's,$$,/lib/python3*/site-packages/pyspark/jars,')

# The short form is Spark 3.5 and what each kind of test begins with.
test-spark: build/spark/lib ## Spark 3.5 over Weir (LONG=1: 4.3, too; all tests)
	@$(if $(LONG),,SHORT=1) connectors/spark/test/run.sh $(REL) $(ARGS)

soak-spark: build/spark/lib ## 30 jobs, an executor killed in each
	@connectors/spark/test/run.sh $(REL) soak $(ARGS)

bench-spark: ## Spark over Weir and Netty: blocks and whole jobs
bench-spark: setup-spark build/bench/build.ninja
	@cmake --preset bench -DWEIR_SPARK=ON >/dev/null
	@cmake --build build/bench -j $(JOBS) --target weir_spark
	@connectors/spark/bench/run.sh build/bench $(ARGS)
	@connectors/spark/bench/jobs.sh build/bench $(ARGS)

vm: setup-vm release ## run CMD="..." in a virtual machine that has RDMA devices
	@test/vm/vm.sh run $(ARGS) -- sh -c '$(subst ','\'',$(CMD))'

test-aarch64: setup-cross ## on another processor, emulated (LONG=1: all)
	@test/scripts/aarch64.sh $(if $(LONG),long,short) $(ARGS)

test-vm: setup-vm release ## verbs on real drivers, siw and rxe (LONG=1: all)
	@test/vm/test.sh $(REL) $(if $(LONG),long,short)

test-all: ## everything, in its long form, hours: test/all.txt says when last
	@test/all.sh

bench-vm: ## verbs on siw against tcp and sockets, by instructions
bench-vm: setup-vm build/bench/build.ninja
	@cmake --build build/bench -j $(JOBS) --target weir_tool
	@test/vm/bench.sh build/bench

bench-grants: ## what grants cost over verbs, by instructions, two minutes
bench-grants: setup-vm build/bench/build.ninja
	@cmake --build build/bench -j $(JOBS) --target verbs_grant_bench
	@test/vm/grants.sh build/bench

# PLAN=0: libweir alone, VERBS=1: with RDMA.
install: ## the libraries to PREFIX, /usr/local unless set (PLAN=0, VERBS=1)
	@tools/setup.sh lib $(if $(filter 0,$(PLAN)),,plan) $(if $(VERBS),verbs)
	@cmake --preset lib -DWEIR_PLAN=$(if $(filter 0,$(PLAN)),OFF,ON)
	@cmake --build build/lib -j $(JOBS)
	@cmake --install build/lib --prefix $(PREFIX)

install-all: release ## the libraries and the weir command to PREFIX
	@cmake --install $(REL) --prefix $(PREFIX)

docs: setup-check ## HTML of the public headers in build/docs
	@mkdir -p build/docs
	@doxygen docs/Doxyfile
	@echo "build/docs/html/index.html"

format: setup-check ## .clang-format decides
	@test/scripts/format.sh

clean: ## remove build/
	@rm -rf build
