#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# weir bench query and weir bench gen: what their objects say, and that a wrong
# answer is found. In place of DuckDB a script speaks for it. usage:
# cli_bench.sh BUILD_DIR
set -eu
plans=$(cd "$(dirname "$0")/../../bench/plans" && pwd)
. "$(dirname "$0")/../support/cli.sh"

# has JSON-TEXT...: each is in out, which is one line.
has()
{
    [ "$(wc -l <out)" -eq 1 ] || fail "not one line"
    for text; do
        grep -qF -- "$text" out || fail "no $text"
    done
}

# ---- two stages --------------------------------------------------------------

# Rows of every kind; values are checked in the run itself.
mpi=
if command -v mpirun >/dev/null && [ -x "$(dirname "$weir")/alltoallv_mpi" ]
then
    mpi=,mpi
fi
for row in narrow mixed wide; do
    status 0 "$weir" bench two-stage --row $row --nodes 2 --rows 10007 \
        --transports shm,sockets$mpi --limit --repeat 1 --json
    has '"benchmark": "two-stage"' "\"row\": \"$row\"" '"sockets/shm": '
done
status 2 "$weir" bench two-stage --row tall
status 0 "$weir" bench two-stage --nodes 2 --rows 100 --times 50 \
    --transports shm,sockets --repeat 1 --json
has '"times": 50' '"sockets/shm": '
status 0 "$weir" bench two-stage --nodes 2 --rows 10007 --transports shm \
    --repeat 1 --json
has '"setup_cpu_s": 0.'

# ---- until the first row -----------------------------------------------------

status 0 "$weir" bench setup --nodes 2 --workers 2 --shuffles 5 --repeat 2 \
    --json
has '"benchmark": "setup"' '"nodes": 2' '"workers": 2' '"shuffles": 5' \
    '"cold_s": ' '"warm_s": ' '"cpu_s": '
status 0 "$weir" bench setup --nodes 3 --shuffles 1 --repeat 1 -t tcp
grep -q '^warm: query open to first row ' out || fail "no warm line"

# ---- many queries at a time --------------------------------------------------

for t in shm tcp; do
    status 0 "$weir" bench crowd -t $t -k 1 --queries 300 --rows 10 --json
    has '"benchmark": "crowd"' "\"transport\": \"$t\"" '"queries": 300' \
        '"queries_per_s": {"8": ' '"64": ' '"256": '
done
status 2 "$weir" bench crowd --queries 0

# ---- gets --------------------------------------------------------------------

status 0 "$weir" bench get --bytes 8,65536 --region 1M --ms 1 --repeat 2 \
    --in-flight 4 --json
has '"benchmark": "get"' '"transport": "shm"' '"region_bytes": 1048576' \
    '"span": 1048576' '"in_flight": 4' '"bytes": 8' '"bytes": 65536' \
    '"lent": {' '"copied": {' '"mean_ns": ' '"p99_ns": ' '"mb_per_s": '
status 0 "$weir" bench get -t tcp --bytes 4096 --region 1M --span 64K --ms 1 \
    --repeat 1 --attend
[ "$(grep -c '^ *4096 \(lent\|copied\) ' out)" -eq 2 ] || fail "not two lines"
status 2 "$weir" bench get --bytes 8,x
status 1 "$weir" bench get --bytes 9

# ---- whole queries -----------------------------------------------------------

query="bench query --warehouses 1 --repeat 1 --nodes 2 --json"
status 0 "$weir" $query --plan aggregation --transports shm,sockets
has '"benchmark": "query"' '"plan": "aggregation"' '"nodes": 2' \
    '"workers": 1' '"warehouses": 1' '"repeat": 1' '"answer_rows": 15' \
    "\"cores\": $(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)" \
    '"name": "shm"' '"name": "sockets"' '"sockets/shm": '
[ "$(grep -o '"rows_ok": true' out | wc -l)" -eq 2 ] || fail "rows_ok"

# What fails a query fails it everywhere: it is said once, of the whole run.
status 1 "$weir" $query --plan join --memory 1 --transports shm
grep -q '^weir bench: .*process .* of 2: ' err || fail "who has no memory"
! grep -q 'process.*process' err || fail "two processes: $(cat err)"

