#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test.sh BUILD_DIR: all tests that need real verbs. siw and rxe each have a
# guest of their own, at the same time; then come the tests between two guests.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
begin=$(date +%s)

"$here/vm.sh" prepare # once, not by both
"$here/vm.sh" run --drivers rxe --mem 2048 --timeout 900 -- \
    "$here/suite.sh" "$build" rxe &
rxe=$!
failed=0
"$here/vm.sh" run --drivers siw --mem 2048 --timeout 900 -- \
    "$here/suite.sh" "$build" siw || failed=1
wait $rxe || failed=1
for driver in siw rxe; do
    "$here/pair.sh" "$build" $driver || failed=1
done
echo "$(($(date +%s) - begin)) s in all"
exit $failed
