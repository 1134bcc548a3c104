#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# weir run: sums, averages and groups are the same in one step and in two, on
# any number of processes and workers, also where a sum on the way fits no type.
# usage: cli_sums.sh BUILD_DIR
set -eu
. "$(dirname "$0")/../support/cli.sh"

run() { timeout 60 "$weir" run "$@"; }

most=9223372036854775807
umost=18446744073709551615
d=99999999999999999999999999999999.999999

# Each row n times: it is on several workers then.
rows() {
    n=$1
    shift
    while [ "$n" -gt 0 ]; do
        for row in "$@"; do
            printf '%s,' "$row"
        done
        n=$((n - 1))
    done
}

aggregates='[{"name": "i", "expr": "sum(i)"}, {"name": "mi", "expr": "avg(i)"},
 {"name": "mu", "expr": "avg(u)"}, {"name": "d", "expr": "sum(d)"},
 {"name": "md", "expr": "avg(d)"}, {"name": "least", "expr": "min(f)"},
 {"name": "most", "expr": "max(f)"}]'

plan() { # complete, or partial and final
    cat <<JSON
{"weir": 1, "tables": {"t": {"columns": [
  {"name": "k", "type": "float64"}, {"name": "i", "type": "int64"},
  {"name": "u", "type": "uint64"}, {"name": "d", "type": "decimal(38,6)"},
  {"name": "f", "type": "float32"}],
 "rows": [
  $(rows 9 '["0", "'$most'", "'$umost'", "'$d'", "0"]' \
           '["-0.0", "-'$most'", "'$umost'", "'$d'", "-0"]')
  $(rows 8 '["-0", 0, "'$umost'", "-'$d'", "-0.0"]')
  $(rows 9 '["-0", 0, "'$umost'", "-'$d'", "0.0"]')
  ["nan", 1, 2, "3", "1.5"]]}},
 "operators": [{"name": "s", "op": "scan", "table": "t"},
  $1
  {"name": "o", "op": "sort", "input": "a", "by": ["k"]},
  {"name": "m", "op": "merge", "input": "o"}], "result": "m"}
JSON
}

plan '{"name": "x", "op": "shuffle", "input": "s", "by": "hash", "keys": ["k"]},
  {"name": "a", "op": "aggregate", "input": "x", "groups": ["k"],
   "aggregates": '"$aggregates"'},' >one.json
plan '{"name": "p", "op": "aggregate", "input": "s", "mode": "partial",
   "groups": ["k"], "aggregates": '"$aggregates"'},
  {"name": "x", "op": "shuffle", "input": "p", "by": "hash", "keys": ["k"]},
  {"name": "a", "op": "aggregate", "input": "x", "mode": "final",
   "groups": ["k"], "aggregates": '"$aggregates"'},' >two.json

# 18 of a number and 17 of its opposite.
cat >expected <<CSV
k,i,mi,mu,d,md,least,most
0,0,0,1.8446744073709552e+19,$d,2857142857142857142857142857142.857143,0,0
nan,1,1,2,3.000000,3.000000,1.5,1.5
CSV

for steps in one two; do
    for n in 1 2 3; do
        for w in 1 2; do
            run $steps.json -n $n -w $w -f csv >out ||
                fail "$steps, $n nodes x $w workers"
            cmp out expected || {
                cat out
                fail "$steps, $n nodes x $w workers"
            }
        done
    done
done
echo "all as expected"
