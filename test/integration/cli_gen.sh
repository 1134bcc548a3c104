#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# weir gen: the same files whatever the number of threads, the rows that the
# benchmark's rules ask for, and all files or none. usage: cli_gen.sh BUILD_DIR
set -eu
plans=$(cd "$(dirname "$0")/../../bench/plans" && pwd)
. "$(dirname "$0")/../support/cli.sh"

gen() { timeout 100 "$weir" gen chbench "$@" >log 2>err || fail "gen $*"; }

# Threads do not matter, nor which tables are asked for; the seed does.
gen --warehouses 2 --seed 5 --jobs 1 --out one
gen --warehouses 2 --seed 5 --jobs 3 --out three
mv log summary
gen --warehouses 2 --seed 6 --tables orders,new_order --out other
gen --warehouses 2 --seed 5 --tables orders --out some
diff -r one three || fail "the number of threads matters"
cmp one/orders.csv some/orders.csv || fail "the choice of tables matters"
[ "$(ls some)" = orders.csv ] || fail "more tables than wanted"
cmp one/new_order.csv other/new_order.csv || fail "new orders have no seed"
! cmp -s one/orders.csv other/orders.csv || fail "the seed does not matter"
[ "$(ls -A one | tr '\n' ' ')" = \
  "customer.csv new_order.csv order_line.csv orders.csv " ] ||
    fail "other files: $(ls -A one)"
for table in customer orders new_order order_line; do
    lines=$(wc -l <"one/$table.csv")
    bytes=$(wc -c <"one/$table.csv")
    grep -q "three/$table.csv: $((lines - 1)) rows, $bytes bytes" summary ||
        fail "the summary of $table"
done

# Cardinalities, as awk counts them; every line has all its fields.
cat >count.awk <<'AWK'
# districts W x D with `each` rows, of columns `w` and `d`; first `id` from
# `least` on
BEGIN { FS = "," }
NR == 1 { fields = NF; next }
NF != fields || $1 < least { bad = 1 }
{ rows[$w, $d]++ }
END {
    for (i in rows) { districts++; if (rows[i] != each) { bad = 1 } }
    exit bad || districts != 20
}
AWK
count() { awk -v w=3 -v d=2 -v each="$2" -v least="$3" -f count.awk "one/$1"; }
count customer.csv 3000 1 || fail "customers"
count orders.csv 3000 1 || fail "orders"
count new_order.csv 900 2101 || fail "new orders"
! count orders.csv 3000 2 || fail "the count finds nothing"

# Lines: as many as their order says, dated as it if it is delivered; carriers
# the same.
cat >lines.awk <<'AWK'
BEGIN { FS = "," }
FNR == 1 { file++; next }
file == 1 {
    count[$3, $2, $1] = $7
    day[$3, $2, $1] = $5
    if (($1 > 2100) != ($6 == "")) { bad = 1 }
    next
}
$7 != ($1 > 2100 ? "" : day[$3, $2, $1]) { bad = 1 }
$9 !~ /^[0-9]+[.][0-9][0-9]$/ || $9 < 0.01 || $9 > 9999.99 { bad = 1 }
{ lines[$3, $2, $1]++ }
END {
    for (i in count) { if (lines[i] != count[i]) { bad = 1 } }
    exit bad
}
AWK
awk -f lines.awk one/orders.csv one/order_line.csv || fail "order lines"
! awk -f lines.awk other/orders.csv one/order_line.csv ||
    fail "the comparison of lines finds nothing"

# A plan computes the rows of a file that was made with the same options: none.
gen --warehouses 1 --tables orders --out plain
cat >orders.json <<'JSON'
{"weir": 1, "tables": {"o": {"chbench": "orders"}},
 "operators": [{"name": "o", "op": "scan", "table": "o"}], "result": "o"}
JSON
timeout 60 "$weir" run orders.json --nodes 2 -f csv >out 2>err ||
    fail "weir run of orders"
sort out >got
sort plain/orders.csv | cmp - got || fail "a plan's rows differ from a file's"

# The files are what "weir shuffle" takes, with types found.
timeout 60 "$weir" shuffle --by o_c_id --nodes 2 one/orders.csv --out parts \
    >log 2>err || fail "weir shuffle of orders.csv"
grep -q 'o_id int64.*o_entry_d timestamp(us), o_carrier_id int64?' log ||
    fail "types"
cat parts/*.csv | grep -v '^o_id' | sort >got
sed 1d one/orders.csv | sort | cmp - got || fail "orders differ"

# The paper's queries take the files as they are, with types found: the same
# answers, to the cent, as of the tables that they were written from.
for query in aggregation join; do
    sed 's/"warehouses": 2, "seed": 1/"warehouses": 2, "seed": 5/' \
        "$plans/$query.json" >computed.json
    sed 's/"chbench": "\([a-z_]*\)".*}/"csv": "\1.csv"}/' \
        "$plans/$query.json" >found.json
    grep -q 'csv": "order_line.csv"}' found.json || fail "no files: $query"
    timeout 100 "$weir" run computed.json -f csv >expected 2>err ||
        fail "$query of computed tables"
    timeout 100 "$weir" run found.json --data one --nodes 2 -f csv >got 2>err ||
        fail "$query of files"
    [ "$(wc -l <expected)" -gt 5 ] || fail "$query has no answer"
    cmp got expected || fail "$query of files has another answer"
done

# --force replaces the tables' files and nothing else.
echo mine >one/keep.txt
expect 2 'one is not empty' "$weir" gen chbench --out one
gen --seed 6 --warehouses 2 --tables orders --force --out one
cmp one/orders.csv other/orders.csv || fail "--force replaced nothing"
[ "$(cat one/keep.txt)" = mine ] || fail "--force took a foreign file"
cmp one/customer.csv three/customer.csv || fail "--force took another table"

# Wrong use.
expect 2 'no chbench given' "$weir" gen --out dir
expect 2 'no --out' "$weir" gen chbench
expect 2 '"tpch" cannot be generated' "$weir" gen tpch --out dir
expect 2 '"stock" must be one of customer, orders' \
    "$weir" gen chbench --tables orders,stock --out dir
expect 2 '"" must be one of' "$weir" gen chbench --tables '' --out dir
for option in '--warehouses 0' '--warehouses 100001' '--warehouses x' \
    '--jobs 0' '--seed -1' '--seed 1x'; do
    # shellcheck disable=SC2086 # an option and its value
    expect 2 'must be a number' "$weir" gen chbench $option --out dir
done

# All files or none: no room, and a signal in the middle of it.
expect 1 'dir/no' "$weir" gen chbench --out dir/no
if (ulimit -f 1000 2>/dev/null); then
    got=0
    (trap '' XFSZ; ulimit -f 1000
     exec timeout 60 "$weir" gen chbench --out dir) \
        >out 2>err || got=$?
    [ "$got" -eq 1 ] || fail "status $got with a full disk"
    grep -q 'File too large' err || fail "why it failed"
    [ ! -e dir ] || fail "left something behind after a full disk"
fi
"$weir" gen chbench --warehouses 2000 --out dir >out 2>err &
pid=$!
while [ ! -s dir/.customer.csv.tmp ]; do
    kill -0 "$pid" || fail "it ended by itself"
    sleep 0.02 # the file is all that tells that it has begun
done
kill -TERM "$pid"
got=0
wait "$pid" || got=$?
[ "$got" -eq 143 ] || fail "status $got after SIGTERM"
[ ! -e dir ] || fail "left something behind after SIGTERM"
echo ok
