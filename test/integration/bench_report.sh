#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench/report: a quick run of everything; the page has every table and is made
# of the JSON alone; what fails is said. usage: bench_report.sh BUILD_DIR
set -eu
report=$(cd "$(dirname "$0")/../../bench/report" && pwd)/report.py
. "$(dirname "$0")/../support/cli.sh"
/usr/bin/python3 -c 'import matplotlib' 2>err || fail "no python3-matplotlib"
export PYTHONDONTWRITEBYTECODE=1

# value EXPRESSION: of r, the report.
value()
{
    /usr/bin/python3 -c 'import json, sys
r = json.load(open("a/report.json"))
print(eval(sys.argv[1]))' "$1"
}

timeout 240 "$report" --quick --weir "$weir" --out a >out 2>err || {
    # Opponents that are not installed are missed, and nothing else is.
    [ "$(value '[n for n, s in r["suites"].items() if s["error"]]')" = \
        "['iperf3']" ] && ! command -v iperf3 >out || fail "quick run"
}

# ---- what the JSON has -------------------------------------------------------

[ "$(value 'r["weir_report"]')" -eq 1 ] || fail "no version"
for fact in processor cores caches kernel compiler versions commit date; do
    [ -n "$(value "r['machine']['$fact']")" ] || fail "no $fact"
done
for state in before after; do
    [ -n "$(value "r['$state']['load']")" ] || fail "no load"
    [ -n "$(value "r['$state']['steal_s']")" ] || fail "no steal"
done
level=$(value 'r["level"]')

# Interleaved: each two-stage run is a sample of its own.
[ "$(value "len(r['suites']['8x1 $level']['runs'])")" -eq 2 ] ||
    fail "not two rounds"

# ---- what the page has -------------------------------------------------------

for name in verdicts "two-stage-$level" two-stage-portable shapes \
    "mixed-$level" "wide-$level" \
    stream latency gets partition-narrow queries seconds machine commands; do
    [ "$(grep -c "<table id=\"$name\"" a/report.html)" -eq 1 ] ||
        fail "no table $name"
done
[ "$(grep -c '<svg ' a/report.html)" -ge 7 ] || fail "no plots"
! grep -Eq '(src|href)="https?:' a/report.html || fail "the page needs others"
grep -q 'figures of a test' a/report.html || fail "it does not say it is quick"

grep -q 'query open to first row, warm.*class="[hl]o' a/report.html ||
    fail "set-up has no verdict"

grep -q 'join with filters / without, 8 nodes, tcp.*class="[hl]o' \
    a/report.html || fail "filters have no verdict"

# ---- figures are those of the JSON -------------------------------------------

"$report" --from a/report.json --out b >out 2>err
cmp a/report.html b/report.html || fail "the same JSON, another page"

# edit PROGRAM: a report that differs, and its page.
edit()
{
    /usr/bin/python3 -c 'import json, sys
r = json.load(open("a/report.json"))
exec(sys.argv[1])
json.dump(r, open("changed.json", "w"))' "$1"
    status "${2:-0}" "$report" --from changed.json --out c
}

edit "for run in r['suites']['8x1 $level']['runs']:
    for one in run['results']:
        if one['name'] in ('shm', 'mpi', 'sockets', 'tcp', 'limit'):
            one['core_ns_per_row_stage'] = {'shm': 4.321, 'sockets': 98.7,
                'tcp': 123.4}.get(one['name'], 2.0)
            one['median_s'] = 1.0"
grep -q '<td>shm</td><td>4.32</td>' c/report.html || fail "shm is not 4.32"
grep -q '>98.7<' c/report.html || fail "sockets are not 98.7"
grep -q "plain sockets / tcp, 8 x 1, $level.*0.8.*LOSES" c/report.html ||
    fail "the loss is not said"
grep -q "plain sockets / tcp, 8 x 1, $level .*LOSES" out || fail "nor printed"

edit "r['suites']['8x1 $level']['runs'] = []"
grep -q "shm / limit, 8 x 1, $level.*not measured" c/report.html ||
    fail "what was not measured is not said"

edit "r['suites']['stream']['error'] = 'the <cable> is cut'" 1
grep -q 'the &lt;cable&gt; is cut' c/report.html || fail "the failure is hidden"

# ---- a bench that fails ------------------------------------------------------

mkdir fake
cat >fake/weir <<SH
#!/bin/sh
case "\$*" in
*stream*--mib*) echo "rows are wrong" >&2; exit 1 ;;
*) exec "$weir" "\$@" ;;
esac
SH
chmod +x fake/weir
status 1 "$report" --quick --weir fake/weir --only stream latency --out d
grep -q 'rows are wrong' d/report.html || fail "the reason is not said"
grep -q '<table id="latency"' d/report.html || fail "one failure ends it all"
echo ok
