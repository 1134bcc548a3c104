#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# weir serve and weir scan: a folder and databases, over all transports, into
# all kinds of files; what they refuse, and how they end. usage: cli_scan.sh
# BUILD_DIR
set -eu
. "$(dirname "$0")/../support/cli.sh"

"$weir" --help | grep -q 'weir serve' ||
    fail "built without libweir-scan"
server=
trap '[ -z "$server" ] || kill $server; rm -rf "$tmp"' EXIT

# serve ARGUMENT...: sets `server` and `address`; what it says is in said.
serve()
{
    : >address
    "$weir" serve "$@" >address 2>said &
    server=$!
    while [ ! -s address ]; do
        kill -0 $server 2>/dev/null || { cat said >err; fail "serve $*"; }
        sleep 0.02 # the line is all that tells that it listens
    done
    address=$(cat address)
}

# ended SIGNAL: the server ends with status 0.
ended()
{
    kill "-$1" $server
    got=0
    wait $server || got=$?
    server=
    [ $got -eq 0 ] || fail "status $got after SIG$1"
}

scan() { status 0 "$weir" scan "$address" "$@"; }

# ---- wrong use ---------------------------------------------------------------

expect 2 'no ADDRESS given' "$weir" scan
expect 2 'no STATEMENT given' "$weir" scan here
expect 2 'one STATEMENT only; "c" is a second' "$weir" scan a b c
expect 2 'must end with .parquet, .arrow or .csv' "$weir" scan a b --out c.txt
expect 2 'no DATABASE given' "$weir" serve
expect 2 'one of --duckdb, --adbc and --weir' "$weir" serve --duckdb --adbc x y
expect 2 'KEY=VALUE' "$weir" serve --set x y
expect 3 'none.so' "$weir" serve --adbc ./none.so --allow-files / --write y

# Nobody is served over a network without being asked who he is.
expect 2 'whoever reaches it' "$weir" serve -t tcp .
expect 2 'whoever reaches it' "$weir" serve -t auto .
expect 2 'whoever reaches it' "$weir" serve --listen 127.0.0.1:0 .
expect 2 'exclude each other' "$weir" serve --anybody --secret-file s .
expect 2 'as they are' "$weir" serve --adbc ./none.so y
expect 2 'as they are' "$weir" serve --adbc ./none.so --write y
expect 2 'needs --write' "$weir" serve --create new.db
# A name that is mistyped makes no database.
expect 3 'mistyped: there is no such' "$weir" serve mistyped
expect 3 'mistyped: there is no such' "$weir" serve --write mistyped
[ ! -e mistyped ] || fail "made a database"

# ---- a folder ----------------------------------------------------------------

mkdir folder
printf 'a,b\n1,x\n2,\n3,"he said ""hi"""\n' >folder/one.csv
echo '{"n": 1.5}' >"folder/it's.json"
echo nothing >folder/readme.txt
! timeout 60 "$weir" serve --anybody --listen nowhere:x folder >out 2>err ||
    fail "listens nowhere"
! grep -q 'libduckdb.so' err || fail "no libduckdb.so: make setup-duckdb"
mkdir empty
expect 3 'empty has no .parquet' "$weir" serve empty
mkdir bad
printf 'PAR1' >bad/b.parquet
expect 3 'bad/b.parquet: ' "$weir" serve bad

serve --anybody --allow-files . folder
grep -q 'folder, 2 views' said || fail "views"
grep -q 'whoever reaches' said || fail "who is served"
scan 'select a, b from one order by a'
cat >table <<'OUT'
 a | b
---+--------------
 1 | x
 2 | null
 3 | he said "hi"
(3 rows)
OUT
sed 's/ *$//' out | cmp - table || fail "the table"
scan "select n from \"it's\""
grep -q '1.5' out || fail "the view of a file with a mark"

# A file of each kind; the server reads back what was written: the same.
for kind in csv parquet arrow; do
    scan 'select a, b, a > 1 as c from one' --out dir.$kind
    [ ! -s out ] || fail "rows on standard output"
    [ "$(ls -A | grep -c "dir[.]$kind")" -eq 1 ] || fail "more than dir.$kind"
done
for kind in csv parquet; do
    scan "select count(*)::integer n, sum(a)::integer s, count(b)::integer t
        from '$PWD/dir.$kind'"
    grep -q '^ 3 | 6 | 2$' out || fail "rows of dir.$kind"
    rm dir.$kind
done
[ "$(head -c 6 dir.arrow)" = ARROW1 ] || fail "dir.arrow"
rm dir.arrow

# Nested types go to files; a table says that it cannot.
scan "select [1, 2] as l, {'x': a} as s from one" --out dir.parquet
rm dir.parquet
status 1 "$weir" scan "$address" "select [1, 2] as l"
grep -q 'weir scan: .*l' err || fail "which column cannot be shown"

