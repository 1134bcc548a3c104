#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# weir run --analyze: its figures, where they are known beforehand, and what
# --memory means to them. usage: cli_analyze.sh BUILD_DIR
set -eu
plans=$(cd "$(dirname "$0")/../../bench/plans" && pwd)
. "$(dirname "$0")/../support/cli.sh"

# 4 workers; all rows have one key, so that one of them receives them all.
cat >plan.json <<'JSON'
{"weir": 1,
 "tables": {"t": {"series": {"rows": 8000, "columns": [
   {"name": "n", "type": "int64"},
   {"name": "one", "type": "int32", "kind": "constant", "first": 1}]}}},
 "operators": [
   {"name": "t", "op": "scan", "table": "t"},
   {"name": "narrow", "op": "shuffle", "input": "t", "by": "hash",
    "keys": ["one"]},
   {"name": "all", "op": "shuffle", "input": "narrow", "by": "gather"}],
 "result": "all"}
JSON
status 0 "$weir" run plan.json -n 2 -w 2 -f csv --analyze
[ "$(wc -l <out)" -eq 8001 ] || fail "rows"
rm out # what fail shows

# field NAME BACK: the word that is BACK words before the last one of a line of
# the second table: bytes edges least most skew stalled filtered. Quantities are
# two words, except 0B.
sed '1,/^$/d' err >shuffles
field() { awk -v name="shuffle \"$1\"" -v back="$2" \
    'index($0, name) == 1 { print $(NF - back) }' shuffles; }

[ "$(field narrow 3)" = 4.00 ] || fail "skew of all to one"
[ "$(field all 3)" = - ] || fail "skew of a gather"
awk '/^shuffle "narrow"/ {
         ok = $5 == 16 && $6 == "0B" && $7 > 20 && $8 == "kB"
     }
     END { exit !ok }' shuffles || fail "edges, least and most of narrow"
awk '/^shuffle "all"/ { ok = $5 == 4 && $6 == "0B" && $7 > 20 && $8 == "kB" }
     END { exit !ok }' shuffles || fail "edges, least and most of a gather"

# First table: 4 parts of a scan, a batch each.
awk '/scan "t"/ { ok = $(NF - 9) == 8000 && $(NF - 8) == 4 }
     END { exit !ok }' err || fail "batches"

# The join at 8 nodes: what all operators held, by the column "memory", is
# within what the command line gives a process. The rings are not in it.
status 0 "$weir" run "$plans/join.json" -n 8 -m 5M -f csv --analyze
sed '/^$/,$d' err >operators
awk 'BEGIN { factor["kB"] = 1e3; factor["MB"] = 1e6 }
     NR > 1 { n++; sum += $(NF - 1) * factor[$NF] }
     END { exit !(n > 20 && sum > 1e6 && sum <= 5 * 1024 * 1024) }' operators ||
    fail "memory: $(cat operators)"

# What filters drop is never sent: nobody sends more than the scan has.
awk '/scan "order_line"/ { scanned = $(NF - 9) }
     /^ .*shuffle "order_line_by_order"/ { sent = $(NF - 9) }
     /^shuffle "order_line_by_order"/ { dropped = $NF }
     END { exit !(scanned > 0 && sent + dropped == scanned) }' err ||
    fail "rows filtered: $(cat err)"

# Too little: what is named is what --memory takes, for all workers together.
status 1 "$weir" run "$plans/join.json" -n 2 -w 2 -m 64K -f csv
grep -q 'before there are rows' err || fail "not refused at once"
status 1 "$weir" run "$plans/join.json" -n 2 -w 2 -m 1 -f csv # half a byte each
named=$(sed -n 's/.*raise it to \([0-9]*\).*/\1/p' err)
timeout 60 "$weir" run "$plans/join.json" -n 2 -w 2 -m "$named" -f csv \
    >out 2>err || true
! grep -q 'before there are rows' err || fail "$named was not enough"
echo ok
