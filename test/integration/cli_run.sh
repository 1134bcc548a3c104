#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# weir run and weir explain: the same answer on any number of processes and over
# any transport, every format, and what is said of mistakes.
# usage: cli_run.sh BUILD_DIR
set -eu
. "$(dirname "$0")/../support/cli.sh"

run() { timeout 60 "$weir" run "$@"; }

says() { grep -qF -- "$1" err || fail "no \"$1\""; }

mkdir data
cat >data/lines.csv <<'CSV'
no,item,price,day
1,apple,1.50,2013-06-30
2,"pear, green",2.25,2013-07-02
3,,10.00,2013-07-03
1,plum,0.05,2013-07-04
2,fig,,2013-07-05
CSV

cat >plan.json <<'JSON'
{"weir": 1,
 "tables": {"lines": {"csv": "lines.csv", "columns": [
   {"name": "no", "type": "int32"}, {"name": "item", "type": "utf8?"},
   {"name": "price", "type": "decimal(8,2)?"},
   {"name": "day", "type": "date"}]}},
 "operators": [
   {"name": "sum", "op": "aggregate", "input": "by_no", "mode": "final",
    "groups": ["no"], "aggregates": [
      {"name": "total", "expr": "sum(price * 2)"},
      {"name": "mean", "expr": "avg(price)"},
      {"name": "last", "expr": "max(item)"},
      {"name": "n", "expr": "count(*)"}]},
   {"name": "by_no", "op": "shuffle", "input": "part", "by": "hash",
    "keys": ["no"]},
   {"name": "part", "op": "aggregate", "input": "recent", "mode": "partial",
    "groups": ["no"], "aggregates": [
      {"name": "total", "expr": "sum(price * 2)"},
      {"name": "mean", "expr": "avg(price)"},
      {"name": "last", "expr": "max(item)"},
      {"name": "n", "expr": "count(*)"}]},
   {"name": "recent", "op": "filter", "input": "l",
    "where": "day > date '2013-07-01'"},
   {"name": "l", "op": "scan", "table": "lines"},
   {"name": "sorted", "op": "sort", "input": "sum", "by": ["no"]}],
 "result": "sorted"}
JSON

cat >csv <<'CSV'
no,total,mean,last,n
1,0.10,0.050000,plum,1
2,4.50,2.250000,"pear, green",2
3,20.00,10.000000,,1
CSV
cat >table <<'TABLE'
 no | total |      mean | last        | n
----+-------+-----------+-------------+---
  1 |  0.10 |  0.050000 | plum        | 1
  2 |  4.50 |  2.250000 | pear, green | 2
  3 | 20.00 | 10.000000 | null        | 1
(3 rows)
TABLE
cat >json <<'JSON'
{"no": 1, "total": "0.10", "mean": "0.050000", "last": "plum", "n": 1}
{"no": 2, "total": "4.50", "mean": "2.250000", "last": "pear, green", "n": 2}
{"no": 3, "total": "20.00", "mean": "10.000000", "last": null, "n": 1}
JSON

# An answer does not depend on nodes, workers or transport.
for n in 1 2 3 5; do
    for w in 1 2; do
        run plan.json -d data -n $n -w $w -f csv >out
        cmp out csv || fail "$n nodes x $w workers"
    done
done
run plan.json -d data -n 3 -w 2 -t tcp -f csv | cmp - csv ||
    fail "tcp"

# With TLS by a secret.
printf '%s\n' 0123456789abcdef0123456789abcdef >secret
chmod 600 secret
run plan.json -d data -n 2 -t tcp -f csv --secret-file secret --tls-psk |
    cmp - csv || fail "tcp with TLS by the secret"
expect 2 'belongs to --secret-file' "$weir" run plan.json -d data -n 2 -t tcp \
    --tls-psk