# What stands for DuckDB says a file, whatever it is asked; it has to be given
# the tables, and a query.
sed 's/"warehouses": 2/"warehouses": 1/' "$plans/join.json" >join.json
timeout 60 "$weir" run join.json -f csv >right
[ "$(wc -l <right)" -gt 2 ] || fail "the join has no answer"
cat >python <<'SH'
#!/bin/sh
[ -s "$3/order_line.csv" ] && [ "$4" -eq 2 ] && [ -n "$5" ] || exit 1
echo "ready duckdb 0.0.1"
while read -r _; do
    echo "rows $(wc -l <answer)"
    cat answer
    echo "seconds 0.25"
done
SH
chmod +x python
cp right answer
against="--plan join --against duckdb --python ./python"
status 0 "$weir" $query $against --transports shm
has '"name": "duckdb", "median_s": 0.25' '"version": "duckdb 0.0.1"' \
    '"threads": 2' '"duckdb/shm": '
[ "$(grep -o '"rows_ok": true' out | wc -l)" -eq 2 ] || fail "rows_ok"

# One digit of one row, and one row less.
sed '2s/^[0-9]/x/' right >answer
status 1 "$weir" $query $against --transports shm
has '"name": "duckdb"' '"rows_ok": false'
grep -q '^weir bench: join: shm and duckdb: ' err ||
    fail "the difference is not said"
sed '$d' right >answer
status 1 "$weir" bench query --warehouses 1 --repeat 1 $against
grep -q '^duckdb .* DIFFERS$' out || fail "the table hides the difference"
grep -q '^shm .* the same$' out || fail "shm is blamed"

# No DuckDB at all.
status 1 "$weir" $query $against --python /bin/false
grep -q 'pip install duckdb' err || fail "the remedy is not said"

# All plans of TPC-H run, here over tables without rows, and are one report.
mkdir tpch
# table NAME COLUMN...: a file with a header alone.
table()
{
    name=$1
    shift
    echo "$*" | tr ' ' ',' >"tpch/$name.csv"
}
table lineitem l_orderkey l_partkey l_suppkey l_linenumber l_quantity \
    l_extendedprice l_discount l_tax l_returnflag l_linestatus l_shipdate \
    l_commitdate l_receiptdate l_shipinstruct l_shipmode l_comment
table orders o_orderkey o_custkey o_orderstatus o_totalprice o_orderdate \
    o_orderpriority o_clerk o_shippriority o_comment
table customer c_custkey c_name c_address c_nationkey c_phone c_acctbal \
    c_mktsegment c_comment
table part p_partkey p_name p_mfgr p_brand p_type p_size p_container \
    p_retailprice p_comment
table partsupp ps_partkey ps_suppkey ps_availqty ps_supplycost ps_comment
table supplier s_suppkey s_name s_address s_nationkey s_phone s_acctbal \
    s_comment
table nation n_nationkey n_name n_regionkey n_comment
table region r_regionkey r_name r_comment
status 0 "$weir" $query --plan tpch --data tpch --transports shm,tcp
has '"benchmark": "queries"' '"plan": "tpch/q01"' '"plan": "tpch/q22"' \
    '"data": "tpch"' '"ratios": {"tcp/shm": {"mean": ' '"worst": "tpch/q'
[ "$(grep -o '"rows_ok": true' out | wc -l)" -eq 44 ] || fail "rows_ok"
status 1 "$weir" $query --plan tpch
grep -q 'lineitem.csv: No such file' err || fail "the file is not named"

# ---- generating --------------------------------------------------------------

# Rows are counted, and what is held does not grow with what is written.
peak() { sed 's/.*"gen_peak_rss_bytes": \([0-9]*\).*/\1/' out; }
status 0 "$weir" bench gen --warehouses 1 --repeat 1 --dir . --json
has '"benchmark": "gen"' '"warehouses": 1' '"repeat": 1' '"name": "gen"' \
    '"name": "cat"' '"mb_per_s": ' '"mb_per_cpu_s": ' '"gen/cat": '
one=$(peak)
status 0 "$weir" bench gen --warehouses 4 --repeat 1 --dir . --json
has '"warehouses": 4'
four=$(peak)
bytes=$(sed 's/.*"bytes": \([0-9]*\).*/\1/' out)
[ "$bytes" -gt 100000000 ] || fail "four warehouses have $bytes bytes"
[ "$four" -lt $((one + 8000000)) ] || fail "$one bytes held, then $four"
[ -z "$(ls -d weir-bench-* 2>/dev/null)" ] || fail "left files behind"
status 1 "$weir" bench gen --dir ./none
grep -q 'none/weir-bench' err || fail "the folder is not named"
echo ok
