#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# weir serve --weir: plans over CSV files, asked for by weir scan, give what
# weir run gives of them; what it refuses, and how faults arrive.
# usage: cli_serve_plan.sh BUILD_DIR
set -eu
. "$(dirname "$0")/../support/cli.sh"

"$weir" --help | grep -q 'weir serve' ||
    fail "built without libweir-scan"
server=
trap '[ -z "$server" ] || kill $server; rm -rf "$tmp"' EXIT

# serve ARGUMENT...: sets `server` and `address`; what it says is in said.
serve()
{
    rm -f address
    mkfifo address
    "$weir" serve "$@" >address 2>said &
    server=$!
    read -r address <address || { cat said >err; fail "serve $*"; }
}

ended()
{
    kill -TERM $server
    got=0
    wait $server || got=$?
    server=
    [ $got -eq 0 ] || fail "status $got after SIGTERM"
}

# ---- wrong use ---------------------------------------------------------------

expect 2 'one of --duckdb, --adbc and --weir' "$weir" serve --weir --duckdb x
expect 2 'one of --duckdb, --adbc and --weir' "$weir" serve --weir --adbc y x
expect 2 '--set is for' "$weir" serve --weir --set a=b x
expect 2 'are for --weir' "$weir" serve --workers 2 x
expect 2 'are for --weir' "$weir" serve --plan-memory 1M x
expect 3 'none: a folder' "$weir" serve --weir none
expect 2 'not for --weir' "$weir" serve --weir --allow-files / x
expect 2 'whoever reaches it' "$weir" serve --weir -t tcp x

# ---- data --------------------------------------------------------------------

mkdir -p shop/old
cat >shop/lines.csv <<'CSV'
no,item,price,day
1,apple,1.50,2013-06-30
2,"pear, green",2.25,2013-07-02
3,,10.00,2013-07-03
1,plum,0.05,2013-07-04
2,fig,,2013-07-05
CSV
head -n 2 shop/lines.csv >shop/old/lines.csv
cat >shop/bad.csv <<'CSV'
no
1
x
CSV

# plan NAME TABLE OPERATORS RESULT
plan()
{
    cat >"$1" <<JSON
{"weir": 1, "tables": {$2}, "operators": [$3], "result": "$4"}
JSON
}

lines='"lines": {"csv": "lines.csv", "columns": [
    {"name": "no", "type": "int32"}, {"name": "item", "type": "utf8?"},
    {"name": "price", "type": "decimal(8,2)?"},
    {"name": "day", "type": "date"}]}'
scan='{"name": "l", "op": "scan", "table": "lines"}'
sums='"groups": ["no"], "aggregates": [
    {"name": "total", "expr": "sum(price * 2)"},
    {"name": "mean", "expr": "avg(price)"},
    {"name": "last", "expr": "max(item)"}, {"name": "n", "expr": "count(*)"}]'
plan shop/sums.json "$lines" "$scan,
    {\"name\": \"part\", \"op\": \"aggregate\", \"input\": \"l\",
     \"mode\": \"partial\", $sums},
    {\"name\": \"by_no\", \"op\": \"shuffle\", \"input\": \"part\",
     \"by\": \"hash\", \"keys\": [\"no\"]},
    {\"name\": \"sum\", \"op\": \"aggregate\", \"input\": \"by_no\",
     \"mode\": \"final\", $sums},
    {\"name\": \"s\", \"op\": \"sort\", \"input\": \"sum\", \"by\": [\"no\"]}" s
plan shop/all.json "$lines" "$scan,
    {\"name\": \"s\", \"op\": \"sort\", \"input\": \"l\", \"by\": [\"day\"]}" s
cp shop/all.json shop/old
# numbers ROWS: a table of that many
numbers()
{
    echo '"n": {"series": {"rows": '"$1"', "columns": [
        {"name": "i", "type": "int64", "kind": "sequence"}]}}'
}
scan_n='{"name": "n", "op": "scan", "table": "n"}'
plan shop/many.json "$(numbers 3000000)" "$scan_n" n
plan shop/bad.json '"b": {"csv": "bad.csv",
    "columns": [{"name": "no", "type": "int32"}]}' \
    '{"name": "b", "op": "scan", "table": "b"}' b
plan shop/gone.json '"b": {"csv": "gone.csv",
    "columns": [{"name": "no", "type": "int32"}]}' \
    '{"name": "b", "op": "scan", "table": "b"}' b

# ---- the same as weir run ----------------------------------------------------

