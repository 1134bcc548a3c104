#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_rooms.sh ROOT OBJECTS: who calls whom in core/, from the object files of
# a build (OBJECTS has core/ROOM/NAME.c.o).
#
#   - no call from one room up into another (the order is below);
#   - pairs of sources that call each other: none across rooms, few in all;
#   - a header declares only what its own source defines.
set -eu
. "$(dirname "$0")/lib.sh"
objects=$2
enter "$1"

# A room calls only what stands in an earlier line.
cat >"$tmp/order" <<'ORDER'
base
ring format
identity
partition
link
query region
node
rows
ORDER
most_mutual=8

# DEF name source | USE name source
find core -mindepth 2 -name '*.c' | while read -r source; do
    nm "$objects/$source.o" |
        awk -v s="$source" '
            NF == 3 && $2 ~ /^[TDBRV]$/ { print "DEF", $3, s }
            NF == 2 && $1 == "U" { print "USE", $2, s }'
done >"$tmp/symbols"
[ -s "$tmp/symbols" ] || {
    echo "check_rooms.sh: no objects in $objects" >&2
    exit 2
}

# Prototypes of wi_ functions: header and name, inline ones left out.
split_code $(find core/* -name '*.h' -path 'core/*/*') |
    awk -F '\t' '
        { file = $1; code = $3 }
        file != last { depth = 0; last = file }
        depth == 0 && code !~ /^(#|static|typedef|struct|enum| \*)/ &&
            match(code, /wi_[a-z0-9_]+\(/) && code !~ /^ / {
            print file, substr(code, RSTART, RLENGTH - 1)
        }
        { depth += gsub(/\{/, "{", code) - gsub(/\}/, "}", code) }' \
        >"$tmp/prototypes"
[ -s "$tmp/prototypes" ] || {
    echo "check_rooms.sh: found no prototypes" >&2
    exit 2
}

awk -v most="$most_mutual" '
    function room(path, part) { split(path, part, "/"); return part[2] }
    FILENAME ~ /order$/ {
        for (i = 1; i <= NF; i++) { rank[$i] = FNR }
        next
    }
    FILENAME ~ /symbols$/ && $1 == "DEF" { home[$2] = $3; next }
    FILENAME ~ /symbols$/ { use[$3, $2] = 1; next }
    {
        own = $1
        sub(/\.h$/, ".c", own)
        if (home[$2] != own) {
            printf "%s: declares %s of %s\n", $1, $2,
                home[$2] != "" ? home[$2] : "nowhere"
        }
    }
    END {
        for (key in use) {
            split(key, k, SUBSEP)
            to = home[k[2]]
            if (to == "" || to == k[1]) { continue }
            a = room(k[1]); b = room(to)
            if (!(a in rank)) { printf "%s: in no room\n", k[1] }
            if (a != b && rank[b] >= rank[a]) {
                printf "%s: calls %s up in %s\n", k[1], k[2], to
            }
            calls[k[1], to] = k[2]
        }
        for (key in calls) {
            split(key, k, SUBSEP)
            if (k[1] < k[2] && (k[2], k[1]) in calls) {
                pair = sprintf("%s: calls %s of %s, which calls %s", k[1],
                    calls[key], k[2], calls[k[2], k[1]])
                list = list pair "\n"
                n++
                if (room(k[1]) != room(k[2])) { print pair }
            }
        }
        if (n > most) {
            printf "%score: %d pairs call each other, allowed are %d\n",
                list, n, most
        }
    }' "$tmp/order" "$tmp/symbols" "$tmp/prototypes" | sort -u >"$tmp/bad"
verdict "$tmp/bad"
