#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is fetched from others is what it was when somebody looked: packages of
# Debian are signed; pip takes nothing without a hash, cargo nothing but what
# its lock has (with checksums), a package of npm is compared with its hash,
# modules of Go with go.sum. Nothing else fetches. In scripts and makefiles, and
# of documents what they say of pip; cargo is the reader's own crate there.
set -eu
. "$(dirname "$0")/lib.sh"
enter "$@"

files() {
    find . \( -name .git -o -path './build*' -o -name target \) -prune -o \
        -type f \( "$@" \) -print | sed 's|^\./||' | LC_ALL=C sort
}

# commands FILE...: "file:line: command", one that is continued is one line
commands() {
    awk 'FNR == 1 { text = "" }
         text == "" { first = FNR }
         /\\$/ { text = text substr($0, 1, length($0) - 1) " "; next }
         { print FILENAME ":" first ": " text $0; text = "" }' "$@" /dev/null |
        grep -v '^[^ ]*: *#'
}

# without WORD PATTERN SAYING: commands that match and have not the word
without() {
    grep -E "$2" | grep -vE -e "$1" | sed -E "s/^([^ ]*: ).*/\1$3/" || true
}

begin='(^|[ ;&|(@$/])'
# shellcheck disable=SC2046 # no file has a blank
{
    scripts=$(files -name '*.sh' -o -name Makefile -o -path './.ci/*')
    # This one and its test have the patterns.
    scripts=$(echo "$scripts" | grep -v 'check_\(downloads\|selftest\)')
    [ -z "$scripts" ] || commands $scripts >"$tmp/scripts"
    touch "$tmp/scripts"
    documents=$(files -name '*.md')
    [ -z "$documents" ] || commands $documents >"$tmp/documents"
    touch "$tmp/documents"
    cat "$tmp/scripts" "$tmp/documents" |
        without '--require-hashes' "${begin}pip3?\"? (install|download) " \
            'pip without --require-hashes'
    without '--locked' "${begin}cargo (build|test|run|doc|clippy|install) " \
        'cargo without --locked' <"$tmp/scripts"
    without '^$' "${begin}(curl|wget|mvn|gradle|npx|git clone https?:)( |$)" \
        'fetches what nobody has looked at' <"$tmp/scripts"
    without '^$' "${begin}npm (install|ci|i) " \
        'npm has scripts of others: npm pack, and compare the hash' \
        <"$tmp/scripts"
    for file in $(grep -E "${begin}npm pack " "$tmp/scripts" | cut -d: -f1); do
        grep -q 'sha256sum --check' "$file" ||
            echo "$file: a package of npm is not compared with its hash"
    done
    files -path './tools/pip/*.txt' | while IFS= read -r list; do
        commands "$list" | without '--hash=sha256:[0-9a-f]{64}' \
            '^[^ ]*: [^-]' 'a package without a hash'
    done
    files -name Cargo.lock | while IFS= read -r lock; do
        awk '/^source = "/ { sources++ } /^checksum = "/ { sums++ }
             END { exit sources != sums }' "$lock" ||
            echo "$lock: a package without a checksum"
    done
    for module in $(files -name go.mod); do
        [ -f "${module%.mod}.sum" ] || echo "$module: there is no go.sum"
    done
} >"$tmp/bad"
verdict "$tmp/bad"
