#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# coverage.sh BUILD_DIR: per source of the library, how many lines the tests
# of that build have executed.
set -eu
dir=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# By .gcno, so that sources which no test has entered count as well.
find "$dir/CMakeFiles/weir_objects.dir" -name '*.gcno' |
    xargs gcov -n 2>/dev/null |
    awk -v root="$root/" '
        /^File / {
            file = substr($0, 7, length($0) - 7)
            sub("^" root, "", file)
        }
        /^Lines executed:/ &&
            file ~ /^(core|transport|operators|services)\/.*\.c$/ {
            split(substr($0, 16), part, "% of ")
            printf "%6.1f%% of %5d  %s\n", part[1], part[2], file
            covered += part[1] / 100 * part[2]
            lines += part[2]
            file = ""
        }
        END {
            if (lines == 0) {
                print "no coverage data"
                exit 1
            }
            printf "%6.1f%% of %5d  all\n", 100 * covered / lines, lines
        }' >report
LC_ALL=C sort -k 4 report
