#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# coverage.sh BUILD_DIR: per source of the library, how many lines and branches
# the tests of that build have executed. Branches of assertions do not count:
# their other way ends the program. Sources that no test has entered do, and
# those for processors that this one is not (AVX-512). The limit of time is
# there because gcovr may hang after an error of its own.
set -eu
dir=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
timeout 600 gcovr --root . --csv -j "$(nproc)" --exclude-unreachable-branches \
    --exclude-branches-by-pattern '.*(assert|WI_ASSERT)\(.*' \
    --filter '(core|transport|operators|services)/' \
    "$dir/CMakeFiles/weir_objects.dir" |
    awk -F, '
        NR == 1 { next }
        {
            printf "%6.1f%% of %5d %6.1f%% of %5d  %s\n", 100 * $4, $2,
                100 * $7, $5, $1
            add("all")
            if ($1 ~ "^(core/|transport/(sim|shm|tcp)/)") {
                add("core and transport/{sim,shm,tcp}")
            }
        }
        function add(name) {
            lines[name] += $2
            seen[name] += $3
            branches[name] += $5
            gone[name] += $6
        }
        END {
            if (lines["all"] == 0) {
                print "no coverage data"
                exit 1
            }
            print " lines              branches"
            for (name in lines) {
                printf "%6.1f%% of %5d %6.1f%% of %5d  %s\n",
                    100 * seen[name] / lines[name], lines[name],
                    100 * gone[name] / branches[name], branches[name], name
            }
        }'