# The engine's message arrives whole; nothing is left.
expect 3 'no_such_table' "$weir" scan "$address" 'select * from no_such_table'
long=$(printf '%02000d' 7)
expect 3 "$long" "$weir" scan "$address" "select x$long from one"
expect 3 'Conversion Error' "$weir" scan "$address" \
    "select 'x'::integer" --out dir.csv
[ ! -e dir.csv ] || fail "left a file"
expect 3 'data set' "$weir" scan "$address" 'select 1' --dataset none

# Whoever does not read on is told so by the shell, and is no error.
{ timeout 60 "$weir" scan "$address" 'from range(100000)' || echo $? >code; } |
    head -n 1 >out 2>err
[ "$(cat code)" -eq 141 ] || fail "status $(cat code) when nobody reads"

# By host and port, and by each transport alone.
scan_to=$(echo "$address" | sed 's/.*tcp=//')
status 0 "$weir" scan "$scan_to" 'select count(*) as n from one'
grep -q 3 out || fail "host and port"
ended TERM
grep -q 'weir serve: [0-9]* requests, [1-9][0-9]* of them failed' said ||
    fail "what it says at its end"
expect 1 'weir scan: ' "$weir" scan "$address" 'select 1'

# ---- what clients may do -----------------------------------------------------

# What leads out of the folder, and what would change what others see.
cp folder/one.csv one.before
echo 'k,v' >other.csv
serve folder
case $address in
shm:*) ;;
*) fail "served over a network: $address" ;;
esac
scan 'from one'
no() { expect 3 "$1" "$weir" scan "$address" -- "$2"; }
other=$PWD/other.csv
one=$PWD/folder/one.csv
no 'Permission Error' "from '$other'"
no 'Permission Error' "from glob('/etc/*')"
no 'lets nobody read files' "from read_text('$other')"
no 'lets nobody read files' "select * from READ_BLOB('$other')"
no 'writes and attaches no files' "copy (select 1) to '$one'"
no 'writes and attaches no files' "/* */ explain analyze copy one to '$one'"
no 'writes and attaches no files' "export database '$PWD/dir'"
no 'writes and attaches no files' "attach '$PWD/dir'"
no '2 statements' "select 1; copy (select 1) to '$one'"
no 'are not looked into' "from query('select 1')"
no 'reach all clients' "from enable_logging(storage='file')"
no 'has been locked' 'set global threads = 1'
no 'has been locked' 'set lock_configuration = false'
no "settings are the server's" 'pragma enable_profiling'
no 'read-only' 'create or replace view one as select 1'
no 'read-only' 'create table t as select 1'
no 'read-only' 'drop view one'
scan 'select 2 as one; -- and a comment; with a semicolon'
scan "select ';' as one"
scan 'select a, b from one order by a'
sed 's/ *$//' out | cmp - table || fail "the table has changed"
cmp folder/one.csv one.before || fail "a file has changed"
scratch=$(ls -d "${TMPDIR:-/tmp}"/weir-serve-* | wc -l)
ended TERM
[ "$(ls -d "${TMPDIR:-/tmp}"/weir-serve-* 2>/dev/null | wc -l)" -lt \
    "$scratch" ] || fail "left its folder"

# With --write they may change what is shared, with --allow-files write files.
serve --write folder
scan 'create table t as select 42 as x'
scan 'select x from t'
grep -q 42 out || fail "a table of another client"
no 'writes and attaches no files' "copy t to '$PWD/folder/new.csv'"
ended TERM
mkdir allowed
serve --allow-files allowed --write folder
scan "copy (select 7 as x) to '$PWD/allowed/x.csv'"
scan "from read_csv('$PWD/allowed/x.csv')"
grep -q 7 out || fail "a file that was written"
no 'Permission Error' "from read_csv('$other')"
no 'Permission Error' "copy (select 1) to '$PWD/dir'"
ended TERM
serve --allow-files allowed folder
scan "from read_csv('$PWD/allowed/x.csv')"
no 'writes and attaches no files' "copy one to '$PWD/allowed/y.csv'"
ended TERM
expect 3 'no such folder' "$weir" serve --allow-files nowhere folder

# One that works for too long is ended; others are not.
serve --statement-time 1 folder
expect 1 'all the time' "$weir" scan "$address" 'select sum(a.range * b.range)
    from range(10000000) a, range(10000000) b'
scan 'select 1 as one'
ended TERM

# ---- a server with a secret --------------------------------------------------