# With certificates: names of the processes have to be in them.
certs both 'DNS:process 0 of 2,DNS:process 1 of 2'
certs first 'DNS:process 0 of 2'
set -- --tls-key both.key --tls-ca ca.crt
run plan.json -d data -n 2 -t tcp -f csv --tls-cert both.crt "$@" |
    cmp - csv || fail "tcp with TLS"
expect 1 'is not of process 1 of 2' "$weir" run plan.json -d data -n 2 -t tcp \
    --tls-cert first.crt --tls-key first.key --tls-ca ca.crt
expect 1 'TLS is for transports tcp and auto' "$weir" run plan.json -d data \
    -n 2 --tls-cert both.crt "$@"
expect 2 'belong together' "$weir" run plan.json "$@"

# Formats.
run plan.json --data data --nodes 2 | cmp - table ||
    fail "table"
run - -d data -n 2 -f json <plan.json | cmp - json ||
    fail "json, from standard input"
run plan.json -d data -n 2 -f csv --progress | cmp - csv ||
    fail "progress"

# Types that are found print a file as it is, and are named by explain.
cat >data/found.csv <<'CSV'
no,paid,mixed,rate,day,at,flag,code,nothing
1,1.50,1.5,0.125,2013-06-30,2013-06-30 23:59:59,true,007,
-2,,1.50,1e-07,2013-07-02,,false,8,
3,-80000.05,2,12,2013-07-03,2013-07-01 00:00:00.000001,true,-0.00,
CSV
cat >found.json <<'JSON'
{"weir": 1, "tables": {"t": {"csv": "found.csv"}},
 "operators": [{"name": "t", "op": "scan", "table": "t"}], "result": "t"}
JSON
run found.json -d data -f csv | cmp - data/found.csv || fail "types lose texts"
"$weir" explain found.json -d data >out
{
    printf 'columns: no int64, paid decimal(18,2)?, mixed utf8, rate float64, '
    echo 'day date, at timestamp(us)?, flag bool, code utf8, nothing utf8?'
} >types
grep -qxFf types out || fail "types"

# The analysis counts what is known: five rows are scanned, four are left.
status 0 "$weir" run plan.json -d data -n 2 -w 2 -f csv --analyze
cmp out csv || fail "rows beside the analysis"
awk '/scan "l"/ { scanned = $(NF - 9) }
     /filter "recent"/ { left = $(NF - 9) }
     /^result/ { given = $(NF - 9) }
     END { exit !(scanned == 5 && left == 4 && given == 3) }' err ||
    fail "analysis: $(cat err)"

# explain: the tree with the place of the rows, and Graphviz.
"$weir" explain plan.json -d data >out
grep -q '^merge "sorted": by no \[on one worker\]$' out || fail "one worker"
grep -q 'shuffle "by_no": by hash of no \[by hash of no\]$' out || fail "hash"
grep -q 'scan "l": .* \[anywhere\]$' out || fail "anywhere"
grep -q '^columns: no int32, total decimal(38,2)?' out ||
    fail "columns: $(tail -1 out)"
cat >quoted.json <<'JSON'
{"weir": 1,
 "tables": {"t": {"columns": [{"name": "a \"b\"", "type": "int64"}],
                  "rows": [[1]]}},
 "operators": [
   {"name": "the \"t\" \\", "op": "scan", "table": "t"},
   {"name": "every", "op": "shuffle", "input": "the \"t\" \\",
    "by": "broadcast"},
   {"name": "l", "op": "scan", "table": "t"},
   {"name": "j", "op": "join", "kind": "semi", "left": "l", "right": "every",
    "keys": ["a \"b\""]}],
 "result": "j"}
