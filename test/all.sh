#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# all.sh: everything that there is, in its long form, some hours; what .ci/run
# has no time for. It ends with a summary and, if all was green, writes
# test/all.txt: when that was, on which commit and processor, and what each step
# took. Commit that file.
set -eu
cd "$(dirname "$0")/.."
. test/scripts/steps.sh

[ -z "$(git status --porcelain)" ] || {
    echo "commit first: what is green is said of a commit" >&2
    exit 2
}
commit=$(git rev-parse --short HEAD)
export WEIR_MAX_SKIPPED="${WEIR_MAX_SKIPPED:-0}"
step "packages" tools/setup.sh build check vm cross scan cache fresh spark
export CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
step "bare roots of Debian 12, all documents" make test-fresh \
    ARGS="root user scan adbc rust sql spark"
step "a bare root of Debian 13" make test-fresh ARGS="--debian trixie user"
step "make test" make test
step "make check" make check
step "make test-duckdb" make test-duckdb
step "make test-sanitizers" make test-sanitizers LONG=1
step "make test-vm" make test-vm LONG=1
step "make test-aarch64" make test-aarch64 LONG=1
step "make soak, 20 minutes" make soak MINUTES=20
step "make fuzz, a minute each" make fuzz SECONDS=60
step "make sim-mistakes" make sim-mistakes
step "make test-upgrade" make test-upgrade
step "make test-rust" make test-rust
step "make test-adbc" make test-adbc
step "make test-sql" make test-sql LONG=1
step "make test-sql-long" make test-sql-long
step "make test-spark" make test-spark LONG=1
step "make soak-spark" make soak-spark
summary
{
    echo "make test-all was green on $(date -u +%F) on commit $commit,"
    echo "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)," \
        "$(nproc) cores:"
    echo "$steps"
} >test/all.txt