# same PLAN [SORT]: by its file's name and as a text; rows of a plan that does
# not order them are sorted first.
same()
{
    order=${2-cat}
    status 0 "$weir" run --data shop "shop/$1.json"
    $order <out >want
    for statement in "$1" "$1.json" "$(cat "shop/$1.json")"; do
        status 0 "$weir" scan "$address" "$statement"
        $order <out | cmp - want || fail "$1 over $transport"
    done
}

for transport in shm tcp; do
    for workers in 1 3; do
        serve --weir --anybody -t $transport --workers $workers shop
        same sums
        same all
        # A folder in it is a data set: its plans, and its files.
        status 0 "$weir" run --data shop/old shop/old/all.json
        mv out want
        status 0 "$weir" scan "$address" all --dataset old
        cmp out want || fail "the data set old"
        status 0 "$weir" scan "$address" "$(cat shop/all.json)" -d old
        cmp out want || fail "a plan on the data set old"
        # Many rows; the client counts them, and leaves before the end.
        status 0 "$weir" scan "$address" many
        tail -n 1 out | grep -q '^(3000000 rows)$' || fail "many rows"
        { timeout 60 "$weir" scan "$address" many || echo $? >code; } |
            head -n 1 >out 2>err
        [ "$(cat code)" -eq 141 ] || fail "status $(cat code), nobody reads"
        ended
    done
done

# ---- faults ------------------------------------------------------------------

serve --weir -t shm --plan-memory 4M shop
expect 3 "no plan 'none'" "$weir" scan "$address" none
expect 3 "no plan '../shop/all'" "$weir" scan "$address" ../shop/all
expect 3 "no data set '../shop'" "$weir" scan "$address" all -d ../shop
expect 3 "no data set 'new'" "$weir" scan "$address" all -d new
expect 3 'line 1, column' "$weir" scan "$address" '{"weir": 1, "wrong": 2}'
expect 3 'gone.csv' "$weir" scan "$address" gone
expect 3 '^weir scan: operator b: shop/bad.csv:3: ' "$weir" scan "$address" bad
expect 3 'bad.csv:3: ' "$weir" scan "$address" bad --out dir.arrow

# Nothing leads out of the folder, however it is named.
mkdir out_of
cp shop/lines.csv out_of/secret.csv
cp shop/all.json out_of/all.json
ln -s "$PWD/out_of/secret.csv" shop/absolute.csv
ln -s ../out_of/secret.csv shop/relative.csv
ln -s ../out_of shop/linked
ln -s ../out_of/all.json shop/outside.json
ln -s lines.csv shop/inside.csv
# named FILE: a plan that reads it
named() { sed "s|\"lines.csv\"|\"$1\"|" shop/all.json; }
for file in "$PWD/out_of/secret.csv" ../out_of/secret.csv absolute.csv \
    relative.csv linked/secret.csv "$PWD/shop/lines.csv" \
    /proc/self/root/etc/passwd old/../../out_of/secret.csv; do
    expect 3 'leads out of its folder' "$weir" scan "$address" "$(named $file)"
done
expect 3 'leads out of its folder' "$weir" scan "$address" outside
expect 3 "no data set 'linked'" "$weir" scan "$address" all -d linked
status 0 "$weir" scan "$address" "$(named old/../lines.csv)"
status 0 "$weir" scan "$address" "$(named inside.csv)"
[ -z "$(find . -name 'dir.*')" ] || fail "left something of dir.arrow"
same all # and all is well

# What a plan's operators may hold is a limit of each plan.
plan shop/sorted.json "$(numbers 3000000)" "$scan_n,
    {\"name\": \"s\", \"op\": \"sort\", \"input\": \"n\", \"by\": [\"i\"]}" s
expect 1 '^weir scan: operator s: .*raise it to' "$weir" scan "$address" sorted

# A client that is killed ends its plan: the server's threads go.
threads() { ls "/proc/$server/task" | wc -l; }
idle=$(threads)
plan shop/endless.json "$(numbers 1000000000000)" \
    "$scan_n, {\"name\": \"f\", \"op\": \"filter\", \"input\": \"n\",
     \"where\": \"i < 0\"}" f
"$weir" scan "$address" endless >out 2>err &
client=$!
until [ "$(threads)" -gt "$idle" ]; do
    kill -0 $client || fail "an endless plan has ended"
done
kill -KILL $client
wait $client 2>/dev/null || true
until [ "$(threads)" -le "$idle" ]; do
    kill -0 $server || fail "the server is gone"
done
same sums
ended
echo ok