JSON
cat >dot <<'DOT'
digraph plan {
  rankdir=BT;
  node [shape=box];
  n0 [label="scan the \"t\" \\\nof t"];
  n1 [label="shuffle every\nby broadcast", style=rounded];
  n0 -> n1 [style=dashed];
  n2 [label="scan l\nof t"];
  n3 [label="join j\nsemi, a \"b\" = a \"b\""];
  n2 -> n3;
  n1 -> n3;
  n4 [label="shuffle j\nby gather", style=rounded];
  n3 -> n4 [style=dashed];
}
DOT
"$weir" explain --dot quoted.json | cmp - dot || fail "dot"
"$weir" explain quoted.json | grep -q 'every": .* \[on every worker\]$' ||
    fail "every worker"

# Mistakes: wrong use is 2, bad input 3, and the place is named.
status 2 "$weir" run
says "no PLAN given"
status 2 "$weir" run plan.json -n 0
says "--nodes is \"0\"; must be a number, 1..256"
status 2 "$weir" run plan.json -f xml
says "must be one of table, csv, json"
status 3 "$weir" run none.json
says "none.json: No such file or directory"
status 3 "$weir" run plan.json -d elsewhere
says "lines.csv"
sed 's/date .2013-07-01./price/' plan.json >bad.json
status 3 "$weir" run bad.json -d data
says ': $.operators[3].where of "'
echo '{' >bad.json
status 3 "$weir" explain bad.json
says "line 2, column 0"

# A value that cannot be computed ends the run on all nodes, with status 3.
sed 's/sum(price \* 2)/sum(1 \/ (no - no))/' plan.json >bad.json
status 3 "$weir" run bad.json -d data -n 3
says "division by zero"

# Large plans run, too: 1,000 operators one above the other, 10 MB of JSON.
awk 'BEGIN {
    printf "{\"weir\": 1, \"tables\": {\"t\": {\"rows\": [[7]], \"columns\": "
    print "[{\"name\": \"n\", \"type\": \"int64\"}]}}, \"operators\": ["
    for (i = 999; i > 0; i--) {
        printf "{\"name\": \"f%d\", \"op\": \"filter\", ", i
        printf "\"input\": \"f%d\", \"where\": \"n > 0\"},\n", i - 1
    }
    print "{\"name\": \"f0\", \"op\": \"scan\", \"table\": \"t\"}],"
    print "\"result\": \"f999\"}"
}' >chain.json
printf 'n\n7\n' >seven
run chain.json -n 2 -f csv | cmp - seven || fail "a thousand operators"
awk 'BEGIN {
    printf "{\"weir\": 1, \"tables\": {\"t\": {\"columns\": [{\"name\": \"n\","
    print "\"type\": \"int64\"}, {\"name\": \"s\", \"type\": \"utf8\"}],"
    print "\"rows\": ["
    for (i = 1; i <= 200000; i++) {
        printf "%s[%d, \"some text that is there many times over %d\"]\n",
            (i > 1 ? "," : ""), i, i
    }
    print "]}}, \"operators\": ["
}' >large.json
cat >>large.json <<'JSON'
{"name": "t", "op": "scan", "table": "t"},
{"name": "g", "op": "shuffle", "input": "t", "by": "gather"},
{"name": "a", "op": "aggregate", "input": "g", "aggregates": [
 {"name": "rows", "expr": "count(*)"}, {"name": "sum", "expr": "sum(n)"}]}],
"result": "a"}
JSON
[ "$(wc -c <large.json)" -gt 10000000 ] || fail "no 10 MB"
printf 'rows,sum\n200000,20000100000\n' >sums
run large.json -n 2 -f csv | cmp - sums || fail "10 MB of JSON"

# Too little memory is said, and fails.
cat >big.json <<'JSON'
{"weir": 1,
 "tables": {"n": {"series": {"rows": 2000000, "columns": [
   {"name": "n", "type": "int64"}]}}},
 "operators": [{"name": "n", "op": "scan", "table": "n"},
   {"name": "o", "op": "sort", "input": "n", "by": ["n"]}],
 "result": "o"}
JSON
status 1 "$weir" run big.json -n 2 -m 1M -f csv
says "memory"
echo "all as expected"
