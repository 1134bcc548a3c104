#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test.sh BUILD_DIR short|long: tests that need real verbs, on siw and on rxe.
# One guest has both drivers, one after the other; at the same time two guests
# are joined by a wire: where one waits, the other has the processors. short
# has the wire over siw alone, and of the guest's tests what suite.sh says.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) || exit 2
form=$2

begin=$(date +%s)
"$here/vm.sh" prepare || exit 1 # once, not by both
# They end with this shell, however it ends.
setpriv --pdeathsig TERM "$here/pair.sh" "$build" siw &
pair=$!
failed=0
setpriv --pdeathsig TERM "$here/vm.sh" run --mem 2048 --timeout 2400 -- \
    "$here/suite.sh" "$build" "$form" siw rxe || failed=1
wait $pair || failed=1
[ "$form" = short ] ||
    setpriv --pdeathsig TERM "$here/pair.sh" "$build" rxe || failed=1
echo "$(($(date +%s) - begin)) s in all"
exit $failed
