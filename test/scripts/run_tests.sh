#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_tests.sh BUILD_DIR [ctest options]: run tests, three at a time (many of
# them wait), and end with one line that says how it went. Skipped tests are
# named; more of them than WEIR_MAX_SKIPPED, if that is set, are a failure. What
# a test within a program does not find here (test/support/lacks.h) is said in a
# line each.
set -eu

dir=$1
shift

# The sanitizers of gcc 12 lay out memory in places that a kernel with 32 bits
# of address randomisation may have taken. Not every container allows it.
plain=
case $dir in
*asan* | *ubsan* | *tsan*)
    if setarch "$(uname -m)" -R true 2>/dev/null; then
        plain="setarch $(uname -m) -R"
    fi
    ;;
esac

log=$dir/Testing/last-run.txt
mkdir -p "$dir/Testing"
status=0
# shellcheck disable=SC2086 # words
$plain ctest --test-dir "$dir" -j 3 --output-on-failure --no-tests=error \
    --output-log "$log" "$@" || status=$?

skipped=$(sed -n 's/.*Test *#[0-9]*: \([^ ]*\) .*\*\*\*Skipped.*/\1/p' "$log" |
    tr '\n' ' ')
[ -z "$skipped" ] || echo "Skipped: $skipped"
# shellcheck disable=SC2086 # words
if [ -n "${WEIR_MAX_SKIPPED:-}" ] &&
    [ "$(echo $skipped | wc -w)" -gt "$WEIR_MAX_SKIPPED" ]; then
    echo "More than $WEIR_MAX_SKIPPED tests skipped"
    status=1
fi
sed -n 's|^lacking, .*/test/|Not tested here: test/|p' \
    "$dir/Testing/Temporary/LastTest.log" | sort -u
if [ $status -ne 0 ]; then
    echo "FAILED: tests of $dir; the log is $log"
    exit 1
fi
echo "PASSED: $(sed -n 's/.*out of \([0-9]*\)$/\1/p' "$log") tests of $dir"
