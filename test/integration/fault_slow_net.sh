#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The two-stage plan over tcp through 100 Mbit/s, in a network namespace of its
# own that ends with this script: every row has to arrive exactly once.
# usage: fault_slow_net.sh BUILD_DIR
set -eu
weir=$1/weir

skip()
{
    echo "skipped: $1"
    exit 77
}

# Who is not root is it in a user namespace, where the kernel has them.
if [ "${2:-}" != inside ]; then
    for how in -n -rn; do
        ! unshare $how true 2>/dev/null || exec unshare $how "$0" "$1" inside
    done
    skip "this kernel gives no network namespaces to $(id -un)"
fi

# A packet larger than the bucket would never pass.
ip link set lo mtu 1500 up || skip "cannot set up lo"
tc qdisc add dev lo root tbf rate 100mbit burst 64kb limit 4mb 2>/dev/null ||
    skip "no tbf queueing discipline"
# 4 x 100000 rows x 8 bytes x 2 stages, 3/4 of them between processes: 4.8 MB
# at 12.5 MB/s. The bench checks rows, sums and edges, and fails otherwise.
# The warm-up comes on top.
out=$(timeout 100 "$weir" bench two-stage --nodes 4 --rows 100000 --repeat 1 \
    --transports tcp --timeout 90 --json)
echo "$out"
sent=$(tc -s qdisc show dev lo | sed -n 's/.*Sent \([0-9]*\) bytes.*/\1/p')
echo "bytes through the bottleneck: $sent"
[ "$sent" -gt 4000000 ]
