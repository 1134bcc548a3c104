#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# weir shuffle: what comes out is what went in, and equal keys are in one file.
# usage: cli_shuffle.sh BUILD_DIR
#
# The judge reads CSV by itself: one awk program turns a file into one line per
# record, fields in brackets, so that quotes and line ends inside fields count.
set -eu
. "$(dirname "$0")/../support/cli.sh"

cat >"$tmp/records.awk" <<'AWK'
# Records as "[field][field]": \ and line ends inside are escaped; a null is
# "[]", an empty text "[""]".
BEGIN { RS = "\n" }
{
    if (open) { field = field "\\n" } else { line = "" }
    text = "" # of this line; appending each byte to a long field is slow
    for (i = 1; i <= length($0); i++) {
        c = substr($0, i, 1)
        if (open && c == "\"") {
            if (substr($0, i + 1, 1) == c) { text = text c; i++ }
            else { open = 0; quoted = 1 }
        }
        else if (!open && c == "\r" && i == length($0)) { break }
        else if (!open && c == "\"" && !quoted) { open = 1 }
        else if (!open && c == ",") { line = line "[" end_field() "]" }
        else { text = text (c == "\\" ? "\\\\" : c == "\r" ? "\\r" : c) }
    }
    if (open) { field = field text } else { print line "[" end_field() "]" }
}
function end_field(    f)
{
    f = field text
    f = f == "" && quoted ? "\"\"" : f
    field = text = ""
    quoted = 0
    return f
}
AWK

records() { awk -f "$tmp/records.awk" "$1"; }

# same IN DIR KEY: the union of DIR's files is IN, headers too; no two files
# hold one value of column KEY (a number).
same()
{
    records "$1" | sed 1d | sort >"$tmp/expected"
    : >"$tmp/all"
    : >"$tmp/keys"
    for part in "$2"/part-*.csv; do
        records "$part" >"$tmp/part"
        [ "$(sed -n 1p "$tmp/part")" = "$(records "$1" | sed -n 1p)" ] ||
            fail "$part has another header"
        sed 1d "$tmp/part" >>"$tmp/all"
        sed 1d "$tmp/part" | awk -F '[][]+' -v k="$3" '{ print $(k + 1) }' |
            sort -u >>"$tmp/keys"
    done
    sort "$tmp/all" | cmp - "$tmp/expected" || fail "rows differ: $1 $2"
    [ -z "$(sort "$tmp/keys" | uniq -d)" ] || fail "keys in two files: $2"
    [ -z "$(ls -A "$2" | grep -v '^part-[0-9]*\.csv$')" ] ||
        fail "files left in $2"
}

shuffle() { timeout 60 "$weir" shuffle "$@"; }

# Rows with every trap: quotes, commas, line ends and spaces in fields, UTF-8,
# nulls and empty texts, numbers that are texts.
awk -v rows=5000 'BEGIN {
    split("plain|\"comma, inside\"|\"say \"\"hi\"\"\"|\"line\nbreak\"|" \
          "\"crlf\r\nin\"|gr\303\274n|\346\227\245\346\234\254| lead|" \
          "\"trail \"|\"\"\"\"|\"\"||\",\"|\"\n\"", text, "|")
    print "id,key,\"the note\",code,price,ratio,flag,day,small,at"
    for (i = 0; i < rows; i++) {
        printf "%d,k%d,%s,%03d,%d.%d%d,%s,%s,20%02d-%02d-%02d,%d," \
            "2013-07-01 12:%02d:59%s\n", i,
            i * i % 97, text[i % 14 + 1], i % 1000, i % 50, i % 10, i % 7,
            i % 11 ? i / 8 : "", i % 3 ? "true" : i % 2 ? "false" : "",
            i % 100, i % 12 + 1, i % 28 + 1, i - 2500, i % 60,
            i % 10 ? "" : ".000250"
    }
}' >"$tmp/in.csv"
sed 's/$/\r/' "$tmp/in.csv" >"$tmp/crlf.csv"

shuffle --by key --nodes 3 "$tmp/in.csv" --out "$tmp/o1" >"$tmp/log"
same "$tmp/in.csv" "$tmp/o1" 2
[ "$(ls "$tmp/o1" | wc -l)" -eq 3 ] || fail "three partitions expected"
grep -q '^5000 rows' "$tmp/log" || fail "no summary"
types='id int64, key utf8, the note utf8?, code utf8, price decimal(18,2), '
types="$types"'ratio float64?, flag bool?, day date, small int64, '
grep -q "$types"'at timestamp(us)$' "$tmp/log" ||
    { cat "$tmp/log"; fail "other types"; }

shuffle --by key --nodes 2 --workers 3 --transport tcp "$tmp/crlf.csv" \
    --out "$tmp/o2" >/dev/null
# The line ends inside quotes are other data now: compare with what was given.
same "$tmp/crlf.csv" "$tmp/o2" 2
[ "$(ls "$tmp/o2" | wc -l)" -eq 6 ] || fail "six partitions expected"