printf '%s\n' 0123456789abcdef0123456789abcdef >secret
printf '%s\n' fedcba9876543210fedcba9876543210 >other
chmod 600 secret other
for way in 'auto' 'tcp' 'tcp --tls-psk' 'tcp --plain'; do
    # shellcheck disable=SC2086 # options
    serve -t $way --secret-file secret folder
    plain=${way#${way%--plain}} # as it does
    # shellcheck disable=SC2086
    scan $plain --secret-file secret 'select count(*) as n from one'
    grep -q 3 out || fail "with the secret, $way"
    expect 1 'only peers that prove\|the peer wants TLS' \
        "$weir" scan "$address" 'select 1'
    # shellcheck disable=SC2086
    expect 1 'does not know the secret' \
        "$weir" scan $plain --secret-file other "$address" 'select 1'
    ended TERM
    ! grep -q 0123456789 said out err || fail "the secret was said"
done
serve -t tcp --secret-file secret folder
expect 1 'the peer wants TLS' \
    "$weir" scan --plain --secret-file secret "$address" 'select 1'
ended TERM
expect 2 'belongs to --secret-file' "$weir" scan --plain "$address" 'select 1'

# ---- a server with a certificate ---------------------------------------------

certs server DNS:server
certs client DNS:client
tls() { echo "--name $1 --tls-cert $1.crt --tls-key $1.key --tls-ca ca.crt"; }
# shellcheck disable=SC2046 # options
for transport in auto tcp; do
    # auto: a client without shm of its own would come by tcp; it is one host
    serve -t $transport $(tls server) folder
    scan $(tls client) --server-name server 'select count(*) as n from one'
    grep -q 3 out || fail "with a certificate"
    ended TERM
done
# shellcheck disable=SC2046
{
    serve -t tcp $(tls server) folder
    expect 1 'the peer wants TLS' "$weir" scan "$address" 'select 1'
    # It says whom it talks to: by the host of the address, or by a name.
    expect 1 '127.0.0.1 is expected there, the certificate is of "server"' \
        "$weir" scan $(tls client) "$address" 'select 1'
    expect 1 'client is expected there, the certificate is of "server"' \
        "$weir" scan $(tls client) --server-name client "$address" 'select 1'
    mkdir others
    mv ca.crt ca.key others
    certs thief DNS:client
    expect 1 'unknown ca' "$weir" scan "$address" 'select 1' --name client \
        --tls-cert thief.crt --tls-key thief.key --tls-ca others/ca.crt
    expect 1 'is not of thief' "$weir" scan "$address" 'select 1' \
        --name thief --tls-cert client.crt --tls-key client.key \
        --tls-ca others/ca.crt
    ended TERM
}
expect 2 'belong together' "$weir" scan --tls-cert client.crt x y
expect 2 'belongs to --tls-cert' "$weir" scan --server-name server x y
expect 2 'belong together' "$weir" serve --tls-key server.key folder
expect 2 'is not of other' "$weir" serve -t tcp --name other \
    --tls-cert server.crt --tls-key server.key --tls-ca ca.crt folder

# ---- a server that is killed -------------------------------------------------

# lost FILE [STRIKE]: the server is killed, or stopped for good, while a scan
# without an end writes to FILE: the scan fails with its name, leaving nothing.
lost()
{
    "$weir" scan "$address" 'from range(1000000000000)' --out "$1" >out 2>err &
    scan=$!
    until [ -n "$(find . -name "$1*")" ]; do
        kill -0 $scan 2>/dev/null || fail "ended before its server did"
        sleep 0.02 # the file is all that tells that rows come
    done
    kill "-${2-KILL}" $server
    got=0
    wait $scan || got=$?
    [ $got -eq 3 ] || fail "status $got, of a scan whose server was lost"
    grep -q "weir scan: .*$server" err || fail "which server was lost"
    [ -z "$(find . -name "$1*")" ] || fail "left something of $1"
    kill -KILL $server 2>/dev/null || true # if it was stopped only
    wait $server 2>/dev/null || true
    server=
}

for transport in shm tcp; do
    for kind in csv parquet arrow; do
        serve -t $transport --anybody --write --create db
        lost dir.$kind
    done
done
serve --write db
lost dir.arrow STOP

# ---- a database --------------------------------------------------------------

for transport in shm tcp; do
    serve -t $transport --anybody --write db
    case $address in
    $transport:*) ;;
    *) fail "the address over $transport: $address" ;;
    esac
    scan 'create or replace table t as select 42 as x'
    scan 'select x + 1 as y from t'
    grep -q 43 out || fail "a table that was made before"
    ended INT
done
[ -s db ] || fail "no database"
rm -rf db.spill-* # of the servers that were killed above
umask 022
serve db
# What does not fit into memory goes to a folder of this user's alone.
[ "$(stat -c %a db.spill-*)" = 700 ] || fail "$(ls -ld db.spill-*)"
scan "select current_setting('temp_directory') as at"
grep -q 'db.spill-.*/spill' out || fail "it spills elsewhere: $(cat out)"
scan 'select x + 1 as y from t'
no 'read-only' 'insert into t values (1)'
ended TERM
! ls -d db.spill-* 2>/dev/null || fail "the folder is left"
echo ok
