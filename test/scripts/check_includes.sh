#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Layers: a file includes only what lies below it. The rules are those of the
# table in docs/architecture.md; the first that matches a path decides.
#
#   SYS   a header in <> that is neither Weir's nor one of the libraries below
#   STDC  a header of the C standard
#   OWN   the file's own folder
#   else  the beginning of what stands after #include, with its < or "
#
# A line that begins with a space goes on with the rule above it.
set -eu
. "$(dirname "$0")/lib.sh"
enter "$@"

cat >"$tmp/rules" <<'RULES'
^include/weir/              STDC <weir/
^core/transport\.h$         SYS <weir/error.h> "core/base/
^core/base/                 SYS <weir/error.h> <urcu "core/base/
^core/ring/                 SYS <weir/ "core/transport.h" "core/base/ OWN
^core/format/               SYS <weir/ <xxhash.h> "core/base/ OWN
^core/identity/             SYS <weir/error.h> <openssl/ "core/base/
                            "core/format/ OWN
^core/partition/            SYS <weir/ <xxhash.h> "core/base/ "core/format/ OWN
^core/link/                 SYS <weir/ "core/transport.h" "core/base/
                            "core/ring/ "core/format/ "core/identity/ OWN
^core/query/                SYS <weir/ "core/transport.h" "core/base/
                            "core/ring/ "core/format/ "core/partition/
                            "core/link/ OWN
^core/region/               SYS <weir/ "core/transport.h" "core/base/
                            "core/ring/ "core/format/ "core/link/ OWN
^core/node/                 SYS <weir/ "core/transport.h" "core/base/
                            "core/ring/ "core/format/ "core/identity/
                            "core/link/ "core/query/ "core/region/ OWN
^core/rows/                 SYS <weir/ "core/base/ "core/format/ "core/link/
                            "core/query/ "core/node/ OWN
^transport/sim/(harness|simrun)\.[ch]$ SYS <weir/ "core/transport.h"
                            "core/base/ OWN
^transport/registry\.[ch]$  SYS <weir/error.h> "core/transport.h" "core/base/
                            "transport/registry.h"
^transport/verbs/           SYS <weir/error.h> <infiniband/ <rdma/
                            "core/transport.h" "core/base/ OWN
^transport/ucx/             SYS <weir/error.h> <ucp/ <uct/ <ucs/
                            "core/transport.h" "core/base/ OWN
^transport/tcp/             SYS <weir/error.h> <openssl/ "core/transport.h"
                            "core/base/ OWN
^transport/[a-z]*/          SYS <weir/error.h> "core/transport.h" "core/base/
                            OWN
^operators/                 SYS <weir/ <jansson.h> "operators/
^services/                  SYS <weir/ <nanoarrow/ <arrow-adbc/ OWN
^connectors/                SYS <weir/ <nanoarrow/ <arrow-adbc/ OWN
^examples/                  SYS <weir/ OWN
^launch/certs\.[ch]$         SYS <weir/ <openssl/ OWN
^launch/                    SYS <weir/ "core/base/ "launch/
^chbench/                   SYS <weir/ "operators/base/ "operators/table/
                            "chbench/
^cli/                       SYS <weir/ <jansson.h> "operators/base/ "launch/
                            "cli/
^bench/micro/verbs_         SYS <infiniband/ "bench/
^bench/micro/               SYS <weir/ "core/ "operators/ "bench/
^bench/                     SYS <weir/ <jansson.h> <mpi.h> <xxhash.h> "core/
                            "chbench/ "launch/ "cli/ "bench/
^tools/sim/                 SYS <weir/ "core/ "transport/sim/ "launch/ "cli/
                            "tools/sim/
^tools/                     SYS <weir/ <jansson.h> "operators/base/
                            "operators/table/ "operators/plan/write.h" "chbench/
                            "launch/ "cli/ "tools/
^test/unit/core/            SYS <weir/ <urcu <xxhash.h> <criterion/ "core/
                            "test/
^test/unit/transport/tcp_tls SYS <criterion/ "launch/ "transport/ "test/
^test/unit/transport/       SYS <weir/ <criterion/ "core/ "transport/ "test/
^test/conformance/spi_sockets SYS <weir/ <criterion/ "bench/opponents/ "test/
^test/conformance/scan_     SYS <weir/ <nanoarrow/ <criterion/ "services/scan/
                            "test/
^test/conformance/server_name SYS <weir/ <criterion/ "launch/ "test/
^test/conformance/tls_test  SYS <weir/ <openssl/ <criterion/ "core/ "launch/
                            "test/
^test/conformance/strangers SYS <weir/ <openssl/ <criterion/ "core/ "launch/
                            "test/
^test/conformance/          SYS <weir/ <criterion/ "core/ "transport/ "test/
^test/install/              SYS <weir/
^test/                      SYS <weir/ <urcu <xxhash.h> <jansson.h> <csv.h>
                            <nanoarrow/ <arrow-adbc/ <criterion/ "core/
                            "transport/ "operators/ "services/
                            "connectors/ "chbench/
                            "launch/ "cli/ "tools/ "bench/ "test/
RULES

# shellcheck disable=SC2086 # one word per folder and file
files=$(sources '*.[ch]' $source_folders)
# shellcheck disable=SC2086
split_code $files | awk -F '\t' -v rules="$tmp/rules" \
                        -v edges="$tmp/edges" -f "$scripts/includes.awk" \
    >"$tmp/bad"

# Folders are covered by the rules; headers must not form circles either.
touch "$tmp/edges"
if ! tsort "$tmp/edges" >/dev/null 2>"$tmp/loops"; then
    sed -n 's/^tsort: \([^ ]*\.h\)$/\1: in a circle of includes/p' \
        "$tmp/loops" >>"$tmp/bad"
fi
verdict "$tmp/bad"
