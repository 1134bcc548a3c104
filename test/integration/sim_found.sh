#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs of `weir sim` that failed once, each shrunk by it, and hold since. usage:
# sim_found.sh BUILD_DIR
set -eu
. "$(dirname "$0")/../support/cli.sh"

# run ARGUMENT...: it holds, and every part of its queries is done.
run()
{
    status 0 "$weir" sim --as-is "$@"
    grep -q ' parts of queries done, 0 failed' out || fail "$*: not all is done"
}

# A node stands still for longer than detect_ns while others have a revoked
# region of its: it looks at what came before it gives them up.
run --seed 2094400 --rows 1 --schedule 'jump@175271:1*363004246'
run --seed 2178799 --rows 1 --schedule 'jump@464121:2*48695787'
run --seed 2283686 --nodes 2 --rows 31 --schedule 'jump@297144:1*116998418'

# A slow node gives up its link to the query's first member: each names the
# other, which weir/query.h says.
status 0 "$weir" sim --as-is --seed 939986 --nodes 3 --rows 250 \
    --schedule 'slow@76088:2*127+50519939'

# Any worker of a node may take the rows, and the one that was rung has ended:
# another one, which asks weir_worker_wait and does not sleep in it, finds them.
run --seed 2218559 --nodes 3 --rows 62 \
    --schedule 'leave@7981:2 stop@937062:1*0'
