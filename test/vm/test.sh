#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test.sh BUILD_DIR [DRIVER]: all tests that need real verbs. For each driver
# (siw and rxe, or this one) first what runs in one guest, then what runs
# between two. The drivers are tested at the same time: where one waits, the
# other has the processors.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) || exit 2

if [ $# -eq 2 ]; then
    failed=0
    setpriv --pdeathsig TERM "$here/vm.sh" run --drivers "$2" --mem 2048 \
        --timeout 2400 -- "$here/suite.sh" "$build" "$2" || failed=1
    setpriv --pdeathsig TERM "$here/pair.sh" "$build" "$2" || failed=1
    exit $failed
fi

begin=$(date +%s)
"$here/vm.sh" prepare || exit 1 # once, not by both
# They end with this shell, however it ends.
setpriv --pdeathsig TERM "$0" "$build" rxe &
rxe=$!
setpriv --pdeathsig TERM "$0" "$build" siw &
failed=0
wait $! || failed=1
wait $rxe || failed=1
echo "$(($(date +%s) - begin)) s in all"
exit $failed