printf '%s\n' 0123456789abcdef0123456789abcdef >"$tmp/secret"
chmod 600 "$tmp/secret"
shuffle --by key --nodes 2 --transport tcp --secret-file "$tmp/secret" \
    --tls-psk "$tmp/in.csv" --out "$tmp/psk" >/dev/null
same "$tmp/in.csv" "$tmp/psk" 2

certs both 'DNS:process 0 of 2,DNS:process 1 of 2'
shuffle --by key --nodes 2 --transport tcp --tls-cert both.crt \
    --tls-key both.key --tls-ca ca.crt "$tmp/in.csv" --out "$tmp/tls" >/dev/null
same "$tmp/in.csv" "$tmp/tls" 2

shuffle --by 'the note,small,price,at' --nodes 4 --memory 8M "$tmp/in.csv" \
    --out "$tmp/o3" >/dev/null
same "$tmp/in.csv" "$tmp/o3" 1

# Numbers of more digits than the machine has.
awk 'BEGIN {
    print "k,big"
    for (i = 0; i < 100; i++) {
        printf "%d,%s12345678901234567890123456789.%08d\n", i,
            i % 2 ? "-" : "", i
    }
}' >"$tmp/big.csv"
shuffle --by big --nodes 2 "$tmp/big.csv" --out "$tmp/o11" >"$tmp/log"
same "$tmp/big.csv" "$tmp/o11" 1
grep -q 'big decimal(38,8)$' "$tmp/log" || fail "type of large decimals"

# Texts go through as they are, whatever their encoding.
awk 'BEGIN {
    print "k,M\374ller"
    for (i = 0; i < 50; i++) {
        print i ",gr\374n" i % 7
    }
}' >"$tmp/latin1.csv"
shuffle --by k --nodes 2 "$tmp/latin1.csv" --out "$tmp/o12" >/dev/null
same "$tmp/latin1.csv" "$tmp/o12" 1

# Fewer rows than workers, one process, an empty table, no line end at the end.
printf 'a,b\n1,x\n2,' >"$tmp/tiny.csv"
shuffle --by a --nodes 8 "$tmp/tiny.csv" --out "$tmp/o4" >/dev/null
same "$tmp/tiny.csv" "$tmp/o4" 1
shuffle --by b --nodes 1 "$tmp/tiny.csv" --out "$tmp/o5" >/dev/null
same "$tmp/tiny.csv" "$tmp/o5" 1
printf 'a,b\n' >"$tmp/none.csv"
shuffle --by a --nodes 2 "$tmp/none.csv" --out "$tmp/o6" >/dev/null
same "$tmp/none.csv" "$tmp/o6" 1

# One column: an empty line is a null. (Elsewhere it is no record.)
printf 'a\n1\n\n3\n' >"$tmp/one.csv"
shuffle --by a --nodes 2 "$tmp/one.csv" --out "$tmp/o7" >/dev/null
same "$tmp/one.csv" "$tmp/o7" 1
printf 'a,b\n1,2\n\n3,4\n' >"$tmp/gap.csv"
printf 'a,b\n1,2\n3,4\n' >"$tmp/no_gap.csv"
shuffle --by a --nodes 2 "$tmp/gap.csv" --out "$tmp/o8" >/dev/null
same "$tmp/no_gap.csv" "$tmp/o8" 1

# Fields longer than a frame, and than a ring.
awk 'BEGIN {
    print "k,text"
    for (i = 0; i < 20; i++) {
        printf "%d,\"", i % 7
        for (j = 0; j < i * 400; j++) { printf "abcdefgh\"\"jkl\n" }
        print "\""
    }
}' >"$tmp/long.csv"
shuffle --by k --nodes 3 "$tmp/long.csv" --out "$tmp/o9" >/dev/null
same "$tmp/long.csv" "$tmp/o9" 1

# --force replaces part files, those of a larger run too, and nothing else.
echo mine >"$tmp/o1/keep.txt"
shuffle --by key --nodes 2 --force "$tmp/in.csv" --out "$tmp/o1" >/dev/null
[ "$(cat "$tmp/o1/keep.txt")" = mine ] || fail "--force took a foreign file"
rm "$tmp/o1/keep.txt"
same "$tmp/in.csv" "$tmp/o1" 2
[ "$(ls "$tmp/o1" | wc -l)" -eq 2 ] || fail "parts of the larger run stayed"

# The same input gives the same partitions.
for way in tcp auto; do
    shuffle --by key --nodes 2 -t $way --force "$tmp/in.csv" \
        --out "$tmp/o10" >/dev/null
    for part in part-00000.csv part-00001.csv; do
        records "$tmp/o1/$part" | sort >"$tmp/a"
        records "$tmp/o10/$part" | sort | cmp - "$tmp/a" ||
            fail "$part differs from run to run"
    done
done
echo ok
